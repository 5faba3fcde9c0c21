//! The requests about files: which module answers what.

use serde::Deserialize;
use serde_json::{Value, json};
use umbel_foreign::Format;

use crate::files::Files;
use crate::refused::Refused;
use crate::request::{read, unknown};
use crate::{make, map, probes, query};

/// An open file.
#[derive(Deserialize)]
struct Opened {
    handle: u32,
    #[serde(default)]
    secret: String,
}

/// Two open files.
#[derive(Deserialize)]
struct Pair {
    left: u32,
    right: u32,
}

impl Files {
    /// The text of an answer.
    pub(crate) fn request(&mut self, name: &str, request: &[u8]) -> Result<String, Refused> {
        let answer = match name {
            // Its answer may be long.
            "query" => return query::answer(self, &read(request)?),
            "open" => self.open(&read(request)?),
            "unlock" => {
                let Opened { handle, secret } = read(request)?;
                self.unlock(handle, &secret)
            }
            "map" => map::answer(self, &read(request)?),
            "profile" => map::profile(self, read::<Opened>(request)?.handle),
            "probes" => probes::answer(self, &read(request)?),
            "compare" => {
                let Pair { left, right } = read(request)?;
                Ok(self.compare(left, right)?)
            }
            "close" => {
                self.close(read::<Opened>(request)?.handle);
                Ok(json!({}))
            }
            "make" => make::answer(&*self.host, &read(request)?),
            "sample" => Ok(make::sample(&*self.host)?),
            "formats" => Ok(formats()),
            _ => Err(unknown(name)),
        };
        answer.map(|answer: Value| answer.to_string())
    }
}

/// The formats of other systems: their names, the types of their keys, the parameters needed to read one, and whether
/// one can be made from a list.
fn formats() -> Value {
    let format = |format: Format| {
        let types: Vec<_> = format.key_types().iter().map(|key_type| key_type.name()).collect();
        json!({
            "name": format.name(),
            "key_types": types,
            "required": format.required(),
            "makes": format.parameters().contains(&"keys"),
            "fpp": format.takes_rate(),
        })
    };
    Format::ALL.iter().copied().map(format).collect()
}

//! Requests and answers: which module answers what, and how errors are told.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::files::Files;
use crate::{Host, advise, curves, goal, map, query, toy};

/// What a request is; `page/src/core.ts` describes each.
#[derive(Deserialize)]
struct Name<'a> {
    #[serde(rename = "type", borrow)]
    name: &'a str,
}

/// A goal, and which of its charts are wanted.
#[derive(Deserialize)]
struct Planned {
    goal: goal::Typed,
    #[serde(default)]
    charts: Vec<String>,
}

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

/// Why a request was not answered.
#[derive(Debug)]
pub(crate) struct Refused {
    message: String,
    /// What of the request it is about.
    field: Option<&'static str>,
}

impl Refused {
    pub(crate) fn of(field: &'static str, message: impl ToString) -> Self {
        Self { message: message.to_string(), field: Some(field) }
    }
}

impl From<anyhow::Error> for Refused {
    fn from(error: anyhow::Error) -> Self {
        Self { message: format!("{error:#}"), field: None }
    }
}

/// The core: it answers requests, and holds the files that were opened.
pub struct Core<H> {
    files: Files<H>,
}

impl<H: Host> Core<H> {
    /// Makes a core without files.
    pub fn new(host: H) -> Self {
        Self { files: Files::new(host) }
    }

    /// Answers a request, the text of a JSON document: with `{"ok": …}`, or `{"error": {"message": …}}`.
    pub fn answer(&mut self, request: &[u8]) -> String {
        let answer = self.work(request);
        match answer {
            Ok(answer) => format!("{{\"ok\":{answer}}}"),
            Err(Refused { message, field }) => {
                json!({ "error": { "message": message, "field": field } }).to_string()
            }
        }
    }

    /// The text of an answer.
    fn work(&mut self, request: &[u8]) -> Result<String, Refused> {
        let Name { name } = read(request)?;
        let answer = match name {
            // The one that may be long.
            "query" => return query::answer(&self.files, &read(request)?),
            "advise" => advise::answer(&read::<Planned>(request)?.goal),
            "curves" => {
                let Planned { goal, charts } = read(request)?;
                curves::answer(&goal, &charts)
            }
            "open" => Ok(self.files.open(&read(request)?)?),
            "unlock" => {
                let Opened { handle, secret } = read(request)?;
                self.files.unlock(handle, &secret)
            }
            "map" => map::answer(&mut self.files, &read(request)?),
            "profile" => map::profile(&mut self.files, read::<Opened>(request)?.handle),
            "compare" => {
                let Pair { left, right } = read(request)?;
                Ok(self.files.compare(left, right)?)
            }
            "close" => {
                self.files.close(read::<Opened>(request)?.handle);
                Ok(json!({}))
            }
            "toy" => toy::answer(&read(request)?),
            "example" => Ok(toy::example()),
            "sample" => Ok(toy::sample()?),
            "about" => Ok(json!({
                "version": env!("CARGO_PKG_VERSION"),
                "simd": cfg!(target_feature = "simd128"),
                "kinds": umbel::Kind::ALL.map(umbel::Kind::name),
                "formats": umbel_foreign::Format::ALL.map(umbel_foreign::Format::name),
                "most_bytes": crate::files::MOST_BYTES,
            })),
            _ => Err(Refused::of("type", format!("there is no request {name:?}"))),
        };
        answer.map(|answer: Value| answer.to_string())
    }
}

/// Reads a request, or what of it is asked for.
fn read<'a, T: Deserialize<'a>>(request: &'a [u8]) -> Result<T, Refused> {
    serde_json::from_slice(request)
        .map_err(|error| Refused { message: format!("not a request: {error}"), field: None })
}

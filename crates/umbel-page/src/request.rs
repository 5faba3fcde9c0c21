//! Requests and answers: which module answers what, and how errors are reported.

use serde::Deserialize;
use serde_json::{Value, json};

#[cfg(feature = "files")]
use crate::files::Files;
use crate::refused::Refused;
use crate::{Host, advise, calculate, curves, goal, toy};

/// The name of a request; `page/src/core.ts` describes each.
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

/// The core: it answers requests, and holds the files that were opened.
pub struct Core {
    #[cfg(feature = "files")]
    files: Files,
    /// Plans and lessons do not need the host.
    #[cfg(not(feature = "files"))]
    _host: Box<dyn Host>,
}

impl Core {
    /// Makes a core without files.
    pub fn new(host: impl Host + 'static) -> Self {
        Self {
            #[cfg(feature = "files")]
            files: Files::new(host),
            #[cfg(not(feature = "files"))]
            _host: Box::new(host),
        }
    }

    /// Answers a request, the text of a JSON document: with `{"ok": …}`, or `{"error": {"message": …}}`.
    pub fn answer(&mut self, request: &[u8]) -> String {
        match self.work(request) {
            Ok(answer) => format!("{{\"ok\":{answer}}}"),
            Err(refused) => json!({ "error": refused }).to_string(),
        }
    }

    /// The text of an answer.
    fn work(&mut self, request: &[u8]) -> Result<String, Refused> {
        let Name { name } = read(request)?;
        let answer = match name {
            "advise" => advise::answer(&read::<Planned>(request)?.goal),
            "calculate" => calculate::answer(&read(request)?),
            "curves" => {
                let Planned { goal, charts } = read(request)?;
                curves::answer(&goal, &charts)
            }
            "toy" => toy::answer(&read(request)?),
            "about" => Ok(json!({
                "version": env!("CARGO_PKG_VERSION"),
                "kinds": umbel::Kind::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>(),
            })),
            #[cfg(feature = "files")]
            _ => return self.files.request(name, request),
            #[cfg(not(feature = "files"))]
            _ => Err(unknown(name)),
        };
        answer.map(|answer: Value| answer.to_string())
    }
}

pub(crate) fn unknown(name: &str) -> Refused {
    Refused::of("type", format!("there is no request {name:?}"))
}

/// Reads a request, or the requested part of it.
pub(crate) fn read<'a, T: Deserialize<'a>>(request: &'a [u8]) -> Result<T, Refused> {
    serde_json::from_slice(request).map_err(|error| Refused::new(format!("not a request: {error}")))
}

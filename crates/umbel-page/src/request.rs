//! Requests and answers: which module answers what, and how errors are told.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::files::Files;
use crate::{Host, advise, curves, goal, map, query, toy};

/// A request; `page/src/core.ts` describes each.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Request {
    Advise {
        goal: goal::Typed,
    },
    Curves {
        goal: goal::Typed,
        #[serde(default)]
        charts: Vec<String>,
    },
    Open(crate::files::Open),
    Unlock {
        handle: u32,
        secret: String,
    },
    Map(map::Asked),
    Profile {
        handle: u32,
        #[serde(default)]
        part: usize,
    },
    Query(query::Asked),
    Compare {
        left: u32,
        right: u32,
    },
    Close {
        handle: u32,
    },
    Toy(toy::Toy),
    Example {},
    Sample {},
    About {},
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
        let answer = serde_json::from_slice(request)
            .map_err(|error| Refused { message: format!("not a request: {error}"), field: None })
            .and_then(|request| self.work(request));
        match answer {
            Ok(answer) => json!({ "ok": answer }),
            Err(Refused { message, field }) => {
                json!({ "error": { "message": message, "field": field } })
            }
        }
        .to_string()
    }

    fn work(&mut self, request: Request) -> Result<Value, Refused> {
        match request {
            Request::Advise { goal } => advise::answer(&goal),
            Request::Curves { goal, charts } => curves::answer(&goal, &charts),
            Request::Open(open) => Ok(self.files.open(&open)?),
            Request::Unlock { handle, secret } => self.files.unlock(handle, &secret),
            Request::Map(asked) => map::answer(&mut self.files, &asked),
            Request::Profile { handle, part } => map::profile(&mut self.files, handle, part),
            Request::Query(asked) => query::answer(&self.files, &asked),
            Request::Compare { left, right } => Ok(self.files.compare(left, right)?),
            Request::Close { handle } => {
                self.files.close(handle);
                Ok(json!({}))
            }
            Request::Toy(toy) => toy::answer(&toy),
            Request::Example {} => Ok(toy::example()),
            Request::Sample {} => Ok(toy::sample()?),
            Request::About {} => Ok(json!({
                "version": env!("CARGO_PKG_VERSION"),
                "simd": cfg!(target_feature = "simd128"),
                "kinds": umbel::Kind::ALL.map(umbel::Kind::name),
                "formats": umbel_foreign::Format::ALL.map(umbel_foreign::Format::name),
                "most_bytes": crate::files::MOST_BYTES,
            })),
        }
    }
}

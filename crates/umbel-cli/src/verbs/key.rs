//! `umbel key`: secrets of keyed filters.

use std::path::Path;

use anyhow::{Result, anyhow};
use serde_json::json;
use umbel::Secret;

use crate::Outcome;
use crate::args::{KeyArgs, KeyVerb};
use crate::filters;
use crate::output::print;
use crate::private;
use crate::standard::is_standard;

pub(crate) fn key(args: &KeyArgs) -> Result<Outcome> {
    match &args.verb {
        KeyVerb::New { output } => {
            let mut bytes = [0; 16];
            getrandom::fill(&mut bytes)
                .map_err(|error| anyhow!("the system gives no random bytes: {error}"))?;
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            if is_standard(output) {
                print(format!("{digits}\n"))?;
            } else {
                private::write_new(output, format!("{digits}\n").as_bytes())?;
                tell(output, &Secret::new(bytes), args)?;
            }
        }
        KeyVerb::Id { key } => tell(key, &filters::read_secret(key)?, args)?,
    }
    Ok(Outcome::Done)
}

/// Prints the id of a secret.
fn tell(path: &Path, secret: &Secret, args: &KeyArgs) -> Result<()> {
    let id = format!("{:016x}", secret.key_id());
    print(match args.voice.json {
        true => {
            format!(
                "{}\n",
                json!({"type": "key", "file": path.display().to_string(), "key_id": id})
            )
        }
        false => format!("{id}\n"),
    })
}

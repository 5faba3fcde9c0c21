//! `umbel key`: secrets of keyed filters, and signing keys.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use serde_json::json;
use umbel::Secret;
use umbel_share::sign::SecretKey;

use crate::Outcome;
use crate::args::{KeyArgs, KeyVerb};
use crate::filters;
use crate::output::print;
use crate::private;
use crate::report::add_warnings;
use crate::standard::is_standard;

pub(crate) fn key(args: &KeyArgs) -> Result<Outcome> {
    match &args.verb {
        KeyVerb::New { output, signing: true, .. } => make_pair(output)?,
        KeyVerb::New { output, .. } => {
            let secret = Secret::random()?;
            if is_standard(output) {
                print(secret.to_text() + "\n")?;
            } else {
                private::write_new(output, &secret.to_text())?;
                tell(output, &secret, args)?;
            }
        }
        KeyVerb::Id { key } => tell(key, &filters::read_secret(key)?, args)?,
    }
    Ok(Outcome::Done)
}

/// Writes a signing key, and its public key next to it.
pub(super) fn make_pair(path: &Path) -> Result<()> {
    if is_standard(path) {
        bail!("a signing key has a public key in a file of its own; name a file with -o");
    }
    let key = SecretKey::generate()?;
    let mut public: OsString = path.into();
    public.push(".pub");
    private::write_pair(path, &key.to_text(), &PathBuf::from(public), &key.public().to_string())
}

/// Prints the id of a secret.
fn tell(path: &Path, secret: &Secret, args: &KeyArgs) -> Result<()> {
    let id = format!("{:016x}", secret.key_id());
    print(match args.voice.json {
        true => {
            let mut object =
                json!({"type": "key", "file": path.display().to_string(), "key_id": id});
            add_warnings(&mut object);
            format!("{object}\n")
        }
        false => format!("{id}\n"),
    })
}

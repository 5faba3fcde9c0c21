//! `umbel filter key`: secrets of keyed filters, and signing keys.

use std::ffi::OsString;

use clap::Subcommand;
use serde_json::json;
use umbel::Secret;
use umbel_share::sign::SecretKey;

use crate::args::Voice;
use crate::filters;
use crate::output::print;
use crate::report::with_warnings;
use crate::secrets;
use crate::standard::is_standard;
use crate::verbs::prelude::*;

/// Make secrets of keyed filters, and signing keys
///
/// A keyed filter hashes its keys under a secret that is not in its file (--secret-file), so only people with the secret can look
/// keys up. One secret serves a whole group. Filters carry its id; filters of different secrets do not compare or merge. The
/// secret cannot be computed from its id or from filters.
#[derive(Debug, Args)]
#[command(
    subcommand_value_name = "WHAT",
    subcommand_help_heading = "What",
    disable_help_subcommand = true
)]
pub(crate) struct KeyArgs {
    #[command(subcommand)]
    pub(crate) verb: KeyVerb,
    #[command(flatten)]
    pub(crate) voice: Voice,
}

impl Verb for KeyArgs {
    const NAME: &str = "filter key";
    const HELP: &str = "
also secret, keygen
umbel filter key new -o group.secret   a secret for keyed filters
umbel filter key new --signing -o lists.key   a signing key, and its public key lists.key.pub
umbel filter key id group.secret   its id, which filters carry
0 done
";
    const RUN: fn(&Self) -> Result<Outcome> = key;
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeyVerb {
    /// Write a new secret, readable only by its owner, and print its id; with --signing, write a signing key
    New {
        /// File to write, which must not exist; - is standard output, without the id
        #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        output: PathBuf,
        /// Make a secret, for --secret-file [default]
        #[arg(long)]
        secret: bool,
        /// Make a signing key instead: FILE for umbel filter sign and --sign, and its public key, FILE.pub, for umbel filter verify and --trust
        #[arg(long, conflicts_with = "secret")]
        signing: bool,
    },
    /// Print the id of a secret
    Id {
        /// File with the secret
        #[arg(value_name = "FILE")]
        key: PathBuf,
    },
}

pub(crate) fn key(args: &KeyArgs) -> Result<Outcome> {
    match &args.verb {
        KeyVerb::New { output, signing: true, .. } => make_pair(output)?,
        KeyVerb::New { output, .. } => {
            let secret = Secret::random()?;
            if is_standard(output) {
                print(secret.to_text() + "\n")?;
            } else {
                secrets::write_new(output, &secret.to_text())?;
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
        bail!("a signing key and its public key are two files; name the first with -o");
    }
    let key = SecretKey::generate()?;
    let mut public: OsString = path.into();
    public.push(".pub");
    secrets::write_pair(path, &key.to_text(), &PathBuf::from(public), &key.public().to_string())
}

/// Prints the id of a secret.
fn tell(path: &Path, secret: &Secret, args: &KeyArgs) -> Result<()> {
    let id = format!("{:016x}", secret.key_id());
    if !args.voice.json {
        return print(format!("{id}\n"));
    }
    let object = json!({"type": "key", "file": path.display().to_string(), "key_id": id});
    print(format!("{}\n", with_warnings(object)))
}

//! `umbel filter sign` and `umbel filter verify`: signatures of files.

use std::io::{self, Read, Seek, Write};

use serde_json::json;
use umbel_io::PageReader;
use umbel_share::Trust;
use umbel_share::sign::Signature;

use crate::args::{FormatArgs, Voice};
use crate::atomic::Existing;
use crate::output::print;
use crate::report::{printable, with_warnings};
use crate::verbs::prelude::*;
use crate::wrapped::{self, Signing};
use crate::{filters, formats};

/// Sign files in place: filters, packed filters and deltas
///
/// A signature is replaced; if it covers the name of a list or a number, say both again. Files that are damaged, or are something else, stay unchanged. A signature also covers the name of the
/// list (--list) and the number of the version (--serial). umbel filter verify --list and --newer-than require them, so an attacker
/// cannot pass off another list of yours, or an old version.
#[derive(Debug, Args)]
pub(crate) struct SignVerbArgs {
    /// Signing key (umbel filter key new --signing makes one)
    #[arg(value_name = "KEY")]
    pub(crate) key: PathBuf,
    /// Filters, packed filters and deltas
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Name of the list, which the signature covers
    #[arg(long, value_name = "NAME")]
    pub(crate) list: Option<String>,
    /// Number of this version, which the signature covers: higher than the version before
    #[arg(long, value_name = "N")]
    #[arg(value_parser = umbel_numbers::number::<u64>(0..=u64::MAX))]
    pub(crate) serial: Option<u64>,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    #[command(flatten)]
    pub(crate) voice: Voice,
}

impl Verb for SignVerbArgs {
    const NAME: &str = "filter sign";
    const HELP: &str = "
for --sign: the signing key comes first, and the files after it
umbel filter sign lists.key seen.packed   sign a file
0 all files are signed
";

    const RUN: fn(&Self) -> Result<Outcome> = sign;
}

fn sign(args: &SignVerbArgs) -> Result<Outcome> {
    let key = Signing::new(&args.key, args.list.as_ref(), args.serial)?;
    args.files.iter().try_for_each(|path| sign_in_place(path, &key, &args.format))?;
    Ok(Outcome::Done)
}

/// Check who signed files
///
/// The exit status is 2 unless the owner of the key signed all files, and they are unaltered.
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Public key of the signer
    #[arg(value_name = "PUB")]
    pub(crate) key: PathBuf,
    /// Filters, packed filters and deltas
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Name that the list must be signed as
    #[arg(long, value_name = "NAME")]
    pub(crate) list: Option<String>,
    /// Refuse a version whose signed number is not higher than this
    #[arg(long, value_name = "N")]
    #[arg(value_parser = umbel_numbers::number::<u64>(0..=u64::MAX))]
    pub(crate) newer_than: Option<u64>,
    #[command(flatten)]
    pub(crate) voice: Voice,
}

impl Verb for VerifyArgs {
    const NAME: &str = "filter verify";
    const HELP: &str = "
also trust, signature
for --trust: the public key comes first, and the files after it
umbel filter verify lists.key.pub seen.packed   check who signed it
0 the owner of the key signed all files
";

    const RUN: fn(&Self) -> Result<Outcome> = verify;
}

fn verify(args: &VerifyArgs) -> Result<Outcome> {
    let trusted = wrapped::trust_in(&args.key, args.list.as_ref(), args.newer_than)?;
    for path in &args.files {
        let file = filters::open(path, &umbel_io::temporary_folder())?;
        formats::length(&file, path)?;
        let signature = wrapped::signature(&file, path, Some(&trusted))?;
        let label = signature.iter().map(Signature::label).next().cloned().unwrap_or_default();
        let (file, by, list, serial) =
            (path.display(), trusted.key(), label.list(), label.serial());
        if args.voice.json {
            let object = json!({
                "type": "signature",
                "file": file.to_string(),
                "key": by.to_string(),
                "list": list,
                "serial": serial,
            });
            print(format!("{}\n", with_warnings(object)))?;
            continue;
        }
        let list = if list.is_empty() { String::new() } else { format!(" as {list}") };
        let serial = if serial == 0 { String::new() } else { format!(", version {serial}") };
        let signed = format!("{file}: signed by {by}{list}{serial}\n");
        print(&*printable(&signed))?;
    }
    Ok(Outcome::Done)
}

/// Replaces a file by itself with a signature, if it is one that is read with a signature, and whole.
fn sign_in_place(path: &Path, key: &Signing, format: &FormatArgs) -> Result<()> {
    let mut file = filters::open_in_place_locked(path)?;
    filters::check_saved(path)?;
    wrapped::check_whole(&file, path, format.named())?;
    key.check_replaces(&file, path)?;
    let length = formats::length(&file, path)?;
    file.rewind().with_context(|| path.display().to_string())?;
    let mut source = PageReader::new(1 << 18, &file).take(length);
    let copy = |out: &mut (dyn Write + Send)| Ok(io::copy(&mut source, out).map(drop)?);
    filters::write_checked(path, Existing::Replace, Some(key), copy, |new| {
        wrapped::signature(new, path, Some(&Trust::of(key.key.public())))?;
        wrapped::check_whole(new, path, format.named())
    })?;
    Ok(())
}

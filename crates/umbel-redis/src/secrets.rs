//! Secrets of keyed filters. They come from files that the configuration names, never from commands.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read};
use std::sync::RwLock;

use umbel::{Algorithm, KeyHasher, Scheme, Secret};

use crate::server::Setting;

/// The paths as they were set, and the secrets in these files. The first is the default.
static SECRETS: RwLock<(String, Vec<Secret>)> = RwLock::new((String::new(), Vec::new()));

/// `bf.secret-files`: paths, separated by commas. Each file is as `umbel filter key new` writes it, or has 16
/// bytes or 32 hexadecimal digits.
pub(crate) static FILES: Files = Files;

pub(crate) struct Files;

impl Setting for Files {
    fn name(&self) -> &'static CStr {
        c"secret-files"
    }

    fn text(&self) -> String {
        SECRETS.read().map(|secrets| secrets.0.clone()).unwrap_or_default()
    }

    fn set(&self, paths: &str) -> Result<(), String> {
        let named = paths.split(',').map(str::trim).filter(|path| !path.is_empty());
        let secrets = named.map(read).collect::<Result<_, _>>()?;
        if let Ok(mut kept) = SECRETS.write() {
            *kept = (paths.to_owned(), secrets);
        }
        Ok(())
    }
}

/// More bytes than a file with a secret has: its text has 70, and blanks may be around it.
const MOST: u64 = 256;

fn read(path: &str) -> Result<Secret, String> {
    let bytes = content(path).map_err(|error| format!("{path}: {error}"))?;
    if bytes.len() as u64 > MOST {
        return Err(format!("{path}: has more than {MOST} bytes, so it is not a secret"));
    }
    Secret::from_file(&bytes).map_err(|error| format!("{path}: {error}"))
}

/// Reads only enough to see that it is too long. The server waits, so a file that might block is not opened.
fn content(path: &str) -> io::Result<Vec<u8>> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "is not a regular file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn find(is: impl Fn(&Secret) -> bool) -> Option<Secret> {
    SECRETS.read().ok()?.1.iter().find(|secret| is(secret)).cloned()
}

/// Returns the hasher of new filters without a named secret: with the first secret, if there is one.
pub(crate) fn usual() -> KeyHasher {
    find(|_| true).map_or_else(KeyHasher::default, KeyHasher::keyed)
}

/// Returns the hasher with the secret of this id.
pub(crate) fn named(key_id: u64) -> Option<KeyHasher> {
    find(|secret| secret.key_id() == key_id).map(KeyHasher::keyed)
}

/// Returns the hasher of a scheme, or why it is missing.
pub(crate) fn hasher(scheme: Scheme) -> Result<KeyHasher, String> {
    let secret = match scheme.algorithm {
        Algorithm::Sip13 => find(|secret| secret.key_id() == scheme.key_id),
        _ => None,
    };
    KeyHasher::for_scheme(scheme, secret.as_ref()).map_err(|error| error.to_string())
}

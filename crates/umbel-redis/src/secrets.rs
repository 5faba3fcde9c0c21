//! Secrets of keyed filters. They come from files that the configuration names, never from commands.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read};
use std::sync::RwLock;

use umbel::{Algorithm, KeyHasher, Scheme, Secret};

use crate::server::Setting;

/// The paths as they were set, and the secrets in these files. The first is the default.
static SECRETS: RwLock<(String, Vec<Secret>)> = RwLock::new((String::new(), Vec::new()));

/// `bf.secret-files`: paths, separated by commas. Each file has 16 bytes or 32 hexadecimal digits.
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

/// More bytes than a file with a secret has: 32 digits, and blanks around them.
const MOST: u64 = 64;

fn read(path: &str) -> Result<Secret, String> {
    let bytes = content(path).map_err(|error| format!("{path}: {error}"))?;
    let hex = || {
        let digits = std::str::from_utf8(bytes.trim_ascii()).ok()?;
        let right = digits.len() == 32 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        right.then(|| u128::from_str_radix(digits, 16).ok()).flatten().map(u128::to_be_bytes)
    };
    let secret = <[u8; 16]>::try_from(&bytes[..]).ok().or_else(hex);
    secret.map(Secret::new).ok_or_else(|| {
        let found =
            if bytes.len() as u64 > MOST { "more than 64" } else { &bytes.len().to_string() };
        format!("{path}: a secret has 16 bytes or 32 hexadecimal digits, found {found} bytes")
    })
}

/// Reads no more than shows that it is too much. The server waits meanwhile, so what may not end, or not begin, is not opened.
fn content(path: &str) -> io::Result<Vec<u8>> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "is no regular file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn find(is: impl Fn(&Secret) -> bool) -> Option<Secret> {
    SECRETS.read().ok()?.1.iter().find(|secret| is(secret)).cloned()
}

/// Returns the hasher of new filters that name no secret: with the first one, if there is one.
pub(crate) fn usual() -> KeyHasher {
    find(|_| true).map_or_else(KeyHasher::default, KeyHasher::keyed)
}

/// Returns the hasher with the secret of this id.
pub(crate) fn named(key_id: u64) -> Option<KeyHasher> {
    find(|secret| secret.key_id() == key_id).map(KeyHasher::keyed)
}

/// Returns the hasher of a scheme, or why there is none.
pub(crate) fn hasher(scheme: Scheme) -> Result<KeyHasher, String> {
    let secret = match scheme.algorithm {
        Algorithm::Sip13 => find(|secret| secret.key_id() == scheme.key_id),
        _ => None,
    };
    KeyHasher::for_scheme(scheme, secret.as_ref()).map_err(|error| error.to_string())
}

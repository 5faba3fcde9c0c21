//! Secrets of keyed filters. They come from files that the configuration names, never from commands.

use std::fs;
use std::sync::RwLock;

use umbel::{Algorithm, KeyHasher, Scheme, Secret};

use crate::server::Setting;

/// The paths as they were set, and the secrets in these files. The first is the default.
static SECRETS: RwLock<(String, Vec<Secret>)> = RwLock::new((String::new(), Vec::new()));

/// `bf.secret-files`: paths, separated by commas. Each file has 16 bytes or 32 hexadecimal digits.
pub(crate) static FILES: Setting = Setting::new(c"secret-files", c"", set, get);

fn get() -> String {
    SECRETS.read().map(|secrets| secrets.0.clone()).unwrap_or_default()
}

fn set(paths: &str) -> Result<(), String> {
    let named = paths.split(',').map(str::trim).filter(|path| !path.is_empty());
    let secrets = named.map(read).collect::<Result<_, _>>()?;
    if let Ok(mut kept) = SECRETS.write() {
        *kept = (paths.to_owned(), secrets);
    }
    Ok(())
}

fn read(path: &str) -> Result<Secret, String> {
    let bytes = fs::read(path).map_err(|error| format!("{path}: {error}"))?;
    let hex = || {
        let digits = std::str::from_utf8(bytes.trim_ascii()).ok()?;
        let right = digits.len() == 32 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        right.then(|| u128::from_str_radix(digits, 16).ok()).flatten().map(u128::to_be_bytes)
    };
    let secret = <[u8; 16]>::try_from(&bytes[..]).ok().or_else(hex);
    secret.map(Secret::new).ok_or_else(|| {
        let found = bytes.len();
        format!("{path}: a secret has 16 bytes or 32 hexadecimal digits, found {found} bytes")
    })
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

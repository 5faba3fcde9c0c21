//! A key that a group of caches shares, and the tag that it adds to a message: only its holders can make one.
//!
//! ```text
//! message   16 bytes: the start of HMAC-SHA-256 of "umbel summary 1" and the message (RFC 2104)
//! ```

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use umbel::Secret;
use zeroize::Zeroizing;

use crate::ShareError;

/// Bytes of a tag (part of the format).
const TAG: usize = 16;
/// Hashed before a message, so a tag is valid for nothing else (part of the format).
const PURPOSE: &[u8] = b"umbel summary 1";

/// The secret of a group of caches, which authenticates their messages: without it, none can be made.
///
/// All members have the same key, so it does not stop one from speaking for another. For that, pass the sender to
/// [`Peers::receive`](super::Peers::receive). Cost: a pass of SHA-256 over each message, and 16
/// bytes. The memory is cleared when it is dropped.
#[derive(Clone)]
pub struct GroupKey(Secret);

impl std::fmt::Debug for GroupKey {
    /// Does not show the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("GroupKey(…)")
    }
}

/// The message before a tag that matches it, or all of it without a key.
pub(super) fn opened<'a>(key: Option<&GroupKey>, sealed: &'a [u8]) -> Result<&'a [u8], ShareError> {
    let Some(key) = key else { return Ok(sealed) };
    let (message, tag) = sealed.split_last_chunk::<TAG>().ok_or(ShareError::Unauthentic)?;
    let genuine = key.mac(message).verify_truncated_left(tag);
    genuine.map(|()| message).map_err(|_| ShareError::Unauthentic)
}

/// The message with its tag, or as it is without a key.
pub(super) fn sealed(key: Option<&GroupKey>, mut message: Vec<u8>) -> Vec<u8> {
    if let Some(key) = key {
        let tag = key.mac(&message).finalize().into_bytes();
        message.extend_from_slice(&tag[..TAG]);
    }
    message
}

impl GroupKey {
    /// Derives the key from a secret such as `umbel filter key new` writes, for this purpose alone.
    pub fn new(secret: Secret) -> Self {
        Self(secret)
    }

    fn mac(&self, message: &[u8]) -> Hmac<Sha256> {
        let secret = Zeroizing::new(self.0.to_bytes());
        let mac = Hmac::<Sha256>::new_from_slice(&secret[..]).expect("HMAC takes every length");
        mac.chain_update(PURPOSE).chain_update(message)
    }
}

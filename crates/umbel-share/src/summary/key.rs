//! A key that a group of caches shares, and what it adds to a message: a tag that nobody makes without it.
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
/// What is hashed before a message, so that tags are those of nothing else (part of the format).
const PURPOSE: &[u8] = b"umbel summary 1";

/// The secret of a group of caches, which authenticates their messages: whoever lacks it cannot make one.
///
/// All of the group have the same key, so it does not keep one member from speaking for another: for that
/// [`Peers::receive`](super::Peers::receive) is told who sent a message. Cost: a pass of SHA-256 over each message, and 16
/// bytes. The memory is cleared when it is dropped.
#[derive(Clone)]
pub struct GroupKey(Secret);

impl std::fmt::Debug for GroupKey {
    /// Without the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("GroupKey(…)")
    }
}

impl GroupKey {
    /// Makes the key of a secret, such as `umbel key new` writes: one for this purpose alone.
    pub fn new(secret: Secret) -> Self {
        Self(secret)
    }

    fn mac(&self, message: &[u8]) -> Hmac<Sha256> {
        let secret = Zeroizing::new(self.0.to_bytes());
        let mac = Hmac::<Sha256>::new_from_slice(&secret[..]).expect("HMAC takes every length");
        mac.chain_update(PURPOSE).chain_update(message)
    }

    /// Appends the tag of a message.
    pub(super) fn seal(&self, message: &mut Vec<u8>) {
        let tag = self.mac(message).finalize().into_bytes();
        message.extend_from_slice(&tag[..TAG]);
    }

    /// The message before a tag that matches it.
    pub(super) fn open<'a>(&self, sealed: &'a [u8]) -> Result<&'a [u8], ShareError> {
        let (message, tag) = sealed.split_last_chunk::<TAG>().ok_or(ShareError::Unauthentic)?;
        let genuine = self.mac(message).verify_truncated_left(tag);
        genuine.map(|()| message).map_err(|_| ShareError::Unauthentic)
    }
}

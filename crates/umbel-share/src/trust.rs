//! Which files are accepted from whom: one rule for every entry point.
//!
//! **The bytes that arrive end with a signature of the trusted key; it covers all of them.** So only signed bytes are
//! decoded. A packed file makes one filter, and a delta has the SHA-256 of the file that it makes, so signing them
//! signs the result. The signature of a filter inside a packed file is seen only after unpacking everything, so it does
//! not replace a signature of the packed file.
//!
//! Without a trusted key, a packed file may make only a limited number of bytes.

use std::io::{self, Read, Seek, Take};

use crate::sign::{self, PublicKey, Signature};
use crate::{FileKind, ShareError, Wrapping, pack};

/// Whose files are accepted, and which of them.
#[derive(Clone, Debug)]
pub struct Trust {
    key: PublicKey,
    list: Option<String>,
    newer_than: Option<u64>,
}

impl Trust {
    /// Accepts all files that the owner of a key signed.
    pub fn of(key: PublicKey) -> Self {
        Self { key, list: None, newer_than: None }
    }

    /// Accepts only files signed as this list.
    ///
    /// # Errors
    /// [`ShareError::ListName`].
    pub fn list(mut self, name: impl Into<String>) -> Result<Self, ShareError> {
        let name = name.into();
        sign::check_list(&name)?;
        self.list = Some(name);
        Ok(self)
    }

    /// Accepts only files signed with a greater serial number.
    #[must_use]
    pub fn newer_than(mut self, serial: u64) -> Self {
        self.newer_than = Some(serial);
        self
    }

    /// Returns the key that is trusted.
    pub fn key(&self) -> &PublicKey {
        &self.key
    }

    /// Checks a file, which is read once and left at its start; returns its signature.
    ///
    /// # Errors
    /// [`ShareError::NotSigned`], [`ShareError::SignedWithin`]; [`ShareError::OtherSigner`], [`ShareError::Forged`];
    /// [`ShareError::OtherList`], [`ShareError::NotNewer`]; [`ShareError::SignatureDamaged`], [`ShareError::Io`].
    pub fn check(&self, mut file: impl Read + Seek) -> Result<Signature, ShareError> {
        let Some(signature) = Signature::find(&mut file)? else {
            return Err(unsigned(file)?);
        };
        signature.check(&mut file, &self.key)?;
        file.rewind()?;
        let (list, serial) = (signature.label().list(), signature.label().serial());
        if let Some(expected) = self.list.as_ref().filter(|expected| *expected != list) {
            let (found, expected) = (list.to_owned(), expected.clone());
            return Err(ShareError::OtherList { found, expected });
        }
        match self.newer_than.filter(|&newer_than| serial <= newer_than) {
            Some(newer_than) => Err(ShareError::NotNewer { found: serial, newer_than }),
            None => Ok(signature),
        }
    }
}

/// Why a file without a signature is refused. The start of a packed file shows whether the filter in it is signed.
fn unsigned(mut file: impl Read + Seek) -> Result<ShareError, ShareError> {
    let packed = kind(&mut file)? == Some(FileKind::Packed);
    let within = packed && pack::Decoder::new(file, u64::MAX)?.is_signed();
    Ok(if within { ShareError::SignedWithin } else { ShareError::NotSigned })
}

/// The type of a file; it is left at its start.
fn kind(mut file: impl Read + Seek) -> io::Result<Option<FileKind>> {
    let mut start = Vec::new();
    file.by_ref().take(FileKind::BYTES as u64).read_to_end(&mut start)?;
    file.rewind()?;
    Ok(FileKind::of(&start))
}

/// A file that is accepted, without its own signature.
pub struct Received<R> {
    /// The content, by its type.
    pub content: Content<R>,
    /// Bytes of `content` as they arrived.
    pub length: u64,
    /// How it arrived.
    pub wrapping: Wrapping,
}

/// Content that is accepted.
pub enum Content<R> {
    /// The file of a filter, of umbel or another system.
    Filter(Take<R>),
    /// A packed file, which gives the filter's file as it is read.
    Packed(Box<pack::Decoder<Take<R>>>),
    /// A delta.
    Delta(Take<R>),
}

/// Accepts a file by the rule of this module. A packed file whose signature was not checked may make `most` bytes.
///
/// Cost: with a key to trust the file is read once, to hash it; otherwise only its ends are read.
///
/// # Errors
/// As [`Trust::check`] and [`pack::Decoder::new`].
pub fn receive<R: Read + Seek>(
    mut file: R,
    trust: Option<&Trust>,
    most: u64,
) -> Result<Received<R>, ShareError> {
    // First, so an unreadable file gives its read error, not one about its end.
    let kind = kind(&mut file)?;
    let signature = match trust {
        Some(trust) => Some(trust.check(&mut file)?),
        None => Signature::find(&mut file)?,
    };
    let all = file.seek(io::SeekFrom::End(0))?;
    file.rewind()?;
    let length = signature.as_ref().map_or(all, Signature::length);
    let mut wrapping = Wrapping { packed: None, signature, verified: trust.is_some() };
    let content = match kind {
        Some(FileKind::Packed) => {
            wrapping.packed = Some(all);
            let most = if trust.is_some() { u64::MAX } else { most };
            Content::Packed(Box::new(pack::Decoder::new(file.take(length), most)?))
        }
        Some(FileKind::Delta) => Content::Delta(file.take(length)),
        _ => Content::Filter(file.take(length)),
    };
    Ok(Received { content, length, wrapping })
}

//! Signatures: who made a file, and that it was not altered since.
//!
//! A signature is a block of 256 bytes after the last byte of a filter's file, a packed file or a delta. It covers all
//! bytes before it (Ed25519ph, RFC 8032, section 5.1, <https://www.rfc-editor.org/rfc/rfc8032>): the file is hashed
//! once, front to back. It also covers a [`Label`]: which list the file is, and which version of it. Otherwise a genuine
//! file could be served in place of another one, or of a newer one. The checksums in the files notice accidents; only a
//! signature notices intent. [`Trust`](crate::Trust) has the rule for what is accepted.
//!
//! ```text
//!   0  magic, 8 bytes                24  public key of the signer, 32 bytes
//!   8  version        u16            56  serial number, u64
//!  10  algorithm      u16            64  name of the list, UTF-8, filled up with zeros to 120 bytes
//!  12  zeros, 4 bytes               184  signature, 64 bytes
//!  16  length of the file           248  XXH3-64 of the block before it
//!      before the block, u64
//! ```
//!
//! ```
//! use umbel_share::ShareError;
//! use umbel_share::sign::{Label, SecretKey, Signature, Signer};
//!
//! let key = SecretKey::generate()?;
//! let mut signer = Signer::new(Vec::new());
//! std::io::Write::write_all(&mut signer, b"the bytes of a file")?;
//! let mut file = signer.finish(&key, &Label::new("allow", 7)?)?;
//!
//! let signature = Signature::of_bytes(&file)?.expect("it was signed");
//! signature.check(&file[..], &key.public())?;
//! assert_eq!((signature.label().list(), signature.label().serial()), ("allow", 7));
//! file[0] ^= 1;
//! assert!(matches!(signature.check(&file[..], &key.public()), Err(ShareError::Forged)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fmt;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::str::FromStr;

use ed25519_dalek::{SigningKey, VerifyingKey};
use sha2::{Digest, Sha512};
use twox_hash::XxHash3_64;
use umbel::internals::{read_text, write_text};

use crate::ShareError;

/// Bytes of the block with a signature.
pub const BLOCK: usize = 256;

/// The first bytes of every signature.
pub const MAGIC: [u8; 8] = *b"\x89UMSIG\r\n";

const VERSION: u16 = 1;
/// Ed25519ph.
const ALGORITHM: u16 = 1;
/// Bytes of the block that the signature covers, after the file.
const COVERED: usize = 184;
/// Where the serial number and the name of the list begin.
const SERIAL: usize = 56;
const LIST: usize = 64;
/// The context of RFC 8032: a signature of umbel is not valid for another program (part of the format).
const CONTEXT: &[u8] = b"umbel file";

/// How the text of a secret key begins.
pub(crate) const SECRET_TAG: &str = "umbel-signing-key-1";
/// How the text of a public key begins.
pub(crate) const PUBLIC_TAG: &str = "umbel-public-key-1";

/// The key that signs. Anyone who has it can sign in your name.
///
/// As text (`to_text`, [`FromStr`]) it is one line; the memory is cleared when it is dropped.
pub struct SecretKey(SigningKey);

impl SecretKey {
    /// Makes a new key from the system's random numbers.
    ///
    /// # Errors
    /// [`ShareError::Io`] if the system has none.
    pub fn generate() -> Result<Self, ShareError> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|error| ShareError::Io(error.into()))?;
        Ok(Self::from_bytes(bytes))
    }

    /// Makes the key with these 32 bytes, which must be random and secret.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(SigningKey::from_bytes(&bytes))
    }

    /// Returns the key that checks its signatures.
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    /// Returns the key as one line of text, without a line feed.
    pub fn to_text(&self) -> String {
        write_text(SECRET_TAG, self.0.as_bytes())
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey(of {})", self.public())
    }
}

impl FromStr for SecretKey {
    type Err = ShareError;

    fn from_str(text: &str) -> Result<Self, ShareError> {
        let wrong = || ShareError::Key { expected: "signing", tag: SECRET_TAG };
        read_text(text, SECRET_TAG).map(Self::from_bytes).ok_or_else(wrong)
    }
}

/// The key that checks signatures, to be given to everyone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

impl PublicKey {
    /// Returns its 32 bytes.
    pub fn to_bytes(&self) -> [u8; 32] {
        self.0.to_bytes()
    }
}

impl fmt::Display for PublicKey {
    /// One line of text, which [`FromStr`] parses.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&write_text(PUBLIC_TAG, self.0.as_bytes()))
    }
}

impl FromStr for PublicKey {
    type Err = ShareError;

    fn from_str(text: &str) -> Result<Self, ShareError> {
        let bytes = read_text(text, PUBLIC_TAG);
        let key = bytes.and_then(|bytes| VerifyingKey::from_bytes(&bytes).ok());
        // A weak key accepts signatures made without its secret key.
        key.filter(|key| !key.is_weak())
            .map(Self)
            .ok_or(ShareError::Key { expected: "public", tag: PUBLIC_TAG })
    }
}

/// The identity of a file: which list, and which version of it. A signature covers it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Label {
    list: String,
    serial: u64,
}

impl Label {
    /// The most bytes of a name (part of the format).
    pub const MOST: usize = COVERED - LIST;

    /// Names a list, or none with an empty name, and gives the number of its version. Numbers increase from version to
    /// version; 0 stands for no number.
    ///
    /// # Errors
    /// [`ShareError::ListName`] for a name of more than [`MOST`](Self::MOST) bytes, one with control characters, and one
    /// with white space at an end.
    pub fn new(list: impl Into<String>, serial: u64) -> Result<Self, ShareError> {
        let list = list.into();
        check_list(&list)?;
        Ok(Self { list, serial })
    }

    /// Returns the name of the list; empty if it has none.
    pub fn list(&self) -> &str {
        &self.list
    }

    /// Returns the number of the version; 0 if it has none.
    pub fn serial(&self) -> u64 {
        self.serial
    }
}

/// Checks the name of a list.
pub(crate) fn check_list(list: &str) -> Result<(), ShareError> {
    let plain = !list.chars().any(char::is_control) && list.trim() == list;
    match plain && list.len() <= Label::MOST {
        true => Ok(()),
        false => Err(ShareError::ListName { found: list.to_owned(), most: Label::MOST }),
    }
}

/// Writes a file and hashes it, to sign it at the end.
pub struct Signer<W> {
    out: W,
    hash: Sha512,
    length: u64,
}

impl<W: Write> Signer<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Self {
        Self { out, hash: Sha512::new(), length: 0 }
    }

    /// Writes the signature of the file as the list and version of the label, and returns the writer.
    ///
    /// # Errors
    /// [`ShareError::Io`].
    pub fn finish(mut self, key: &SecretKey, label: &Label) -> Result<W, ShareError> {
        let mut block = start_of(self.length, &key.public(), label);
        self.hash.update(&block);
        // Only a context above 255 bytes is refused.
        let signature = key.0.sign_prehashed(self.hash, Some(CONTEXT)).expect("the context fits");
        block.extend_from_slice(&signature.to_bytes());
        let sum = XxHash3_64::oneshot(&block);
        block.extend_from_slice(&sum.to_le_bytes());
        self.out.write_all(&block)?;
        Ok(self.out)
    }
}

impl<W: Write> Write for Signer<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.hash.update(&bytes[..count]);
        self.length += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The covered part of the block.
fn start_of(length: u64, key: &PublicKey, label: &Label) -> Vec<u8> {
    let halves = [VERSION, ALGORITHM, 0, 0].map(u16::to_le_bytes);
    let [length, serial] = [length, label.serial].map(u64::to_le_bytes);
    let (key, list) = (key.to_bytes(), label.list.as_bytes());
    let mut block = [&MAGIC[..], halves.as_flattened(), &length, &key, &serial, list].concat();
    block.resize(COVERED, 0);
    block
}

/// The signature at the end of a file. It shows nothing until it is [checked](Self::check).
#[derive(Clone, Debug)]
pub struct Signature {
    length: u64,
    signer: [u8; 32],
    label: Label,
    block: [u8; BLOCK],
}

impl Signature {
    /// Returns the signature at the end of a file in memory; `None` if it has none.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub fn of_bytes(file: &[u8]) -> Result<Option<Self>, ShareError> {
        let block = file.last_chunk::<BLOCK>();
        block.map_or(Ok(None), |block| Self::parse(*block, file.len() as u64))
    }

    /// Returns the signature at the end of a file; `None` if it has none. Reads its last 256 bytes, and returns to the
    /// start.
    ///
    /// # Errors
    /// [`ShareError::SignatureDamaged`]; [`ShareError::Version`]; [`ShareError::Io`].
    pub fn find(mut file: impl Read + Seek) -> Result<Option<Self>, ShareError> {
        let length = file.seek(SeekFrom::End(0))?;
        // Zeros are no signature.
        let mut block = [0; BLOCK];
        if length >= BLOCK as u64 {
            file.seek(SeekFrom::End(-(BLOCK as i64)))?;
            file.read_exact(&mut block)?;
        }
        file.rewind()?;
        Self::parse(block, length)
    }

    pub(crate) fn parse(block: [u8; BLOCK], length: u64) -> Result<Option<Self>, ShareError> {
        if block[..8] != MAGIC {
            return Ok(None);
        }
        let version = u16::from_le_bytes([block[8], block[9]]);
        if version != VERSION {
            return Err(ShareError::Version { what: "signature", found: version });
        }
        let signer: [u8; 32] = block[24..SERIAL].try_into().expect("32 bytes");
        let before = length - BLOCK as u64;
        let intact = XxHash3_64::oneshot(&block[..BLOCK - 8]).to_le_bytes() == block[BLOCK - 8..];
        let known = block[10..16] == [ALGORITHM as u8, 0, 0, 0, 0, 0];
        if !intact || !known || block[16..24] != before.to_le_bytes() {
            return Err(ShareError::SignatureDamaged);
        }
        let serial = u64::from_le_bytes(block[SERIAL..LIST].try_into().expect("8 bytes"));
        let list = block[LIST..COVERED].split(|&byte| byte == 0).next().unwrap_or_default();
        let padded = block[LIST + list.len()..COVERED].iter().all(|&byte| byte == 0);
        let list = str::from_utf8(list).ok().filter(|_| padded);
        let label = list.and_then(|list| Label::new(list, serial).ok());
        let label = label.ok_or(ShareError::SignatureDamaged)?;
        Ok(Some(Self { length: before, signer, label, block }))
    }

    /// Returns the length of the file before the signature, in bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Returns the key that the signature names, as text.
    pub fn signer(&self) -> String {
        write_text(PUBLIC_TAG, &self.signer)
    }

    /// Returns what the file claims to be.
    pub fn label(&self) -> &Label {
        &self.label
    }

    /// Checks that the owner of a key signed this file, as any list and version; it is read once, from its start.
    ///
    /// # Errors
    /// [`ShareError::OtherSigner`], [`ShareError::Forged`], [`ShareError::Io`].
    pub fn check(&self, file: impl Read, trusted: &PublicKey) -> Result<(), ShareError> {
        if self.signer != trusted.to_bytes() {
            let (found, expected) = (self.signer(), trusted.to_string());
            return Err(ShareError::OtherSigner { found, expected });
        }
        let mut hashed = Signer::new(io::sink());
        io::copy(&mut file.take(self.length), &mut hashed)?;
        let Signer { mut hash, length, .. } = hashed;
        hash.update(&self.block[..COVERED]);
        let signature = self.block[COVERED..BLOCK - 8].try_into().expect("64 bytes");
        let signature = ed25519_dalek::Signature::from_bytes(signature);
        let genuine = trusted.0.verify_prehashed_strict(hash, Some(CONTEXT), &signature);
        if length == self.length && genuine.is_ok() { Ok(()) } else { Err(ShareError::Forged) }
    }
}

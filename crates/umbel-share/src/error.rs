//! Why a packed file, a delta or a signature is refused.

use std::io;

use umbel::FileError;
use umbel_numbers::Size;

/// Why a file was not packed, unpacked, patched or trusted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShareError {
    /// The first bytes do not match the file expected.
    #[error("not an umbel {expected}: it begins with \"{}\"", found.escape_ascii())]
    Other {
        /// The expected type of file.
        expected: &'static str,
        /// The bytes found, at most 8.
        found: Vec<u8>,
    },
    /// The file has a version that this release does not read.
    #[error("version {found} of a {what}; this release reads version 1; {}", remedy(*found))]
    Version {
        /// The type of file.
        what: &'static str,
        /// Version in the file.
        found: u16,
    },
    /// The checksum of the header does not match, or a field is impossible.
    #[error("the header of the {what} is damaged; copy the file again")]
    HeaderDamaged {
        /// The type of file.
        what: &'static str,
    },
    /// A frame does not match its checksum, or cannot be decoded.
    #[error("frame {number} of the {what} is damaged; copy the file again")]
    FrameDamaged {
        /// The type of file.
        what: &'static str,
        /// Number of the frame, from 0.
        number: u64,
    },
    /// The end does not match its checksum, or the result does not.
    #[error("the end of the {what} is damaged: a checksum does not match; copy the file again")]
    EndDamaged {
        /// The type of file.
        what: &'static str,
    },
    /// The file ends early.
    #[error("the {what} ends early; truncated? copy it again")]
    Truncated {
        /// The type of file.
        what: &'static str,
    },
    /// Bytes follow that do not belong to the file.
    #[error("something was appended to the {what}; copy it again")]
    Appended {
        /// The type of file.
        what: &'static str,
    },
    /// The bytes in place of the inner filter's signature are not a signature.
    #[error(
        "the filter in the {what} is followed by bytes that are not a signature; rebuild the {what} from a whole filter"
    )]
    NoSignature {
        /// The type of file.
        what: &'static str,
    },
    /// Two filters that a delta cannot connect.
    #[error(
        "the filters have a different {field}, so the delta would be as large as the new one; send the new one, packed"
    )]
    Unlike {
        /// The property that differs.
        field: &'static str,
    },
    /// A delta is applied to a filter that it was not made from.
    #[error(
        "the delta was made from another filter: its base has the checksums {expected:016x} and {expected_table:016x}, this filter {found:016x} and {found_table:016x}"
    )]
    OtherBase {
        /// Checksum of the base's header.
        expected: u64,
        /// Checksum of the base's table of checksums.
        expected_table: u64,
        /// Checksum of this filter's header.
        found: u64,
        /// Checksum of this filter's table of checksums.
        found_table: u64,
    },
    /// A delta is applied to the filter that it makes.
    #[error("the delta was already applied to this filter")]
    AlreadyPatched,
    /// The file has no signature.
    #[error("the file is not signed; get a signed one")]
    NotSigned,
    /// The file has a signature of another key.
    #[error("the file is signed by {found}, and not by the trusted key {expected}")]
    OtherSigner {
        /// Who signed, as the text of a public key.
        found: String,
        /// Who should have signed.
        expected: String,
    },
    /// A name that is not allowed for a list.
    #[error(
        "{found:?} is not a list name; expected up to {most} bytes, without control characters or white space at the ends"
    )]
    ListName {
        /// The name.
        found: String,
        /// The most bytes that a name has.
        most: usize,
    },
    /// The file is signed as a different list from the one expected.
    #[error("the file is signed as {}, not as the list {expected:?}; get that list", named(found))]
    OtherList {
        /// Its name in the signature; empty if it has none.
        found: String,
        /// The name expected.
        expected: String,
    },
    /// The file is signed with a number that is too low.
    #[error(
        "the file is signed with the serial number {found}, which is not newer than {newer_than}; get a newer version"
    )]
    NotNewer {
        /// The number in the signature; 0 if it has none.
        found: u64,
        /// The number that it should exceed.
        newer_than: u64,
    },
    /// Only the filter in the packed file is signed: that does not cover the bytes that must be decoded to reach it.
    #[error(
        "the packed file is not signed, only the filter in it; unpack it, then check the filter's signature, or get a signed packed file"
    )]
    SignedWithin,
    /// A packed file or a delta makes a filter larger than the limit.
    #[error(
        "the {what} expands to a filter of {}, more than the limit of {}; check its signature, or raise the limit if you trust its source",
        Size(*bytes),
        Size(*most)
    )]
    Unfolds {
        /// The type of file.
        what: &'static str,
        /// Bytes of the filter's file.
        bytes: u64,
        /// The limit.
        most: u64,
    },
    /// The filter that a delta makes does not match the digest in the delta.
    #[error(
        "the delta does not produce the filter it was made for: the base or the delta was altered; get the new filter itself"
    )]
    OtherResult,
    /// The signature does not match this file.
    #[error("the signature does not match: the file was altered or forged; do not use it")]
    Forged,
    /// The block of the signature is damaged.
    #[error("the signature block at the end is damaged; copy the file again")]
    SignatureDamaged,
    /// A message of a summary does not match its checksum, or a field is impossible.
    #[error("the message is damaged; request a full copy")]
    MessageDamaged,
    /// A message has an epoch beyond any clock, which no later start of the cache could exceed.
    #[error(
        "the message has the epoch {found}, above the highest, {}: damaged or forged; authenticate the connection",
        i64::MAX
    )]
    Epoch {
        /// The epoch.
        found: u64,
    },
    /// A message is about a cache that is not a peer, or requests the filter of a different cache.
    #[error(
        "the message is about an unknown cache, {id:016x}; add it as a peer, with the name that it uses"
    )]
    UnknownCache {
        /// The id of the cache in messages.
        id: u64,
    },
    /// A message was not tagged with the key of the group.
    #[error(
        "the message is not authenticated with this group's key: forged, damaged, or from a cache with another key"
    )]
    Unauthentic,
    /// A message is about the filter of a cache that did not send it.
    #[error(
        "{from} sent a message about the filter of another cache, {id:016x}: forged or misrouted"
    )]
    OtherCache {
        /// Who sent it.
        from: String,
        /// The id of the cache that it is about.
        id: u64,
    },
    /// A message that is not a request was given to a summary.
    #[error("the message is not a request; give it to the peers")]
    NotRequest,
    /// A request was given to the peers.
    #[error("the message is a request; give it to the summary")]
    IsRequest,
    /// The filter of a peer is larger than the limit.
    #[error(
        "the peer's filter has {bytes} bytes, more than the limit of {most}; raise the limit, or plan fewer bits per key"
    )]
    TooLarge {
        /// Bytes of the file.
        bytes: u64,
        /// The limit.
        most: u64,
    },
    /// The text or the bytes are not a key.
    #[error(
        "not an umbel {expected} key: expected {tag}, 64 hexadecimal digits and a matching check; copy it again"
    )]
    Key {
        /// Which key was expected.
        expected: &'static str,
        /// How its text begins.
        tag: &'static str,
    },
    /// The filter itself is refused.
    #[error(transparent)]
    Filter(#[from] FileError),
    /// Reading or writing failed.
    #[error(transparent)]
    Io(io::Error),
}

/// A code that the encoder cannot have made.
#[derive(Debug)]
pub(crate) struct Corrupt;

/// A list, as error messages name it.
fn named(list: &str) -> String {
    if list.is_empty() { "no list".to_owned() } else { format!("the list {list:?}") }
}

impl From<io::Error> for ShareError {
    /// Extracts this crate's error from the one of a reader.
    fn from(error: io::Error) -> Self {
        error.downcast::<Self>().unwrap_or_else(Self::Io)
    }
}

impl From<ShareError> for io::Error {
    fn from(error: ShareError) -> Self {
        match error {
            ShareError::Io(error) => error,
            error => Self::new(io::ErrorKind::InvalidData, error),
        }
    }
}

/// The remedy for a file of another version than 1.
pub(crate) fn remedy(found: u16) -> &'static str {
    match found {
        0 => "no release wrote it; damaged? copy the file again",
        _ => "use a newer umbel",
    }
}

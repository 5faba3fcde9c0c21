//! Messages of the Internet Cache Protocol, version 2 (RFC 2186): "do you have this page?", asked of every peer.

/// The types of messages.
pub(crate) const QUERY: u8 = 1;
pub(crate) const HIT: u8 = 2;
pub(crate) const MISS: u8 = 3;

const VERSION: u8 = 2;
/// Options, their data, and the address of the sender, which the RFC allows to be zeros.
const ZEROS: [u8; 12] = [0; 12];
/// Bytes before the page; a query also has the address of its client there.
const HEADER: usize = 20;
const QUERY_HEADER: usize = 24;

/// Returns the bytes of a message. Answers repeat the `number` of their query.
pub(crate) fn message(opcode: u8, number: u32, url: &str) -> Vec<u8> {
    let client: &[u8] = if opcode == QUERY { &[0; QUERY_HEADER - HEADER] } else { &[] };
    let length = (HEADER + client.len() + url.len() + 1) as u16;
    let (length, number) = (length.to_be_bytes(), number.to_be_bytes());
    [&[opcode, VERSION], &length[..], &number, &ZEROS, client, url.as_bytes(), &[0]].concat()
}

/// Reads the type of a message, its number and its page; `None` if the bytes are not such a message.
pub(crate) fn read(bytes: &[u8]) -> Option<(u8, u32, &str)> {
    let &[opcode @ QUERY..=MISS, VERSION, l0, l1, n0, n1, n2, n3, ..] = bytes else { return None };
    let start = if opcode == QUERY { QUERY_HEADER } else { HEADER };
    let url = bytes.get(start..)?.strip_suffix(&[0])?;
    let is_whole = usize::from(u16::from_be_bytes([l0, l1])) == bytes.len();
    let number = u32::from_be_bytes([n0, n1, n2, n3]);
    is_whole.then_some((opcode, number, str::from_utf8(url).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_those_of_the_rfc() {
        let bytes = message(QUERY, 7, "http://a/b");
        assert_eq!(bytes[..8], [1, 2, 0, 35, 0, 0, 0, 7]);
        assert_eq!(&bytes[24..], b"http://a/b\0");
        for opcode in [QUERY, HIT, MISS] {
            let bytes = message(opcode, 7, "http://a/b");
            assert_eq!(read(&bytes), Some((opcode, 7, "http://a/b")));
            assert!((0..bytes.len()).all(|length| read(&bytes[..length]).is_none()));
        }
        assert!(read(b"\x04\x02\x00\x08\x00\x00\x00\x00").is_none());
    }
}

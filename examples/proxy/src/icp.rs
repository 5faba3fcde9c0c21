//! Messages of the Internet Cache Protocol, version 2 (RFC 2186): "do you have this page?", asked of every peer.

/// Bytes before the payload.
const HEADER: usize = 20;
const VERSION: u8 = 2;

/// What a message says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Opcode {
    Query = 1,
    Hit = 2,
    Miss = 3,
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Message<'a> {
    pub(crate) opcode: Opcode,
    /// The number of the query, which its answers repeat.
    pub(crate) number: u32,
    pub(crate) url: &'a str,
}

impl<'a> Message<'a> {
    /// Returns its bytes. Addresses are zeros, as the RFC allows; a query has that of its client before the page.
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let client: &[u8] = if self.opcode == Opcode::Query { &[0; 4] } else { &[] };
        let length = (HEADER + client.len() + self.url.len() + 1) as u16;
        let start = [self.opcode as u8, VERSION];
        let (length, number) = (length.to_be_bytes(), self.number.to_be_bytes());
        // Options, their data, and the address of the sender.
        let rest = [0; 12];
        [&start, &length[..], &number, &rest, client, self.url.as_bytes(), &[0]].concat()
    }

    /// Reads a message; none if the bytes are no such message.
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Self> {
        let opcode = match bytes.first()? {
            1 => Opcode::Query,
            2 => Opcode::Hit,
            3 => Opcode::Miss,
            _ => return None,
        };
        let length = usize::from(u16::from_be_bytes([*bytes.get(2)?, *bytes.get(3)?]));
        if bytes[1] != VERSION || length != bytes.len() {
            return None;
        }
        let number = u32::from_be_bytes(bytes.get(4..8)?.try_into().ok()?);
        let start = if opcode == Opcode::Query { HEADER + 4 } else { HEADER };
        let url = bytes.get(start..)?.strip_suffix(&[0])?;
        Some(Self { opcode, number, url: str::from_utf8(url).ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_those_of_the_rfc() {
        let query = Message { opcode: Opcode::Query, number: 7, url: "http://a/b" };
        let bytes = query.to_bytes();
        assert_eq!(bytes[..8], [1, 2, 0, 35, 0, 0, 0, 7]);
        assert_eq!(&bytes[24..], b"http://a/b\0");
        for opcode in [Opcode::Query, Opcode::Hit, Opcode::Miss] {
            let message = Message { opcode, ..query };
            let bytes = message.to_bytes();
            assert_eq!(Message::read(&bytes), Some(message));
            assert!((0..bytes.len()).all(|length| Message::read(&bytes[..length]).is_none()));
        }
        assert!(Message::read(b"\x04\x02\x00\x08\x00\x00\x00\x00").is_none());
    }
}

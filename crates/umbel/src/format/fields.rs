//! The fields of a header that one kind alone has: bytes 64 up to the checksum.

use super::Header;
use crate::Error;
use crate::plan::{Kind, Plan};

/// Fields to write, one after the other.
#[derive(Default)]
pub(crate) struct Body(pub(super) Vec<u8>);

impl Body {
    pub(crate) fn u32(mut self, value: u32) -> Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    pub(crate) fn u64(mut self, value: u64) -> Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    pub(crate) fn f64(mut self, value: f64) -> Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    pub(crate) fn zeros(mut self, bytes: usize) -> Self {
        self.0.resize(self.0.len() + bytes, 0);
        self
    }
}

/// Fields to read in the same order. All are read before any is believed, up to [`end`](Self::end).
pub(crate) struct Fields<'a> {
    header: &'a Header,
    at: usize,
    nonzero: u8,
}

impl<'a> Fields<'a> {
    pub(super) fn of(header: &'a Header) -> Self {
        Self { header, at: Header::COMMON, nonzero: 0 }
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Error> {
        Ok(u32::from_le_bytes(self.take()?))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Error> {
        Ok(u64::from_le_bytes(self.take()?))
    }

    pub(crate) fn f64(&mut self) -> Result<f64, Error> {
        Ok(f64::from_le_bytes(self.take()?))
    }

    /// So many bytes, once they are known to be there.
    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'a [u8], Error> {
        let header = self.header;
        let left = &header.bytes()[self.at..header.bytes().len() - 8];
        let found = left.get(..count).ok_or_else(|| self.wrong_length())?;
        self.at += count;
        Ok(found)
    }

    /// The plan of the kinds whose fields begin with `bits`, `probes` and their own parameter.
    pub(crate) fn plan(&mut self, kind: Kind) -> Result<Plan, Error> {
        Ok(Plan {
            kind,
            keys: self.header.planned_keys(),
            fpp: self.header.planned_fpp(),
            bits: self.u64()?,
            probes: self.u32()?,
            detail: self.u32()?,
        })
    }

    /// Reserved bytes, whose zeros [`end`](Self::end) checks.
    pub(crate) fn zeros(&mut self, bytes: usize) -> Result<(), Error> {
        for _ in 0..bytes {
            self.nonzero |= u8::from_le_bytes(self.take()?);
        }
        Ok(())
    }

    /// Checks that the header is no longer than its fields ask for, and that reserved bytes are zero.
    pub(crate) fn end(mut self) -> Result<(), Error> {
        if self.header.bytes().len() != Header::length_for(self.at - Header::COMMON) {
            return Err(self.wrong_length());
        }
        self.zeros(self.header.bytes().len() - 8 - self.at)?;
        match self.nonzero {
            0 => Ok(()),
            byte => Err(Error::Field {
                field: "zeros",
                found: u64::from(byte),
                expected: "0 in reserved bytes",
            }),
        }
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        if self.at + N > self.header.bytes().len() - 8 {
            return Err(self.wrong_length());
        }
        let field = self.header.get(self.at);
        self.at += N;
        Ok(field)
    }

    fn wrong_length(&self) -> Error {
        Error::Field {
            field: "header_length",
            found: self.header.bytes().len() as u64,
            expected: "the fields of the kind, rounded up to a multiple of 64, at least 128",
        }
    }
}

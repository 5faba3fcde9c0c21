//! The fields of a header that belong to one kind: bytes 64 up to the checksum.

use super::{FileError, Header};
use crate::error::{FieldError, check_field};
use crate::plan::{Plan, Planner, Variant};
use crate::prelude::*;

/// Fields to write, in order.
#[derive(Default)]
#[allow(unreachable_pub)] // in the hidden part of a public trait
pub struct Body(pub(crate) Vec<u8>);

impl Body {
    /// The first fields of a filter of one size: bits, probes, and its kind's own parameter, if it has one.
    pub(crate) fn of<P: Planner>(plan: &Plan) -> Self {
        let body = Self::default().u64(plan.bits).u32(plan.probes);
        if P::PARAMETER.is_some() { body.u32(P::number(plan.variant)) } else { body }
    }

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

/// Fields to read in the same order. All are read before any is used, up to [`end`](Self::end).
pub(crate) struct Fields<'a> {
    header: &'a Header,
    at: usize,
    nonzero: u8,
}

impl Header {
    /// The fields that belong to the kind.
    pub(crate) fn fields(&self) -> Fields<'_> {
        Fields { header: self, at: Self::COMMON, nonzero: 0 }
    }

    /// The plan, if the kind has no other fields.
    pub(crate) fn plan<P: Planner>(&self) -> Result<Plan, FileError> {
        let mut fields = self.fields();
        let plan = fields.plan::<P>()?;
        fields.end()?;
        P::check(&plan)?;
        Ok(plan)
    }
}

impl<'a> Fields<'a> {
    pub(crate) fn u32(&mut self) -> Result<u32, FileError> {
        Ok(u32::from_le_bytes(self.take()?))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, FileError> {
        Ok(u64::from_le_bytes(self.take()?))
    }

    pub(crate) fn f64(&mut self) -> Result<f64, FileError> {
        Ok(f64::from_le_bytes(self.take()?))
    }

    /// Reads `count` bytes, after checking that the header has them.
    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'a [u8], FileError> {
        let header = self.header;
        let left = &header.bytes()[self.at..header.fields_end()];
        let found = left.get(..count).ok_or_else(|| self.wrong_length())?;
        self.at += count;
        Ok(found)
    }

    /// The plan of a filter of one size, as [`Body::of`] writes it.
    pub(crate) fn plan<P: Planner>(&mut self) -> Result<Plan, FileError> {
        let (bits, probes) = (self.u64()?, self.u32()?);
        let variant = if P::PARAMETER.is_some() { self.variant::<P>()? } else { P::USUAL };
        let (keys, fpp) = (self.header.planned_keys(), self.header.planned_fpp());
        Ok(Plan { variant, keys, fpp, bits, probes })
    }

    /// The kind's own parameter.
    pub(crate) fn variant<P: Planner>(&mut self) -> Result<Variant, FileError> {
        let number = self.u32()?;
        Ok(P::variant(number).ok_or_else(|| P::no_parameter(number))?)
    }

    /// Reads reserved bytes; [`end`](Self::end) checks that they are zero.
    pub(crate) fn zeros(&mut self, bytes: usize) -> Result<(), FileError> {
        self.nonzero = self.bytes(bytes)?.iter().fold(self.nonzero, |all, byte| all | byte);
        Ok(())
    }

    /// Checks that the header is exactly as long as its fields and the description of the keys require, and that
    /// reserved bytes are zero.
    pub(crate) fn end(mut self) -> Result<(), FileError> {
        let described = self.header.description_length();
        let length = Header::length_for(self.at - Header::COMMON + described);
        if self.header.bytes().len() != length {
            return Err(self.wrong_length());
        }
        self.zeros(self.header.fields_end() - self.at)?;
        let (field, found) = ("zeros", u64::from(self.nonzero));
        Ok(check_field(field, found, found == 0, "0 in reserved bytes")?)
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], FileError> {
        Ok(self.bytes(N)?.try_into().expect("N bytes"))
    }

    fn wrong_length(&self) -> FileError {
        FileError::Field(FieldError {
            field: "header_length",
            found: self.header.bytes().len() as u64,
            expected: "the fields of the kind and the description, rounded up to a multiple of 64, at least 128",
        })
    }
}

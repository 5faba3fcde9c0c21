//! Filters in serde's formats: the bytes of their files.

use core::fmt;
use core::marker::PhantomData;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::AnyFilter;
use crate::bits::{Block, Blocks};
use crate::filter::Filter;
use crate::filter::core::Core;
use crate::format::FileError;
use crate::hash::Portable;
use crate::prelude::*;

/// Serializes as the bytes of the umbel file.
impl<C: Core, H: Portable> Serialize for Filter<C, H> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.to_bytes())
    }
}

/// Deserializes from the bytes of an umbel file, all of them checked. A keyed filter is refused, since its secret is
/// not among them: read its bytes with [`from_bytes`](Filter::from_bytes).
impl<'de, C: Core<Storage = Blocks>> Deserialize<'de> for Filter<C> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_byte_buf(File(Self::from_plain_bytes, PhantomData))
    }
}

impl<C: Core<Storage = Blocks>> Filter<C> {
    fn from_plain_bytes(bytes: &[u8]) -> Result<Self, FileError> {
        Self::from_bytes(bytes)
    }
}

/// Serializes as the bytes of the umbel file.
impl<T: AsRef<[Block]>, H: Portable> Serialize for AnyFilter<T, H> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.to_bytes())
    }
}

/// Deserializes as a [`Filter`] does.
impl<'de> Deserialize<'de> for AnyFilter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let open = |bytes: &[u8]| Self::from_bytes(bytes);
        deserializer.deserialize_byte_buf(File(open, PhantomData))
    }
}

/// Visits the bytes of a file, however a format represents bytes.
struct File<F, T>(F, PhantomData<T>);

impl<'de, T, F: Fn(&[u8]) -> Result<T, FileError>> Visitor<'de> for File<F, T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes of an umbel file")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<T, E> {
        (self.0)(bytes).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<T, A::Error> {
        let mut bytes = Vec::new();
        while let Some(byte) = seq.next_element()? {
            bytes.push(byte);
        }
        self.visit_bytes(&bytes)
    }
}

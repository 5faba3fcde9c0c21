//! Serializes filters as the bytes of their files.

use core::fmt;
use core::marker::PhantomData;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::AnyFilter;
use crate::hash::Plain;
use crate::kinds::prelude::*;

impl<C: Core, H: Portable> Serialize for Hashed<C, H> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.to_bytes())
    }
}

impl<'de, C: Core<Storage: From<Blocks>>, H: Portable> Deserialize<'de> for Hashed<C, H> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_byte_buf(File(|bytes, unlock| Self::from_bytes(bytes, unlock)))
    }
}

/// Serializes as the bytes of the umbel file.
impl<H: Portable, T: AsRef<[Block]>> Serialize for AnyFilter<H, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.to_bytes())
    }
}

/// Deserializes from the bytes of an umbel file, all of them checked. Refuses a keyed filter, whose secret is not among
/// them: read its bytes with [`from_bytes_with`](Self::from_bytes_with).
impl<'de, H: Portable> Deserialize<'de> for AnyFilter<H> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_byte_buf(File(|bytes, unlock| Self::from_bytes_with(bytes, unlock)))
    }
}

/// Visits the bytes of a file, however a format represents bytes, and opens it.
struct File<T, H>(fn(&[u8], Plain<H>) -> Result<T, FileError>);

impl<'de, T, H: Portable> Visitor<'de> for File<T, H> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes of an umbel file")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<T, E> {
        (self.0)(bytes, Plain(PhantomData)).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<T, A::Error> {
        let mut bytes = Vec::new();
        while let Some(byte) = seq.next_element()? {
            bytes.push(byte);
        }
        self.visit_bytes(&bytes)
    }
}

//! Values that have names, which completions offer: kinds, formats and types of keys.

use std::error::Error;
use std::ffi::OsStr;
use std::marker::PhantomData;
use std::str::FromStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command};
use umbel::Kind;
use umbel_foreign::{Format, KeyType};

/// A parser of values that are one of some names, or one and a number behind it as in `counting:8`.
pub(crate) struct Named<T> {
    names: Vec<&'static str>,
    value: PhantomData<fn() -> T>,
}

pub(crate) fn kinds<T>() -> Named<T> {
    Named { names: Kind::ALL.map(Kind::name).into(), value: PhantomData }
}

pub(crate) fn formats<T>() -> Named<T> {
    Named { names: Format::ALL.map(Format::name).into(), value: PhantomData }
}

/// Kinds and formats that something converts to.
pub(crate) fn targets<T>() -> Named<T> {
    let mut named = formats();
    named.names.insert(0, Kind::Blocked.name());
    named
}

pub(crate) fn key_types<T>() -> Named<T> {
    Named { names: KeyType::ALL.map(KeyType::name).into(), value: PhantomData }
}

impl<T> Clone for Named<T> {
    fn clone(&self) -> Self {
        Self { names: self.names.clone(), value: PhantomData }
    }
}

impl<T> TypedValueParser for Named<T>
where
    T: FromStr + Clone + Send + Sync + 'static,
    T::Err: Into<Box<dyn Error + Send + Sync>>,
{
    type Value = T;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<T, clap::Error> {
        (|text: &str| T::from_str(text)).parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.names.iter().map(PossibleValue::new)))
    }
}

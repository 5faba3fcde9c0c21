//! Values that have names, which help and completions list: kinds, formats and types of keys.

use std::error::Error;
use std::ffi::OsStr;
use std::marker::PhantomData;
use std::str::FromStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};
use umbel::Kind;
use umbel_foreign::{Format, KeyType};

/// A parser of values that are one of some names, maybe followed by a number as in `counting:8`.
pub(crate) struct OneOf<T> {
    /// Each name, and what it means.
    names: Vec<(&'static str, &'static str)>,
    value: PhantomData<fn() -> T>,
}

pub(crate) fn kinds<T>() -> OneOf<T> {
    OneOf {
        names: Kind::ALL.iter().map(|kind| (kind.name(), meaning(*kind))).collect(),
        value: PhantomData,
    }
}

/// When to choose a kind, for the help of `--kind`.
fn meaning(kind: Kind) -> &'static str {
    match kind {
        Kind::Blocked => "The fastest: one cache line per key",
        Kind::Classic => "Fewer bits, but several cache lines per key",
        Kind::Sliced => "As classic, with a slice of the bits for each probe",
        Kind::Counting => {
            "Keys can be removed (umbel remove); counting:8 has counters of 8 bits instead of 4"
        }
        Kind::Scalable => "Grows beyond its plan; scalable:1 grows in equal steps",
        Kind::Stable => "Remembers most of the last --keys keys of an endless stream",
        Kind::Window => "Remembers the last --keys keys, and misses none of them",
        Kind::Bloomier => {
            "The smallest; keeps the hashes of all keys in memory while it is built, and takes no keys later"
        }
        Kind::Attributes => "Holds rows: the fields named by --key, any of which can be looked up",
        Kind::Coded => "For rates below 1e-6: a table of hash codes",
        Kind::Cascade => {
            "Built as bloomier, without errors on two lists (umbel build --except); cascade:1 is one filter and an exact \
             list of its exceptions"
        }
        _ => "",
    }
}

pub(crate) fn formats<T>() -> OneOf<T> {
    OneOf {
        names: Format::ALL.iter().map(|format| (format.name(), "")).collect(),
        value: PhantomData,
    }
}

/// Kinds and formats that something converts to.
pub(crate) fn targets<T>() -> OneOf<T> {
    let mut named = formats();
    named.names.insert(0, (Kind::Blocked.name(), ""));
    named
}

pub(crate) fn key_types<T>() -> OneOf<T> {
    OneOf {
        names: KeyType::ALL.iter().map(|key_type| (key_type.name(), "")).collect(),
        value: PhantomData,
    }
}

impl<T> Clone for OneOf<T> {
    fn clone(&self) -> Self {
        Self { names: self.names.clone(), value: PhantomData }
    }
}

impl<T> TypedValueParser for OneOf<T>
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
        // With a parameter, as in counting:8.
        let text = value.to_string_lossy();
        let (name, _) = text.split_once(':').unwrap_or((&text, ""));
        let names = || self.names.iter().map(|(name, _)| *name);
        if T::from_str(&text).is_ok() || names().any(|known| known == name) {
            return (|text: &str| T::from_str(text)).parse_ref(command, arg, value);
        }
        let mut error = clap::Error::new(ErrorKind::InvalidValue).with_cmd(command);
        let mut add = |kind, value| drop(error.insert(kind, value));
        if let Some(arg) = arg {
            add(ContextKind::InvalidArg, ContextValue::String(arg.to_string()));
        }
        add(ContextKind::InvalidValue, ContextValue::String(text.to_string()));
        let all = names().map(str::to_owned).collect();
        add(ContextKind::ValidValue, ContextValue::Strings(all));
        if let Some(near) = umbel_numbers::nearest(name, names()) {
            add(ContextKind::SuggestedValue, ContextValue::String(near.to_owned()));
        }
        Err(error)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let value = |&(name, meaning): &(&'static str, &'static str)| {
            let value = PossibleValue::new(name);
            if meaning.is_empty() { value } else { value.help(meaning) }
        };
        Some(Box::new(self.names.iter().map(value)))
    }
}

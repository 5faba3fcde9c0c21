//! Values that have names, which help and completions list: kinds, formats and types of keys.

use std::error::Error;
use std::ffi::OsStr;
use std::marker::PhantomData;
use std::str::FromStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};
use umbel::Kind;
use umbel_foreign::{Format, KeyType};

/// A word, its help, and what it stands for.
pub(crate) type Choice<T> = (&'static str, &'static str, T);

/// A parser of one of some words.
pub(crate) fn of<T: Copy + Send + Sync + 'static, const N: usize>(
    all: [Choice<T>; N],
) -> impl TypedValueParser<Value = T> {
    let words = all.map(|(word, help, _)| PossibleValue::new(word).help(help));
    PossibleValuesParser::new(words).map(move |typed| {
        all.iter().find(|(word, ..)| *word == typed).expect("others are refused").2
    })
}

/// A parser of values that are one of some names, maybe followed by a number as in `counting:8`.
#[derive(Clone)]
pub(crate) struct OneOf<T> {
    /// Each name, and what it means.
    names: Vec<(&'static str, &'static str)>,
    value: PhantomData<fn() -> T>,
}

impl<T> OneOf<T> {
    fn new(names: impl Iterator<Item = (&'static str, &'static str)>) -> Self {
        Self { names: names.collect(), value: PhantomData }
    }
}

pub(crate) fn kinds<T>() -> OneOf<T> {
    OneOf::new(Kind::ALL.iter().map(|kind| (kind.name(), meaning(*kind))))
}

/// Kinds to which lines can be added one after the other.
pub(crate) fn growing<T>() -> OneOf<T> {
    let fixed = |kind: &Kind| kind.rows() || matches!(kind, Kind::Bloomier | Kind::Cascade);
    let growing = Kind::ALL.iter().filter(|kind| !fixed(kind));
    OneOf::new(growing.map(|kind| (kind.name(), meaning(*kind))))
}

/// When to choose a kind, for the help of `--kind`.
fn meaning(kind: Kind) -> &'static str {
    match kind {
        Kind::Blocked => "The fastest: one cache line per key",
        Kind::Classic => "Fewer bits, but several cache lines per key",
        Kind::Sliced => "As classic, with a slice of the bits for each probe",
        Kind::Counting => {
            "Keys can be removed (umbel filter remove); counting:8 has counters of 8 bits instead of 4"
        }
        Kind::Scalable => "Grows beyond its plan; scalable:1 grows in equal steps",
        Kind::Stable => "Remembers most of the last --keys keys of an endless stream",
        Kind::Window => "Remembers the last --keys keys, and misses none of them",
        Kind::Bloomier => {
            "The smallest; keeps the hashes of all keys in memory while it is built, and accepts no keys later"
        }
        Kind::Attributes => "Holds rows: the fields named by --key, any of which can be looked up",
        Kind::Coded => "For rates below 1e-6: a table of hash codes",
        Kind::Cascade => {
            "Built from all keys at once, without errors on two lists (umbel filter build --except); cascade:1 is one filter and an exact list of its exceptions"
        }
        _ => "",
    }
}

pub(crate) fn formats<T>() -> OneOf<T> {
    OneOf::new(Format::ALL.iter().map(|format| (format.name(), "")))
}

/// Kinds and formats that something converts to.
pub(crate) fn targets<T>() -> OneOf<T> {
    let mut named = formats();
    named.names.insert(0, (Kind::Blocked.name(), ""));
    named
}

pub(crate) fn key_types<T>() -> OneOf<T> {
    OneOf::new(KeyType::ALL.iter().map(|key_type| (key_type.name(), "")))
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

//! A goal as people type it, with the command line's error messages.

use std::str::FromStr;

use serde::Deserialize;
use umbel_numbers::{Fpp, KeyCount, Nanoseconds, Size, share, whole};
use umbel_report::advice::{Costs, Goal};

use crate::refused::Refused;

/// The options of `umbel filter plan`, as typed; empty ones are missing.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Typed {
    keys: String,
    fpp: String,
    memory: String,
    ship: String,
    deletes: bool,
    grows: bool,
    known: bool,
    ages: bool,
    except: String,
    lookup: String,
    false_answer: String,
    absent: String,
}

/// The value of a sum of products of powers, such as `3 * 1000 + 2^10`; `None` if it is not one, or too large.
fn sum(text: &str) -> Option<u64> {
    let power = |factor: &str| match factor.split_once('^') {
        None => whole(factor.trim()),
        Some((base, exponent)) => whole(base.trim())?.checked_pow(exponent.trim().parse().ok()?),
    };
    let product =
        |term: &str| term.split('*').try_fold(1u64, |all, factor| all.checked_mul(power(factor)?));
    text.split('+').try_fold(0u64, |all, term| all.checked_add(product(term)?))
}

/// Whether it has a character of a sum; so does 1e+9.
fn is_sum(text: &str) -> bool {
    text.contains(['*', '+', '^'])
}

/// A number of keys: as umbel reads it, or a [`sum`].
pub(crate) struct Keys(pub(crate) u64);

impl FromStr for Keys {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match sum(text) {
            Some(keys @ 1..) if is_sum(text) => Ok(Self(keys)),
            _ => text.parse::<KeyCount>().map(|keys| Self(keys.0)),
        }
    }
}

/// A size in bits: as umbel reads sizes, or a number of bits, such as `9600000 bits` or `2^16`.
pub(crate) struct Bits(pub(crate) u64);

impl FromStr for Bits {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bits = text.strip_suffix("bits").or_else(|| text.strip_suffix("bit"));
        match bits.or(Some(text).filter(|text| text.contains('^'))) {
            Some(bits) => match sum(bits) {
                Some(bits @ 1..) => Ok(Self(bits)),
                _ => Err(format!("{text:?} is not a number of bits such as 1000000 bits")),
            },
            None => text.parse::<Size>().map(|bytes| Self(bytes.0.saturating_mul(8))),
        }
    }
}

/// The value of an option, if given.
pub(crate) fn typed<T: FromStr<Err = String>>(
    field: &'static str,
    text: &str,
) -> Result<Option<T>, Refused> {
    match text.trim() {
        "" => Ok(None),
        text => text.parse().map(Some).map_err(|error| Refused::of(field, error)),
    }
}

/// Refuses an option that is given without another one.
fn needs(field: &'static str, text: &str, other: &str, given: bool) -> Result<(), Refused> {
    match text.trim() {
        text if given || text.is_empty() => Ok(()),
        _ => Err(Refused::of(field, format!("--{} needs --{other}", field.replace('_', "-")))),
    }
}

impl Typed {
    /// The goal that it describes.
    pub(crate) fn goal(&self) -> Result<Goal, Refused> {
        let lookup = typed::<Nanoseconds>("lookup", &self.lookup)?.map(|time| time.0);
        needs("except", &self.except, "known", self.known)?;
        needs("false_answer", &self.false_answer, "lookup", lookup.is_some())?;
        needs("absent", &self.absent, "lookup", lookup.is_some())?;
        let absent = match self.absent.trim() {
            "" => 0.5,
            text => share(text).map_err(|error| Refused::of("absent", error))?,
        };
        let false_answer = typed::<Nanoseconds>("false_answer", &self.false_answer)?;
        let mut goal = Goal::default();
        goal.keys = typed::<Keys>("keys", &self.keys)?.map(|keys| keys.0);
        goal.fpp = typed::<Fpp>("fpp", &self.fpp)?.map(|fpp| fpp.0);
        goal.memory = typed::<Bits>("memory", &self.memory)?.map(|bits| (bits.0 / 8).max(1));
        goal.ship = typed::<Size>("ship", &self.ship)?.map(|bytes| bytes.0);
        goal.deletes = self.deletes;
        goal.grows = self.grows;
        goal.known = self.known;
        goal.ages = self.ages;
        goal.except = typed::<KeyCount>("except", &self.except)?.map_or(0, |keys| keys.0);
        goal.costs = lookup.map(|lookup| {
            let mut costs = Costs::new(lookup, absent);
            costs.false_answer = false_answer.map_or(lookup, |time| time.0);
            costs
        });
        Ok(goal)
    }

    /// The command that plans for it.
    pub(crate) fn command(&self) -> String {
        // Forms that only the page reads are converted for the command line.
        let keys = match self.keys.trim().parse() {
            Ok(Keys(keys)) if is_sum(&self.keys) => keys.to_string(),
            _ => self.keys.clone(),
        };
        let memory = match self.memory.trim().parse() {
            Ok(Bits(bits)) if self.memory.contains("bit") || is_sum(&self.memory) => {
                (bits / 8).max(1).to_string()
            }
            _ => self.memory.clone(),
        };
        let mut command = "umbel filter plan".to_owned();
        for (name, text) in [
            ("keys", &keys),
            ("fpp", &self.fpp),
            ("memory", &memory),
            ("ship", &self.ship),
            ("except", &self.except),
            ("lookup", &self.lookup),
            ("false-answer", &self.false_answer),
            ("absent", &self.absent),
        ] {
            match text.trim() {
                "" => {}
                text if text.contains(' ') => command += &format!(" --{name} '{text}'"),
                text => command += &format!(" --{name} {text}"),
            }
        }
        for (name, given) in [
            ("deletes", self.deletes),
            ("grows", self.grows),
            ("known", self.known),
            ("ages", self.ages),
        ] {
            if given {
                command += &format!(" --{name}");
            }
        }
        command
    }
}

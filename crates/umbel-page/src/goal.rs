//! A goal as people type it, with the words that the command line has for what is wrong.

use std::str::FromStr;

use serde::Deserialize;
use umbel_advice::{Costs, Goal};
use umbel_numbers::{Bytes, Fpp, KeyCount, Nanoseconds, share};

use crate::request::Refused;

/// The options of `umbel plan`, as they are typed; empty ones are not given.
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

/// The value of an option that is given.
fn typed<T: FromStr<Err = String>>(field: &'static str, text: &str) -> Result<Option<T>, Refused> {
    match text.trim() {
        "" => Ok(None),
        text => text.parse().map(Some).map_err(|error| Refused::of(field, error)),
    }
}

/// Refuses an option that is given without another one.
fn needs(field: &'static str, text: &str, other: &str, given: bool) -> Result<(), Refused> {
    match text.trim() {
        "" => Ok(()),
        _ if given => Ok(()),
        _ => Err(Refused::of(field, format!("--{} needs --{other}", field.replace('_', "-")))),
    }
}

impl Typed {
    /// What it means.
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
        goal.keys = typed::<KeyCount>("keys", &self.keys)?.map(|keys| keys.0);
        goal.fpp = typed::<Fpp>("fpp", &self.fpp)?.map(|fpp| fpp.0);
        goal.memory = typed::<Bytes>("memory", &self.memory)?.map(|bytes| bytes.0);
        goal.ship = typed::<Bytes>("ship", &self.ship)?.map(|bytes| bytes.0);
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
        let mut command = "umbel plan".to_owned();
        for (name, text) in [
            ("keys", &self.keys),
            ("fpp", &self.fpp),
            ("memory", &self.memory),
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

//! The filters of the small module: blocked and classic ones. Each further kind would take 10 kB, and merging 12.

use alloc::format;
use alloc::vec::Vec;

use umbel::{Blocked, Classic, FileError, Filter, KeyHasher, Kind, Plan};

use crate::Result;
use crate::failure::Failure;
use crate::keys::{Key, figures, form, hashes, note};

pub(crate) enum Set {
    Blocked(Blocked),
    Classic(Classic),
}

/// Runs `$does` with a filter of either kind as `$filter`.
macro_rules! of_either {
    ($set:expr, $filter:ident => $does:expr) => {
        match $set {
            Set::Blocked($filter) => $does,
            Set::Classic($filter) => $does,
        }
    };
}

impl Set {
    pub(crate) fn open(words: &str, file: &[u8]) -> Result<Self> {
        if !words.is_empty() {
            return Err(elsewhere("another system's filter"));
        }
        match Blocked::from_bytes(file) {
            Err(FileError::Kind(_, Kind::Classic)) => Ok(Self::Classic(Classic::from_bytes(file)?)),
            Err(FileError::Kind(_, kind)) => Err(elsewhere(kind.name())),
            filter => Ok(Self::Blocked(filter?)),
        }
    }

    pub(crate) fn make(kind: &str, keys: u64, fpp: f64, _: bool) -> Result<Self> {
        if kind != "blocked" {
            return Err(elsewhere(kind));
        }
        let plan = Plan::for_keys(Kind::Blocked, keys, fpp)?;
        Ok(Self::Blocked(Blocked::with_plan(&plan, KeyHasher::default())?))
    }

    pub(crate) fn add(&mut self, keys: &[Key<'_>]) -> Result<Vec<u8>> {
        of_either!(self, filter => {
            note(filter, keys);
            let hashes = hashes(filter.hasher(), form(filter.description())?, keys)?;
            Ok(hashes.into_iter().map(|hash| filter.insert(hash).into()).collect())
        })
    }

    pub(crate) fn has(&self, keys: &[Key<'_>]) -> Result<Vec<u8>> {
        of_either!(self, filter => {
            let hashes = hashes(filter.hasher(), form(filter.description())?, keys)?;
            Ok(hashes.into_iter().map(|hash| filter.contains(hash).into()).collect())
        })
    }

    pub(crate) fn merge(&mut self, _: &Self) -> Result<()> {
        Err(elsewhere("merging"))
    }

    pub(crate) fn save(&self) -> Result<Vec<u8>> {
        Ok(of_either!(self, filter => filter.to_bytes()))
    }

    pub(crate) fn receipt(&self) -> (&'static str, Vec<f64>) {
        of_either!(self, filter => (filter.plan().kind().name(), figures(filter)))
    }
}

/// The error of a feature that only the other module has.
fn elsewhere(what: &str) -> Failure {
    format!("{what}: import umbel/foreign, which has all kinds and formats and can merge").into()
}

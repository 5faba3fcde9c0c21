//! `umbel group` in a program that was built without it.

use anyhow::{Result, bail};

use crate::Outcome;
use crate::args::GroupArgs;

pub(crate) fn group(_: &GroupArgs) -> Result<Outcome> {
    bail!(
        "this umbel was built without groups, which are experimental; build it with the feature \"group\" of umbel-cli (docs/privacy.md)"
    )
}

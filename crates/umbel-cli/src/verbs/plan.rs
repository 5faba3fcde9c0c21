//! `umbel plan`: what each kind of filter would cost.

use anyhow::{Result, bail};
use serde_json::json;
use umbel::math::classic;
use umbel::{Capacity, Kind, Plan};

use super::print;
use crate::Outcome;
use crate::args::PlanArgs;
use crate::numbers::{Count, Rate, Size};
use crate::pictures;
use crate::report::say;

pub(crate) fn plan(args: &PlanArgs) -> Result<Outcome> {
    if let Some(text) = super::table::asked_for(args)? {
        print(text)?;
        return Ok(Outcome::Done);
    }
    let keys = args.keys.map(|keys| keys.0);
    let fpp = args.fpp.map(|fpp| fpp.0);
    let memory = args.memory.map(|memory| memory.0);
    let question = |kind| {
        Ok(match (keys, fpp, memory) {
            (Some(keys), Some(fpp), None) => Plan::for_keys(kind, keys, fpp)?,
            (Some(keys), None, Some(memory)) => Plan::for_memory(kind, keys, memory)?,
            (None, Some(fpp), Some(memory)) => Plan::for_capacity(kind, fpp, memory)?,
            (Some(_), Some(_), Some(_)) => {
                bail!("--keys, --fpp and --memory: two of them give the third; leave one out")
            }
            _ => bail!("give two of --keys, --fpp and --memory; the third is computed"),
        })
    };
    let (mut plans, mut cannot) = (Vec::new(), Vec::new());
    for kind in Kind::ALL {
        match question(kind) {
            Ok(plan) => plans.push(plan),
            // What one kind cannot do others may: small rates, little memory.
            Err(error) => cannot.push((kind, error)),
        }
    }
    if plans.is_empty() {
        return Err(cannot.swap_remove(0).1);
    }
    for (kind, error) in cannot {
        say(&format!("umbel plan: no {kind}: {error}"));
    }
    pictures::of_plans(&args.pictures, &plans)?;
    print(table(&plans, args.json))?;
    Ok(Outcome::Done)
}

/// A row for each plan.
pub(super) fn table(plans: &[Plan], as_json: bool) -> String {
    let mut text = String::new();
    if !as_json {
        text += &format!(
            "{:<9} {:>17} {:>10} {:>10} {:>7} {:>13} {:>10}\n",
            "kind", "keys", "fpp", "memory", "probes", "bits per key", "x classic"
        );
    }
    for plan in plans {
        // A filter that grows or forgets keeps the promised rate beyond the keys of its plan.
        let fpp = match plan.kind.capacity() {
            Capacity::First | Capacity::Last => plan.fpp,
            _ => plan.predicted_fpp(),
        };
        // Against a classic filter of as many bits as the rate asks for in theory.
        let times = plan.bits_per_key() / classic::bits_per_key(fpp);
        text += &if as_json {
            format!(
                "{}\n",
                json!({
                    "type": "plan", "kind": plan.kind.name(), "keys": plan.keys, "fpp": plan.fpp,
                    "predicted_fpp": plan.predicted_fpp(),
                    "bytes": plan.bytes(), "bits": plan.bits, "probes": plan.probes, "bits_per_key": plan.bits_per_key(),
                    "times_classic": times,
                })
            )
        } else {
            format!(
                "{:<9} {:>17} {:>10} {:>10} {:>7} {:>13.2} {:>10.2}\n",
                plan.kind,
                Count(plan.keys),
                Rate(fpp),
                Size(plan.bytes()),
                plan.probes,
                plan.bits_per_key(),
                times
            )
        };
    }
    text
}

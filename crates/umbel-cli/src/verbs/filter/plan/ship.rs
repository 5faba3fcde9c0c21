//! `umbel filter plan --ship`: filters ranked by the bits sent.

use super::PlanArgs;
use anyhow::{Result, bail};
use serde_json::json;
use umbel_numbers::{Count, Rate, Size, in_threes};
use umbel_report::advice::{Sent, by_bits_sent};

/// The table, if it is asked for.
pub(super) fn asked_for(args: &PlanArgs) -> Result<Option<String>> {
    if !matches!(args.ship, Some(None)) {
        return Ok(None);
    }
    let (Some(keys), Some(fpp)) = (args.keys, args.fpp) else {
        bail!("--ship without a size lists filters for --keys and --fpp; give both, or a size");
    };
    let all = by_bits_sent(keys.0, fpp.0)?;
    Ok(Some(match args.json {
        true => all.iter().map(|sent| format!("{}\n", object(sent))).collect(),
        false => text(&all, keys.0, fpp.0),
    }))
}

fn text(all: &[Sent], keys: u64, fpp: f64) -> String {
    let mut text = format!("{} keys at {}, by the bits sent per key:\n\n", Count(keys), Rate(fpp));
    text += &format!(
        "{:<16} {:>6} {:>9} {:>10} {:>10} {:>13}  {:<7} takes more keys\n",
        "kind", "probes", "bits sent", "sent", "memory", "bits in memory", "merges"
    );
    for sent in all {
        let name = match sent.packed {
            true => format!("{}, packed", sent.variant),
            false => sent.variant.to_string(),
        };
        let yes = |it| if it { "yes" } else { "no" };
        text += &format!(
            "{name:<16} {:>6} {:>9} {:>10} {:>10} {:>14}  {:<7} {}\n",
            sent.plan.probes(),
            in_threes(&format!("{:.2}", sent.bits_per_key())),
            Size(sent.bytes),
            Size(sent.memory),
            in_threes(&format!("{:.2}", 8.0 * sent.memory as f64 / keys as f64)),
            yes(sent.merges()),
            yes(sent.takes_more()),
        );
    }
    if let Some(best) = all.iter().find(|sent| sent.packed) {
        let probes = match best.plan.probes() {
            1 => String::new(),
            probes => format!("={probes}"),
        };
        text += &format!(
            "\nbits sent, bits in memory: per key. Packed filters are smaller until they are full.\n\
             Build one with: umbel filter build --ship{probes} --keys {keys} --fpp {fpp} -o FILTER FILE…; then umbel filter pack FILTER -o PACKED\n",
        );
    }
    text
}

fn object(sent: &Sent) -> serde_json::Value {
    json!({
        "type": "plan", "kind": sent.variant.kind().name(), "variant": sent.variant.to_string(),
        "packed": sent.packed, "keys": sent.plan.keys(), "fpp": sent.plan.fpp(),
        "predicted_fpp": sent.plan.predicted_fpp(), "bits": sent.plan.bits(), "bytes": sent.memory,
        "ship_bytes": sent.bytes, "probes": sent.plan.probes(),
        "bits_per_key": sent.plan.bits_per_key(), "sent_per_key": sent.bits_per_key(),
        "merges": sent.merges(), "takes_more": sent.takes_more(),
    })
}

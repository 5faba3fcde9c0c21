//! `umbel info`: the receipt of a filter.

use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};
use umbel::filter::Link;
use umbel::{AnyFilter, Receipt};

use super::print;
use crate::Outcome;
use crate::args::InfoArgs;
use crate::numbers::{Count, Rate, Size};
use crate::{filters, report};

pub(crate) fn info(args: &InfoArgs) -> Result<Outcome> {
    for (i, path) in args.filters.iter().enumerate() {
        let filter = filters::read_sealed(path)?;
        let receipt = filter.receipt();
        let links = match &filter {
            AnyFilter::Scalable(filter) => filter.links(),
            _ => &[],
        };
        if args.voice.json {
            let mut object = report::receipt_json(&receipt);
            if !links.is_empty() {
                object["chain"] = links.iter().map(link_json).collect();
            }
            object["type"] = json!("info");
            object["file"] = json!(path.display().to_string());
            print(format!("{object}\n"))?;
        } else {
            let gap = if i > 0 { "\n" } else { "" };
            print(format!("{gap}{}", text(path, &receipt, links)))?;
        }
    }
    Ok(Outcome::Done)
}

fn link_json(link: &Link) -> Value {
    let plan = link.plan();
    json!({
        "planned_keys": plan.keys,
        "taken": link.taken(),
        "planned_fpp": plan.fpp,
        "fpp": link.receipt().fpp,
        "bits": plan.bits,
        "probes": plan.probes,
    })
}

fn text(path: &Path, receipt: &Receipt, links: &[Link]) -> String {
    let plan = &receipt.plan;
    let interval = if receipt.keys.high.is_finite() {
        format!(
            " (95 %: {} to {})",
            Count(receipt.keys.low as u64),
            Count(receipt.keys.high.ceil() as u64)
        )
    } else {
        String::new()
    };
    let state = if receipt.over_filled {
        report::over_filled(receipt)
    } else if let Some(last) = links.last() {
        let left = Count(last.plan().keys - last.taken());
        format!("within its promise, room for {left} more keys before it grows")
    } else {
        let left = (plan.keys as f64 - receipt.keys.value).max(0.0) as u64;
        format!("within its plan, room for about {} keys", Count(left))
    };
    let inside = match links.len() {
        0 => format!("{} probes a key", plan.probes),
        1 => "1 link".to_owned(),
        links => format!("{links} links"),
    };
    let planned = match links.len() {
        0 => format!(
            "{} keys at a rate of {} ({:.2} bits a key)",
            Count(plan.keys),
            Rate(plan.fpp),
            plan.bits_per_key()
        ),
        _ => format!(
            "{} keys, then growing, at a rate of {} over all growth",
            Count(plan.keys),
            Rate(plan.fpp)
        ),
    };
    let chain: String = (1..).zip(links).map(|(number, link)| link_line(number, link)).collect();
    format!(
        "{}\n\
         \x20 kind       {}, {}\n\
         \x20 scheme     {}\n\
         \x20 size       {}, {} bits\n\
         \x20 planned    {}\n\
         \x20 fill       {} bits set, {:.2} %\n\
         \x20 keys       {}{}\n\
         \x20 rate now   {}, from its own bits\n\
         \x20 state      {}\n\
         {}",
        path.display(),
        plan.kind,
        inside,
        receipt.scheme,
        Size(receipt.bytes()),
        Count(receipt.bits),
        planned,
        Count(receipt.set_bits),
        receipt.fill * 100.0,
        report::estimate(receipt),
        interval,
        Rate(receipt.fpp),
        state,
        chain
    )
}

fn link_line(number: usize, link: &Link) -> String {
    let plan = link.plan();
    format!(
        "  link {number:<5} {} of {} keys, {}, {} probes, rate now {} of {}\n",
        Count(link.taken()),
        Count(plan.keys),
        Size(plan.bytes()),
        plan.probes,
        Rate(link.receipt().fpp),
        Rate(plan.fpp)
    )
}

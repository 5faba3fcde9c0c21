//! `umbel info`: the receipt of a filter.

use std::path::Path;

use anyhow::Result;
use serde_json::json;
use umbel::Receipt;

use super::print;
use crate::Outcome;
use crate::args::InfoArgs;
use crate::numbers::{Count, Rate, Size};
use crate::{filters, report};

pub(crate) fn info(args: &InfoArgs) -> Result<Outcome> {
    for (i, path) in args.filters.iter().enumerate() {
        let receipt = filters::read_sealed(path)?.receipt();
        if args.voice.json {
            let mut object = report::receipt_json(&receipt);
            object["type"] = json!("info");
            object["file"] = json!(path.display().to_string());
            print(format!("{object}\n"))?;
        } else {
            let gap = if i > 0 { "\n" } else { "" };
            print(format!("{gap}{}", text(path, &receipt)))?;
        }
    }
    Ok(Outcome::Done)
}

fn text(path: &Path, receipt: &Receipt) -> String {
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
    } else {
        let left = (plan.keys as f64 - receipt.keys.value).max(0.0) as u64;
        format!("within its plan, room for about {} keys", Count(left))
    };
    format!(
        "{}\n\
         \x20 kind       {}, {} probes a key\n\
         \x20 scheme     {}\n\
         \x20 size       {}, {} bits\n\
         \x20 planned    {} keys at a rate of {} ({:.2} bits a key)\n\
         \x20 fill       {} bits set, {:.2} %\n\
         \x20 keys       {}{}\n\
         \x20 rate now   {}, from its own bits\n\
         \x20 state      {}\n",
        path.display(),
        plan.kind,
        plan.probes,
        receipt.scheme,
        Size(plan.bytes()),
        Count(plan.bits),
        Count(plan.keys),
        Rate(plan.fpp),
        plan.bits_per_key(),
        Count(receipt.set_bits),
        receipt.fill * 100.0,
        report::estimate(receipt),
        interval,
        Rate(receipt.fpp),
        state
    )
}

//! Filters made from a list of keys: umbel's own, or another system's, as `umbel filter build` makes them.

use anyhow::Result;
use serde::Deserialize;
use serde_json::{Value, json};
use umbel::{AnyFilter, Blocked, Cascade, Filter, KeyForm, KeyHasher, Kind, Plan, Variant};
use umbel_foreign::{Foreign, ForeignFilter, ForeignInsert, Format, KeyType, Parameters};
use umbel_numbers::{Fpp, Size};
use umbel_report::receipt::{Receipt, beyond};

use crate::Host;
use crate::goal::typed;
use crate::refused::Refused;

/// The filter to make.
#[derive(Deserialize)]
pub(crate) struct Asked {
    /// One of umbel's kinds, with its parameter if it has one; or the name of another system's format.
    what: String,
    /// One key per line.
    keys: String,
    /// For a cascade: keys that must not pass, one per line.
    #[serde(default)]
    except: String,
    #[serde(default)]
    fpp: String,
    #[serde(default)]
    key_type: String,
}

/// The largest filter that is made in a page.
pub(crate) const MOST_MADE: u64 = 1 << 28;
const USUAL_FPP: f64 = 0.01;

/// Makes the file, gives it to the host, and answers with its receipt.
pub(crate) fn answer(host: &dyn Host, asked: &Asked) -> Result<Value, Refused> {
    let keys: Vec<&str> = asked.keys.split_terminator('\n').collect();
    if keys.is_empty() {
        return Err(Refused::of("keys", "no keys: give at least one line"));
    }
    let fpp = typed::<Fpp>("fpp", &asked.fpp)?.map_or(USUAL_FPP, |fpp| fpp.0);
    let (file, summary) = match asked.what.parse::<Format>() {
        Ok(format) => foreign(format, &keys, fpp, &asked.key_type)?,
        Err(_) => {
            let variant = asked.what.parse().map_err(|error| Refused::of("what", error))?;
            let except: Vec<&str> = asked.except.split_terminator('\n').collect();
            own(variant, &keys, &except, fpp)?
        }
    };
    host.give(&file);
    Ok(summary)
}

/// A file, and its summary.
type Made = (Vec<u8>, Value);

/// Gives the host two sample filters, which share half of their keys.
pub(crate) fn sample(host: &dyn Host) -> Result<Value> {
    let plan = Plan::for_keys(Kind::Blocked, 20_000, 0.01)?;
    let file = |name: &str, keys: std::ops::Range<u32>| -> Result<Value> {
        let mut filter = Blocked::with_plan(&plan, KeyHasher::default())?;
        let keys: Vec<String> = keys.map(|number| format!("key-{number}")).collect();
        filter.insert_all(&keys);
        host.give(&filter.to_bytes());
        Ok(json!({ "name": name }))
    };
    let files = [file("monday.umbel", 0..20_000)?, file("tuesday.umbel", 10_000..30_000)?];
    Ok(json!({ "files": files }))
}

fn own(variant: Variant, keys: &[&str], except: &[&str], fpp: f64) -> Result<Made, Refused> {
    let kind = variant.kind();
    if kind.rows() {
        let text =
            format!("{kind} is for rows of several fields: umbel filter build --kind {kind}");
        return Err(Refused::of("what", text));
    }
    let count = keys.len() as u64;
    let plan = match kind {
        Kind::Cascade => Plan::for_lists(variant, count, except.len() as u64, fpp),
        _ => Plan::for_keys(variant, count, fpp),
    };
    let plan = plan.map_err(|error| Refused::of("fpp", error))?;
    fits(plan.bytes())?;
    let hasher = KeyHasher::default();
    let filter = match kind {
        Kind::Cascade => {
            Cascade::build_with_plan(&plan, keys, except, hasher).map(AnyFilter::Cascade)
        }
        _ => AnyFilter::build(&plan, keys, hasher),
    };
    let mut filter = filter.map_err(|error| Refused::of("keys", error))?;
    filter.describe(KeyForm::Text.into());
    let receipt = filter.receipt();
    let summary = summary(&format!("{kind}.umbel"), Receipt::Own(&receipt), fpp, &[]);
    Ok((filter.to_bytes(), summary))
}

fn foreign(format: Format, keys: &[&str], fpp: f64, key_type: &str) -> Result<Made, Refused> {
    let refused = |error: umbel_foreign::Error| Refused::of("what", error);
    let key_type: KeyType = match key_type {
        "" => format.key_types()[0],
        name => name.parse().map_err(|error| Refused::of("key_type", error))?,
    };
    let given = Parameters {
        keys: format.parameters().contains(&"keys").then_some(keys.len() as u64),
        fpp: format.takes_rate().then_some(fpp),
        ..Parameters::default()
    };
    let plan = Foreign::plan(format, &given).map_err(refused)?;
    fits(plan.bytes)?;
    let mut filter = Foreign::new(format, &given).map_err(refused)?;
    filter.set_limit(MOST_MADE);
    let mut buffer = Vec::new();
    for (line, key) in (1..).zip(keys) {
        let key = key_type.read(key.as_bytes(), &mut buffer);
        let inserted = key.and_then(|key| filter.insert(key));
        inserted.map_err(|error| Refused::of("keys", format!("line {line}: {error}")))?;
    }
    filter.finish().map_err(refused)?;
    let receipt = filter.receipt();
    let mut warnings: Vec<String> = plan.warnings.iter().map(ToString::to_string).collect();
    if !format.grows() && receipt.keys.low > keys.len() as f64 {
        let planned = umbel_numbers::counted(keys.len() as u64, "key");
        warnings.push(beyond(&planned, &receipt.keys, receipt.fpp));
    }
    let name = format!("{}.bin", format.name());
    let summary = summary(&name, Receipt::Foreign(&receipt), fpp, &warnings);
    Ok((filter.encode().map_err(refused)?, summary))
}

fn fits(bytes: u64) -> Result<(), Refused> {
    if bytes <= MOST_MADE {
        return Ok(());
    }
    let (needs, most) = (Size(bytes), Size(MOST_MADE));
    let text = format!("needs {needs}, and a page makes {most} at most: use umbel filter build");
    Err(Refused::of("keys", text))
}

fn summary(name: &str, receipt: Receipt<'_>, fpp: f64, warnings: &[String]) -> Value {
    json!({ "files": [{ "name": name }], "rows": receipt.rows(), "fpp": fpp, "warnings": warnings })
}

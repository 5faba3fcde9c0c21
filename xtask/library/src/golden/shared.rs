//! The golden files of packed filters, deltas and signatures, made from the golden filters by their manifest, and
//! messages of summaries.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;
use umbel::{AnyFilter, Filter, KeyHasher, Kind, Plan};

use super::write;
use crate::made::{delta_of, messages, packed, signed_as};

/// Writes them to a folder. Filters and deltas need, together, each form of a frame, some several frames, and headers of
/// every length.
pub(super) fn write_all(folder: &Path) -> Result<()> {
    let manifest: Value = serde_json::from_slice(&fs::read(folder.join("manifest.json"))?)?;
    let cases = |array: &str| manifest[array].as_array().into_iter().flatten();
    let path = |case: &Value, field: &str| {
        let name = case[field].as_str().with_context(|| format!("{field} of {case}"))?;
        Ok::<_, anyhow::Error>(folder.join(name))
    };
    let read = |case: &Value, field: &str| Ok::<_, anyhow::Error>(fs::read(path(case, field)?)?);
    write(&folder.join("sparse.umbel"), &sparse()?)?;
    for case in cases("deltas") {
        let mut result = read(case, "base")?;
        if let Some(more) = case["more"].as_u64() {
            result = with_more(&result, more)?;
            write(&path(case, "result")?, &result)?;
        }
        write(&path(case, "file")?, &delta_of(&read(case, "base")?, &result)?)?;
    }
    // One of the signed files is packed, and one of the packed ones signed within.
    for _ in 0..2 {
        for case in cases("packed") {
            write(&path(case, "file")?, &packed(&read(case, "filter")?))?;
        }
        for case in cases("signed") {
            write(&path(case, "file")?, &signed_as(case, &read(case, "of")?))?;
        }
    }
    messages().iter().try_for_each(|(name, bytes)| write(&folder.join(name), bytes))
}

/// A filter planned for sending, whose frame is coded by set bits.
fn sparse() -> Result<Vec<u8>> {
    let plan = Plan::from_parts(Kind::Classic, 300, 0.0108, 300 * 92, 1)?;
    let keys: Vec<u64> = (0..300).collect();
    Ok(AnyFilter::build(&plan, &keys, KeyHasher::default())?.to_bytes())
}

fn with_more(base: &[u8], more: u64) -> Result<Vec<u8>> {
    let mut filter = AnyFilter::from_bytes(base)?;
    let keys: Vec<String> = (0..more).map(|n| format!("more {n}")).collect();
    filter.try_insert_all(&keys)?;
    Ok(filter.to_bytes())
}

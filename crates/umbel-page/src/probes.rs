//! Where a key's probes fall: the cells that it would set in an empty filter of the same plan.

use anyhow::Result;
use serde::Deserialize;
use serde_json::{Value, json};
use umbel::{AnyFilter, Filter, Variant};
use umbel_numbers::Size;
use umbel_report::advice::Inside;

use crate::files::{Content, Files};
use crate::make::MOST_MADE;
use crate::query::key_of;
use crate::refused::Refused;
use crate::steps::set_by;

/// A key in an open filter.
#[derive(Deserialize)]
pub(crate) struct Asked {
    handle: u32,
    key: String,
}

pub(crate) fn answer(files: &Files, asked: &Asked) -> Result<Value, Refused> {
    let Content::Own { filter, .. } = &files.get(asked.handle)?.content else {
        return Err(Refused::of("handle", "only umbel's own filters show their probes"));
    };
    let inside = Inside::of(filter);
    let block = u64::from(inside.block_cells());
    let mut cells = Vec::new();
    let key = key_of(filter, "", &asked.key);
    for (part, cell) in key.map_or_else(|| Ok(Vec::new()), |key| places(filter, &key))? {
        let number = (cell / block) as usize;
        let mut at = number as u64 * block;
        inside.cells(part, number..number + 1, &mut |value| {
            if at == cell {
                cells.push(json!({ "part": part, "cell": cell, "value": value }));
            }
            at += 1;
        });
    }
    Ok(json!({ "cells": cells }))
}

/// The part and the cell of each probe.
pub(crate) fn places(filter: &AnyFilter, key: &[u8]) -> Result<Vec<(usize, u64)>, Refused> {
    let kind = filter.kind();
    if !kind.inserts() {
        let text = format!("the probes of one key in a {kind} filter say nothing by themselves");
        return Err(Refused::of("handle", text));
    }
    if filter.bytes() > MOST_MADE {
        let text = format!("probes are shown in filters of up to {}", Size(MOST_MADE));
        return Err(Refused::of("handle", text));
    }
    let used = set_by(filter, key).map_err(|error| Refused::of("handle", error))?;
    let Variant::Window { generations } = filter.plan().variant() else { return Ok(used) };
    // The blocks of its generations are interleaved, and a key has the same cells in each.
    let (turns, block) = (u64::from(generations), u64::from(Inside::of(filter).block_cells()));
    let in_each = |(part, cell): (usize, u64)| {
        let first = cell / block / turns * turns;
        (0..turns).map(move |turn| (part, (first + turn) * block + cell % block))
    };
    Ok(used.into_iter().flat_map(in_each).collect())
}

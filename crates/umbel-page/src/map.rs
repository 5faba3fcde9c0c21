//! The bits of a filter: how full each stretch of a part is, and single cells when there is room for them.

use std::io::Write;
use std::ops::Range;

use serde::Deserialize;
use serde_json::{Value, json};
use umbel_foreign::ForeignFilter;
use umbel_report::advice::{Inside, Profile};
use umbel_report::fill;

use crate::files::{COARSE, Content, File, Files, STRETCHES};
use crate::refused::Refused;

/// Which cells are wanted.
#[derive(Deserialize)]
pub(crate) struct Asked {
    handle: u32,
    #[serde(default)]
    part: usize,
    #[serde(default)]
    from: u64,
    /// The cell after the last one; all cells if absent.
    to: Option<u64>,
    /// The most values to answer with.
    cells: u64,
}

/// The most values of an answer.
const MOST_VALUES: u64 = 1 << 16;

/// A part whose cells can be seen: blocks of cells.
trait Cells {
    fn blocks(&self) -> usize;
    /// Cells of a block.
    fn block(&self) -> u64;
    /// Calls `each` with the cells in use of each block.
    fn loads(&self, blocks: Range<usize>, each: &mut dyn FnMut(u32));
    /// Calls `each` with every cell.
    fn cells(&self, blocks: Range<usize>, each: &mut dyn FnMut(u64));
}

/// A part of a filter of umbel.
struct Own<'a> {
    inside: Inside<'a>,
    part: usize,
    blocks: usize,
}

impl Cells for Own<'_> {
    fn blocks(&self) -> usize {
        self.blocks
    }

    fn block(&self) -> u64 {
        self.inside.block_cells().into()
    }

    fn loads(&self, blocks: Range<usize>, each: &mut dyn FnMut(u32)) {
        self.inside.loads(self.part, blocks, each);
    }

    fn cells(&self, blocks: Range<usize>, each: &mut dyn FnMut(u64)) {
        self.inside.cells(self.part, blocks, each);
    }
}

/// The bits of another system's file, from the lowest of each byte on; a block has 64 bytes.
struct Foreign<'a>(&'a dyn ForeignFilter);

const BLOCK: usize = 64;

impl Foreign<'_> {
    /// Some bytes of the file, a block at a time. Some formats build the whole file for any part of it, so request
    /// everything together.
    fn bytes(&self, range: Range<usize>, each: &mut dyn FnMut(&[u8])) {
        let mut cut = Cut { at: 0, range, block: Vec::with_capacity(BLOCK), each };
        // It only writes to memory, so it cannot fail.
        let _ = self.0.write_to(&mut cut);
        if !cut.block.is_empty() {
            (cut.each)(&cut.block);
        }
    }
}

/// Cuts a range of the bytes written into blocks.
struct Cut<'a> {
    at: usize,
    range: Range<usize>,
    /// The start of a block that is not complete yet.
    block: Vec<u8>,
    each: &'a mut dyn FnMut(&[u8]),
}

impl Write for Cut<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let within = |place: usize| place.saturating_sub(self.at).min(bytes.len());
        let mut some = &bytes[within(self.range.start)..within(self.range.end)];
        self.at += bytes.len();
        if !self.block.is_empty() {
            let (end, rest) = some.split_at(some.len().min(BLOCK - self.block.len()));
            self.block.extend_from_slice(end);
            some = rest;
            if self.block.len() < BLOCK {
                return Ok(bytes.len());
            }
            (self.each)(&self.block);
            self.block.clear();
        }
        let (blocks, rest) = some.as_chunks::<BLOCK>();
        blocks.iter().for_each(|block| (self.each)(block));
        self.block.extend_from_slice(rest);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Cells for Foreign<'_> {
    fn blocks(&self) -> usize {
        (self.0.bytes() as usize).div_ceil(BLOCK)
    }

    fn block(&self) -> u64 {
        8 * BLOCK as u64
    }

    fn loads(&self, blocks: Range<usize>, each: &mut dyn FnMut(u32)) {
        self.bytes(blocks.start * BLOCK..blocks.end * BLOCK, &mut |block| {
            each(block.iter().map(|byte| byte.count_ones()).sum());
        });
    }

    fn cells(&self, blocks: Range<usize>, each: &mut dyn FnMut(u64)) {
        self.bytes(blocks.start * BLOCK..blocks.end * BLOCK, &mut |block| {
            for byte in block {
                (0..8).for_each(|bit| each(u64::from(byte >> bit & 1)));
            }
        });
    }
}

impl File {
    /// A part whose cells can be seen.
    fn part<'a>(&'a self, part: usize) -> Option<Box<dyn Cells + 'a>> {
        let own = |inside: Inside<'a>, part: usize| -> Option<Box<dyn Cells + 'a>> {
            let blocks = *inside.blocks().get(part)?;
            Some(Box::new(Own { inside, part, blocks }))
        };
        match &self.content {
            Content::Own { filter, .. } => own(Inside::of(filter), part),
            Content::Sealed { filter, .. } => own(Inside::of(filter), part),
            Content::Foreign { filter, .. } => {
                (part == 0).then(|| Box::new(Foreign(filter)) as Box<dyn Cells + 'a>)
            }
            Content::Table { table, receipts } => {
                Some(Box::new(Foreign(&table.pieces()[receipts.get(part)?.0].filter)))
            }
            Content::Index { .. } => None,
            Content::Parquet { filters, .. } => Some(Box::new(Foreign(&filters.get(part)?.filter))),
        }
    }

    /// The profile, computed once.
    fn profiled(&mut self) -> Option<&Profile> {
        if self.profile.is_none() {
            self.profile = match &self.content {
                Content::Own { filter, .. } => Some(Profile::of(filter, STRETCHES)),
                Content::Sealed { filter, .. } => Some(Profile::of(filter, STRETCHES)),
                _ => None,
            };
        }
        self.profile.as_ref()
    }

    /// Adds up the loads of a part once.
    fn summed(&mut self, part: usize) {
        if self.coarse.len() <= part {
            self.coarse.resize_with(part + 1, Vec::new);
        }
        if !self.coarse[part].is_empty() {
            return;
        }
        let sums = self.part(part).map(|cells| {
            let mut sums = vec![0; cells.blocks().div_ceil(COARSE)];
            let mut block = 0;
            cells.loads(0..cells.blocks(), &mut |load| {
                sums[block / COARSE] += u64::from(load);
                block += 1;
            });
            sums
        });
        self.coarse[part] = sums.unwrap_or_default();
    }
}

pub(crate) fn answer(files: &mut Files, asked: &Asked) -> Result<Value, Refused> {
    let file = files.get_mut(asked.handle)?;
    file.summed(asked.part);
    let one_part = matches!(&file.content, Content::Own { filter, .. } if Inside::of(filter).blocks().len() == 1)
        || matches!(&file.content, Content::Sealed { filter, .. } if Inside::of(filter).blocks().len() == 1);
    if one_part {
        file.profiled();
    }
    let sums = &file.coarse[asked.part];
    let Some(part) = file.part(asked.part) else {
        return Err(Refused::of("part", format!("there is no part {}", asked.part)));
    };
    let (block, blocks) = (part.block(), part.blocks());
    let all = block * blocks as u64;
    let to = asked.to.unwrap_or(all).min(all);
    let from = asked.from.min(to);
    let wanted = asked.cells.clamp(1, MOST_VALUES);
    let mut per = (to - from).div_ceil(wanted).max(1);
    // Stretches begin at a block, or at a group of blocks with known loads.
    let coarse = COARSE as u64 * block;
    let unit = if per >= 4 * coarse {
        coarse
    } else if per > block {
        block
    } else {
        1
    };
    per = per.div_ceil(unit) * unit;
    let from = from / unit * unit;
    let fill = per > 1;
    let values: Vec<f64> = if unit == 1 {
        cell_by_cell(&*part, from..to, per)
    } else {
        let end_of = |start: u64| (start + per).min(all);
        let starts = || (from..to).step_by(per as usize);
        let used: Vec<u64> = if unit == coarse {
            let of = |start: u64| {
                let end = (end_of(start).div_ceil(unit) as usize).min(sums.len());
                sums[(start / unit) as usize..end].iter().sum()
            };
            starts().map(of).collect()
        } else {
            let mut used = vec![0; starts().count()];
            let last = starts().last().map_or(from, end_of);
            let mut cells = 0;
            part.loads((from / block) as usize..(last / block) as usize, &mut |load| {
                used[(cells / per) as usize] += u64::from(load);
                cells += block;
            });
            used
        };
        let fills = starts().zip(used);
        fills.map(|(start, used)| used as f64 / (end_of(start) - start) as f64).collect()
    };
    let mean = sums.iter().sum::<u64>() as f64 / all as f64;
    let most = if fill { 1.0 } else { values.iter().copied().fold(1.0, f64::max) };
    let expected = match &file.profile {
        Some(profile) if one_part && per >= block => {
            fill::by_chance(profile, per as f64 / block as f64)
        }
        _ => None,
    };
    Ok(json!({
        "from": from, "to": to, "per": per, "values": values, "most": most, "fill": fill, "mean": mean,
        "expected": expected.map(|range| json!({ "low": range.start, "high": range.end })),
    }))
}

/// Single cells, or the share in use of every `per`.
fn cell_by_cell(part: &dyn Cells, range: Range<u64>, per: u64) -> Vec<f64> {
    let block = part.block();
    let first = range.start / block;
    let blocks = first as usize..range.end.div_ceil(block) as usize;
    let (mut at, mut values) = (first * block, Vec::new());
    let (mut used, mut seen) = (0u64, 0);
    part.cells(blocks, &mut |cell| {
        if range.contains(&at) {
            used += if per == 1 { cell } else { cell.min(1) };
            seen += 1;
            if seen == per || at + 1 == range.end {
                values.push(used as f64 / seen as f64);
                (used, seen) = (0, 0);
            }
        }
        at += 1;
    });
    values
}

pub(crate) fn profile(files: &mut Files, handle: u32) -> Result<Value, Refused> {
    let file = files.get_mut(handle)?;
    let name = file.name.clone();
    file.profiled();
    let (Some(profile), Content::Own { receipt, .. } | Content::Sealed { receipt, .. }) =
        (&file.profile, &file.content)
    else {
        return Err(Refused::of("handle", format!("{name}: only umbel's filters have a profile")));
    };
    let bars = fill::bars(profile);
    let column = |of: fn(&umbel_report::advice::Stretch) -> f64| {
        profile.stretches.iter().map(of).collect::<Vec<f64>>()
    };
    let generation = |of: fn(&umbel_report::advice::Load) -> f64| {
        profile.generations.iter().map(of).collect::<Vec<f64>>()
    };
    let sections = profile.sections.iter();
    let sections =
        sections.map(|one| json!({ "name": one.name, "start": one.start, "blocks": one.blocks }));
    Ok(json!({
        "title": name,
        "facts": fill::facts(profile, receipt),
        "histogram": {
            "from": bars.iter().map(|bar| bar.first).collect::<Vec<_>>(),
            "width": bars.first().map_or(1, |bar| bar.width),
            "counted": bars.iter().map(|bar| bar.counted).collect::<Vec<_>>(),
            "expected": profile.expected.as_ref().map(|_| {
                bars.iter().map(|bar| bar.expected).collect::<Vec<_>>()
            }),
        },
        "cells": profile.cells,
        "per_block": profile.loads.len() - 1,
        "stretches": {
            "start": profile.stretches.iter().map(|one| one.start).collect::<Vec<_>>(),
            "fill": column(|one| one.fill), "min": column(|one| one.min), "max": column(|one| one.max),
        },
        "sections": sections.collect::<Value>(),
        "generations": {
            "fill": generation(|one| one.fill), "min": generation(|one| one.min),
            "max": generation(|one| one.max),
        },
    }))
}

//! Line files whose contents are known in advance, for the benches.
//!
//! Every line is a function of an id, and every id a function of the line's position, so a file of any size is written in
//! one pass in constant memory, and the same arguments give the same bytes everywhere. The module knows which ids a file
//! holds and in what order; [`url`] knows what a line looks like, [`permutation`] how positions are shuffled.

pub mod permutation;
pub mod url;

use std::io::{self, Write};

use permutation::{Permutation, mix};
use url::UrlWriter;

/// One of two files with a known overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The first file.
    A,
    /// The second file.
    B,
}

/// Writes one of two files of `lines` distinct lines each, `shared` of which are in both; returns the bytes written.
///
/// With N lines and S shared ones, the ids below S are shared, S..N belong to A and N..2N−S to B. Each file goes through its
/// N ids in its own pseudo-random order, so the shared lines are spread over both and follow different orders in them.
///
/// # Errors
/// Whatever `out` answers.
///
/// # Panics
/// If `shared` is above `lines`, or `lines` above 2⁶².
pub fn write_urls(
    out: &mut impl Write,
    side: Side,
    lines: u64,
    shared: u64,
    seed: u64,
) -> io::Result<u64> {
    assert!(shared <= lines, "{shared} shared lines do not fit into {lines}");
    let (stream, first_own) = match side {
        Side::A => (1, shared),
        Side::B => (2, lines),
    };
    let order = Permutation::new(lines, mix(seed ^ mix(stream)));
    let mut urls = UrlWriter::new(seed);
    let ids = (0..lines).map(|at| {
        let place = order.apply(at);
        if place < shared { place } else { first_own + (place - shared) }
    });
    write_ids(out, &mut urls, ids)
}

/// Writes one file of `lines` lines of which `distinct` are different; gives the bytes written.
///
/// Each of the `distinct` ids occurs once, the other lines repeat ids drawn uniformly with replacement, and the whole is
/// shuffled: repeats are at all distances, and some lines occur three times or more.
///
/// # Errors
/// Whatever `out` answers.
///
/// # Panics
/// If `distinct` is above `lines`, or 0 with lines to write, or `lines` is above 2⁶².
pub fn write_dups(out: &mut impl Write, lines: u64, distinct: u64, seed: u64) -> io::Result<u64> {
    assert!(distinct <= lines, "{distinct} distinct lines do not fit into {lines}");
    assert!(distinct > 0 || lines == 0, "{lines} lines hold at least one distinct line");
    let order = Permutation::new(lines, mix(seed ^ mix(3)));
    let draw = mix(seed ^ mix(4));
    let mut urls = UrlWriter::new(seed);
    let ids = (0..lines).map(|at| {
        let place = order.apply(at);
        if place < distinct { place } else { mix(place ^ draw) % distinct }
    });
    write_ids(out, &mut urls, ids)
}

fn write_ids(
    out: &mut impl Write,
    urls: &mut UrlWriter,
    ids: impl Iterator<Item = u64>,
) -> io::Result<u64> {
    let mut bytes = 0;
    for id in ids {
        let line = urls.line(id);
        out.write_all(line)?;
        bytes += line.len() as u64;
    }
    out.flush()?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::url::LINE_BYTES;

    fn urls(side: Side, lines: u64, shared: u64, seed: u64) -> Vec<u8> {
        let mut file = Vec::new();
        let bytes = write_urls(&mut file, side, lines, shared, seed).unwrap();
        assert_eq!(bytes, file.len() as u64);
        file
    }

    fn dups(lines: u64, distinct: u64, seed: u64) -> Vec<u8> {
        let mut file = Vec::new();
        write_dups(&mut file, lines, distinct, seed).unwrap();
        file
    }

    /// The lines of a file, without their ends; checks the length of each and the end of the last.
    fn split(file: &[u8]) -> Vec<&[u8]> {
        assert!(file.is_empty() || file.ends_with(b"\n"));
        let lines: Vec<_> = file.split(|&byte| byte == b'\n').collect();
        let lines = lines[..lines.len() - 1].to_vec();
        assert!(lines.iter().all(|line| line.len() == LINE_BYTES));
        lines
    }

    #[test]
    fn two_files_hold_exactly_the_lines_asked_for() {
        for (lines, shared) in
            [(0, 0), (1, 0), (1, 1), (2, 1), (1000, 0), (1000, 1000), (20_000, 2_000), (4097, 1)]
        {
            let (a, b) = (urls(Side::A, lines, shared, 1), urls(Side::B, lines, shared, 1));
            let (a, b) = (split(&a), split(&b));
            assert_eq!((a.len() as u64, b.len() as u64), (lines, lines));
            let set_a: BTreeSet<_> = a.iter().collect();
            let set_b: BTreeSet<_> = b.iter().collect();
            assert_eq!((set_a.len() as u64, set_b.len() as u64), (lines, lines));
            assert_eq!(set_a.intersection(&set_b).count() as u64, shared);
        }
    }

    #[test]
    fn shared_lines_are_spread_and_ordered_apart() {
        let (a, b) = (urls(Side::A, 20_000, 2_000, 7), urls(Side::B, 20_000, 2_000, 7));
        let (a, b) = (split(&a), split(&b));
        let in_b: BTreeMap<_, _> = b.iter().enumerate().map(|(at, line)| (line, at)).collect();
        let pairs = a.iter().enumerate().filter_map(|(at, line)| Some((at, *in_b.get(line)?)));
        let pairs: Vec<(usize, usize)> = pairs.collect();

        // Each tenth of either file holds a hypergeometric count: mean 200, standard deviation under 13; 6 of them is 78.
        for tenth in 0..10 {
            let part = tenth * 2_000..(tenth + 1) * 2_000;
            let in_a = pairs.iter().filter(|pair| part.contains(&pair.0));
            let in_b = pairs.iter().filter(|pair| part.contains(&pair.1));
            for count in [in_a.count(), in_b.count()] {
                assert!((122..=278).contains(&count), "tenth {tenth} holds {count} shared lines");
            }
        }

        // Neighbours in A ascend in B about half the time: mean 1000, variance (n + 1) / 12, so 6 deviations are 78.
        let rising = pairs.windows(2).filter(|pair| pair[0].1 < pair[1].1).count();
        assert!((921..=1078).contains(&rising), "{rising} of 1999 neighbours keep their order");
    }

    #[test]
    fn one_file_holds_exactly_the_distinct_lines_asked_for() {
        for (lines, distinct) in [(0, 0), (1, 1), (10, 1), (1000, 999), (20_000, 19_000)] {
            let file = dups(lines, distinct, 1);
            let all = split(&file);
            assert_eq!(all.len() as u64, lines);
            assert_eq!(all.iter().collect::<BTreeSet<_>>().len() as u64, distinct);
        }
    }

    #[test]
    fn repeats_are_spread() {
        let file = dups(20_000, 19_000, 3);
        let mut seen = BTreeSet::new();
        let (mut early, mut late) = (0, 0);
        for (at, line) in split(&file).into_iter().enumerate() {
            if !seen.insert(line) {
                *(if at < 10_000 { &mut early } else { &mut late }) += 1;
            }
        }
        // A repeat falls into the first half when both of its lines do: about a quarter of 1000, standard deviation under 14.
        assert_eq!(early + late, 1000);
        assert!((168..=332).contains(&early), "{early} repeats in the first half");
    }

    #[test]
    fn the_seed_decides_every_line() {
        assert_eq!(urls(Side::A, 500, 50, 1), urls(Side::A, 500, 50, 1));
        let (one, two) = (urls(Side::A, 500, 50, 1), urls(Side::A, 500, 50, 2));
        let one: BTreeSet<_> = split(&one).into_iter().collect();
        assert!(split(&two).iter().all(|line| !one.contains(line)));
    }
}

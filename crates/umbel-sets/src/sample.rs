//! Estimates from a few pieces of inputs: how many of their lines are distinct, and how many other inputs share.

use std::collections::{HashMap, HashSet};

use memchr::memchr;
use umbel_io::{PageBuffer, in_order};

use crate::input::Reader;
use crate::prelude::*;
use crate::records::{Copied, Found, Head};

/// The number of pieces read of an input, evenly spread, and the maximum bytes of each: 60 thousand lines of 66 bytes.
/// In 20 million with each twice, 90 ± 10 pairs meet; in 2 × 20 million that share a tenth, 18 ± 4. Lines of one piece
/// are not independent: repeats are often close together, and pieces of sorted inputs share many lines or none.
const PIECES: u64 = 64;
const PIECE: u64 = if cfg!(test) { 256 } else { 64 << 10 };
/// All pieces together are at most this part of an input: for 32 MiB, pieces have 16 KiB, and a shared tenth still
/// gives 48 pairs. Reading an eighth of it took a third of the time of `common`.
const PART: u64 = if cfg!(test) { 1 } else { 32 };

/// Lines of a few pieces of inputs.
pub(crate) struct Sample {
    /// The pieces that contain each line, by a hash of its key.
    seen: HashMap<u64, Occurrences>,
    /// Lines read.
    read: u64,
    /// Lines read, counting equal ones of one piece once.
    met: u64,
    /// Lines of the whole inputs.
    lines: u64,
    /// Whether all of it was read.
    whole: bool,
}

/// How often a line was read, the number of pieces that contain it, and the last of those.
#[derive(Clone, Copy)]
struct Occurrences {
    pieces: u32,
    /// How often it was read.
    count: u32,
    last: u64,
}

impl Sample {
    /// Reads pieces of `inputs`, laid end to end, with about `lines` lines together. An unreadable record is skipped:
    /// this is not a check.
    pub(crate) fn of(scanner: &Scanner<'_>, inputs: &[Input], lines: u64) -> Result<Self, Error> {
        /// Bytes of a line: 25 in each of up to 16/7 places of the map; 8 in a list, thrice while that grows.
        const ENTRY: u64 = if cfg!(test) { 1 } else { 82 };
        /// Each thread has the bytes of a piece.
        const THREADS: usize = 8;
        let length = lengths(inputs);
        // Two samples exist at a time, and nothing else.
        let memory = scanner.budget.rest / 4;
        let (piece, most) = (PIECE.min(memory / PIECES), memory / ENTRY);
        let whole = length <= PIECES * piece && lines <= most;
        let (count, size, most) = match whole {
            // One more than fits shows that there are more lines than expected.
            true => (1, length, most + 1),
            false => (PIECES, piece.min(length / PIECES / PART), most / PIECES),
        };
        let pieces = Pieces { scanner, inputs, size, length, most: most as usize };
        let threads = scanner.budget.threads.min(THREADS);
        let keys = in_order(threads, count as usize, |i| pieces.keys(i as u64));
        let keys: Vec<_> = keys.into_iter().collect::<Result<_, _>>()?;
        let mut sample = Self { seen: HashMap::new(), read: 0, met: 0, lines, whole };
        sample.seen.reserve(keys.iter().map(Vec::len).sum());
        for (piece, keys) in (0..).zip(&keys) {
            for &key in keys {
                let new = Occurrences { pieces: 0, count: 0, last: u64::MAX };
                let met = sample.seen.entry(key).or_insert(new);
                met.count += 1;
                if met.last != piece {
                    (met.pieces, met.last) = (met.pieces + 1, piece);
                    sample.met += 1;
                }
            }
            sample.read += keys.len() as u64;
        }
        sample.whole &= sample.read < most;
        Ok(sample)
    }

    /// Estimates how many pairs of a line here and one of the others are equal, and how many of these have a key that
    /// is in several pieces of both: a key with many lines is, unless these are adjacent. Exact if all was read; `None` if
    /// most keys are in the same piece of both, which are then of the same order: pieces show too many pairs.
    pub(crate) fn pairs(&self, others: &Self) -> Option<(u64, u64)> {
        /// For unordered lines, a key is in the same piece of both with a probability of 1 in [`PIECES`].
        const FEW: usize = 8;
        let scale = |sample: &Self| match sample.whole {
            true => 1.0,
            false => (sample.lines as f64 / sample.read.max(1) as f64).max(1.0),
        };
        let scale = scale(self) * scale(others);
        let (mut all, mut several) = (0.0, 0.0);
        let (mut keys, mut same) = (0, 0);
        for (key, met) in &self.seen {
            let Some(other) = others.seen.get(key) else { continue };
            keys += 1;
            same += usize::from(met.last == other.last);
            let pairs = f64::from(met.count) * f64::from(other.count) * scale;
            all += pairs;
            if (met.pieces > 1 || self.whole) && (other.pieces > 1 || others.whole) {
                several += pairs;
            }
        }
        let ordered = !self.whole && !others.whole && same > FEW.max(keys / 2);
        (!ordered).then_some((all as u64, several as u64))
    }

    /// Estimates the different lines of all inputs, from those in one piece and those in two: d + f₁²/2f₂, a lower
    /// bound (A. Chao 1984, <https://www.jstor.org/stable/4615964>). All lines if no pieces share any.
    pub(crate) fn distinct(&self) -> u64 {
        if self.whole {
            return self.seen.len() as u64;
        }
        let met = |pieces| self.seen.values().filter(|met| met.pieces == pieces).count() as f64;
        let unseen = met(1).powi(2) / (2.0 * met(2));
        (self.seen.len() as u64).saturating_add(unseen as u64).min(self.lines)
    }

    /// Estimates how many of these lines the others share; `None` if lines are shared in few pieces only, which reveals
    /// their order and not their number.
    pub(crate) fn shared(&self, other: &Self) -> Option<u64> {
        /// For unordered lines, shared lines are in so few pieces with a probability under 1e-7.
        const FEW_PIECES: usize = 32;
        const MANY_A_PIECE: usize = 4;
        if self.lines == 0 || other.lines == 0 {
            return Some(0);
        }
        let last = |(key, met): (&u64, &Occurrences)| Some((met.last, other.seen.get(key)?.last));
        let both: Vec<_> = self.seen.iter().filter_map(last).collect();
        let met = both.len();
        for (whole, pieces) in [
            (self.whole, both.iter().map(|(here, _)| here).collect::<HashSet<_>>()),
            (other.whole, both.iter().map(|(_, there)| there).collect()),
        ] {
            if !whole && pieces.len() < FEW_PIECES && met > MANY_A_PIECE * pieces.len() {
                return None;
            }
        }
        let share = |sample: &Self| sample.met.clamp(1, sample.lines) as f64 / sample.lines as f64;
        Some(((met as f64 / share(self) / share(other)) as u64).min(self.lines))
    }
}

/// The source of a sample's pieces.
struct Pieces<'a> {
    scanner: &'a Scanner<'a>,
    inputs: &'a [Input],
    length: u64,
    /// The bytes of a piece.
    size: u64,
    /// The most lines read of one.
    most: usize,
}

impl Pieces<'_> {
    /// The keys of piece `i`, by a hash. It continues from the end of an input in the next.
    fn keys(&self, i: u64) -> Result<Vec<u64>, Error> {
        let mut at = (self.length - self.size) / (PIECES - 1) * i;
        let (mut left, mut start) = (self.size, 0);
        let (mut bytes, mut keys) = (PageBuffer::default(), Vec::new());
        for input in self.inputs {
            let end = start + input.length();
            if at < end && left > 0 {
                let reader = input.open()?;
                let (head, _) = self.scanner.head(&reader)?;
                let here = left.min(end - at);
                self.read(&reader, &head, at - start..at - start + here, &mut bytes, &mut keys)?;
                (at, left) = (at + here, left - here);
            }
            start = end;
        }
        Ok(keys)
    }

    /// Adds the keys in a range of an input, by a hash, up to the maximum of a piece; reads the range into `bytes`.
    fn read(
        &self,
        reader: &Reader<'_>,
        head: &Head<'_>,
        range: Range<u64>,
        bytes: &mut PageBuffer,
        keys: &mut Vec<u64>,
    ) -> Result<(), Error> {
        let (offset, end, first) = (range.start, range.end, head.start as u64);
        let offset = offset.max(first).min(end);
        let mut copied = Copied::default();
        bytes.resize((end - offset) as usize);
        reader.read_at(bytes, offset)?;
        // The first and the last record of a piece are incomplete, except at the ends of the input.
        let kind = self.scanner.format.kind;
        let mut rest = &bytes[..];
        if offset > first {
            rest = kind.find(rest, &mut false).map_or(&[][..], |at| &rest[at + 1..]);
        }
        while keys.len() < self.most
            && let Some(mut end) = kind.find(rest, &mut false)
        {
            let place = offset + (bytes.len() - rest.len()) as u64;
            match head.next(&rest[..=end], place, &mut copied) {
                Ok((_, Found::Key(key) | Found::Alone(key, _) | Found::Empty(Some(key)))) => {
                    let key = key.record(&rest[..end], &copied.bytes).key();
                    keys.push(self.scanner.hasher.hash(key).low);
                }
                Ok(_) => {}
                Err(_) => end = memchr(b'\n', rest).unwrap_or(end),
            }
            rest = &rest[end + 1..];
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{input, workplace};

    /// Samples of files of 40,000 lines each: 900 lines of 22 bytes are read.
    fn samples(files: &[Vec<u64>]) -> Vec<Sample> {
        let (dir, options) = workplace(b'\n');
        let scanner = Scanner::new(&options, KeyHasher::default()).unwrap();
        let sample = |(i, lines): (usize, &Vec<u64>)| {
            let bytes: String = lines.iter().map(|line| format!("{line:021}\n")).collect();
            let input = input(dir.path(), &i.to_string(), bytes.as_bytes());
            Sample::of(&scanner, &[input], lines.len() as u64).unwrap()
        };
        files.iter().enumerate().map(sample).collect()
    }

    /// The numbers of a range in scrambled order, different for each seed.
    fn mixed(range: std::ops::Range<u64>, seed: u64) -> Vec<u64> {
        let mut numbers: Vec<u64> = range.collect();
        numbers.sort_by_key(|number| KeyHasher::with_seed(seed).hash(*number).high);
        numbers
    }

    const ALL: u64 = 1 << 15;

    #[test]
    fn shared_lines_are_estimated_and_sorted_ones_left_alone() {
        let samples = samples(&[
            mixed(0..ALL, 1),
            mixed(ALL / 2..ALL / 2 * 3, 2),
            mixed(2 * ALL..3 * ALL, 3),
            (0..ALL).collect(),
            (ALL / 2..ALL / 2 * 3).collect(),
        ]);
        let half = samples[0].shared(&samples[1]).unwrap();
        assert!((ALL / 8..ALL).contains(&half), "{half} of {ALL}, expected half");
        assert_eq!(samples[0].shared(&samples[2]), Some(0));
        let all = samples[3].shared(&samples[3]).unwrap();
        assert!(all > ALL / 10 * 9, "{all}");
        let clustered = samples[3].shared(&samples[4]);
        assert!(clustered.is_none_or(|shared| shared < ALL / 4 * 3), "{clustered:?}");
    }

    /// For a key on a third of the lines of both, the sample gives the pairs. Of unique keys, 900²/32,768 = 25 ± 5 are
    /// in both samples: 4 of 25 to 3 times 25 are four deviations and more.
    #[test]
    fn pairs_are_estimated() {
        let heavy = |seed| mixed(0..ALL, seed).into_iter().map(|i| if i % 3 == 0 { 0 } else { i });
        let samples = samples(&[
            heavy(1).collect(),
            heavy(2).collect(),
            mixed(0..ALL, 3),
            mixed(0..ALL, 4),
            vec![1, 1, 2],
            vec![1, 2, 1, 3],
        ]);
        let (all, several) = samples[0].pairs(&samples[1]).unwrap();
        for pairs in [all, several].map(|pairs| pairs as f64 / (ALL / 3 * (ALL / 3)) as f64) {
            assert!((0.8..1.25).contains(&pairs), "{pairs} of those that are there");
        }
        let (unique, several) = samples[2].pairs(&samples[3]).unwrap();
        let expected = ALL / 25 * 4..3 * ALL;
        assert!(expected.contains(&unique) && several == 0, "{unique} of {ALL}, {several}");
        assert_eq!(samples[4].pairs(&samples[5]), Some((5, 5)));
        // In the same order, pieces have the same lines.
        let same = self::samples(&[(0..ALL).collect(), (0..ALL).collect()]);
        assert_eq!(same[0].pairs(&same[1]), None);
        let together = |first: u64| (0..ALL).map(|i| if i < 400 { 0 } else { first + i }).collect();
        let samples = self::samples(&[together(0), together(ALL)]);
        assert_eq!(samples[0].pairs(&samples[1]).unwrap().1, 0);
    }

    #[test]
    fn different_lines_are_estimated_also_where_repeats_stand_together() {
        let few: Vec<u64> = mixed(0..ALL, 1).into_iter().map(|i| i % 512).collect();
        let pairs: Vec<u64> = (0..ALL).map(|i| i / 2).collect();
        let [few, pairs, all] =
            [few, pairs, mixed(0..ALL, 1)].map(|lines| samples(&[lines])[0].distinct());
        assert!((300..1200).contains(&few), "{few}");
        assert!(pairs > ALL / 3, "{pairs}: these are {}", ALL / 2);
        assert!(all > ALL / 10 * 9, "{all}");
        // As many bytes as all pieces have: they are counted.
        assert_eq!(samples(&[(0..700).map(|i| i / 2).collect()])[0].distinct(), 350);
    }
}

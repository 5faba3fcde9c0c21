//! Sorted inputs: one pass over all of them side by side, without a filter or a table.
//!
//! All inputs are cut at the same lines: the longest one at equal distances, the others where those lines belong, found
//! by binary search. Threads take one part after the other, the range of each input between two such lines, and compare
//! their lines as `comm` does. Every range must be sorted and between its two lines. The ranges of an input cover it,
//! so the inputs are sorted if all ranges are. Results are held until then, or dropped if another strategy is needed:
//! nothing depends on samples.

use std::cmp::Ordering;

use memchr::memchr;
use umbel_io::PageBuffer;

use super::prelude::*;
use crate::input::Reader;
use crate::line_counter::MARK;
use crate::pages::{PAGE, within_page};

/// Bytes of the longest input in a part: fewer waste time searching, more leave threads idle at the end.
const PART: [u64; 2] = if cfg!(test) { [64, 2048] } else { [1 << 20, 16 << 20] };
/// Bytes per read of the binary search: most lines are shorter.
const PROBE: usize = if cfg!(test) { 64 } else { 1 << 10 };
/// Bytes of results that are held or written together.
const PIECE: usize = if cfg!(test) { 128 } else { 256 << 10 };
/// Bytes of an input's buffer: the minimum, the initial size and the maximum. It holds two lines.
const LEAST: u64 = if cfg!(test) { 256 } else { 64 << 10 };
const START: usize = if cfg!(test) { 64 } else { 256 << 10 };
const MOST: u64 = if cfg!(test) { 2048 } else { 4 << 20 };
/// The maximum bytes of a line at which a part may begin.
const LONGEST: usize = if cfg!(test) { 1 << 10 } else { 1 << 20 };

/// Why a part cannot be merged: an error, or none if a line is out of order, or too long to be compared.
type Halt = Option<Error>;

/// Results of one or several parts.
struct Piece {
    part: u64,
    lines: u64,
    text: Vec<u8>,
}

/// The outcome of a thread: lines read of each input, and results in the order of parts, in memory or in a run.
struct Merged {
    lines: Vec<u64>,
    pieces: Vec<Piece>,
    runs: Runs,
}

impl Merged {
    /// Moves all results to a run.
    fn spill(&mut self) -> Result<(), Error> {
        for Piece { part, lines, text } in self.pieces.drain(..) {
            self.runs.push(Selected { place: part, count: lines, row: &text })?;
        }
        Ok(())
    }
}

impl SetOperation<'_> {
    /// Whether a merge can give the result: some lines of the first input, or the distinct lines of the only one.
    pub(super) fn can_merge(&self) -> bool {
        let of_one = self.rule.first_only || self.inputs.len() == 1;
        let Rule { at_least, counted, every, numbered, .. } = self.rule;
        let places = numbered || self.groups();
        let wanted = of_one && at_least < 2 && counted.is_none() && !every && !places;
        // Every thread opens all inputs.
        let files = (self.inputs.len() * self.budget.threads) as u64;
        wanted && self.buffer() >= LEAST && files <= self.budget.spare_files()
    }

    /// Bytes of the buffer of an input.
    fn buffer(&self) -> u64 {
        let all = (self.inputs.len() * self.budget.threads) as u64;
        (self.budget.rest / 4 / all.max(1)).min(MOST)
    }

    /// Whether samples of all inputs are sorted.
    pub(super) fn seems_sorted(&self) -> Result<bool, Error> {
        const SAMPLES: u64 = 64;
        let separator = self.options.form.records.end();
        let mut bytes = [0; 2 * PROBE];
        for input in self.inputs {
            let (reader, length) = (input.open()?, input.length());
            let mut last = Vec::new();
            for sample in 0..SAMPLES {
                let offset = length / SAMPLES * sample;
                let some = &mut bytes[..(length - offset).min(2 * PROBE as u64) as usize];
                reader.read_at(some, offset)?;
                if offset == 0 && some.starts_with(MARK) {
                    // The mark is not part of the first line, but would be compared as such.
                    return Ok(false);
                }
                let mut lines: Vec<_> = some.split(|byte| *byte == separator).collect();
                // The last one may go on, and the first one may have begun before.
                lines.pop();
                let lines = lines.get(usize::from(offset > 0)..).unwrap_or_default();
                if !lines.is_sorted() || lines.first().is_some_and(|first| **first < last[..]) {
                    return Ok(false);
                }
                if let Some(line) = lines.last() {
                    last = line.to_vec();
                }
            }
        }
        Ok(true)
    }

    /// Writes the result; `None` if the inputs turn out not to be sorted, with nothing written.
    pub(super) fn merge<'s>(
        &'s self,
        disk: &'s Disk,
        sink: &mut Sink<'_>,
    ) -> Result<Option<Report>, Error> {
        let longest = (0..self.inputs.len()).max_by_key(|&i| self.inputs[i].length()).unwrap_or(0);
        let length = self.inputs.get(longest).map_or(0, Input::length);
        let part = (length / (4 * self.budget.threads as u64)).clamp(PART[0], PART[1]);
        let parts = (length / part).max(1);
        let work = |part, worker: &mut Option<Worker<'s>>| -> Result<Vec<u64>, Halt> {
            self.options.resources.progress.check()?;
            let worker = match worker {
                Some(worker) => worker,
                none => none.insert(Worker::new(self, disk, longest)?),
            };
            worker.part(part, parts)?;
            Ok(Vec::new())
        };
        let threads = (self.budget.threads as u64).min(parts) as usize;
        // Each thread takes the first parts first, so its results are in the order of its parts.
        let all: Vec<_> = match on_parts(threads, (0..parts).rev().collect(), || None, work) {
            Ok(workers) => workers.into_iter().flatten().map(|worker| worker.merged).collect(),
            Err(halt) => return halt.map_or(Ok(None), Err),
        };
        for input in self.inputs {
            input.check_unchanged()?;
        }
        if self.inputs.iter().any(Input::grew) {
            // The input may have changed, which the other strategies detect.
            return Ok(None);
        }
        let mut passes = Passes::new(self.inputs);
        let lines = |i: usize| Tally::of_lines(all.iter().map(|merged| merged.lines[i]).sum());
        let tallies: Vec<_> = (0..self.inputs.len()).map(lines).collect();
        passes.record(self.inputs, 0..self.inputs.len(), &tallies)?;
        self.write_merged(all, disk, sink)?;
        Ok(Some(passes.finish(self.inputs, disk)))
    }

    /// Writes the results of all parts, in their order.
    fn write_merged(
        &self,
        all: Vec<Merged>,
        disk: &Disk,
        sink: &mut Sink<'_>,
    ) -> Result<(), Error> {
        let separator = self.options.form.records.end();
        let mut put = |text: &[u8], lines: u64| {
            if sink.is_plain() {
                return sink.text(text, lines);
            }
            let ended = text.strip_suffix(&[separator]).expect("every line has an end");
            ended
                .split(|byte| *byte == separator)
                .try_for_each(|row| sink.result(Selected { place: 0, count: 1, row }))
        };
        if all.iter().all(|merged| merged.runs.is_empty()) {
            let mut pieces: Vec<_> = all.into_iter().flat_map(|merged| merged.pieces).collect();
            pieces.sort_by_key(|piece| piece.part);
            return pieces.iter().try_for_each(|piece| put(&piece.text, piece.lines));
        }
        let mut runs = Runs::new(disk, self.budget.spill_buffers());
        for mut merged in all {
            merged.spill()?;
            merged.runs.end();
            runs.join(merged.runs)?;
        }
        let mut results = runs.merge(self.budget.rest / 4)?;
        while let Some(Selected { count, row, .. }) = results.next()? {
            put(row, count)?;
        }
        Ok(())
    }
}

/// A thread that merges parts.
struct Worker<'a> {
    operation: &'a SetOperation<'a>,
    cursors: Vec<Cursor<'a>>,
    longest: usize,
    /// Bytes of results that it may hold, and those it holds.
    room: usize,
    held: usize,
    merged: Merged,
}

impl<'a> Worker<'a> {
    fn new(operation: &'a SetOperation<'a>, disk: &Disk, longest: usize) -> Result<Self, Error> {
        let SetOperation { inputs, budget, .. } = *operation;
        let runs = Runs::new(disk, budget.spill_buffers() / budget.threads as u64);
        let cursor = |input: &'a Input| Ok(Cursor::new(input.open()?, operation));
        Ok(Self {
            operation,
            cursors: inputs.iter().map(cursor).collect::<Result<_, Error>>()?,
            longest,
            room: budget.rest as usize / 2 / budget.threads,
            held: 0,
            merged: Merged { lines: vec![0; inputs.len()], pieces: Vec::new(), runs },
        })
    }

    /// The line of the longest input at which a part begins: `None` for the first part, and for empty ones, which begin
    /// in the last line or after it.
    fn start(&self, part: u64, parts: u64) -> Result<Option<Vec<u8>>, Halt> {
        let Cursor { reader, separator, .. } = &self.cursors[self.longest];
        let length = reader.input().length();
        if part == 0 || part == parts {
            return Ok(None);
        }
        match line_start(reader, length / parts * part, *separator)? {
            start if start < length => line_at(reader, start, *separator).map(Some),
            _ => Ok(None),
        }
    }

    /// Merges a part of all inputs.
    fn part(&mut self, part: u64, parts: u64) -> Result<(), Halt> {
        let (from, until) = (self.start(part, parts)?, self.start(part + 1, parts)?);
        if part > 0 && from.is_none() {
            return Ok(());
        }
        let SetOperation { rule, options, .. } = *self.operation;
        let separator = options.form.records.end();
        let mut bytes = 0;
        for cursor in &mut self.cursors {
            let bound = |key: &Option<Vec<u8>>, none| {
                key.as_ref().map_or(Ok(none), |key| lower_bound(&cursor.reader, key, separator))
            };
            let range = bound(&from, 0)?..bound(&until, cursor.reader.input().length())?;
            if range.start > range.end {
                return Err(None);
            }
            bytes += range.end - range.start;
            cursor.begin_range(range, from.as_deref())?;
        }
        let piece = || Piece { part, lines: 0, text: Vec::new() };
        let mut found = piece();
        let (first, others) = self.cursors.split_first_mut().expect("there are inputs");
        while first.here {
            if !first.repeats {
                let (mut among, line) = (0, first.line());
                for other in &mut *others {
                    among += usize::from(other.has(line)?);
                }
                if rule.wants(among as u64) {
                    found.text.extend_from_slice(line);
                    found.text.push(separator);
                    found.lines += 1;
                }
            }
            if found.text.len() >= PIECE {
                self.held += found.text.capacity();
                self.merged.pieces.push(std::mem::replace(&mut found, piece()));
                if self.held > self.room {
                    self.merged.spill()?;
                    self.held = 0;
                }
            }
            first.advance()?;
        }
        if found.lines > 0 {
            self.held += found.text.capacity() + size_of::<Piece>();
            self.merged.pieces.push(found);
        }
        for (lines, cursor) in self.merged.lines.iter_mut().zip(&mut self.cursors) {
            *lines += cursor.end_range(until.as_deref())?;
        }
        options.resources.progress.advance(bytes);
        Ok(())
    }
}

/// Reads the lines of a range of an input, which must be sorted.
struct Cursor<'a> {
    reader: Reader<'a>,
    separator: u8,
    /// Bytes that the buffer may grow to.
    most: usize,
    /// Bytes of the input, where they are in pages; those from `begin` on are still to be read.
    buffer: PageBuffer,
    begin: usize,
    filled: usize,
    /// The rest of the range.
    rest: Range<u64>,
    /// The line read last, and whether it is still the next one.
    line: Range<usize>,
    here: bool,
    /// Whether it equals the one before.
    repeats: bool,
    lines: u64,
}

impl<'a> Cursor<'a> {
    fn new(reader: Reader<'a>, operation: &SetOperation<'_>) -> Self {
        let size = operation.buffer() as usize;
        Self {
            reader,
            separator: operation.options.form.records.end(),
            most: size,
            buffer: PageBuffer::new(size.min(START).next_multiple_of(PAGE)),
            begin: 0,
            filled: 0,
            rest: 0..0,
            line: 0..0,
            here: false,
            repeats: false,
            lines: 0,
        }
    }

    /// Goes to the first line of a range, which must not be below `from`.
    fn begin_range(&mut self, range: Range<u64>, from: Option<&[u8]>) -> Result<(), Halt> {
        (self.begin, self.rest, self.lines) = (within_page(range.start), range, 0);
        (self.filled, self.line) = (self.begin, self.begin..self.begin);
        self.advance()?;
        match from {
            Some(from) if self.here && self.line() < from => Err(None),
            _ => Ok(()),
        }
    }

    /// Reads the range to its end, where all lines must be below `until`; returns how many there were.
    fn end_range(&mut self, until: Option<&[u8]>) -> Result<u64, Halt> {
        while self.here {
            self.advance()?;
        }
        match until {
            Some(until) if self.lines > 0 && self.line() >= until => Err(None),
            _ => Ok(self.lines),
        }
    }

    fn line(&self) -> &[u8] {
        &self.buffer[self.line.clone()]
    }

    /// Whether the range has a line; goes to the first one that is not below it.
    #[inline]
    fn has(&mut self, line: &[u8]) -> Result<bool, Halt> {
        while self.here {
            match self.line().cmp(line) {
                Ordering::Less => self.advance()?,
                order => return Ok(order == Ordering::Equal),
            }
        }
        Ok(false)
    }

    /// Goes to the next line, which must not be below this one.
    fn advance(&mut self) -> Result<(), Halt> {
        let end = loop {
            if let Some(end) = memchr(self.separator, &self.buffer[self.begin..self.filled]) {
                break self.begin + end;
            }
            if self.rest.is_empty() {
                if self.begin == self.filled {
                    self.here = false;
                    return Ok(());
                }
                break self.filled;
            }
            self.fill()?;
        };
        let next = self.begin..end;
        self.repeats = false;
        if self.lines > 0 {
            match self.buffer[self.line.clone()].cmp(&self.buffer[next.clone()]) {
                Ordering::Less => {}
                Ordering::Equal => self.repeats = true,
                Ordering::Greater => return Err(None),
            }
        }
        self.begin = (end + 1).min(self.filled);
        (self.line, self.here) = (next, true);
        self.lines += 1;
        Ok(())
    }

    /// Reads on, keeping the present line and what follows.
    fn fill(&mut self) -> Result<(), Halt> {
        let kept = self.line.start..self.filled;
        let start = (within_page(self.rest.start) + PAGE - kept.len() % PAGE) % PAGE;
        if start + kept.len() >= self.buffer.len() / 2 {
            let longer = (2 * self.buffer.len()).min(self.most.next_multiple_of(PAGE));
            if start + kept.len() >= longer {
                return Err(None);
            }
            self.buffer.resize(longer);
        }
        self.buffer.copy_within(kept.clone(), start);
        let moved = |at: usize| at - kept.start + start;
        self.line = start..moved(self.line.end);
        (self.begin, self.filled) = (moved(self.begin), moved(self.filled));
        let left = (self.rest.end - self.rest.start).min((self.buffer.len() - self.filled) as u64);
        let room = &mut self.buffer[self.filled..self.filled + left as usize];
        self.reader.read_at(room, self.rest.start)?;
        self.filled += left as usize;
        self.rest.start += left;
        Ok(())
    }
}

/// The line that starts at an offset.
fn line_at(reader: &Reader<'_>, start: u64, separator: u8) -> Result<Vec<u8>, Halt> {
    let left = reader.input().length() - start;
    let mut size = PROBE;
    loop {
        let mut bytes = vec![0; left.min(size as u64) as usize];
        reader.read_at(&mut bytes, start)?;
        let end = memchr(separator, &bytes);
        if end.is_some() || bytes.len() as u64 == left {
            bytes.truncate(end.unwrap_or(bytes.len()));
            return Ok(bytes);
        }
        if size == LONGEST {
            return Err(None);
        }
        size = (8 * size).min(LONGEST);
    }
}

/// Where the first line starts at or after an offset, which is not 0; the length if none does.
fn line_start(reader: &Reader<'_>, offset: u64, separator: u8) -> Result<u64, Halt> {
    let before = line_at(reader, offset - 1, separator)?;
    Ok((offset + before.len() as u64).min(reader.input().length()))
}

/// The offset of the first line of a sorted input that is not below a key; its length if all are.
fn lower_bound(reader: &Reader<'_>, key: &[u8], separator: u8) -> Result<u64, Halt> {
    let length = reader.input().length();
    // Lines that start before `low` are below the key; lines that start at `high` or later are not.
    let (mut low, mut high) = (0, length);
    while low < high {
        let middle = low + (high - low) / 2;
        let start = if middle == low { low } else { line_start(reader, middle, separator)? };
        if start >= high {
            high = middle;
            continue;
        }
        let line = line_at(reader, start, separator)?;
        match line[..] < *key {
            true => low = (start + line.len() as u64 + 1).min(length),
            false => high = start,
        }
    }
    Ok(low)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::*;

    /// The result of a merge, if the inputs are sorted.
    fn merged(
        inputs: &[Input],
        rule: Rule,
        budget: Budget,
        options: &Options,
    ) -> Option<(Vec<u8>, Report)> {
        let merge = SetOperation::within(budget, inputs, rule, options);
        assert!(merge.can_merge());
        let mut out = Vec::new();
        let mut sink = Sink::new(&mut out, options.form.records.end());
        let report = merge.merge(&Disk::new(&options.resources.tmp), &mut sink).unwrap()?;
        let report = sink.finish(report).unwrap();
        Some((out, report))
    }

    fn model(inputs: &[Vec<u8>], separator: u8, rule: Rule) -> Vec<u8> {
        let mut first = lines_of(&inputs[0], separator);
        first.dedup();
        let others: Vec<_> = inputs[1..].iter().map(|input| lines_of(input, separator)).collect();
        first.retain(|line| {
            let among = others.iter().filter(|other| other.contains(line)).count();
            match rule.others {
                Others::Semi(_) => among == others.len(),
                _ => among == 0,
            }
        });
        first.into_iter().flat_map(|line| [line, &[separator]].concat()).collect()
    }

    /// Files whose lines are sorted, without lines longer than a buffer.
    fn sorted() -> impl proptest::strategy::Strategy<Value = Files> {
        (files(1..5), any::<bool>()).prop_map(|(mut files, end)| {
            for input in &mut files.inputs {
                let mut lines = lines_of(input, files.separator);
                lines.sort_unstable();
                let mut bytes = lines.join(&files.separator);
                if (end || bytes.is_empty() || bytes.ends_with(&[files.separator]))
                    && !lines.is_empty()
                {
                    bytes.push(files.separator);
                }
                *input = bytes;
            }
            // Every input has a buffer for two lines.
            let threads = files.budget.threads.min(4);
            files.budget = Budget { threads, rest: 200_000, files: 1024, ..files.budget };
            files
        })
    }

    fn rules(inputs: usize) -> [Rule; 2] {
        let other = match inputs {
            1 => Rule::DISTINCT,
            _ => Rule::of_first(Others::Semi(inputs as u64 - 1), false),
        };
        [other, Rule::of_first(Others::Anti, false)]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: long(2000, 300), ..ProptestConfig::default() })]

        #[test]
        fn sorted_inputs_are_merged(files in sorted()) {
            let (dir, inputs, options) = files.workplace();
            for rule in rules(inputs.len()) {
                let result = merged(&inputs, rule, files.budget, &options);
                prop_assert!(result.is_some(), "they are sorted");
                let (found, report) = result.unwrap();
                prop_assert_eq!(&found, &model(&files.inputs, files.separator, rule));
                prop_assert_eq!(report.bytes_written, found.len() as u64);
                let lines = files.inputs.iter().map(|input| lines_of(input, files.separator).len());
                prop_assert_eq!(report.lines, lines.sum::<usize>() as u64);
            }
            prop_assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), inputs.len());
        }

        /// A line moved anywhere else is found.
        #[test]
        fn a_line_out_of_order_is_always_found(mut files in sorted(), input in any::<usize>(), from in any::<usize>(), to in any::<usize>()) {
            let number = input % files.inputs.len();
            let mut lines = lines_of(&files.inputs[number], files.separator);
            if lines.len() < 2 {
                return Ok(());
            }
            let line = lines.remove(from % lines.len());
            lines.insert(to % (lines.len() + 1), line);
            let is_sorted = lines.is_sorted();
            let mut bytes = lines.join(&files.separator);
            bytes.push(files.separator);
            files.inputs[number] = bytes;
            let (_dir, inputs, options) = files.workplace();
            for rule in rules(inputs.len()) {
                let result = merged(&inputs, rule, files.budget, &options);
                prop_assert_eq!(result.is_some(), is_sorted);
                if let Some((found, _)) = result {
                    prop_assert_eq!(found, model(&files.inputs, files.separator, rule));
                }
            }
        }
    }

    /// Sorted lines.
    fn numbers(lines: u32) -> Vec<u8> {
        (0..lines).flat_map(|i| format!("{i:07}\n").into_bytes()).collect()
    }

    /// Otherwise one thread would do the work of all.
    #[test]
    fn parts_are_equally_long() {
        let (_dir, inputs, options) = workplace_with(&[numbers(4_000)], b'\n');
        let job = SetOperation::within(cramped(3), &inputs, Rule::DISTINCT, &options);
        for part in 0..4 {
            let mut worker = Worker::new(&job, &Disk::new(&options.resources.tmp), 0).unwrap();
            assert!(worker.part(part, 4).is_ok());
            assert!((999..=1001).contains(&worker.merged.lines[0]), "{:?}", worker.merged.lines);
        }
    }

    /// Results that do not fit go through a temporary file; a line longer than a buffer is left to others.
    #[test]
    fn results_may_be_larger_than_memory_and_lines_may_not() {
        let (lines, common) = (numbers(20_000), Rule::of_first(Others::Semi(1), false));
        let (dir, inputs, options) = workplace_with(&[lines.clone(), lines.clone()], b'\n');
        let (found, report) = merged(&inputs, common, cramped(3), &options).unwrap();
        assert!(found == lines && report.bytes_spilled > 0);
        let budget = Budget { rest: 4_000_000, ..cramped(3) };
        let (found, report) = merged(&inputs, common, budget, &options).unwrap();
        assert!(found == lines && report.bytes_spilled == 0);
        let with_long = [&lines[..], &vec![b'x'; 5_000], b"\n"].concat();
        let inputs = write(dir.path(), &[with_long, lines]);
        assert!(merged(&inputs, common, budget, &options).is_none());
    }
}

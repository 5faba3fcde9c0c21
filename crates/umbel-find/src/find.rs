//! Finding lines: which blocks may hold a text, and which of their lines do.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use anyhow::{Context, Result, bail};
use memchr::{memchr, memchr_iter, memrchr};
use umbel_files::atomic;
use umbel_files::compression::{Compression, Point};
use umbel_index::layout::{Block, Entry};
use umbel_index::look_up::{Blocks, Wide, key_of_field};
use umbel_sets::{Bad, Missing, Options, on_each};

use crate::build::threads;
use crate::folders;
use crate::opened::{self, Index};
use crate::query::{Matching, Text};
use crate::settings::Settings;
use crate::stamp;
use crate::text::{self, Reading};

/// A line, or a record, that was found.
#[derive(Clone, Debug)]
pub struct Found<'a> {
    /// Its file.
    pub file: &'a Path,
    /// The number of its line, from 1.
    pub line: u64,
    /// The line, without its end.
    pub text: &'a [u8],
    /// The numbers of the texts that it has, from 0.
    pub keys: &'a [usize],
}

/// What is done with lines that are found; calls are in the order of the lines of a file.
pub trait Sink: Sync {
    /// Takes a line; appends to `out` what is to be printed. Returns whether more lines of the file are wanted.
    fn line(&self, found: &Found<'_>, out: &mut Vec<u8>) -> bool;
    /// Takes the number of lines that were found in a file, if there are any.
    fn file(&self, file: &Path, lines: u64, out: &mut Vec<u8>);
}

/// What is looked for.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Texts, or values of the field that an index is of; none is empty.
    pub texts: Vec<Vec<u8>>,
    /// How texts are compared; values of a field are compared as they are.
    pub matching: Matching,
}

/// What a search did.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Search {
    /// Files that were looked for it: those of the index, and new ones.
    pub files: u64,
    /// Blocks of the index, and those that were read because of their filters.
    pub blocks: u64,
    /// Blocks that may have a text, by their filters.
    pub blocks_read: u64,
    /// Bytes of text that were read.
    pub text_read: u64,
    /// Bytes of text of all files, as the index has it.
    pub text: u64,
    /// Lines that were found.
    pub found: u64,
    /// Files that changed since they were indexed, and were searched in full.
    pub stale: Vec<PathBuf>,
    /// Files that are not in the index, and were searched in full.
    pub new: Vec<PathBuf>,
    /// Files and folders of the index that are gone.
    pub gone: Vec<PathBuf>,
    /// Texts that the index cannot narrow down, by their numbers, and why.
    pub wide: Vec<(usize, Wide)>,
    /// Whether there was no index.
    pub without_index: bool,
}

/// What is searched of one file.
struct Job {
    path: PathBuf,
    /// Some blocks of it; all, if there are none.
    blocks: Option<Vec<Candidate>>,
    /// How it was compressed when it was indexed.
    compression: Option<Compression>,
    header: Option<Vec<u8>>,
}

impl Job {
    /// A search of all of a file.
    fn whole(path: PathBuf) -> Self {
        Self { path, blocks: None, compression: None, header: None }
    }
}

/// A block that may have a text.
struct Candidate {
    block: Block,
    point: Arc<Point>,
    /// Where it ends.
    end: u64,
    /// The numbers of the texts.
    texts: Vec<usize>,
}

/// Finds lines in the files of an index at `path`, or in the file or folder `path` itself.
///
/// Each line that holds one of the texts is passed on once, in the order of the files' names and of their lines. Files that have
/// changed since they were indexed, and files that were added to folders of the index, are searched in full.
///
/// # Errors
/// Those of reading and of `write`; an [`IndexError`](crate::IndexError).
pub fn find(
    path: &Path,
    wanted: &Wanted,
    options: &Options,
    sink: &dyn Sink,
    write: &mut (dyn FnMut(&[u8]) -> io::Result<()> + Send),
) -> Result<Search> {
    let mut search = Search::default();
    let (jobs, options) = match open(path)? {
        Some((index, settings)) => {
            let name = || path.display().to_string();
            if options.records != umbel_sets::Records::Lines {
                bail!(
                    "{}: is an index, which knows its records; omit the options that describe them",
                    name()
                );
            }
            let options = settings.apply(options);
            if !settings.are_words() && wanted.matching != Matching::default() {
                bail!(
                    "{}: is of a field, whose values are compared as a whole; omit -F, -w and -i",
                    name()
                );
            }
            // What has no key holds no value.
            let options = Options { missing: Missing::Skip, bad: Bad::Skip, ..options };
            (of_index(path, &index, wanted, &options, &mut search)?, options)
        }
        None => {
            let mut paths = Vec::new();
            folders::files(path, &mut paths)?;
            search.without_index = true;
            search.files = paths.len() as u64;
            (paths.into_iter().map(Job::whole).collect(), options.clone())
        }
    };
    let workers = threads(&options).min(jobs.len().max(1));
    let reading = Reading::new(&options, workers)?;
    if reading.lines && wanted.texts.iter().any(|text| memchr(reading.separator, text).is_some()) {
        bail!("a text has a line feed, which no line has; look for its lines with -f");
    }
    let run = Run {
        texts: wanted.texts.iter().map(|text| Text::new(text, wanted.matching)).collect(),
        values: wanted.texts.iter().map(|text| reading.rows[0].normalized(text)).zip(0..).collect(),
        reading,
        sink,
        read: AtomicU64::new(0),
        found: AtomicU64::new(0),
    };
    run.all(&jobs, workers, write)?;
    search.text_read = run.read.into_inner();
    search.found = run.found.into_inner();
    Ok(search)
}

/// The index at a path, unless that is something else.
fn open(path: &Path) -> Result<Option<(Index, Settings)>> {
    let name = || path.display().to_string();
    let mut file = umbel_system::open(path).with_context(name)?;
    let mut start = Vec::new();
    if file.metadata().with_context(name)?.is_dir() {
        return Ok(None);
    }
    file.by_ref().take(crate::MAGIC.len() as u64).read_to_end(&mut start).with_context(name)?;
    if start != crate::MAGIC {
        return Ok(None);
    }
    file.rewind().with_context(name)?;
    Ok(Some(opened::open(file).with_context(name)?))
}

/// Which files have to be read, and which blocks of them.
fn of_index(
    path: &Path,
    index: &Index,
    wanted: &Wanted,
    options: &Options,
    search: &mut Search,
) -> Result<Vec<Job>> {
    let name = || path.display().to_string();
    let reading = Reading::new(options, 1)?;
    let folder = folders::of_index(path);
    let mut candidates: HashMap<u32, Vec<usize>> = HashMap::new();
    let mut everywhere = Vec::new();
    let mut blocks = Blocks::of(index);
    for (number, text) in wanted.texts.iter().enumerate() {
        let keys = match index.fields().next().is_none() {
            true => {
                let text = Text::new(text, wanted.matching);
                match text.keys {
                    Ok(keys) => keys,
                    Err(wide) => {
                        search.wide.push((number, wide));
                        everywhere.push(number);
                        continue;
                    }
                }
            }
            false => vec![key_of_field(&reading.rows[0].normalized(text))],
        };
        let see = |block| candidates.entry(block).or_default().push(number);
        blocks.each(&keys, see).with_context(name)?;
    }
    search.blocks = index.block_count().into();
    let mut known = HashSet::new();
    let mut jobs = Vec::new();
    for entry in &index.files {
        let path = folder.join(&entry.path);
        search.files += 1;
        search.text += entry.text;
        match state(entry, &path)? {
            State::Gone => search.gone.push(path.clone()),
            State::Stale => {
                search.stale.push(path.clone());
                jobs.push(Job::whole(path.clone()));
            }
            State::Same => {
                let blocks =
                    blocks_of(entry, index, &candidates, &everywhere).with_context(name)?;
                search.blocks_read += blocks.len() as u64;
                if !blocks.is_empty() {
                    let (path, header) = (path.clone(), entry.header.clone());
                    let compression = opened::compression(entry.compression);
                    jobs.push(Job { path, blocks: Some(blocks), compression, header });
                }
            }
        }
        known.insert(path);
    }
    for root in &index.roots {
        let root = folder.join(root);
        if !root.exists() {
            // A file of its own was told above.
            if !known.contains(&root) {
                search.gone.push(root);
            }
            continue;
        }
        let mut paths = Vec::new();
        folders::files(&root, &mut paths)?;
        for file in paths {
            if known.insert(file.clone()) && !atomic::is_same_path(&file, path) {
                search.files += 1;
                search.new.push(file.clone());
                jobs.push(Job::whole(file));
            }
        }
    }
    jobs.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(jobs)
}

/// How a file is today.
enum State {
    Same,
    Stale,
    Gone,
}

fn state(entry: &Entry, path: &Path) -> Result<State> {
    let name = || path.display().to_string();
    match umbel_system::State::at(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(State::Gone),
        Err(error) => Err(error).with_context(name),
        Ok(now) if !now.is_file => Ok(State::Gone),
        Ok(now) => Ok(match stamp::is_of(&entry.stamp, path, &now).with_context(name)? {
            true => State::Same,
            false => State::Stale,
        }),
    }
}

/// The blocks of a file that may hold a text, with their ends, and the numbers of the texts.
fn blocks_of(
    entry: &Entry,
    index: &Index,
    candidates: &HashMap<u32, Vec<usize>>,
    everywhere: &[usize],
) -> Result<Vec<Candidate>> {
    let mut found: Vec<Candidate> = Vec::new();
    let wide = !everywhere.is_empty();
    let is_candidate = |number: u32| wide || candidates.contains_key(&number);
    if !(entry.first..entry.first + entry.blocks).any(is_candidate) {
        return Ok(found);
    }
    let blocks = index.blocks_of(entry)?;
    for (i, block) in blocks.iter().enumerate() {
        let number = entry.first + i as u32;
        if is_candidate(number) {
            let mut texts = candidates.get(&number).cloned().unwrap_or_default();
            texts.extend_from_slice(everywhere);
            texts.sort_unstable();
            let end = blocks.get(i + 1).map_or(entry.text, |next| next.start);
            let point = match found.last() {
                Some(last) if last.block.point == block.point => last.point.clone(),
                _ => Arc::new(opened::point(index, block)?),
            };
            found.push(Candidate { block: *block, point, end, texts });
        }
    }
    Ok(found)
}

/// A search that is going on.
struct Run<'a> {
    reading: Reading,
    texts: Vec<Text>,
    /// Values of the field, and which texts they are.
    values: HashMap<Vec<u8>, usize>,
    sink: &'a dyn Sink,
    read: AtomicU64,
    found: AtomicU64,
}

/// Whose turn it is to print.
struct Turns<'a> {
    next: Mutex<usize>,
    moved: Condvar,
    stop: &'a AtomicBool,
}

impl Turns<'_> {
    /// Waits for a turn; false if the run has stopped.
    fn wait(&self, number: usize) -> bool {
        let mut next = self.next.lock().expect("no worker panics");
        while *next != number {
            if self.stop.load(Ordering::Relaxed) {
                return false;
            }
            next = self.moved.wait(next).expect("no worker panics");
        }
        !self.stop.load(Ordering::Relaxed)
    }

    fn done(&self) {
        *self.next.lock().expect("no worker panics") += 1;
        self.moved.notify_all();
    }

    fn halt(&self) {
        // Whoever is about to wait has the lock.
        let _next = self.next.lock().expect("no worker panics");
        self.stop.store(true, Ordering::Relaxed);
        self.moved.notify_all();
    }
}

impl Run<'_> {
    /// Searches all files, several at a time, and prints what is found in their order.
    fn all(
        &self,
        jobs: &[Job],
        workers: usize,
        write: &mut (dyn FnMut(&[u8]) -> io::Result<()> + Send),
    ) -> Result<()> {
        let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        let turns = Turns { next: Mutex::new(0), moved: Condvar::new(), stop: &stop };
        let write = Mutex::new(write);
        let work = || -> Result<()> {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(job) = jobs.get(number) else { return Ok(()) };
                let mut put = |out: &mut Vec<u8>, end: bool| {
                    /// What waits for its turn in memory.
                    const MOST: usize = 1 << 18;
                    if out.len() < MOST && !end {
                        return Ok(true);
                    }
                    if !turns.wait(number) {
                        return Ok(false);
                    }
                    if !out.is_empty() {
                        let mut write = write.lock().expect("no worker panics");
                        write(out).map_err(umbel_sets::Error::Output)?;
                        out.clear();
                    }
                    Ok(true)
                };
                match self.one(job, &mut put) {
                    Ok(true) => turns.done(),
                    Ok(false) => return Ok(()),
                    Err(error) => {
                        turns.halt();
                        return Err(error);
                    }
                }
            }
        };
        on_each(workers, work).into_iter().collect()
    }

    /// Searches one file; false if the run has stopped.
    fn one(
        &self,
        job: &Job,
        put: &mut dyn FnMut(&mut Vec<u8>, bool) -> Result<bool>,
    ) -> Result<bool> {
        let name = || job.path.display().to_string();
        let file = File::open(&job.path).with_context(name)?;
        let size = file.metadata().with_context(name)?.len();
        let mut file_lines =
            Lines { run: self, path: &job.path, found: 0, out: Vec::new(), folded: Vec::new() };
        let lines = &mut file_lines;
        let mut goes_on = true;
        if let Some(blocks) = &job.blocks {
            let mut text: Option<text::Text<'_>> = None;
            for Candidate { block, point, end, texts } in blocks {
                let open = text
                    .take()
                    .filter(|text| text.offset <= block.start && text.offset >= point.text);
                let mut reader = match open {
                    Some(reader) => reader,
                    None => {
                        self.reading.open(&job.path, &file, size, job.compression, point.clone())?
                    }
                };
                let from = reader.offset;
                reader.skip_to(block.start, block.lines)?;
                reader.take(end - block.start, &mut |text, bytes| {
                    goes_on = lines.search(text, job.header.as_deref(), bytes, texts)?;
                    Ok(())
                })?;
                self.read.fetch_add(reader.offset - from, Ordering::Relaxed);
                text = Some(reader);
                if !put(&mut lines.out, false)? {
                    return Ok(false);
                }
                if !goes_on {
                    break;
                }
            }
        } else {
            let all: Vec<_> = (0..self.texts.len()).collect();
            let compression = self.reading.recognize(&job.path, &file)?;
            let mut text =
                self.reading.open(&job.path, &file, u64::MAX, compression, Arc::default())?;
            let header = text.start()?;
            while goes_on && let Some((_, length)) = text.next_block()? {
                goes_on = lines.search(&text, header.as_deref(), text.block(length), &all)?;
                text.pass(length);
                if !put(&mut lines.out, false)? {
                    return Ok(false);
                }
            }
            self.read.fetch_add(text.offset, Ordering::Relaxed);
        }
        if lines.found > 0 {
            self.found.fetch_add(lines.found, Ordering::Relaxed);
            self.sink.file(&job.path, lines.found, &mut lines.out);
        }
        put(&mut lines.out, true)
    }
}

/// The lines that are found in a file.
struct Lines<'a> {
    run: &'a Run<'a>,
    path: &'a Path,
    found: u64,
    out: Vec<u8>,
    folded: Vec<u8>,
}

impl Lines<'_> {
    /// Searches a block for some texts; false if no more lines are wanted.
    fn search(
        &mut self,
        text: &text::Text<'_>,
        header: Option<&[u8]>,
        bytes: &[u8],
        texts: &[usize],
    ) -> Result<bool> {
        let separator = self.run.reading.separator;
        // Where lines start and end, and which text is there.
        let mut found: Vec<(usize, usize, usize)> = Vec::new();
        if self.run.reading.lines {
            if texts.iter().any(|&number| self.run.texts[number].ignores_case()) {
                self.folded.clear();
                self.folded.extend_from_slice(bytes);
                self.folded.make_ascii_lowercase();
            }
            for &number in texts {
                let mut from = 0;
                while let Some(at) = self.run.texts[number].find(bytes, &self.folded, from) {
                    let start = memrchr(separator, &bytes[..at]).map_or(0, |end| end + 1);
                    let end = memchr(separator, &bytes[at..]).map_or(bytes.len(), |end| at + end);
                    found.push((start, end, number));
                    from = end + 1;
                }
            }
            found.sort_unstable();
        } else {
            let values = &self.run.values;
            for rows in &self.run.reading.rows {
                let see = &mut |row: std::ops::Range<usize>, key: &[u8]| {
                    if let Some(&number) = values.get(key) {
                        found.push((row.start, row.end, number));
                    }
                    Ok(())
                };
                rows.each(text.name(), header, bytes, text.offset, see)?;
            }
            // One row may have a value in several fields.
            found.sort_unstable();
            found.dedup();
        }
        let (mut line, mut counted) = (text.lines, 0);
        for same in found.chunk_by(|left, right| left.0 == right.0) {
            let (start, end, _) = same[0];
            line += memchr_iter(separator, &bytes[counted..start]).count() as u64;
            counted = start;
            let keys: Vec<_> = same.iter().map(|(_, _, number)| *number).collect();
            self.found += 1;
            let found =
                Found { file: self.path, line: line + 1, text: &bytes[start..end], keys: &keys };
            if !self.run.sink.line(&found, &mut self.out) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

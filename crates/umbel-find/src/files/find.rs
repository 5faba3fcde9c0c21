//! Finding lines: which blocks may hold a text, and which of their lines do.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use crate::index::layout::{Block, Entry, begins_as_index};
use crate::index::look_up::{Blocks, Wide, key_of_field, keys_of_text};
use crate::index::words;
use anyhow::{Context, Result, bail};
use memchr::{memchr, memchr_iter, memrchr};
use umbel_io::{FileId, atomic, on_each};
use umbel_numbers::Size;
use umbel_sets::sources::Room;
use umbel_sets::{Bad, Form, Missing, Options, Records, Resources};

use super::build::threads;
use super::folders::Base;
use super::opened::{self, Index};
use super::query::{Matching, Text};
use super::stamp;
use super::text::{self, Reading, Unreadable};
use super::{folders, memory};

/// A line, or a record, that was found.
#[derive(Clone, Debug)]
pub struct Found<'a> {
    /// Its file.
    pub file: &'a Path,
    /// The number of its line, from 1.
    pub line: u64,
    /// The line, without its end, and without a byte order mark.
    pub text: &'a [u8],
    /// The numbers of the texts that it has, from 0.
    pub keys: &'a [usize],
}

/// Receives the lines found; calls are in the order of the lines of a file.
pub trait Sink: Sync {
    /// Whether a text, by its number, is still searched for. Blocks that cannot contain such a text are not read.
    fn wants(&self, _text: usize) -> bool {
        true
    }

    /// Takes a line; appends the text to print to `out`. Returns whether more lines of the file are wanted.
    fn line(&self, found: &Found<'_>, out: &mut Vec<u8>) -> bool;
    /// Takes the number of lines that were found in a file, if there are any.
    fn file(&self, file: &Path, lines: u64, out: &mut Vec<u8>);
}

/// The texts to search for.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Texts, or values of the index's field; none is empty.
    pub texts: Vec<Vec<u8>>,
    /// How texts are compared; values of a field are compared exactly.
    pub matching: Matching,
    /// The file that results go to, which cannot be searched.
    pub output: Option<FileId>,
}

/// A summary of a search.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Search {
    /// Files that were searched: the index's files, and new ones.
    pub files: u64,
    /// Blocks of the index.
    pub blocks: u64,
    /// Blocks that were read: they may have a text, by their filters.
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
    /// Files and folders that cannot be read, and why; lines before a damaged place were found.
    pub unreadable: Vec<(PathBuf, String)>,
    /// Texts that the index cannot narrow down, by their numbers, and why.
    pub wide: Vec<(usize, Wide)>,
    /// Whether there was no index.
    pub without_index: bool,
}

/// A file that is searched.
struct Job<'a> {
    path: PathBuf,
    /// Its entry in the index, if only the blocks that may have a text are searched; otherwise all of it is.
    entry: Option<&'a Entry>,
}

/// Which blocks may have which texts, by their numbers.
#[derive(Default)]
struct Candidates {
    /// The texts of a block; `None` if there were too many to note.
    blocks: HashMap<u32, Option<Vec<u32>>>,
    /// Texts that any block may have.
    everywhere: Vec<u32>,
    /// Bytes of memory used to note texts, and the maximum.
    noted: u64,
    most: u64,
}

impl Candidates {
    /// Uses up to `most` bytes, if that is enough to note each block.
    fn within(most: u64) -> Self {
        Self { most, ..Self::default() }
    }

    /// Notes that a block may have a text. Texts come in the order of their numbers.
    fn add(&mut self, block: u32, text: u32) {
        /// Bytes of an entry of the map, and of a text in a vector that is half full.
        const BLOCK: u64 = 64;
        const TEXT: u64 = 8;
        let new = || {
            self.noted += BLOCK;
            Some(Vec::new())
        };
        let of_block = self.blocks.entry(block).or_insert_with(new);
        let Some(texts) = of_block else { return };
        if self.noted < self.most {
            texts.push(text);
            self.noted += TEXT;
        } else {
            self.noted -= TEXT * texts.len() as u64;
            *of_block = None;
        }
    }

    /// Whether a block may have any text.
    fn has(&self, block: u32) -> bool {
        !self.everywhere.is_empty() || self.blocks.contains_key(&block)
    }

    /// The texts, of `count`, that a block may have.
    fn texts(&self, block: u32, count: usize) -> Vec<usize> {
        let noted = match self.blocks.get(&block) {
            Some(None) => return (0..count).collect(),
            Some(Some(noted)) => &noted[..],
            None => &[],
        };
        let texts = noted.iter().chain(&self.everywhere);
        let mut texts: Vec<_> = texts.map(|&text| text as usize).collect();
        texts.sort_unstable();
        texts
    }
}

/// Finds lines in the files of an index at `path`, or in the file or folder `path` itself.
///
/// Each line that holds one of the texts is passed on once, in the order of the files' names and of their lines. Files
/// changed since they were indexed, and files added to the index's folders, are searched in full.
///
/// # Errors
/// Errors of reading and of `write`; an [`IndexError`](crate::IndexError); a memory cap too low for that many files; the output among them.
pub fn find(
    path: &Path,
    wanted: &Wanted,
    options: &Options,
    sink: &dyn Sink,
    write: &mut (dyn FnMut(&[u8]) -> io::Result<()> + Send),
) -> Result<Search> {
    check_texts(wanted, options.resources.memory)?;
    let of_jobs = |jobs: &[Job<'_>]| jobs.iter().map(|job| memory::of_search(&job.path)).sum();
    let mut search = Search::default();
    let opened = open(path)?;
    let (jobs, candidates, form, left) = match &opened {
        Some((index, form)) => {
            let name = path.display();
            if !matches!(options.form.records, Records::Lines(_)) {
                let remedy = "omit the options that describe records";
                bail!("{name}: is an index, which records how its files are read; {remedy}");
            }
            let words = matches!(form.records, Records::Lines(_));
            if !words && wanted.matching != Matching::default() {
                let remedy = "omit -F, -w and -i";
                bail!("{name}: indexes a field, whose values are compared as a whole; {remedy}");
            }
            // A record without a key holds no value.
            let form = Form { missing: Missing::Skip, bad: Bad::Skip, ..form.clone() };
            let lists = memory::of_index(index);
            let mut base = Base::of_index(path)?;
            let folder = base.length();
            let all = index.files.iter().map(|file| memory::of_search(&file.path) + 2 * folder);
            let left = memory::without(lists, all.sum(), &options.resources)?;
            let mut room = memory::room_of_search(&options.resources, lists);
            let (jobs, candidates) =
                of_index((path, &mut base), (index, &form), wanted, &left, &mut room, &mut search)?;
            let left = memory::without(lists + of_jobs(&jobs), 0, &options.resources)?;
            (jobs, candidates, form, left)
        }
        None => {
            super::build::check_rows(&options.form)?;
            let mut paths = Vec::new();
            let mut room = memory::room_of_search(&options.resources, 0);
            folders::files(path, &mut paths, &mut room, &mut search.unreadable)?;
            search.without_index = true;
            search.files = paths.len() as u64;
            let jobs: Vec<_> = paths.into_iter().map(|path| Job { path, entry: None }).collect();
            let left = memory::without(of_jobs(&jobs), 0, &options.resources)?;
            (jobs, Candidates::default(), options.form.clone(), left)
        }
    };
    if let Some(output) = wanted.output {
        let is_it = |path: &Path| umbel_io::State::at(path).is_ok_and(|state| state.id == output);
        if let Some(Job { path, .. }) = jobs.iter().find(|job| is_it(&job.path)) {
            bail!("{}: is also the output; write to another file", path.display());
        }
    }
    let workers = threads(&left).min(jobs.len().max(1));
    let reading = Reading::new(&form, &left, workers)?;
    if reading.lines && wanted.texts.iter().any(|text| memchr(reading.separator, text).is_some()) {
        let what = if reading.separator == 0 { "NUL byte" } else { "line feed" };
        bail!("a text contains a {what}, but no line does; list its lines in a file for -f");
    }
    let mut values: HashMap<Vec<u8>, Vec<usize>> = HashMap::new();
    for (text, number) in wanted.texts.iter().zip(0..).filter(|_| !reading.lines) {
        for key in reading.rows[0].keys_of(text) {
            values.entry(key).or_default().push(number);
        }
    }
    let run = Run {
        index: opened.as_ref().map(|(index, _)| (index, path)),
        candidates,
        texts: wanted.texts.iter().map(|text| Text::new(text, wanted.matching)).collect(),
        values,
        reading,
        sink,
        read: AtomicU64::new(0),
        blocks_read: AtomicU64::new(0),
        found: AtomicU64::new(0),
        stale: Mutex::default(),
        unreadable: Mutex::default(),
    };
    run.all(&jobs, workers, write)?;
    search.text_read = run.read.into_inner();
    search.blocks_read = run.blocks_read.into_inner();
    search.found = run.found.into_inner();
    search.stale.extend(run.stale.into_inner().expect("no worker panics"));
    search.unreadable.extend(run.unreadable.into_inner().expect("no worker panics"));
    search.unreadable.sort_unstable();
    let place = |path: &PathBuf| search.unreadable.binary_search_by(|(it, _)| it.cmp(path));
    let is_readable = |path: &PathBuf| place(path).is_err();
    search.stale.retain(is_readable);
    search.new.retain(is_readable);
    Ok(search)
}

/// Finds the texts that occur in no line, by their numbers. The search for a text ends at its first hit.
///
/// # Errors
/// As [`find`].
pub fn not_found(path: &Path, wanted: &Wanted, options: &Options) -> Result<(Vec<usize>, Search)> {
    let once = Once(wanted.texts.iter().map(|_| AtomicBool::new(false)).collect());
    let search = find(path, wanted, options, &once, &mut |_| Ok(()))?;
    Ok(((0..wanted.texts.len()).filter(|&text| once.wants(text)).collect(), search))
}

/// Whether each text was found.
struct Once(Vec<AtomicBool>);

impl Sink for Once {
    fn wants(&self, text: usize) -> bool {
        !self.0[text].load(Ordering::Relaxed)
    }

    fn line(&self, found: &Found<'_>, _: &mut Vec<u8>) -> bool {
        found.keys.iter().for_each(|&text| self.0[text].store(true, Ordering::Relaxed));
        true
    }

    fn file(&self, _: &Path, _: u64, _: &mut Vec<u8>) {}
}

/// Refuses more texts than there is memory for.
fn check_texts(wanted: &Wanted, memory: u64) -> Result<()> {
    /// The maximum bytes needed to search for a text, besides four copies of it.
    const EACH: u64 = 600;
    let bytes: u64 = wanted.texts.iter().map(|text| EACH + 4 * text.len() as u64).sum();
    if bytes > memory / 4 {
        let (count, [needed, quarter]) = (wanted.texts.len(), [bytes, memory / 4].map(Size));
        let wanted = (4 * bytes).div_ceil(1 << 20);
        bail!(
            "{count} texts need up to {needed} of memory, and a quarter of the cap is {quarter}; raise --memory to {wanted}MiB, or search for fewer at a time"
        );
    }
    Ok(())
}

/// The index at a path, unless that is something else.
fn open(path: &Path) -> Result<Option<(Index, Form)>> {
    let name = || path.display().to_string();
    let file = umbel_io::open(path).with_context(name)?;
    let is_index =
        umbel_io::State::of(&file).and_then(|is| Ok(is.is_file && begins_as_index(&file)?));
    is_index.with_context(name)?.then(|| opened::open(file)).transpose().with_context(name)
}

/// Which files have to be read, and which blocks of them.
fn of_index<'a>(
    (of, base): (&Path, &mut Base),
    (index, form): (&'a Index, &Form),
    wanted: &Wanted,
    left: &Resources,
    room: &mut Room,
    search: &mut Search,
) -> Result<(Vec<Job<'a>>, Candidates)> {
    let name = || of.display().to_string();
    let reading = Reading::new(form, left, 1)?;
    // The readers have the rest of the cap.
    let mut candidates = Candidates::within(left.memory / 8);
    let Matching { inside, ignore_case } = wanted.matching;
    let mut blocks = Blocks::of(index);
    for (text, number) in wanted.texts.iter().zip(0..) {
        let any_of = match reading.lines {
            true => match keys_of_text(text, inside, ignore_case) {
                Ok(keys) => vec![keys],
                Err(wide) => {
                    search.wide.push((number as usize, wide));
                    candidates.everywhere.push(number);
                    continue;
                }
            },
            false => {
                let keys = reading.rows[0].keys_of(text);
                keys.iter().map(|key| vec![key_of_field(key)]).collect()
            }
        };
        for keys in any_of {
            blocks.each(&keys, |block| candidates.add(block, number)).with_context(name)?;
        }
    }
    search.blocks = index.block_count().into();
    let mut files = Vec::new();
    for root in &index.roots {
        let shown = base.shown(root);
        match umbel_io::State::at(&shown) {
            Err(error) if folders::is_gone(&error) => search.gone.push(shown),
            state => {
                state.with_context(|| shown.display().to_string())?;
                base.files(root, &mut files, room, &mut search.unreadable)?;
            }
        }
    }
    files.sort_unstable_by(|left, right| left.as_os_str().cmp(right.as_os_str()));
    files.dedup();
    let entries = index.files.iter().map(|entry| (base.kept_now(&entry.path), entry));
    let mut entries: HashMap<_, _> = entries.collect();
    search.files = entries.len() as u64;
    search.text = index.files.iter().map(|entry| entry.text).sum();
    let mut jobs = Vec::new();
    for whole in files {
        let kept = base.kept(&whole);
        let path = base.shown(kept);
        let Some(entry) = entries.remove(kept) else {
            if !atomic::is_same_path(&path, of) {
                search.files += 1;
                search.new.push(path.clone());
                jobs.push(Job { path, entry: None });
            }
            continue;
        };
        match state(entry, &path) {
            Err(error) => {
                let why = Unreadable::reason(&error).ok_or(error)?;
                search.unreadable.push((path, why));
            }
            Ok(State::Gone) => search.gone.push(path),
            Ok(State::Stale) => {
                search.stale.push(path.clone());
                jobs.push(Job { path, entry: None });
            }
            Ok(State::Same) => {
                let mut blocks = entry.first..entry.first + entry.blocks;
                if blocks.any(|block| candidates.has(block)) {
                    jobs.push(Job { path, entry: Some(entry) });
                }
            }
        }
    }
    for path in entries.into_keys().map(|kept| base.shown(&kept)) {
        match umbel_io::State::at(&path) {
            // It is in a folder that cannot be read.
            Err(error) if !folders::is_gone(&error) => {
                search.unreadable.push((path, error.to_string()));
            }
            _ => search.gone.push(path),
        }
    }
    search.gone.sort_unstable();
    // A named file is among the roots and among the files.
    search.gone.dedup();
    Ok((jobs, candidates))
}

/// The current state of a file.
enum State {
    Same,
    Stale,
    Gone,
}

fn state(entry: &Entry, path: &Path) -> Result<State> {
    let of = Unreadable::at(path);
    match umbel_io::State::at(path) {
        Err(error) if folders::is_gone(&error) => Ok(State::Gone),
        Err(error) => Err(error).with_context(of),
        Ok(now) if !now.is_file => Ok(State::Gone),
        Ok(now) => {
            let same = stamp::is_of(&entry.stamp, &now, || File::open(path)).with_context(of)?;
            Ok(if same { State::Same } else { State::Stale })
        }
    }
}

/// A running search.
struct Run<'a> {
    /// The index, and its path.
    index: Option<(&'a Index, &'a Path)>,
    candidates: Candidates,
    reading: Reading,
    texts: Vec<Text>,
    /// Values of the field, and which texts they are.
    values: HashMap<Vec<u8>, Vec<usize>>,
    sink: &'a dyn Sink,
    read: AtomicU64,
    blocks_read: AtomicU64,
    found: AtomicU64,
    /// Files that changed after the search began.
    stale: Mutex<Vec<PathBuf>>,
    /// Files that cannot be read, and why.
    unreadable: Mutex<Vec<(PathBuf, String)>>,
}

/// Takes the text to print, and all of it if nothing follows. Returns false if the run has stopped.
type Put<'a> = dyn FnMut(&mut Vec<u8>, bool) -> Result<bool> + 'a;

/// The next step after some lines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// More lines of the file.
    Lines,
    /// The next file: no more lines of this one are wanted.
    File,
    /// Nothing: the run has stopped.
    Nothing,
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
        // A thread that is about to wait has the lock.
        let _next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        self.stop.store(true, Ordering::Relaxed);
        self.moved.notify_all();
    }
}

/// Ends the run of all threads when one of them panics; otherwise they would wait for its turn forever.
struct Guard<'a>(&'a Turns<'a>);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.halt();
        }
    }
}

impl Run<'_> {
    /// Searches all files, several at a time, and prints the lines found in the files' order.
    fn all(
        &self,
        jobs: &[Job<'_>],
        workers: usize,
        write: &mut (dyn FnMut(&[u8]) -> io::Result<()> + Send),
    ) -> Result<()> {
        let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        let turns = Turns { next: Mutex::new(0), moved: Condvar::new(), stop: &stop };
        let write = Mutex::new(write);
        let work = || -> Result<()> {
            let _guard = Guard(&turns);
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(job) = jobs.get(number) else { return Ok(()) };
                let mut put = |out: &mut Vec<u8>, end: bool| {
                    /// Bytes of text that wait in memory for their turn.
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
    fn one(&self, job: &Job<'_>, put: &mut Put<'_>) -> Result<bool> {
        let (path, out, folded) = (&*job.path, Vec::new(), Vec::new());
        let mut lines = Lines { run: self, path, found: 0, out, folded };
        let next = match self.file(job, &mut lines, put) {
            Err(error) => {
                let why = Unreadable::reason(&error).ok_or(error)?;
                self.unreadable.lock().expect("no worker panics").push((job.path.clone(), why));
                Next::File
            }
            next => next?,
        };
        if next == Next::Nothing {
            return Ok(false);
        }
        if lines.found > 0 {
            self.found.fetch_add(lines.found, Ordering::Relaxed);
            self.sink.file(&job.path, lines.found, &mut lines.out);
        }
        put(&mut lines.out, true)
    }

    /// Searches one file, up to where it cannot be read.
    fn file(&self, job: &Job<'_>, lines: &mut Lines<'_>, put: &mut Put<'_>) -> Result<Next> {
        if !(0..self.texts.len()).any(|text| self.sink.wants(text)) {
            return Ok(Next::Lines);
        }
        let of_file = Unreadable::at(&job.path);
        let file = File::open(&job.path).with_context(&of_file)?;
        let state = umbel_io::State::of(&file).with_context(&of_file)?;
        if let (Some(entry), Some((index, of))) = (job.entry, self.index) {
            // It may have changed since all files were checked, which may have been minutes ago.
            let same = stamp::is_of(&entry.stamp, &state, || file.try_clone());
            if same.with_context(&of_file)? {
                let blocks = index.blocks_of(entry).with_context(|| of.display().to_string())?;
                return self.blocks(entry, &blocks, &file, lines, put);
            }
            self.stale.lock().expect("no worker panics").push(job.path.clone());
        }
        self.whole(&file, lines, put)
    }

    /// Those of some texts that are still looked for.
    fn wanted(&self, mut texts: Vec<usize>) -> Vec<usize> {
        texts.retain(|&text| self.sink.wants(text));
        texts
    }

    /// Searches the blocks of a file that may have a text.
    fn blocks(
        &self,
        entry: &Entry,
        blocks: &[Block],
        file: &File,
        lines: &mut Lines<'_>,
        put: &mut Put<'_>,
    ) -> Result<Next> {
        let (index, of) = self.index.expect("it has the blocks");
        let compression = opened::compression(entry.compression);
        let mut next = Next::Lines;
        let mut text: Option<text::Text<'_>> = None;
        for (i, (block, number)) in blocks.iter().zip(entry.first..).enumerate() {
            let texts = self.wanted(self.candidates.texts(number, self.texts.len()));
            if texts.is_empty() {
                continue;
            }
            let end = blocks.get(i + 1).map_or(entry.text, |next| next.start);
            let before =
                |text: &text::Text<'_>| (block.point.1..=block.start).contains(&text.offset);
            let open = text.take().filter(before);
            let mut reader = match open {
                Some(reader) => reader,
                None => {
                    let point =
                        opened::point(index, block).with_context(|| of.display().to_string())?;
                    let (path, size) = (lines.path, entry.stamp.size);
                    self.reading.open(path, file, size, compression, Arc::new(point))?
                }
            };
            let from = reader.offset;
            reader.skip_to(block.start, block.lines)?;
            reader.take(end - block.start, &mut |text, bytes| {
                next = lines.search(text, entry.header.as_deref(), bytes, &texts, put)?;
                Ok(())
            })?;
            self.read.fetch_add(reader.offset - from, Ordering::Relaxed);
            self.blocks_read.fetch_add(1, Ordering::Relaxed);
            text = Some(reader);
            if next != Next::Lines {
                break;
            }
        }
        Ok(next)
    }

    /// Searches all of a file.
    fn whole(&self, file: &File, lines: &mut Lines<'_>, put: &mut Put<'_>) -> Result<Next> {
        let mut texts = self.wanted((0..self.texts.len()).collect());
        let path = lines.path;
        let compression = self.reading.recognize(path, file)?;
        let mut text = self.reading.open(path, file, u64::MAX, compression, Arc::default())?;
        let header = text.start()?;
        let mut next = Next::Lines;
        while next == Next::Lines
            && !texts.is_empty()
            && let Some((_, length)) = text.next_block()?
        {
            next = lines.search(&text, header.as_deref(), text.block(length), &texts, put)?;
            text.pass(length);
            texts = self.wanted(texts);
        }
        self.read.fetch_add(text.offset, Ordering::Relaxed);
        Ok(next)
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
    /// Searches a block for some texts, some records at a time: otherwise, results of lines with a few bytes would use
    /// many times the memory of the block, with the file's name before each.
    fn search(
        &mut self,
        text: &text::Text<'_>,
        header: Option<&[u8]>,
        bytes: &[u8],
        texts: &[usize],
        put: &mut Put<'_>,
    ) -> Result<Next> {
        /// Bytes that are searched for one text at a time: the results of 2-byte lines use 3 MiB.
        const MOST: usize = 1 << 18;
        const LEAST: usize = 1 << 12;
        let run = self.run;
        let reading = &run.reading;
        let some = if reading.lines { (MOST / texts.len().max(1)).max(LEAST) } else { MOST };
        let (mut at, mut line) = (0, text.lines);
        while at < bytes.len() {
            let mut wanted = some;
            let length = loop {
                let rest = &bytes[at..];
                let Some(some) = rest.get(..wanted) else { break rest.len() };
                match reading.last_end(some) {
                    Some(length) => break length,
                    None => wanted *= 2,
                }
            };
            let part = &bytes[at..at + length];
            let found = match reading.lines {
                true => self.lines_with(part, texts),
                false => {
                    self.records_with(text, header, part, (text.offset + at as u64, Some(line)))?
                }
            };
            let mut counted = 0;
            for same in found.chunk_by(|left, right| left.0 == right.0) {
                let (start, end, _) = same[0];
                line += memchr_iter(reading.separator, &part[counted..start]).count() as u64;
                counted = start;
                let keys: Vec<_> = same.iter().map(|(_, _, number)| *number).collect();
                self.found += 1;
                let mut row = &part[start..end];
                if text.offset + (at + start) as u64 == 0 {
                    row = row.strip_prefix("\u{feff}".as_bytes()).unwrap_or(row);
                }
                let found = Found { file: self.path, line: line + 1, text: row, keys: &keys };
                if !run.sink.line(&found, &mut self.out) {
                    return Ok(Next::File);
                }
                if !put(&mut self.out, false)? {
                    return Ok(Next::Nothing);
                }
            }
            line += memchr_iter(reading.separator, &part[counted..]).count() as u64;
            at += length;
        }
        Ok(Next::Lines)
    }

    /// Where lines with a text start and end, and the text's number, in order.
    fn lines_with(&mut self, bytes: &[u8], texts: &[usize]) -> Vec<(usize, usize, usize)> {
        let run = self.run;
        let mut searched = bytes;
        if texts.iter().any(|&number| run.texts[number].matching.ignore_case) {
            self.folded.clear();
            words::fold(bytes, &mut self.folded);
            searched = &self.folded;
        }
        let (mut found, separator) = (Vec::new(), run.reading.separator);
        for &number in texts {
            let mut from = 0;
            while let Some(at) = run.texts[number].find(searched, from) {
                let start = memrchr(separator, &searched[..at]).map_or(0, |end| end + 1);
                let end = memchr(separator, &searched[at..]).map_or(searched.len(), |end| at + end);
                found.push((start, end, number));
                from = end + 1;
            }
        }
        found.sort_unstable();
        if !searched.is_ascii() && searched != bytes {
            // A folded letter may have another length.
            let (mut folded, mut line) = (0, 0);
            for (start, end, _) in &mut found {
                let before = memchr_iter(separator, &searched[folded..*start]).count();
                folded = *start;
                if let Some(last) = before.checked_sub(1) {
                    let ended = memchr_iter(separator, &bytes[line..]).nth(last);
                    line += ended.expect("it has as many lines") + 1;
                }
                let length = memchr(separator, &bytes[line..]).unwrap_or(bytes.len() - line);
                (*start, *end) = (line, line + length);
            }
        }
        found
    }

    /// As [`lines_with`](Self::lines_with), for records with a value, which begin at a place and behind some lines of the text.
    fn records_with(
        &self,
        text: &text::Text<'_>,
        header: Option<&[u8]>,
        bytes: &[u8],
        place: (u64, Option<u64>),
    ) -> Result<Vec<(usize, usize, usize)>> {
        let mut found = Vec::new();
        for rows in &self.run.reading.rows {
            let see = &mut |row: std::ops::Range<usize>, key: &[u8]| {
                let numbers = self.run.values.get(key).into_iter().flatten();
                found.extend(numbers.map(|&number| (row.start, row.end, number)));
                Ok(())
            };
            let each = rows.each(text.name(), header, bytes, place, see);
            each.map_err(|error| Unreadable::record(error, self.path))?;
        }
        // One row may have a value in several fields.
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_with_more_texts_than_are_noted_may_have_all() {
        let mut candidates = Candidates::within(2000);
        for text in 0..100 {
            for block in [3, 7].into_iter().filter(|block| block % 7 == 0 || text == 50) {
                candidates.add(block, text);
            }
            assert!(candidates.noted <= 2000 + 64);
        }
        assert_eq!(candidates.texts(3, 100), [50]);
        assert_eq!(candidates.texts(7, 100), (0..100).collect::<Vec<_>>());
        for text in 100..1000 {
            candidates.add(7, text);
            candidates.add(3, text);
        }
        assert!(candidates.noted <= 2000 + 64);
        assert_eq!(candidates.texts(7, 1000).len(), 1000);
        assert!(candidates.has(3) && !candidates.has(4));
        assert!(candidates.texts(4, 1000).is_empty());
        candidates.everywhere.push(1000);
        assert!(candidates.has(4));
        assert_eq!(candidates.texts(4, 1001), [1000]);
    }
}

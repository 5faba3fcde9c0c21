//! Inputs: files, pipes and lines from elsewhere, compressed or not, in the order they are named.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use anyhow::{Context, Result, bail};
use memchr::memrchr;
use umbel_io::compression::{self, NeedsMemory, Start, checked};
use umbel_io::parts::SideBySide;
use umbel_io::{FileAt, FileId, State, content, in_order};
use umbel_numbers::counted;

use crate::ahead;
use crate::align::{Header, Rewritten, RowsOf, compares_headers, rewrites};
use crate::input::{ReadFrom, Spool};
use crate::{Error, Form, Input, Options, Resources};

/// A source as it was named.
pub enum Source {
    /// Consecutive files, which can be read any number of times.
    Files(Vec<Input>),
    /// A stream, which can be read once.
    Stream(Stream),
}

impl Source {
    /// Passes its lines to `read`. A stream is opened with `room` bytes of memory left for its lines and its decoder.
    ///
    /// # Errors
    /// If it is a stream, system errors and format errors of compressed bytes, prefixed with the name, and errors of
    /// `room`; errors of `read`.
    pub fn read<T>(
        self,
        options: &Options,
        room: Result<u64, Error>,
        read: impl FnOnce(ReadFrom<'_>) -> Result<T>,
    ) -> Result<T> {
        match self {
            Self::Files(inputs) => read(ReadFrom::Files(&inputs)),
            Self::Stream(stream) => {
                let (name, mut bytes) = stream.open(options.resources.threads, options, room?)?;
                read(ReadFrom::Stream(&name, &mut *bytes))
            }
        }
    }
}

/// A pipe, a device or a compressed file. A compressed file is opened in its turn, because a decoder uses memory.
pub struct Stream {
    name: String,
    from: Origin,
    /// Which pipe it is, if it is one.
    pipe: Option<FileId>,
    /// The delimiter of its columns, if it has one of its own.
    delimiter: Option<u8>,
    /// The header that its rows are written under, whose columns may be in another order.
    under: Option<Header>,
    /// Called with the reason if it cannot be read further and the job continues without it.
    left_out: Option<LeftOut>,
}

/// Receives the reason why an input cannot be read, or not to its end.
pub type LeftOut = fn(&anyhow::Error);

enum Origin {
    Path(PathBuf),
    /// Bytes that may be compressed.
    Bytes(Box<dyn Read + Send>),
    /// Lines as they are.
    Lines(Box<dyn Read + Send>),
}

impl Stream {
    /// Opens it, with `room` bytes of memory left for its lines and its decoder; returns its name and its bytes,
    /// decompressed. If a compressed file allows it, several `threads` decompress its parts.
    fn open(self, threads: usize, options: &Options, room: u64) -> Result<(String, Box<dyn Read>)> {
        let (name, left_out) = (self.name.clone(), self.left_out);
        let opened = self.open_whole(threads, options, room);
        let Some(left_out) = left_out else { return Ok((name, opened?)) };
        let bytes = match opened {
            Err(error) if !NeedsMemory::is_cause(&error) => {
                left_out(&error);
                Box::new(io::empty())
            }
            opened => opened?,
        };
        let lines = WholeLines {
            name: name.clone(),
            bytes,
            separator: options.form.records.end(),
            left_out,
            buffer: Vec::new(),
            passed: 0,
            whole: 0,
            ended: false,
        };
        Ok((name, Box::new(lines)))
    }

    fn open_whole(self, threads: usize, options: &Options, room: u64) -> Result<Box<dyn Read>> {
        // The other half is for a long line.
        let (memory, row_room, room) = (options.resources.memory, room, room / 2);
        let about = || self.name.clone();
        let tell = (self.name.clone(), options.resources.notice);
        let decompressed =
            |bytes| compression::decompressed(&tell, bytes, memory, room).with_context(about);
        let bytes = match self.from {
            Origin::Path(path) => {
                let file = File::open(path).with_context(about)?;
                let parts = match threads {
                    2.. => SideBySide::new(&file, threads, memory, room, tell.clone())
                        .with_context(about)?,
                    _ => None,
                };
                match parts {
                    Some(parts) => checked(&self.name, parts, true).with_context(about)?,
                    None => decompressed(Box::new(file))?,
                }
            }
            Origin::Bytes(bytes) => decompressed(bytes)?,
            Origin::Lines(bytes) => bytes,
        };
        let rewritten = |bytes| {
            let rows = Rewritten::new(&self.name, bytes, self.delimiter, options)?;
            Ok::<_, Error>(rows.within(row_room, options))
        };
        Ok(match &self.under {
            Some(header) => Box::new(rewritten(bytes)?.under(header)?),
            None if rewrites(self.delimiter, &options.form) => Box::new(rewritten(bytes)?),
            None => bytes,
        })
    }

    /// Whether its rows are not copied as they are.
    fn rewrites(&self, options: &Options) -> bool {
        self.under.is_some() || rewrites(self.delimiter, &options.form)
    }

    /// Reads a pipe ahead, into a temporary file.
    fn read_ahead(&mut self, resources: &Resources) -> Result<()> {
        if let (Some(_), Origin::Bytes(pipe)) = (self.pipe, &mut self.from) {
            let opened = std::mem::replace(pipe, Box::new(io::empty()));
            *pipe = ahead::read_ahead(opened, resources)?;
        }
        Ok(())
    }

    /// Another stream of the same file, if it is a file.
    fn again(&self) -> Option<Self> {
        let Self { name, from: Origin::Path(path), .. } = self else { return None };
        let (name, from) = (name.clone(), Origin::Path(path.clone()));
        Some(Self { name, from, under: self.under.clone(), ..*self })
    }

    /// Copies all of it to `spool`.
    fn spool(
        self,
        spool: &mut Spool<'_>,
        threads: usize,
        options: &Options,
        room: u64,
    ) -> Result<Input> {
        let copied = self.rewrites(options);
        let (name, mut bytes) = self.open(threads, options, room)?;
        let mut input = spool.add(&name, &mut *bytes)?;
        input.copied = copied;
        Ok(input)
    }
}

/// The whole lines of a compressed file up to where it is damaged; the damage is reported.
struct WholeLines {
    name: String,
    bytes: Box<dyn Read>,
    separator: u8,
    left_out: LeftOut,
    /// The bytes read, how many of them were passed on, and the end of the last whole line.
    buffer: Vec<u8>,
    passed: usize,
    whole: usize,
    ended: bool,
}

impl Read for WholeLines {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        const ROOM: usize = 1 << 16;
        /// A longer line is passed on as far as it was read.
        const MOST: usize = 1 << 20;
        while self.passed == self.whole && !self.ended {
            self.buffer.drain(..std::mem::take(&mut self.whole));
            self.passed = 0;
            let before = self.buffer.len();
            self.buffer.resize(before + ROOM, 0);
            let read = self.bytes.read(&mut self.buffer[before..]);
            self.buffer.truncate(before + read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) => (self.whole, self.ended) = (before, true),
                Ok(_) if before > MOST => self.whole = self.buffer.len(),
                Ok(_) => {
                    let end = memrchr(self.separator, &self.buffer[before..]);
                    self.whole = end.map_or(0, |end| before + end + 1);
                }
                Err(error) => {
                    let again = error.kind() == io::ErrorKind::Interrupted;
                    let error = anyhow::Error::from(error).context(self.name.clone());
                    if again || NeedsMemory::is_cause(&error) {
                        return Err(error.downcast().expect("it was one"));
                    }
                    (self.left_out)(&error);
                    self.ended = true;
                }
            }
        }
        let read = (&self.buffer[self.passed..self.whole]).read(out)?;
        self.passed += read;
        Ok(read)
    }
}

/// Puts the columns of all sources in the order of the first, or of the header `under` which they are written, if
/// order matters. A single stream without such a header is unchanged.
///
/// # Errors
/// Errors reading the headers; columns that do not match.
pub fn align(
    sources: Vec<Source>,
    under: Option<&Header>,
    rows: RowsOf,
    options: &Options,
) -> Result<Vec<Source>> {
    let together = compares_headers(rows, &options.form);
    let sources = match sources.len() {
        // The header is compared with those of later files.
        2.. if together => vec![Source::Files(rereadable(sources, options)?)],
        _ => sources,
    };
    let align = |source| match source {
        Source::Files(inputs) => Ok(Source::Files(crate::align(inputs, under, rows, options)?)),
        Source::Stream(stream) if together => {
            Ok(Source::Stream(Stream { under: under.cloned(), ..stream }))
        }
        stream => Ok(stream),
    };
    sources.into_iter().map(align).collect()
}

/// Marks inputs after the first as using the field names in [`Form::others`], if there are any; copies that [`align`]
/// made under the first input's names use these.
pub fn name_others(mut inputs: Vec<Input>, form: &Form) -> Vec<Input> {
    let other = !form.others.is_empty();
    inputs.iter_mut().skip(1).for_each(|input| input.other = other && !input.renamed);
    inputs
}

/// The source of an input.
pub enum NamedInput {
    /// A file, by its path.
    Path(PathBuf),
    /// As above; if it cannot be read to its end, this is reported, and the part before counts.
    MaybePath(PathBuf, LeftOut),
    /// A file that is open, such as standard input, and its name for messages.
    Open(String, File),
    /// The bytes of a file stored elsewhere, maybe compressed, and its name for messages.
    Bytes(String, Box<dyn Read + Send>),
    /// Lines from anywhere else, and their name for messages.
    Lines(String, Box<dyn Read + Send>),
}

/// The part of a memory cap that lists of files may use: all of it.
pub struct Room {
    cap: u64,
    each: u64,
    byte: u64,
    taken: u64,
}

impl Room {
    /// A file uses `each` bytes, and `byte` for each byte of its path.
    pub fn new(cap: u64, [each, byte]: [u64; 2]) -> Self {
        Self { cap, each, byte, taken: 0 }
    }

    /// The memory left next to this many bytes.
    pub fn beside(self, bytes: u64) -> Self {
        Self { taken: self.taken.saturating_add(bytes), ..self }
    }

    /// For inputs, with the bytes that a job counts for each.
    pub fn of_inputs(cap: u64) -> Self {
        Self::new(cap, [400, 4])
    }

    /// Reserves the memory of a file whose path has this many bytes.
    ///
    /// # Errors
    /// [`Error::Memory`] if not enough is left.
    pub fn take(&mut self, path: usize) -> Result<(), Error> {
        self.taken = self.taken.saturating_add(self.each + self.byte * path as u64);
        self.check()
    }

    /// The longest path that fits.
    pub fn longest(&self) -> u64 {
        self.cap.saturating_sub(self.taken) / self.byte
    }

    fn check(&self) -> Result<(), Error> {
        let Self { cap, taken, .. } = *self;
        if taken <= cap {
            return Ok(());
        }
        // A job may need at least this much besides.
        Err(Error::Memory { cap, least: (taken + (4 << 20)).next_multiple_of(1 << 20) })
    }
}

/// Handles an unreadable file or folder within a folder: if it returns an error the job stops, otherwise it continues.
pub type Unreadable<'a> = dyn FnMut(&Path, anyhow::Error) -> Result<()> + 'a;

/// Replaces each folder among the paths with its files, including those in nested folders, ordered by their paths, byte
/// by byte. Hidden files are included; links, pipes and devices in a folder are left out, as in `grep -r`.
///
/// # Errors
/// System errors, prefixed with the path; a folder without files; more files than there is room for.
pub fn files_of_folders(
    paths: Vec<PathBuf>,
    room: &mut Room,
    unreadable: &mut Unreadable<'_>,
) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for path in paths {
        if !path.is_dir() {
            all.push(path);
            continue;
        }
        let first = all.len();
        files_of_folder(&path, &mut all, room, unreadable)?;
        if all.len() == first {
            bail!("{}: has no files; name another folder", path.display());
        }
    }
    Ok(all)
}

/// Adds the files of one folder, as [`files_of_folders`] does; it may be empty.
///
/// # Errors
/// System errors, prefixed with the path; more files than there is room for, with their number.
pub fn files_of_folder(
    path: &Path,
    all: &mut Vec<PathBuf>,
    room: &mut Room,
    unreadable: &mut Unreadable<'_>,
) -> Result<()> {
    let first = all.len();
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = match folder.read_dir() {
            Ok(entries) => entries,
            Err(error) => {
                unreadable(&folder, error.into())?;
                continue;
            }
        };
        for entry in entries {
            match entry.and_then(|entry| Ok((entry.file_type()?, entry.path()))) {
                Err(error) => unreadable(&folder, error.into())?,
                Ok((kind, path)) if kind.is_dir() => folders.push(path),
                Ok((kind, path)) if kind.is_file() => match room.take(path.as_os_str().len()) {
                    Ok(()) => all.push(path),
                    Err(_) => *all = Vec::new(),
                },
                Ok(_) => {}
            }
        }
    }
    room.check()?;
    all[first..].sort_unstable_by(|a, b| a.as_os_str().cmp(b.as_os_str()));
    Ok(())
}

/// Opens inputs; none may be the file `output`, which receives the results. If they have different `delimiters`, there
/// is one for each, and the last one is for all others.
///
/// # Errors
/// System errors, prefixed with the name; a pipe named twice; more delimiters than inputs.
pub fn open(
    named: Vec<NamedInput>,
    output: Option<FileId>,
    delimiters: &[u8],
) -> Result<Vec<Source>> {
    /// Inputs that stay open: some systems allow a process only 256 open files, and temporary files need some.
    const MOST_OPEN: usize = 64;
    /// Threads that open many of them.
    const OPENERS: usize = 8;
    let many = named.len() > MOST_OPEN;
    if delimiters.len() > named.len().max(1) {
        let (found, inputs) = (delimiters.len(), counted(named.len() as u64, "input"));
        bail!("found {found} delimiters for {inputs}; give one for all, or one for each");
    }
    let own = |i: usize| match delimiters {
        [] | [_] => None,
        [.., last] => Some(*delimiters.get(i).unwrap_or(last)),
    };
    let named: Vec<_> = named.into_iter().map(|named| Mutex::new(Some(named))).collect();
    // A file on a network takes some milliseconds to open.
    let opened = in_order(if many { OPENERS } else { 1 }, named.len(), |i| {
        let named = named[i].lock().expect("no thread panics").take().expect("taken once");
        open_one(named, output, many, own(i))
    });
    let mut sources = Vec::new();
    for opened in opened {
        match (opened?, sources.last_mut()) {
            (Source::Files(more), Some(Source::Files(files))) => files.extend(more),
            (source, _) => sources.push(source),
        }
    }
    check_pipes(&mut sources)?;
    // Opening a named pipe waits for its writer, so it comes last. One writer may open several pipes before it writes, in any
    // order.
    let is_fifo = |path: &Path| path.metadata().is_ok_and(|meta| umbel_io::is_fifo(&meta));
    let pipes = streams(&mut sources).filter_map(|Stream { from, .. }| match from {
        Origin::Path(path) if is_fifo(path) => Some((path.clone(), from)),
        _ => None,
    });
    let pipes: Vec<_> = pipes.collect();
    let paths: Vec<_> = pipes.iter().map(|(path, _)| path).collect();
    let open = |i: usize| File::open(paths[i]).with_context(|| paths[i].display().to_string());
    let opened = in_order(paths.len().min(MOST_PIPES), paths.len(), open);
    for (file, (_, from)) in opened.into_iter().zip(pipes) {
        *from = Origin::Bytes(Box::new(file?));
    }
    Ok(sources)
}

fn streams(sources: &mut [Source]) -> impl Iterator<Item = &mut Stream> {
    sources.iter_mut().filter_map(|source| match source {
        Source::Stream(stream) => Some(stream),
        Source::Files(_) => None,
    })
}

/// Refuses a pipe named twice, maybe by two names such as `-` and `/dev/stdin`: each reader would get a part of it.
fn check_pipes(sources: &mut [Source]) -> Result<()> {
    let mut pipes = HashMap::new();
    for Stream { name, pipe, .. } in streams(sources) {
        if let Some(pipe) = pipe
            && let Some(first) = pipes.insert(*pipe, &*name)
        {
            bail!("{name}: is the same pipe as {first}, and can be read only once; name it once");
        }
    }
    Ok(())
}

/// Reads pipes after the first in separate threads, into temporary files, for jobs that read sources one after
/// another. Otherwise `tee` would block on a later pipe, and stop filling the first.
///
/// # Errors
/// Temporary-file errors.
pub fn read_ahead(mut sources: Vec<Source>, resources: &Resources) -> Result<Vec<Source>> {
    streams(&mut sources)
        .filter(|stream| stream.pipe.is_some())
        .take(MOST_PIPES)
        .skip(1)
        .try_for_each(|stream| stream.read_ahead(resources))?;
    Ok(sources)
}

/// One writer may open several pipes and fill them in turns, as `tee` does. If one was opened or read after another,
/// both sides could wait forever; so each has a thread, up to this many.
const MOST_PIPES: usize = 64;

/// Makes sources readable more than once: all but plain files are spooled, several at a time, each by its own thread.
///
/// # Errors
/// Read and temporary-file errors; of several, the first source's.
pub fn rereadable(sources: Vec<Source>, options: &Options) -> Result<Vec<Input>> {
    let (mut inputs, mut streams, mut pipes, mut rewritten) = (Vec::new(), Vec::new(), 0, false);
    for source in sources {
        match source {
            Source::Files(files) => inputs.extend(files.into_iter().map(Some)),
            Source::Stream(stream) => {
                pipes += usize::from(stream.pipe.is_some());
                rewritten |= stream.rewrites(options);
                streams.push((inputs.len(), Mutex::new(Some(stream))));
                inputs.push(None);
            }
        }
    }
    let Resources { memory, threads, .. } = options.resources;
    let decoders = compression::decoders(memory);
    let most = decoders.min(threads);
    // Pipes wait for each other; those that have no room for a decoder or for rows are copied as they are meanwhile.
    let beside = pipes.min(MOST_PIPES).min(if rewritten { most } else { decoders });
    let side_by_side = streams.len().min(most.max(beside)).max(1);
    let waiting = streams.iter_mut().skip(side_by_side);
    waiting
        .filter_map(|(_, stream)| stream.get_mut().expect("no thread panics").as_mut())
        .filter(|stream| stream.pipe.is_some())
        .take(MOST_PIPES)
        .try_for_each(|stream| stream.read_ahead(&options.resources))?;
    let room = if side_by_side > 1 { memory / side_by_side as u64 } else { u64::MAX };
    // Threads that are not needed for other streams.
    let inside = threads / side_by_side;
    let (spools, failed) = (Mutex::new(Vec::new()), AtomicUsize::new(usize::MAX));
    let spooled = in_order(side_by_side, streams.len(), |number| {
        // Streams after a failed one are not needed.
        if number > failed.load(Relaxed) {
            return None;
        }
        let (_, stream) = &streams[number];
        let stream = stream.lock().expect("no thread panics").take().expect("taken once");
        let again = stream.again().filter(|_| side_by_side > 1);
        let spool = spools.lock().expect("no thread panics").pop();
        let mut spool = spool.unwrap_or_else(|| Spool::new(&options.resources));
        let result = stream.spool(&mut spool, inside, options, room);
        spools.lock().expect("no thread panics").push(spool);
        let needs_memory = |error: &anyhow::Error| {
            NeedsMemory::is_cause(error)
                || matches!(error.downcast_ref(), Some(Error::LongLine { .. }))
        };
        let again = again.filter(|_| result.as_ref().is_err_and(needs_memory));
        if result.is_err() && again.is_none() {
            failed.fetch_min(number, Relaxed);
        }
        Some((again, result))
    });
    for ((place, _), (again, result)) in streams.iter().zip(spooled.into_iter().flatten()) {
        // Alone, a decoder may have a larger window, and a row more bytes.
        let result = match again {
            Some(stream) => {
                let mut spool = Spool::new(&options.resources);
                stream.spool(&mut spool, threads, options, u64::MAX)
            }
            None => result,
        };
        inputs[*place] = Some(result?);
    }
    Ok(inputs.into_iter().map(|input| input.expect("an error has been returned")).collect())
}

/// Opens one input. If it `closes`, a plain file does not stay open: each pass reopens it.
fn open_one(
    named: NamedInput,
    output: Option<FileId>,
    closes: bool,
    delimiter: Option<u8>,
) -> Result<Source> {
    let stream = |name, from, pipe| {
        let (under, left_out) = (None, None);
        Ok(Source::Stream(Stream { name, from, pipe, delimiter, under, left_out }))
    };
    // Open, or a path to open.
    let (name, state, mut file) = match named {
        NamedInput::Bytes(name, bytes) => return stream(name, Origin::Bytes(bytes), None),
        NamedInput::Lines(name, bytes) => return stream(name, Origin::Lines(bytes), None),
        NamedInput::Open(name, file) => (name, State::of(&file), Ok(file)),
        NamedInput::Path(path) => (path.display().to_string(), State::at(&path), Err(path)),
        NamedInput::MaybePath(path, left_out) => {
            let name = path.display().to_string();
            let is_output = State::at(&path).is_ok_and(|state| output == Some(state.id));
            return match open_one(NamedInput::Path(path), output, closes, delimiter) {
                Ok(Source::Stream(stream)) => {
                    Ok(Source::Stream(Stream { left_out: Some(left_out), ..stream }))
                }
                Err(error) if !is_output => {
                    left_out(&error);
                    stream(name, Origin::Lines(Box::new(io::empty())), None)
                }
                opened => opened,
            };
        }
    };
    let state = state.with_context(|| name.clone())?;
    if output == Some(state.id) {
        bail!("{name}: is also the output; write to another file");
    }
    if state.is_dir {
        return Err(Error::Directory(name).into());
    }
    // The kernel's files claim to be empty; only reading them shows their content.
    if state.is_file && state.length > 0 {
        let (open, path) = match file {
            Ok(file) => (file, None),
            // Opened now even if it is opened again later, to report errors before any work.
            Err(path) => (File::open(&path).with_context(|| name.clone())?, Some(path)),
        };
        // The rest of a shared descriptor that was read from before is a stream, and so are files of sysfs, which claim a
        // page and end before.
        let is_stream = (&open).stream_position().is_ok_and(|position| position > 0)
            || open.read_at(&mut [0], state.length - 1).with_context(|| name.clone())? == 0
            || is_compressed(&name, &open)?;
        if !is_stream {
            let mut input = Input::file(name, open)?;
            input.delimiter = delimiter;
            return Ok(Source::Files(vec![match path {
                Some(path) if closes => input.close(path)?,
                _ => input,
            }]));
        }
        file = path.map_or(Ok(open), Err);
    }
    let from = match file {
        Ok(file) => Origin::Bytes(Box::new(file)),
        Err(path) => Origin::Path(path),
    };
    // Some systems give pipes no number.
    let pipe = Some(state.id).filter(|id| state.is_pipe && id.inode > 0);
    stream(name, from, pipe)
}

/// Whether it is compressed; files that are clearly not text are refused.
fn is_compressed(name: &str, file: &File) -> Result<bool> {
    let about = || name.to_owned();
    let start = Start::read(|bytes, offset| file.read_at(bytes, offset)).with_context(about)?;
    if start.compression.is_some() {
        return Ok(true);
    }
    content::check(name, &start.bytes, false).with_context(about)?;
    Ok(false)
}

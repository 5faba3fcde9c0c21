//! Inputs: files, pipes and lines from elsewhere, compressed or not, in the order they are named.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use anyhow::{Context, Result, bail};
use umbel_io::compression::{self, NeedsMemory, Start};
use umbel_io::parts::SideBySide;
use umbel_io::{FileAt, FileId, State, content, in_order, on_each};
use umbel_numbers::counted;

use crate::{Error, Header, Input, Options, Rewritten, Spool};

/// A source as it was named.
pub enum Source {
    /// Consecutive files, which can be read any number of times.
    Files(Vec<Input>),
    /// A stream, which can be read once.
    Stream(Stream),
}

/// A pipe, a device or a compressed file. The latter is opened in its turn, because a decoder uses memory.
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

/// Receives the reason why an input cannot be read, or not further.
pub type LeftOut = fn(&anyhow::Error);

enum Origin {
    Open(File),
    Path(PathBuf),
    /// Bytes that may be compressed.
    Bytes(Box<dyn Read + Send>),
    /// Lines as they are.
    Lines(Box<dyn Read + Send>),
}

impl Stream {
    /// Opens it, with `room` bytes of memory left for its lines and its decoder; returns its name and its bytes,
    /// decompressed.
    ///
    /// # Errors
    /// System errors, and format errors of compressed bytes, prefixed with the name.
    pub fn open(self, options: &Options, room: u64) -> Result<(String, Box<dyn Read>)> {
        self.open_with(options.threads, options, room)
    }

    /// Opens it; if a compressed file allows it, its parts are decompressed by several `threads`.
    fn open_with(
        self,
        threads: usize,
        options: &Options,
        room: u64,
    ) -> Result<(String, Box<dyn Read>)> {
        let Some(left_out) = self.left_out else { return self.open_whole(threads, options, room) };
        let name = self.name.clone();
        let whole = self.open_whole(threads, options, room);
        let bytes = match whole {
            Ok((_, bytes)) => bytes,
            Err(error) if NeedsMemory::is_cause(&error) => return Err(error),
            Err(error) => {
                left_out(&error);
                Box::new(io::empty())
            }
        };
        let separator = options.separator;
        Ok((name.clone(), Box::new(WholeLines::new(name, bytes, separator, left_out))))
    }

    fn open_whole(
        self,
        threads: usize,
        options: &Options,
        room: u64,
    ) -> Result<(String, Box<dyn Read>)> {
        // The other half is for a long line.
        let (memory, room) = (options.memory, room / 2);
        let about = || self.name.clone();
        let decompressed =
            |bytes| compression::decompressed(&self.name, bytes, memory, room).with_context(about);
        let bytes = match self.from {
            Origin::Open(file) => decompressed(Box::new(file))?,
            Origin::Path(path) => {
                let file = File::open(path).with_context(about)?;
                let parts = match threads {
                    2.. => SideBySide::new(&file, threads, memory, room).with_context(about)?,
                    _ => None,
                };
                match parts {
                    Some(parts) => compression::checked(&self.name, parts).with_context(about)?,
                    None => decompressed(Box::new(file))?,
                }
            }
            Origin::Bytes(bytes) => decompressed(bytes)?,
            Origin::Lines(bytes) => bytes,
        };
        let rewritten = |bytes| Rewritten::new(&self.name, bytes, self.delimiter, options);
        let bytes = match &self.under {
            Some(header) => Box::new(rewritten(bytes)?.under(header)?),
            None if crate::rewrites(self.delimiter, options) => Box::new(rewritten(bytes)?),
            None => bytes,
        };
        Ok((self.name, bytes))
    }

    /// Another stream of the same file, if it is a file.
    fn again(&self) -> Option<Self> {
        let Self { name, from: Origin::Path(path), .. } = self else { return None };
        let (name, from) = (name.clone(), Origin::Path(path.clone()));
        Some(Self { name, from, under: self.under.clone(), ..*self })
    }

    /// Copies all of it to `spool`, created if there is none.
    fn spool(
        self,
        spool: &mut Option<Spool>,
        threads: usize,
        options: &Options,
        room: u64,
    ) -> Result<Input> {
        let spool = match spool {
            Some(spool) => spool,
            none => none.insert(Spool::new(options)?),
        };
        let (name, mut bytes) = self.open_with(threads, options, room)?;
        Ok(spool.add(name, &mut *bytes)?)
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

impl WholeLines {
    fn new(name: String, bytes: Box<dyn Read>, separator: u8, left_out: LeftOut) -> Self {
        let (buffer, passed, whole, ended) = (Vec::new(), 0, 0, false);
        Self { name, bytes, separator, left_out, buffer, passed, whole, ended }
    }
}

impl Read for WholeLines {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        const ROOM: usize = 1 << 16;
        /// A longer line is passed on as far as it was read.
        const MOST: usize = 1 << 20;
        while self.passed == self.whole && !self.ended {
            self.buffer.drain(..self.whole);
            (self.passed, self.whole) = (0, 0);
            let before = self.buffer.len();
            self.buffer.resize(before + ROOM, 0);
            let read = self.bytes.read(&mut self.buffer[before..]);
            self.buffer.truncate(before + read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) => (self.whole, self.ended) = (before, true),
                Ok(_) if before > MOST => self.whole = self.buffer.len(),
                Ok(_) => {
                    let end =
                        self.buffer[before..].iter().rposition(|byte| *byte == self.separator);
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
        let length = out.len().min(self.whole - self.passed);
        out[..length].copy_from_slice(&self.buffer[self.passed..][..length]);
        self.passed += length;
        Ok(length)
    }
}

/// Whether rows of all inputs are printed under the first header, or of one input only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Of all.
    OfAll,
    /// Of one.
    OfOne,
}

/// Puts the columns of all sources in the order of the first, or of the header `under` which they are written, where
/// that matters. A single stream without such a header is unchanged.
///
/// # Errors
/// Errors reading the headers; columns that do not match.
pub fn align(
    sources: Vec<Source>,
    under: Option<&Header>,
    rows: Rows,
    options: &Options,
) -> Result<Vec<Source>> {
    let together = crate::compares_headers(rows == Rows::OfAll, options);
    let sources = match sources.len() {
        // A header is compared with later files' headers.
        2.. if together => {
            vec![Source::Files(rereadable(sources, options)?)]
        }
        _ => sources,
    };
    let align = |source| match source {
        Source::Files(inputs) => {
            Ok(Source::Files(crate::align(inputs, under, rows == Rows::OfAll, options)?))
        }
        Source::Stream(stream) if together => {
            Ok(Source::Stream(Stream { under: under.cloned(), ..stream }))
        }
        stream => Ok(stream),
    };
    sources.into_iter().map(align).collect()
}

/// Marks inputs after the first as using the field names in [`Options::others`], if there are any.
pub fn name_others(mut inputs: Vec<Input>, options: &Options) -> Vec<Input> {
    if options.others.is_empty() || inputs.is_empty() {
        return inputs;
    }
    let others = inputs.split_off(1).into_iter().map(Input::of_others);
    inputs.into_iter().chain(others).collect()
}

/// What an input is read from.
pub enum NamedInput {
    /// A file, by its path.
    Path(PathBuf),
    /// As above; if it cannot be read to its end, that is reported, and the part before counts.
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

    /// What is left next to this many bytes.
    pub fn beside(self, bytes: u64) -> Self {
        Self { taken: self.taken.saturating_add(bytes), ..self }
    }

    /// For inputs, with the bytes that a job counts for each.
    pub fn of_inputs(cap: u64) -> Self {
        Self::new(cap, [400, 4])
    }

    /// Takes the memory of a file whose path has this many bytes.
    ///
    /// # Errors
    /// [`Error::Memory`] if not enough is left.
    pub fn take(&mut self, path: usize) -> Result<(), Error> {
        self.taken = self.taken.saturating_add(self.each + self.byte * path as u64);
        self.check()
    }

    /// The longest path that there is room for.
    pub fn longest(&self) -> u64 {
        self.cap.saturating_sub(self.taken) / self.byte
    }

    fn check(&self) -> Result<(), Error> {
        let Self { cap, taken, .. } = *self;
        match taken <= cap {
            true => Ok(()),
            // As little as a job may need besides.
            false => {
                Err(Error::Memory { cap, least: (taken + (4 << 20)).next_multiple_of(1 << 20) })
            }
        }
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
            let kind = entry.and_then(|entry| Ok((entry.file_type()?, entry)));
            let (kind, entry) = match kind {
                Ok(of) => of,
                Err(error) => {
                    unreadable(&folder, error.into())?;
                    continue;
                }
            };
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                let path = entry.path();
                match room.take(path.as_os_str().len()) {
                    Ok(()) => all.push(path),
                    Err(_) => *all = Vec::new(),
                }
            }
        }
    }
    room.check()?;
    all[first..].sort_unstable_by(|a, b| a.as_os_str().cmp(b.as_os_str()));
    Ok(())
}

/// Opens inputs; none may be the file `output`, which results go to. If they have different `delimiters`, there is one
/// for each, and the last one is for all others.
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
        let path = match &named {
            NamedInput::Path(path) | NamedInput::MaybePath(path, _) if many => Some(path.clone()),
            _ => None,
        };
        anyhow::Ok(match (open_one(named, output)?.delimited_by(own(i)), path) {
            (Opened::Input(input), Some(path)) => Opened::Input(input.close(path)?),
            (opened, _) => opened,
        })
    });
    let mut sources = Vec::new();
    let mut inputs = Vec::new();
    for opened in opened {
        match opened? {
            Opened::Input(input) => inputs.push(input),
            Opened::Stream(stream) => {
                if !inputs.is_empty() {
                    sources.push(Source::Files(std::mem::take(&mut inputs)));
                }
                sources.push(Source::Stream(stream));
            }
        }
    }
    if !inputs.is_empty() {
        sources.push(Source::Files(inputs));
    }
    check_pipes(&sources)?;
    // Opening a named pipe waits for its writer, so it comes last. One writer may open several pipes before it writes, in any
    // order.
    let is_fifo = |path: &Path| path.metadata().is_ok_and(|meta| umbel_io::is_fifo(&meta));
    let mut pipes: Vec<(PathBuf, &mut Origin)> = Vec::new();
    for source in &mut sources {
        if let Source::Stream(Stream { from, .. }) = source
            && let Origin::Path(path) = from
            && is_fifo(path)
        {
            pipes.push((path.clone(), from));
        }
    }
    let paths: Vec<_> = pipes.iter().map(|(path, _)| path).collect();
    let open = |i: usize| File::open(paths[i]).with_context(|| paths[i].display().to_string());
    let opened = in_order(paths.len().min(MOST_PIPES), paths.len(), open);
    for ((_, from), file) in pipes.into_iter().zip(opened) {
        *from = Origin::Open(file?);
    }
    Ok(sources)
}

/// Refuses a pipe named twice, maybe by two names such as `-` and `/dev/stdin`: each reader would get a part of it.
fn check_pipes(sources: &[Source]) -> Result<()> {
    let mut pipes = HashMap::new();
    for source in sources {
        if let Source::Stream(Stream { name, pipe: Some(pipe), .. }) = source
            && let Some(first) = pipes.insert(*pipe, name)
        {
            bail!("{name}: is the same pipe as {first}, and can be read only once; name it once");
        }
    }
    Ok(())
}

/// Reads pipes after the first in threads of their own, into temporary files, for jobs that read sources one after
/// another. Otherwise `tee` would block on a later pipe, and stop filling the first.
///
/// # Errors
/// Temporary-file errors.
pub fn read_ahead(mut sources: Vec<Source>, options: &Options) -> Result<Vec<Source>> {
    let streams = sources.iter_mut().filter_map(|source| match source {
        Source::Stream(stream) => Some(stream),
        Source::Files(_) => None,
    });
    let pipes = streams.filter(|stream| stream.pipe.is_some());
    for Stream { from, .. } in pipes.take(MOST_PIPES).skip(1) {
        *from = match std::mem::replace(from, Origin::Lines(Box::new(io::empty()))) {
            Origin::Open(file) => Origin::Bytes(crate::read_ahead(Box::new(file), options)?),
            other => other,
        };
    }
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
    let (mut inputs, mut streams, mut pipes) = (Vec::new(), Vec::new(), 0);
    for source in sources {
        match source {
            Source::Files(files) => inputs.extend(files.into_iter().map(Some)),
            Source::Stream(stream) => {
                pipes += usize::from(stream.pipe.is_some());
                streams.push((inputs.len(), Mutex::new(Some(stream))));
                inputs.push(None);
            }
        }
    }
    let most = compression::decoders(options.memory).min(options.threads);
    let side_by_side = streams.len().min(most.max(pipes.min(MOST_PIPES))).max(1);
    let room = if side_by_side > 1 { options.memory / side_by_side as u64 } else { u64::MAX };
    // Threads that are not needed for other streams.
    let inside = options.threads / side_by_side;
    let (next, failed) = (AtomicUsize::new(0), AtomicUsize::new(usize::MAX));
    let spool = || {
        let mut spool = None;
        let mut spooled = Vec::new();
        loop {
            let number = next.fetch_add(1, Relaxed);
            // Streams after a failed one are not needed.
            let Some((_, stream)) = streams.get(number).filter(|_| number < failed.load(Relaxed))
            else {
                return spooled;
            };
            let stream = stream.lock().expect("no thread panics").take().expect("taken once");
            let again = stream.again().filter(|_| side_by_side > 1);
            let result = stream.spool(&mut spool, inside, options, room);
            let again = again.filter(|_| result.as_ref().is_err_and(NeedsMemory::is_cause));
            if result.is_err() && again.is_none() {
                failed.fetch_min(number, Relaxed);
            }
            spooled.push((number, again, result));
        }
    };
    let mut spooled: Vec<_> = on_each(side_by_side, spool).into_iter().flatten().collect();
    spooled.sort_unstable_by_key(|(number, ..)| *number);
    for (number, again, result) in spooled {
        // Alone, a decoder may have a larger window.
        let result = match again {
            Some(stream) => stream.spool(&mut None, options.threads, options, u64::MAX),
            None => result,
        };
        inputs[streams[number].0] = Some(result?);
    }
    Ok(inputs.into_iter().map(|input| input.expect("an error has been returned")).collect())
}

enum Opened {
    Input(Input),
    Stream(Stream),
}

impl Opened {
    fn delimited_by(self, delimiter: Option<u8>) -> Self {
        match (self, delimiter) {
            (Self::Input(input), Some(delimiter)) => Self::Input(input.delimited_by(delimiter)),
            (Self::Stream(stream), delimiter) => Self::Stream(Stream { delimiter, ..stream }),
            (input, None) => input,
        }
    }
}

fn open_one(named: NamedInput, output: Option<FileId>) -> Result<Opened> {
    let check =
        |state: io::Result<State>, name: &str| match state.with_context(|| name.to_owned())? {
            state if output == Some(state.id) => {
                bail!("{name}: is also the output; write to another file")
            }
            state => anyhow::Ok(state),
        };
    let stream = |name, from, pipe| {
        let (delimiter, under, left_out) = (None, None, None);
        Ok(Opened::Stream(Stream { name, from, pipe, delimiter, under, left_out }))
    };
    // Some systems give pipes no number.
    let pipe = |state: &State| Some(state.id).filter(|id| state.is_pipe && id.inode > 0);
    match named {
        NamedInput::Bytes(name, bytes) => stream(name, Origin::Bytes(bytes), None),
        NamedInput::Lines(name, bytes) => stream(name, Origin::Lines(bytes), None),
        NamedInput::Open(name, file) => {
            let state = check(State::of(&file), &name)?;
            if is_plain(&name, &state)?
                && !starts_midway(&file)
                && !is_short(&name, &file, &state)?
                && !is_compressed(&name, &file)?
            {
                return Ok(Opened::Input(Input::file(name, file)?));
            }
            stream(name, Origin::Open(file), pipe(&state))
        }
        NamedInput::MaybePath(path, left_out) => {
            let name = path.display().to_string();
            let is_output = State::at(&path).is_ok_and(|state| output == Some(state.id));
            match open_one(NamedInput::Path(path), output) {
                Ok(Opened::Stream(stream)) => {
                    Ok(Opened::Stream(Stream { left_out: Some(left_out), ..stream }))
                }
                Err(error) if !is_output => {
                    left_out(&error);
                    stream(name, Origin::Lines(Box::new(io::empty())), None)
                }
                opened => opened,
            }
        }
        NamedInput::Path(path) => {
            let name = path.display().to_string();
            let state = check(State::at(&path), &name)?;
            if !is_plain(&name, &state)? {
                return stream(name, Origin::Path(path), pipe(&state));
            }
            // Opened now even if it is opened again later: an error should come before any work.
            let file = File::open(&path).with_context(|| name.clone())?;
            if is_short(&name, &file, &state)? || is_compressed(&name, &file)? {
                return stream(name, Origin::Path(path), None);
            }
            Ok(Opened::Input(Input::file(name, file)?))
        }
    }
}

/// Whether it is compressed; files that are clearly not text are refused.
fn is_compressed(name: &str, file: &File) -> Result<bool> {
    let about = || name.to_owned();
    let start = Start::read(|bytes, offset| file.read_at(bytes, offset)).with_context(about)?;
    if start.compression.is_some() {
        return Ok(true);
    }
    content::check(name, &start.bytes).with_context(about)?;
    Ok(false)
}

/// Whether it is a file with a known length. The kernel's files claim to be empty; only reading them shows their
/// content.
fn is_plain(name: &str, state: &State) -> Result<bool> {
    if state.is_dir {
        return Err(crate::Error::Directory { name: name.to_owned() }.into());
    }
    Ok(state.is_file && state.length > 0)
}

/// Whether the file ends before its claimed length: files of sysfs claim a page.
fn is_short(name: &str, file: &File, state: &State) -> Result<bool> {
    let read = file.read_at(&mut [0], state.length - 1);
    Ok(read.with_context(|| name.to_owned())? == 0)
}

/// Whether a shared descriptor was read from before: then the rest is a stream.
fn starts_midway(mut file: &File) -> bool {
    file.stream_position().is_ok_and(|position| position > 0)
}

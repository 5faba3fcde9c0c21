//! Inputs: files, which can be read again, and pipes, made rereadable by spooling.

use std::fs::File;
use std::io::{self, Read, Write};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use memchr::memchr_iter;
use umbel::KeyHasher;
use umbel_io::{FileAt, FileId, PageBuffer, PageWriter, State, in_order, read_ahead, read_up_to};

use crate::line_counter::{LineCounter, MARK};
use crate::temporary::TempFile;
use crate::{Error, Options, Resources};

/// Lines that can be read any number of times, from any offset: a file, or a spooled pipe.
#[derive(Debug)]
pub struct Input {
    name: String,
    bytes: Location,
    stamp: Stamp,
    /// The hash of its first and last bytes.
    edges: u64,
    /// Whether it has grown.
    grown: Arc<AtomicBool>,
    /// Where the records to read start, and the end, if these are not all; the first one starts there.
    part: Option<[u64; 2]>,
    /// Whether its fields are named as in [`Form::others`].
    pub(crate) other: bool,
    /// Whether it is a copy whose fields are named as in the first input.
    pub(crate) renamed: bool,
    /// The delimiter of its columns, if it has one of its own; [`align`](crate::align()) copies it with the delimiter of
    /// [`Form::records`].
    pub(crate) delimiter: Option<u8>,
    /// The columns of its rows, if they are joined with others; for JSON lines, any number means that they are.
    pub(crate) columns: Option<usize>,
    /// Whether it is a copy of records: the form's rules for lines are applied, and line numbers are not the file's.
    pub(crate) copied: bool,
    /// Whether some of its keys were written as two records, a number of JSON and a text.
    pub(crate) doubled: bool,
    _held: InputMemory,
}

/// Memory of an input: a run may have 65,535 inputs, and more in lists.
#[derive(Debug)]
struct InputMemory(u64);

/// The bytes of all inputs of the process.
static HELD: AtomicU64 = AtomicU64::new(0);

impl InputMemory {
    /// The memory of an input with this name, including its path, its tallies and its places.
    fn of(name: &str) -> Self {
        // 730 bytes were measured, with names of 107.
        let bytes = 400 + 4 * name.len() as u64;
        HELD.fetch_add(bytes, Ordering::Relaxed);
        Self(bytes)
    }
}

impl Drop for InputMemory {
    fn drop(&mut self) {
        HELD.fetch_sub(self.0, Ordering::Relaxed);
    }
}

/// Bytes that the inputs of the process use beyond the program's own reserve, enough for some 10,000.
pub(crate) fn held() -> u64 {
    const SPARE: u64 = 6 << 20;
    HELD.load(Ordering::Relaxed).saturating_sub(SPARE)
}

/// The location of the bytes.
#[derive(Clone, Debug)]
enum Location {
    Open(Handle),
    /// In a file that each pass reopens.
    Closed(PathBuf),
}

#[derive(Clone, Debug)]
enum Handle {
    File(Arc<File>),
    /// A temporary file, from an offset on, after other inputs' bytes.
    Spooled(Arc<TempFile>, u64),
}

/// The signs of a changed file: its length and the time of its last modification. The time of its last status change is
/// not used, because renames and permissions change it too. If a writer restores the times, the tallies of two passes
/// show it.
#[derive(Clone, Debug, Default, PartialEq)]
struct Stamp {
    id: FileId,
    length: u64,
    modified: i64,
}

impl Input {
    fn new(name: String, stamp: Stamp, edges: u64, handle: Handle) -> Self {
        Self {
            _held: InputMemory::of(&name),
            name,
            stamp,
            edges,
            bytes: Location::Open(handle),
            grown: Arc::default(),
            part: None,
            other: false,
            renamed: false,
            delimiter: None,
            columns: None,
            copied: false,
            doubled: false,
        }
    }

    /// Makes an input of a regular file, as it is now: if it grows later, only its present bytes are read. It stays
    /// open.
    ///
    /// # Errors
    /// [`Error::Directory`]; [`Error::Read`] if the system does not report its length.
    pub fn file(name: impl Into<String>, file: File) -> Result<Self, Error> {
        let name = name.into();
        let stamp = stamp(&name, State::of(&file))?;
        let edges = edges(&file, stamp.length).map_err(|source| read_error(&name, source))?;
        read_ahead(&file);
        Ok(Self::new(name, stamp, edges, Handle::File(Arc::new(file))))
    }

    /// Some bytes of a temporary file.
    fn spooled(name: String, file: Arc<TempFile>, start: u64, length: u64) -> Self {
        let stamp = Stamp { length, ..Stamp::default() };
        Self::new(name, stamp, 0, Handle::Spooled(file, start))
    }

    /// Closes the file: each pass reopens `path`. For more inputs than a process may have open.
    pub(crate) fn close(self, path: PathBuf) -> Result<Self, Error> {
        let closed = Self { bytes: Location::Closed(path), ..self };
        closed.check_unchanged()?;
        Ok(closed)
    }

    /// Returns its own delimiter, if it has one.
    pub fn delimiter(&self) -> Option<u8> {
        self.delimiter
    }

    /// The same input once more.
    pub(crate) fn again(&self) -> Self {
        Self {
            _held: InputMemory::of(&self.name),
            name: self.name.clone(),
            bytes: self.bytes.clone(),
            stamp: self.stamp.clone(),
            grown: Arc::clone(&self.grown),
            ..*self
        }
    }

    /// Marks its rows as joined with others: rows with another number of columns cannot be read.
    pub(crate) fn joined(self, columns: usize) -> Self {
        Self { columns: Some(columns), ..self }
    }

    /// Limits passes to the records that start in a part, which begins where one does.
    pub(crate) fn within(self, part: [u64; 2]) -> Self {
        Self { part: Some(part), ..self }
    }

    /// The range in which the records to read start.
    pub(crate) fn part(&self) -> Range<u64> {
        let [start, end] = self.part.unwrap_or([0, self.length()]);
        start..end
    }

    /// Returns the name used in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns its length in bytes.
    pub fn length(&self) -> u64 {
        self.stamp.length
    }

    /// Bytes that were copied to a temporary file to make it readable again.
    pub(crate) fn spooled_bytes(&self) -> u64 {
        if let Location::Open(Handle::Spooled(..)) = self.bytes { self.length() } else { 0 }
    }

    /// Opens it for reading; an error if it has changed.
    pub(crate) fn open(&self) -> Result<Reader<'_>, Error> {
        let handle = match &self.bytes {
            Location::Open(handle) => handle.clone(),
            Location::Closed(path) => {
                let file = File::open(path).map_err(|source| read_error(&self.name, source))?;
                read_ahead(&file);
                Handle::File(Arc::new(file))
            }
        };
        if let Handle::File(file) = &handle {
            self.compare(file)?;
        }
        Ok(Reader { input: self, handle })
    }

    /// Returns its first 64 KiB.
    ///
    /// # Errors
    /// Read errors.
    pub fn start(&self) -> Result<Vec<u8>, Error> {
        let mut start = PageBuffer::new(self.length().min(1 << 16) as usize);
        self.open()?.read_at(&mut start, 0)?;
        Ok(start.to_vec())
    }

    /// Returns, of the lines in its first and last `part` bytes, whether some end with a line feed alone, and whether some
    /// end with a carriage return and a line feed.
    ///
    /// # Errors
    /// Read errors.
    pub fn line_ends(&self, part: u64) -> Result<[bool; 2], Error> {
        let (file, part) = (self.open()?, self.length().min(part));
        let (mut text, mut ends) = (PageBuffer::new(part as usize), [false; 2]);
        for at in [0, self.length() - part] {
            file.read_at(&mut text, at)?;
            // The byte before the last part is unknown.
            for end in memchr_iter(b'\n', &text).filter(|end| at == 0 || *end > 0) {
                ends[usize::from(end > 0 && text[end - 1] == b'\r')] = true;
            }
        }
        Ok(ends)
    }

    /// Returns an error if it has changed.
    pub(crate) fn check_unchanged(&self) -> Result<(), Error> {
        match &self.bytes {
            Location::Closed(path) if stamp(&self.name, State::at(path))? == self.stamp => Ok(()),
            _ => self.open().map(drop),
        }
    }

    /// Compares the system's metadata. A file that only grew still begins with its old content: its edges show whether
    /// that is possible, and another pass over it whether it is true.
    fn compare(&self, file: &File) -> Result<(), Error> {
        let now = stamp(&self.name, State::of(file))?;
        if now == self.stamp {
            return Ok(());
        }
        if now.id != self.stamp.id || now.length <= self.stamp.length {
            return Err(self.changed());
        }
        match edges(file, self.stamp.length) {
            Ok(edges) if edges == self.edges => {
                self.grown.store(true, Ordering::Relaxed);
                Ok(())
            }
            Err(source) if source.kind() != io::ErrorKind::UnexpectedEof => {
                Err(read_error(&self.name, source))
            }
            _ => Err(self.changed()),
        }
    }

    /// Whether it was longer when opened for a pass, or read, than at first.
    pub(crate) fn grew(&self) -> bool {
        self.grown.load(Ordering::Relaxed)
    }

    pub(crate) fn changed(&self) -> Error {
        Error::Changed(self.name.clone())
    }
}

/// The hash of the first and the last 4,096 of `length` bytes.
fn edges(file: &File, length: u64) -> io::Result<u64> {
    const EDGE: u64 = 4096;
    let edge = length.min(EDGE);
    let mut bytes = PageBuffer::new(2 * edge as usize);
    let (first, last) = bytes.split_at_mut(edge as usize);
    file.read_exact_at(first, 0)?;
    file.read_exact_at(last, length - edge)?;
    Ok(KeyHasher::default().hash(&bytes[..]).low)
}

/// Estimates the lines of each input from the line ends in pieces of it: from half a megabyte of each file if there are
/// few, from less if there are many; exact for files that these cover. Never 0.
pub(crate) fn estimate_lines(inputs: &[Input], options: &Options) -> Result<Vec<u64>, Error> {
    let count = inputs.len().max(1) as u64;
    let samples = (256 / count).clamp(2, 16);
    // 8 MiB of all inputs together, or two pieces of 4 KiB of each.
    let size = ((8 << 20) / (samples * count)).clamp(4 << 10, 32 << 10);
    let estimate = |i: usize| {
        let (reader, length) = (inputs[i].open()?, inputs[i].length());
        let whole = length <= samples * size;
        let (pieces, size) = if whole { (1, length) } else { (samples, size) };
        let mut piece = PageBuffer::new(size as usize);
        let mut ends = 0;
        for i in 0..pieces {
            // The last one ends where the file ends.
            reader.read_at(&mut piece, (length - size) / (samples - 1) * i)?;
            ends += memchr_iter(options.form.records.end(), &piece).count() as u64;
        }
        // Without any line end, lines are longer than all pieces together.
        let per_byte = ends as f64 / (pieces * size) as f64;
        Ok(if whole { ends } else { (per_byte * length as f64) as u64 } + 1)
    };
    in_order(options.resources.threads, inputs.len(), estimate).into_iter().collect()
}

/// The total bytes of some inputs.
pub(crate) fn lengths(inputs: &[Input]) -> u64 {
    inputs.iter().map(Input::length).sum()
}

/// Lines to read: from files, or from a stream, with its name.
pub enum ReadFrom<'a> {
    /// All lines of files, which all threads read.
    Files(&'a [Input]),
    /// Lines that are processed as soon as they arrive.
    Stream(&'a str, &'a mut dyn Read),
}

impl<'a, F: AsRef<[Input]> + ?Sized> From<&'a F> for ReadFrom<'a> {
    fn from(files: &'a F) -> Self {
        Self::Files(files.as_ref())
    }
}

/// An input that is open.
pub(crate) struct Reader<'a> {
    input: &'a Input,
    handle: Handle,
}

/// An input as a stream, from some offset.
pub(crate) struct FromOffset<'a> {
    reader: &'a Reader<'a>,
    offset: u64,
}

impl Read for FromOffset<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let left = self.reader.input.length() - self.offset;
        let size = left.min(bytes.len() as u64) as usize;
        self.reader.read_at(&mut bytes[..size], self.offset).map_err(io::Error::other)?;
        self.offset += size as u64;
        Ok(size)
    }
}

impl Reader<'_> {
    pub(crate) fn input(&self) -> &Input {
        self.input
    }

    /// Streams it from `offset` on.
    pub(crate) fn from(&self, offset: u64) -> FromOffset<'_> {
        FromOffset { reader: self, offset }
    }

    /// Fills `bytes` from `offset`; an input that has become shorter has changed.
    pub(crate) fn read_at(&self, bytes: &mut [u8], offset: u64) -> Result<(), Error> {
        match &self.handle {
            Handle::Spooled(file, start) => file.read_exact_at(bytes, start + offset),
            Handle::File(file) => {
                file.read_exact_at(bytes, offset).map_err(|source| match source.kind() {
                    io::ErrorKind::UnexpectedEof => self.input.changed(),
                    _ => read_error(&self.input.name, source),
                })
            }
        }
    }

    /// Counts the lines up to `end`.
    pub(crate) fn count_lines(&self, end: u64, separator: u8) -> Result<LineCounter, Error> {
        let mut counter = LineCounter::new(separator);
        let mut piece = PageBuffer::new(1 << 18);
        let mut offset = 0;
        while offset < end {
            let size = (end - offset).min(piece.len() as u64) as usize;
            self.read_at(&mut piece[..size], offset)?;
            counter.pass(&piece[..size]);
            offset += size as u64;
        }
        Ok(counter)
    }
}

/// The error of reading an input; one of our own may have passed through its reader.
pub(crate) fn read_error(name: &str, source: io::Error) -> Error {
    source.downcast().unwrap_or_else(|source| Error::Read { name: name.to_owned(), source })
}

fn stamp(name: &str, state: io::Result<State>) -> Result<Stamp, Error> {
    match state {
        Ok(state) if state.is_dir => Err(Error::Directory(name.to_owned())),
        Ok(State { id, length, modified, .. }) => Ok(Stamp { id, length, modified }),
        Err(source) => Err(read_error(name, source)),
    }
}

/// A temporary file of rows, written one by one.
#[derive(Debug)]
pub struct SpoolWriter {
    name: String,
    out: PageWriter<TempFile>,
    length: u64,
    separator: u8,
}

impl SpoolWriter {
    /// Makes an empty one for the input `name`.
    ///
    /// # Errors
    /// [`Error::Temporary`].
    pub fn new(name: &str, options: &Options) -> Result<Self, Error> {
        let out = PageWriter::new(1 << 18, options.resources.tmp.file()?);
        Ok(Self { name: name.to_owned(), out, length: 0, separator: options.form.records.end() })
    }

    /// Appends a row.
    ///
    /// # Errors
    /// [`Error::Temporary`].
    pub fn row(&mut self, row: &[u8]) -> Result<(), Error> {
        // A mark at the start belongs to the row, and the reader would cut it off.
        let mark = if self.length == 0 && row.starts_with(MARK) { MARK } else { &[] };
        for bytes in [mark, row, &[self.separator]] {
            self.length += bytes.len() as u64;
            self.out.write_all(bytes).map_err(|error| self.out.get_ref().fail(error))?;
        }
        Ok(())
    }

    /// Returns all rows as an input.
    ///
    /// # Errors
    /// [`Error::Temporary`].
    pub fn finish(self) -> Result<Input, Error> {
        let file = Arc::new(TempFile::finish(self.out)?);
        Ok(Input { copied: true, ..Input::spooled(self.name, file, 0, self.length) })
    }
}

/// A temporary file to which sources that can be read only once are copied, in order.
pub(crate) struct Spool<'a> {
    resources: &'a Resources,
    /// Made for the first of them.
    file: Option<Arc<TempFile>>,
    length: u64,
}

impl<'a> Spool<'a> {
    pub(crate) fn new(resources: &'a Resources) -> Self {
        Self { resources, file: None, length: 0 }
    }

    /// Copies all of `source`, such as a pipe or a decompressed file.
    pub(crate) fn add(&mut self, name: &str, source: &mut dyn Read) -> Result<Input, Error> {
        let Resources { tmp, progress, .. } = self.resources;
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(Arc::new(tmp.file()?)),
        };
        let (start, mut piece) = (self.length, PageBuffer::new(1 << 18));
        loop {
            // Pipes deliver little at a time.
            let filled =
                read_up_to(source, &mut piece).map_err(|source| read_error(name, source))?;
            if filled == 0 {
                let length = self.length - start;
                return Ok(Input::spooled(name.to_owned(), Arc::clone(file), start, length));
            }
            file.write_all_at(&piece[..filled], self.length)?;
            self.length += filled as u64;
            progress.expect(filled as u64);
            progress.advance(filled as u64);
            progress.check()?;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::testing::{input, workplace};

    #[test]
    fn inputs_count_for_the_cap_until_they_are_dropped() {
        let all = || HELD.load(Ordering::Relaxed);
        // 4 MiB: less than the program has to spare, and much more than the inputs of other tests in the meantime.
        let before = all();
        let held = InputMemory::of(&"n".repeat(1 << 20));
        let with = all();
        drop(held);
        let without = all();
        assert!(with.abs_diff(before + (4 << 20)) < 1 << 20, "{before}, {with}");
        assert!(without.abs_diff(before) < 1 << 20, "{before}, {without}");
    }

    #[test]
    fn a_folder_is_no_input() {
        let dir = tempfile::tempdir().unwrap();
        let folder = umbel_io::open(dir.path()).unwrap();
        assert!(matches!(Input::file("d", folder), Err(Error::Directory(_))));
    }

    #[test]
    fn a_closed_input_is_opened_by_its_path() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let closed = input(dir.path(), "a", b"x\n").close(path.clone()).unwrap();
        assert!(closed.open().is_ok());
        // Another file with that name is not the original one.
        input(dir.path(), "b", b"y\n");
        fs::rename(dir.path().join("b"), &path).unwrap();
        assert!(matches!(closed.open(), Err(Error::Changed(_))));
        fs::remove_file(&path).unwrap();
        assert!(matches!(closed.open(), Err(Error::Read { .. })));
    }

    #[test]
    fn an_input_may_grow_but_not_change() {
        let dir = tempfile::tempdir().unwrap();
        let input = input(dir.path(), "a", b"old\n");
        let write = |text| fs::write(dir.path().join("a"), text).unwrap();
        write("old\nnew\n");
        assert!(input.check_unchanged().is_ok() && input.grew());
        for text in ["odd\nnew\nmore\n", "old"] {
            write(text);
            assert!(matches!(input.check_unchanged(), Err(Error::Changed(_))), "{text}");
        }
    }

    #[test]
    fn lines_are_estimated_from_all_over_a_file() {
        let (dir, options) = workplace(b'\n');
        let [short, long] = [10, 1000].map(|length| [&vec![b'x'; length - 1][..], b"\n"].concat());
        let quarter = 400_000;
        let of = |line: &[u8], bytes: usize| line.repeat(bytes / line.len());
        let text = [of(&short, quarter), of(&long, 2 * quarter), of(&short, quarter)].concat();
        let lines = memchr_iter(b'\n', &text).count() as f64;
        let inputs = [input(dir.path(), "a", &text), input(dir.path(), "b", b"x\ny")];
        let estimated = estimate_lines(&inputs, &options).unwrap();
        assert!((estimated[0] as f64 / lines - 1.0).abs() < 0.2, "{estimated:?} of {lines}");
        assert_eq!(estimated[1], 2);
    }
}

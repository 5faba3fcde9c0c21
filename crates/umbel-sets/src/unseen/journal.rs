//! The journal of `unseen`: a file next to the filter, with the keys added since the filter was saved.
//!
//! Writing a filter of gigabytes every minute would be too slow. Instead, hashes are appended here, and at each
//! checkpoint the position of the run. Readers of the filter also read the journal up to the last checkpoint. It is
//! removed when the filter is saved at the end of the run.
//!
//! Output is announced here before it is appended, by its checksums. So the next run knows which bytes after the last
//! checkpoint the interrupted run wrote, and removes only those.
//!
//! Just before a filter that contains the whole journal takes its name, it is announced as well. So its keys are not
//! added again if the run stops before it removes the journal; otherwise an older key would count as new, and a key
//! removed since would return.
//!
//! ```text
//! "UMBELRUN" | version u32 = 1 | frames
//! frame      length u32 | checksum u64: XXH3 of what follows | tag u8 | content
//!   tag 0    hashes, 16 bytes each
//!   tag 1    a checkpoint, as JSON
//!   tag 2    what is appended to the output next: offset u64 | length u64 | XXH3 u64 of each piece, as offsets that are
//!            multiples of 4,096 cut it
//!   tag 3    a filter that is saved: XXH3 u64 of its header and of the checksum of its table | u64, up to which byte of the
//!            journal it has all hashes
//! ```

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::iter;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use umbel::internals::format::Reader;
use umbel::{AnyFilter, Capacity, Filter, KeyHash, KeyHasher};
use umbel_io::atomic::{self, Existing};
use umbel_io::{Access, FileAt, PageWriter, State};

/// The first bytes of a journal: its magic number and the version.
const START: [u8; 12] = *b"UMBELRUN\x01\0\0\0";
const MAGIC: usize = 8;
/// Bytes of a frame before its content.
const HEAD: usize = 12;
/// A process that is killed stops writing at such offsets: the size of a page.
const PIECE: u64 = 4096;
/// The most bytes of an announcement.
const MOST_ANNOUNCED: usize = 1 << 20;
/// The longest frame: 4,096 hashes, or a checkpoint with two paths.
const LONGEST: usize = 16 * 4096 + 1;

/// The progress of a run when its filter is saved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checkpoint {
    /// The input being read.
    pub input: String,
    /// The start of the first unsettled line in it, in bytes.
    pub offset: u64,
    /// Lines written so far.
    pub found: u64,
}

/// The progress of a run.
#[derive(Clone, Debug)]
pub struct Reached {
    /// Where it is.
    pub at: Checkpoint,
    /// The file they were written to, if one was named.
    pub output: Option<OutputState>,
}

impl Reached {
    /// The content of its frame.
    fn content(&self) -> Vec<u8> {
        let output = self.output.as_ref().map(|OutputState { path, inode, length, tail }| {
            // As text, or if it is not text, as the numbers of its bytes.
            let path = path
                .to_str()
                .map_or_else(|| json!(path.as_os_str().as_encoded_bytes()), Value::from);
            json!({ "path": path, "inode": inode, "length": length, "tail": tail })
        });
        let Checkpoint { input, offset, found } = &self.at;
        let json = json!({ "input": input, "offset": offset, "found": found, "output": output });
        [&[1], json.to_string().as_bytes()].concat()
    }

    fn from_json(json: &[u8]) -> Option<Self> {
        let json: Value = serde_json::from_slice(json).ok()?;
        let output = match &json["output"] {
            Value::Null => None,
            output => Some(OutputState {
                path: match &output["path"] {
                    Value::Array(bytes) => {
                        let byte = |byte: &Value| u8::try_from(byte.as_u64()?).ok();
                        umbel_io::path_from(bytes.iter().map(byte).collect::<Option<_>>()?)?
                    }
                    text => text.as_str()?.into(),
                },
                inode: output["inode"].as_u64()?,
                length: output["length"].as_u64()?,
                tail: output["tail"].as_u64()?,
            }),
        };
        let at = Checkpoint {
            input: json["input"].as_str()?.to_owned(),
            offset: json["offset"].as_u64()?,
            found: json["found"].as_u64()?,
        };
        Some(Self { at, output })
    }
}

/// How much of a file was written, and how it is recognized.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputState {
    /// Where it is.
    pub path: PathBuf,
    /// Its number on its file system.
    pub inode: u64,
    /// Its length with everything recorded in it.
    pub length: u64,
    /// XXH3 of the last 4,096 of these bytes.
    pub tail: u64,
}

impl OutputState {
    /// The file as it is now: `file`, opened as `path`.
    ///
    /// # Errors
    /// System errors; a file that was removed, together with its content.
    pub fn now(path: &Path, file: &File) -> Result<Self> {
        let State { id, length, links, .. } = State::of(file)?;
        if links == 0 {
            bail!("was removed while lines were written to it; they are not recorded");
        }
        Ok(Self { path: path.to_owned(), inode: id.inode, length, tail: tail(file, length)? })
    }
}

fn tail(file: &File, length: u64) -> io::Result<u64> {
    let bytes = length.min(PIECE);
    let mut tail = vec![0; bytes as usize];
    file.read_exact_at(&mut tail, length - bytes)?;
    Ok(checksum(&tail))
}

/// Bytes about to be appended to the output.
struct Announced {
    at: u64,
    length: u64,
    sums: Vec<u64>,
}

impl Announced {
    fn new(at: u64, bytes: &[u8]) -> Self {
        let (first, others) = bytes.split_at(bytes.len().min((PIECE - at % PIECE) as usize));
        let pieces = iter::once(first).chain(others.chunks(PIECE as usize));
        let sums = pieces.filter(|piece| !piece.is_empty()).map(checksum).collect();
        Self { at, length: bytes.len() as u64, sums }
    }

    fn content(&self) -> Vec<u8> {
        numbers(2, &[&[self.at, self.length], &self.sums[..]].concat())
    }

    /// The end of its pieces in `file`, up to the first that is missing.
    fn end_in(&self, file: &File) -> io::Result<u64> {
        let (mut at, end) = (self.at, self.at + self.length);
        let mut piece = Vec::new();
        for sum in &self.sums {
            let next = end.min((at / PIECE + 1) * PIECE);
            piece.resize((next - at) as usize, 0);
            if !whole(file.read_exact_at(&mut piece, at))? || checksum(&piece) != *sum {
                break;
            }
            at = next;
        }
        Ok(at)
    }
}

enum Frame {
    Hashes(Vec<KeyHash>),
    Reached(Reached),
    Announced(Announced),
    /// A filter that was saved: its [sum](sum_of), and up to which byte of the journal it has all hashes.
    Saved([u64; 2]),
}

/// The content of a frame of numbers.
fn numbers(tag: u8, numbers: &[u64]) -> Vec<u8> {
    [tag].into_iter().chain(numbers.iter().flat_map(|number| number.to_le_bytes())).collect()
}

/// The identity of a filter: XXH3 of its header and of the checksum of its table of checksums.
///
/// # Errors
/// System errors; a file that is not a filter of umbel.
pub fn sum_of(filter: &File) -> Result<u64> {
    let length = filter.metadata()?.len();
    // A header is at most 128 KiB long.
    let mut start = vec![0; length.min(1 << 17) as usize];
    filter.read_exact_at(&mut start, 0)?;
    let header = Reader::begin(&start[..], length)?.header().clone();
    let mut table = [0; 8];
    filter.read_exact_at(&mut table, header.file_length()? - 8)?;
    Ok(checksum(&[header.bytes(), &table].concat()))
}

/// The journal of the filter at a path.
pub fn path_of(filter: &Path) -> PathBuf {
    // Runs that name the filter by a link share its journal.
    let filter = umbel_io::canonical(filter).unwrap_or_else(|_| filter.to_owned());
    let mut name = filter.file_name().unwrap_or_default().to_owned();
    name.push(".run");
    filter.with_file_name(name)
}

/// A journal that is open for reading, up to its last checkpoint.
///
/// Open it before the filter: if a run saves the filter and removes the journal meanwhile, this handle still has the
/// hashes, and so does the filter. In the other order, recorded hashes could be missing from both.
pub struct Notes {
    path: PathBuf,
    file: File,
    /// The progress of the run.
    pub reached: Reached,
    /// Where the last checkpoint ends in the file.
    end: u64,
}

impl Notes {
    /// The journal of the filter at a path, if it has a checkpoint.
    ///
    /// # Errors
    /// System errors; a file of that name that is not a journal.
    pub fn of(filter: &Path) -> Result<Option<Self>> {
        let path = path_of(filter);
        let file = match File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            file => file.with_context(|| path.display().to_string())?,
        };
        let mut last = None;
        for frame in frames(&file, &path) {
            if let (Frame::Reached(reached), end) = frame? {
                last = Some((reached, end));
            }
        }
        Ok(last.map(|(reached, end)| Self { path, file, reached, end }))
    }

    /// Refuses the journal of a filter whose signature is checked: the signature does not cover it. Anyone who can put
    /// a file next to the filter could add keys; signed filters are not otherwise changed in place.
    ///
    /// # Errors
    /// As [`of`](Self::of); a journal with a checkpoint.
    pub fn refuse(filter: &Path) -> Result<()> {
        match Self::of(filter)? {
            None => Ok(()),
            Some(Self { path, .. }) => bail!(
                "{}: adds lines that the filter's signature does not cover; move it away, or read the filter without a trusted key",
                path.display()
            ),
        }
    }

    /// Adds to `filter`, which was read from `file`, the hashes of the journal that it lacks.
    ///
    /// # Errors
    /// Errors of reading; a filter without room.
    pub fn take_in(&self, filter: &mut AnyFilter, file: &File) -> Result<()> {
        let forgets = filter.plan().kind().capacity() == Capacity::Last;
        self.each_hashes(file, |mut hashes| {
            if !forgets {
                let mut known = vec![false; hashes.len()];
                filter.contains_all(&hashes, &mut known);
                let mut known = known.into_iter();
                hashes.retain(|_| !known.next().expect("one for each hash"));
            }
            Ok(filter.try_insert_all(&hashes)?)
        })
    }

    /// Passes on the hashes of the journal, except those noted before the filter of `file` was saved. Errors of `each` can
    /// be downcast.
    pub(crate) fn each_hashes(
        &self,
        file: &File,
        mut each: impl FnMut(Vec<KeyHash>) -> Result<()>,
    ) -> Result<()> {
        let sum = sum_of(file)?;
        let saved = self.saved_filters()?.into_iter().filter(|saved| saved[0] == sum);
        let saved = saved.map(|[_, up_to]| up_to).max().unwrap_or(0);
        for frame in frames(&self.file, &self.path) {
            match frame? {
                (_, end) if end > self.end => break,
                (Frame::Hashes(hashes), end) if end > saved => each(hashes)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// The filters that were saved with the journal's hashes, also since this was opened.
    fn saved_filters(&self) -> Result<Vec<[u64; 2]>> {
        let mut all = Vec::new();
        for frame in frames(&self.file, &self.path) {
            if let (Frame::Saved(saved), _) = frame? {
                all.push(saved);
            }
        }
        Ok(all)
    }

    /// Records that the filter of `file`, about to replace the journal's, has all hashes of the journal.
    ///
    /// # Errors
    /// System errors.
    pub fn saved(&self, file: &File) -> Result<()> {
        let mut frames = frames(&self.file, &self.path);
        let end = frames.try_fold(self.end, |_, frame| frame.map(|(_, end)| end))?;
        Journal { bytes: self.end, ..Journal::open(self.path.clone(), end)? }.saved(file)
    }

    /// Removes from `out`, the file `written`, the bytes that the interrupted run appended after its last checkpoint.
    ///
    /// # Errors
    /// System errors; a file that differs in any way from what that run left: it is not changed.
    pub fn take_back(&self, written: &OutputState, out: &File) -> Result<()> {
        let now = State::of(out)?;
        // The end of our own bytes.
        let mut ours = written.length;
        for frame in frames(&self.file, &self.path) {
            if let (Frame::Announced(announced), end) = frame?
                && end > self.end
                && announced.at <= ours
            {
                ours = ours.max(announced.end_in(out)?);
            }
        }
        let contradiction = if now.id.inode != written.inode {
            Some("is not the file")
        } else if now.length < written.length {
            Some("is shorter than the file")
        } else if tail(out, written.length)? != written.tail {
            Some("does not end like the file")
        } else {
            (ours != now.length).then_some("has lines of other programs after those")
        };
        if let Some(contradiction) = contradiction {
            bail!(
                "{contradiction} that an interrupted run wrote, according to {}; nothing was changed; put that file back, or name another with --append, which also gets the lines after the last checkpoint",
                self.path.display()
            );
        }
        if now.length > written.length {
            umbel_io::set_length(out, written.length)?;
            // The announcements are removed next: without them, these lines would seem to come from another program.
            out.sync_data()?;
        }
        Ok(())
    }
}

/// The complete frames of the journal at `path`, with the places of their ends.
fn frames(file: &File, path: &Path) -> impl Iterator<Item = Result<(Frame, u64)>> {
    let mut at = 0;
    iter::from_fn(move || next_frame(file, path, &mut at).transpose())
}

/// The frame at byte `at`, or the first one, and where it ends, which is where the next one is.
fn next_frame(file: &File, path: &Path, at: &mut u64) -> Result<Option<(Frame, u64)>> {
    let context = || path.display().to_string();
    if *at == 0 {
        let mut start = [0; START.len()];
        let length = file.metadata().with_context(context)?.len().min(START.len() as u64) as usize;
        file.read_exact_at(&mut start[..length], 0).with_context(context)?;
        if length < START.len() && START.starts_with(&start[..length]) {
            return Ok(None);
        }
        if start[..MAGIC] != START[..MAGIC] {
            bail!(
                "{}: has the name of an umbel unseen journal, but is not one; move it away",
                context()
            );
        }
        if start != START {
            bail!(
                "{}: is an umbel unseen journal of version {}, and this release reads version {}; use the umbel that wrote it: the journal has keys that the filter lacks",
                context(),
                start[MAGIC],
                START[MAGIC]
            );
        }
        *at = START.len() as u64;
    }
    let found = frame_at(file, *at).with_context(context)?;
    if let Some((_, end)) = &found {
        *at = *end;
    } else if is_damaged_at(file, *at).with_context(context)? {
        bail!(
            "{}: is damaged at byte {at}, among keys that the filter lacks; nothing was changed; copy the file again, or move it away and rebuild the filter",
            context()
        );
    }
    // Otherwise the journal ends with a last frame that a crash left incomplete.
    Ok(found)
}

/// The frame that starts at a byte of a journal, and where it ends; `None` if it is incomplete.
fn frame_at(file: &File, at: u64) -> io::Result<Option<(Frame, u64)>> {
    let mut head = [0; HEAD];
    if !whole(file.read_exact_at(&mut head, at))? {
        return Ok(None);
    }
    let length = u32::from_le_bytes(head[..4].try_into().expect("4 bytes")) as usize;
    if length == 0 || length > LONGEST {
        return Ok(None);
    }
    let (start, mut content) = (at + HEAD as u64, vec![0; length]);
    let is_there = whole(file.read_exact_at(&mut content, start))?;
    let frame = frame(&head[4..], &content).filter(|_| is_there);
    Ok(frame.map(|frame| (frame, start + length as u64)))
}

/// Whether an incomplete frame was once complete, and no crash explains it. A power failure leaves any part of the
/// bytes written since a checkpoint: a frame may be missing and a later one present. But nothing is written after the
/// next checkpoint until all before it is on disk. Damage to the last frames of the journal looks like a crash.
///
/// Cost: checks each byte at which the next frame can start, 30 ms.
fn is_damaged_at(file: &File, at: u64) -> io::Result<bool> {
    let most = at.saturating_add((HEAD + LONGEST) as u64);
    let mut starts = at + 1..=most.min(file.metadata()?.len());
    let mut found = starts.find_map(|start| frame_at(file, start).transpose()).transpose()?;
    let mut is_durable = false;
    while let Some((frame, end)) = found {
        if is_durable {
            // Unless it was just being written.
            return Ok(frame_at(file, at)?.is_none());
        }
        is_durable = matches!(frame, Frame::Reached(_));
        found = frame_at(file, end)?;
    }
    Ok(false)
}

/// Whether everything was read before the end of the file.
fn whole(read: io::Result<()>) -> io::Result<bool> {
    match read {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        read => read.map(|()| true),
    }
}

fn frame(sum: &[u8], content: &[u8]) -> Option<Frame> {
    if checksum(content).to_le_bytes() != sum {
        return None;
    }
    match content.split_first()? {
        (0, hashes) => {
            let hashes = hashes.as_chunks::<16>().0.iter();
            let hashes = hashes.map(|bytes| KeyHash::from_u128(u128::from_le_bytes(*bytes)));
            Some(Frame::Hashes(hashes.collect()))
        }
        (1, json) => Reached::from_json(json).map(Frame::Reached),
        (&tag, numbers) => {
            let (numbers, []) = numbers.as_chunks::<8>() else { return None };
            let numbers: Vec<_> = numbers.iter().map(|one| u64::from_le_bytes(*one)).collect();
            match (tag, &numbers[..]) {
                (2, &[at, length, ref sums @ ..]) => {
                    at.checked_add(length)?;
                    Some(Frame::Announced(Announced { at, length, sums: sums.to_vec() }))
                }
                (3, &[sum, up_to]) => Some(Frame::Saved([sum, up_to])),
                _ => None,
            }
        }
    }
}

fn checksum(content: &[u8]) -> u64 {
    KeyHasher::default().hash(content).low
}

/// A journal that a run writes.
pub struct Journal {
    path: PathBuf,
    /// `None` until something is noted: a run that cannot start leaves no file.
    out: Option<PageWriter<File>>,
    waiting: Vec<u8>,
    bytes: u64,
    /// Whether writing failed: nothing after a frame that is cut off would be read.
    failed: bool,
}

impl Journal {
    /// The journal at `path`, truncated after the last checkpoint if it was `found`. Keeps records of saved filters.
    pub fn new(path: PathBuf, found: Option<&Notes>) -> Result<Self> {
        let Some(found) = found else {
            return Ok(Self { path, out: None, waiting: vec![0], bytes: 0, failed: false });
        };
        let saved = found.saved_filters()?;
        let mut journal = Self::open(path, found.end)?;
        // Otherwise a power failure could leave some of these hashes between new frames.
        journal.sync()?;
        saved.iter().try_for_each(|saved| journal.frame(&numbers(3, saved)))?;
        Ok(journal)
    }

    /// Opens the journal at `path`, cuts it off at `end`, and continues it.
    fn open(path: PathBuf, end: u64) -> Result<Self> {
        let open = || -> io::Result<File> {
            let mut file = OpenOptions::new().write(true).open(&path)?;
            file.set_len(end)?;
            file.seek(SeekFrom::Start(end))?;
            Ok(file)
        };
        let out = open().with_context(|| path.display().to_string())?;
        let out = Some(PageWriter::new(1 << 13, out));
        Ok(Self { path, out, waiting: vec![0], bytes: end, failed: false })
    }

    /// Its length in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Notes hashes; they count from the next [`reached`](Self::reached) on.
    pub fn note(&mut self, hashes: impl IntoIterator<Item = KeyHash>) -> Result<()> {
        for hash in hashes {
            self.waiting.extend_from_slice(&hash.to_u128().to_le_bytes());
            if self.waiting.len() == LONGEST {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        if self.waiting.len() > 1 {
            let content = std::mem::replace(&mut self.waiting, vec![0]);
            self.frame(&content)?;
        }
        Ok(())
    }

    /// Announces the bytes appended to the output next, at the offset `at`. This need not survive a system crash: the
    /// next run may then not recognize the last lines, and refuses to continue after them.
    fn announce(&mut self, at: u64, bytes: &[u8]) -> Result<()> {
        self.frame(&Announced::new(at, bytes).content())?;
        self.write(|out| out.flush())
    }

    /// Makes durable what was noted, and the position of the run.
    pub fn reached(&mut self, reached: &Reached) -> Result<()> {
        self.flush()?;
        self.frame(&reached.content())?;
        self.sync()
    }

    /// Records, after a checkpoint, that the filter of `file` has everything noted. It is about to replace the one next
    /// to the journal.
    pub fn saved(&mut self, file: &File) -> Result<()> {
        let sum = sum_of(file).with_context(|| self.path.display().to_string())?;
        self.frame(&numbers(3, &[sum, self.bytes]))?;
        self.sync()
    }

    /// Makes durable what was written.
    fn sync(&mut self) -> Result<()> {
        self.write(|out| out.flush().and_then(|()| out.get_ref().sync_data()))
    }

    /// Writes to the file, unless that failed before.
    fn write<T>(
        &mut self,
        write: impl FnOnce(&mut PageWriter<File>) -> io::Result<T>,
    ) -> Result<T> {
        if self.failed {
            bail!("{}: could not be written", self.path.display());
        }
        let written = write(self.out.as_mut().expect("it was made"));
        self.failed = written.is_err();
        written.with_context(|| self.path.display().to_string())
    }

    /// Empties the journal, once the filter has everything noted.
    pub fn begin_again(&mut self, reached: &Reached) -> Result<()> {
        let mut bytes = START.to_vec();
        write_frame(&mut bytes, &reached.content())?;
        let file = atomic::write(&self.path, Existing::Replace, |out| Ok(out.write_all(&bytes)?))?;
        self.out = Some(PageWriter::new(1 << 13, file));
        self.bytes = bytes.len() as u64;
        Ok(())
    }

    /// Removes the file, when the filter has everything noted and the run is over.
    pub fn remove(&mut self) -> Result<()> {
        match self.out.take() {
            Some(_) => fs::remove_file(&self.path).with_context(|| self.path.display().to_string()),
            None => Ok(()),
        }
    }

    fn frame(&mut self, content: &[u8]) -> Result<()> {
        if self.out.is_none() {
            self.make()?;
        }
        self.bytes += self.write(|out| write_frame(out, content))?;
        Ok(())
    }

    /// Makes the file with its start; only users who may read the filter may read its journal.
    fn make(&mut self) -> Result<()> {
        let access = Access::of(&self.path.with_extension(""));
        // A dangling link stays: the journal belongs next to the filter.
        let existing = if self.path.is_file() { Existing::Replace } else { Existing::Keep };
        let file = atomic::write_for(&self.path, existing, access, &START)?;
        self.bytes = START.len() as u64;
        self.out = Some(PageWriter::new(1 << 13, file));
        Ok(())
    }
}

fn write_frame(out: &mut impl Write, content: &[u8]) -> io::Result<u64> {
    out.write_all(&(content.len() as u32).to_le_bytes())?;
    out.write_all(&checksum(content).to_le_bytes())?;
    out.write_all(content)?;
    Ok((HEAD + content.len()) as u64)
}

/// A file that lines are appended to, each announced in a journal first.
pub struct JournaledFile {
    /// The file, opened to append.
    pub file: File,
    /// The journal.
    pub journal: Arc<Mutex<Journal>>,
}

impl Write for JournaledFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = &bytes[..bytes.len().min(MOST_ANNOUNCED)];
        let at = self.file.metadata()?.len();
        let mut journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        journal.announce(at, bytes).map_err(io::Error::other)?;
        let written = self.file.write(bytes)?;
        if written < bytes.len() {
            // A full disk: the bytes written may end within a piece.
            journal.announce(at, &bytes[..written]).map_err(io::Error::other)?;
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use umbel::{Plan, Variant};

    use super::*;

    fn reached(output: Option<OutputState>) -> Reached {
        Reached { at: Checkpoint { input: "a".to_owned(), offset: 7, found: 1 }, output }
    }

    #[cfg(unix)]
    #[test]
    fn a_journal_is_as_private_as_its_filter() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f.umbel");
        for mode in [0o600, 0o640] {
            fs::write(&path, "").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let mut journal = Journal::new(path_of(&path), None).unwrap();
            journal.reached(&reached(None)).unwrap();
            assert_eq!(fs::metadata(path_of(&path)).unwrap().permissions().mode() & 0o777, mode);
            journal.begin_again(&reached(None)).unwrap();
            assert_eq!(fs::metadata(path_of(&path)).unwrap().permissions().mode() & 0o777, mode);
            journal.remove().unwrap();
        }
    }

    /// A frame cut off by a full disk hides all later ones: their lines would seem to come from another program.
    #[test]
    fn after_an_error_nothing_is_announced_and_nothing_appended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f.run");
        let mut journal = Journal::new(path.clone(), None).unwrap();
        journal.reached(&reached(None)).unwrap();
        // Cannot be written.
        let good = journal.out.replace(PageWriter::new(1 << 13, File::open(&path).unwrap()));
        journal.note([KeyHasher::default().hash("key")]).unwrap();
        assert!(journal.reached(&reached(None)).is_err());
        journal.out = good;
        let out = tempfile::tempfile_in(folder.path()).unwrap();
        let journal = Arc::new(Mutex::new(journal));
        let mut lines = JournaledFile { file: out.try_clone().unwrap(), journal };
        let error = lines.write(b"line\n").unwrap_err();
        assert!(error.to_string().contains("f.run"), "{error}");
        assert_eq!(out.metadata().unwrap().len(), 0);
    }

    #[test]
    fn damage_that_no_crash_explains_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        let hashes = |from: u64| (from..from + 5000).map(|key| KeyHasher::default().hash(key));
        let mut journal = Journal::new(path_of(&path), None).unwrap();
        let ends = [0, 5000, 10_000].map(|from| {
            journal.note(hashes(from)).unwrap();
            journal.reached(&reached(None)).unwrap();
            journal.bytes()
        });
        let checkpoints = ends.map(|end| end - (HEAD + reached(None).content().len()) as u64);
        journal.announce(0, b"line").unwrap();
        let whole = fs::read(path_of(&path)).unwrap();
        let read = |bytes: &[u8]| {
            fs::write(path_of(&path), bytes).unwrap();
            Notes::of(&path).map(|notes| notes.map_or(0, |notes| notes.end))
        };
        assert_eq!(read(&whole).unwrap(), ends[2]);
        // Damage to frames made durable with the third checkpoint, or to later ones.
        let places = (START.len()..whole.len()).step_by(9_973);
        let near = |end: u64| (end as usize - 99..whole.len().min(end as usize + 20)).step_by(7);
        for at in places.chain(12..40).chain(near(ends[1])).chain(near(ends[2])) {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            let found = read(&damaged);
            match at as u64 {
                at if at < checkpoints[2] => {
                    let error = found.expect_err("keys are lost").to_string();
                    assert!(error.contains("f.run: is damaged at byte"), "{error}");
                }
                at if at < ends[2] => assert_eq!(found.unwrap(), ends[1]),
                _ => assert_eq!(found.unwrap(), ends[2]),
            }
            // While the third checkpoint was being made durable, any part since the second could be missing.
            let found = read(&damaged[..ends[2] as usize]);
            match at as u64 {
                at if at < checkpoints[1] => assert!(found.is_err(), "{at}"),
                at if at < ends[1] => assert_eq!(found.unwrap(), ends[0]),
                at if at < ends[2] => assert_eq!(found.unwrap(), ends[1]),
                _ => assert_eq!(found.unwrap(), ends[2]),
            }
        }
        for end in (ends[1] as usize..whole.len()).step_by(997) {
            let last = if end < ends[2] as usize { ends[1] } else { ends[2] };
            assert_eq!(read(&whole[..end]).unwrap(), last, "{end}");
        }
    }

    /// If a run ends between the opening of the journal and of the filter, nothing is lost.
    #[test]
    fn what_was_recorded_is_read_while_the_run_ends() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        let plan = Plan::for_keys(Variant::Blocked, 100, 1e-6).unwrap();
        let old = AnyFilter::with_plan(&plan, KeyHasher::default()).unwrap();
        let key = KeyHasher::default().hash("key");
        let mut journal = Journal::new(path_of(&path), None).unwrap();
        journal.note([key]).unwrap();
        journal.reached(&reached(None)).unwrap();
        let notes = Notes::of(&path).unwrap().unwrap();
        journal.remove().unwrap();
        assert!(Notes::of(&path).unwrap().is_none());
        let mut file = File::create_new(&path).unwrap();
        old.write(&mut file).unwrap();
        let mut filter = old.clone();
        assert!(!filter.contains("key"));
        notes.take_in(&mut filter, &File::open(&path).unwrap()).unwrap();
        assert!(filter.contains("key"));
    }

    /// Of all bytes that may follow a checkpoint, only whole pieces of announced output are taken back.
    #[test]
    fn only_what_was_announced_is_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let (path, out) = (folder.path().join("f"), folder.path().join("q"));
        let open = || OpenOptions::new().read(true).append(true).create(true).open(&out).unwrap();
        let mut file = open();
        file.write_all(&[b'x'; 5000]).unwrap();
        let written = OutputState::now(&out, &file).unwrap();
        let journal = Arc::new(Mutex::new(Journal::new(path_of(&path), None).unwrap()));
        journal.lock().unwrap().reached(&reached(Some(written.clone()))).unwrap();
        let mut output = JournaledFile { file: open(), journal };
        let text: Vec<u8> = (0..20_000u32).map(|i| ((i * i) >> 7) as u8).collect();
        output.write_all(&text[..9000]).unwrap();
        output.write_all(&text[9000..]).unwrap();
        let all = fs::read(&out).unwrap();
        let notes = Notes::of(&path).unwrap().unwrap();
        let recorded = fs::read(path_of(&path)).unwrap();
        let mut taken_back = 0;
        let mut tried = |content: &[u8], ours: bool| {
            file.set_len(0).unwrap();
            file.write_all(content).unwrap();
            let taken = notes.take_back(&written, &file);
            assert_eq!(taken.is_ok(), ours, "{} bytes: {taken:?}", content.len());
            let length = if ours { 5000 } else { content.len() as u64 };
            assert_eq!(file.metadata().unwrap().len(), length);
            if ours {
                // Again, by a run after one that stopped there.
                notes.take_back(&written, &file).unwrap();
                assert_eq!(file.metadata().unwrap().len(), length);
                fs::write(path_of(&path), &recorded).unwrap();
            }
            taken_back += u32::from(ours);
        };
        for end in 0..=all.len() {
            // The second announcement begins where the first ended. After a power failure it may be all that is left of both.
            let whole = [5000, 14_000, all.len()].contains(&end) || end.is_multiple_of(4096);
            tried(&all[..end], end >= 5000 && whole);
        }
        for at in (0..all.len()).step_by(501) {
            let mut other = all.clone();
            other[at] ^= 1;
            // Only the last page of earlier output is known.
            tried(&other, at < 5000 - 4096);
        }
        tried(&[&all[..], b"theirs"].concat(), false);
        assert_eq!(taken_back, 1 + 2 + 1 + 3 + 1 + 2);
        // A forged announcement whose end overflows ends the journal.
        let mut journal = OpenOptions::new().append(true).open(path_of(&path)).unwrap();
        let announced = Announced { at: 5000, length: u64::MAX, sums: vec![0] };
        write_frame(&mut journal, &announced.content()).unwrap();
        file.set_len(5000).unwrap();
        notes.take_back(&written, &file).unwrap();
    }
}

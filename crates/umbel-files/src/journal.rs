//! The journal of `dedup --seen`: a file next to the filter, with what was added since the filter was saved.
//!
//! A filter of gigabytes is not written every minute. Instead, hashes are appended here, and at each checkpoint the
//! position of the run. Readers of the filter also read the journal up to the last checkpoint. It is removed when the
//! filter is saved at the end of the run.
//!
//! ```text
//! "UMBELRUN" | version u32 = 1 | frames
//! frame      length u32 | checksum u64: XXH3 of what follows | tag u8 | content
//!   tag 0    hashes, 16 bytes each
//!   tag 1    a checkpoint, as JSON
//! ```

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use umbel::{AnyFilter, Capacity, KeyHash, KeyHasher};

use crate::atomic::{self, Existing};

const START: [u8; 12] = *b"UMBELRUN\x01\0\0\0";
/// Hashes of a frame.
const HASHES: usize = 4096;
/// No frame is longer: hashes, or a checkpoint with two paths.
const LONGEST: usize = 16 * HASHES + 1;

/// How far a run is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Reached {
    /// The input being read.
    pub input: String,
    /// Where in it the first line starts that is not settled.
    pub offset: u64,
    /// Lines that were printed.
    pub found: u64,
    /// The file they were written to, if one was named.
    pub output: Option<Written>,
}

impl Reached {
    /// The content of its frame.
    fn content(&self) -> Result<Vec<u8>> {
        let mut content = vec![1];
        serde_json::to_writer(&mut content, self)?;
        Ok(content)
    }
}

/// What was written of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Written {
    /// Where it is.
    pub path: PathBuf,
    /// Bytes that it has when all that is recorded is in it, and nothing else.
    pub length: u64,
}

enum Frame {
    Hashes(Vec<KeyHash>),
    Reached(Reached),
}

/// The journal of the filter at a path.
pub fn path_of(filter: &Path) -> PathBuf {
    // Runs that name the filter by a link share its journal.
    let filter = fs::canonicalize(filter).unwrap_or_else(|_| filter.to_owned());
    let mut name = filter.file_name().unwrap_or_default().to_owned();
    name.push(".run");
    filter.with_file_name(name)
}

/// What a journal holds up to its last checkpoint.
pub struct Found {
    /// How far the run was.
    pub reached: Reached,
    /// Where the last checkpoint ends in the file.
    end: u64,
}

/// Looks for the last checkpoint in the journal at `path`; none when there is no journal, or nothing in it.
pub fn find(path: &Path) -> Result<Option<Found>> {
    let mut found = None;
    each_frame(path, u64::MAX, |frame, end| {
        if let Frame::Reached(reached) = frame {
            found = Some(Found { reached, end });
        }
        Ok(())
    })?;
    Ok(found)
}

/// Puts into `filter` what its journal at `path` holds and it does not.
pub fn take_in(filter: &mut AnyFilter, path: &Path) -> Result<Option<Found>> {
    let Some(found) = find(path)? else { return Ok(None) };
    let forgets = filter.plan().kind().capacity() == Capacity::Last;
    let mut known = Vec::new();
    each_frame(path, found.end, |frame, _| {
        let Frame::Hashes(mut hashes) = frame else { return Ok(()) };
        if !forgets {
            // It may have been saved after they were noted.
            known.resize(hashes.len(), false);
            filter.contains_all(&hashes, &mut known);
            let mut known = known.iter();
            hashes.retain(|_| !known.next().expect("one for each hash"));
        }
        Ok(filter.insert_all(&hashes)?)
    })?;
    Ok(Some(found))
}

/// Shows the hashes that the journal at `path` holds up to the checkpoint `found`.
pub fn each_hashes(
    path: &Path,
    found: &Found,
    each: &mut dyn FnMut(&[KeyHash]) -> Result<(), umbel_sets::Error>,
) -> Result<(), umbel_sets::Error> {
    let shown = each_frame(path, found.end, |frame, _| match frame {
        Frame::Hashes(hashes) => Ok(each(&hashes)?),
        Frame::Reached(_) => Ok(()),
    });
    shown.map_err(|error| match error.downcast() {
        Ok(error) => error,
        Err(error) => umbel_sets::Error::Work(error.into()),
    })
}

/// Gives the whole frames of the journal at `path` that end before `until`, with the places of their ends.
fn each_frame(
    path: &Path,
    until: u64,
    mut each: impl FnMut(Frame, u64) -> Result<()>,
) -> Result<()> {
    let context = || path.display().to_string();
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        file => file.with_context(context)?,
    };
    let mut file = BufReader::with_capacity(1 << 17, file);
    let mut start = [0; START.len()];
    if !whole(file.read_exact(&mut start)).with_context(context)? {
        return Ok(());
    }
    if start != START {
        bail!(
            "{}: has the name of a journal of umbel dedup --seen, but is none; move it away",
            path.display()
        );
    }
    let mut at = START.len() as u64;
    while at < until {
        let (mut head, mut content) = ([0; 12], Vec::new());
        if !whole(file.read_exact(&mut head)).with_context(context)? {
            break;
        }
        let length = u32::from_le_bytes(head[..4].try_into().expect("4 bytes")) as usize;
        if length == 0 || length > LONGEST {
            break;
        }
        content.resize(length, 0);
        if !whole(file.read_exact(&mut content)).with_context(context)? {
            break;
        }
        // What a crash left of the last frame ends the journal.
        let Some(frame) = frame(&head[4..], &content) else { break };
        at += (head.len() + length) as u64;
        each(frame, at)?;
    }
    Ok(())
}

/// Whether all was read, and not the end of the file met.
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
        (1, json) => serde_json::from_slice(json).ok().map(Frame::Reached),
        _ => None,
    }
}

fn checksum(content: &[u8]) -> u64 {
    KeyHasher::default().hash(content).low
}

/// A journal that a run writes.
pub struct Journal {
    path: PathBuf,
    /// None as long as nothing is noted: a run that cannot start leaves no file.
    out: Option<BufWriter<File>>,
    waiting: Vec<u8>,
    bytes: u64,
}

impl Journal {
    /// The journal at `path`, truncated after what was `found` in it.
    pub fn new(path: PathBuf, found: Option<&Found>) -> Result<Self> {
        let mut journal = Self { path, out: None, waiting: vec![0], bytes: 0 };
        if let Some(found) = found {
            let context = || journal.path.display().to_string();
            let file = OpenOptions::new().append(true).open(&journal.path).with_context(context)?;
            file.set_len(found.end).with_context(context)?;
            journal.bytes = found.end;
            journal.out = Some(BufWriter::new(file));
        }
        Ok(journal)
    }

    /// Bytes that it has.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Notes hashes; they count from the next [`reached`](Self::reached) on.
    pub fn note(&mut self, hashes: &[KeyHash]) -> Result<()> {
        for hash in hashes {
            let bytes = hash.to_u128().to_le_bytes();
            self.waiting.extend_from_slice(&bytes);
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

    /// Makes durable what was noted, and the position of the run.
    pub fn reached(&mut self, reached: &Reached) -> Result<()> {
        self.flush()?;
        self.frame(&reached.content()?)?;
        let out = self.out.as_mut().expect("a frame was just written");
        out.flush()
            .and_then(|()| out.get_ref().sync_data())
            .with_context(|| self.path.display().to_string())
    }

    /// Empties the journal, once the filter has all that was noted.
    pub fn begin_again(&mut self, reached: &Reached) -> Result<()> {
        let mut bytes = START.to_vec();
        write_frame(&mut bytes, &reached.content()?)?;
        let file = atomic::write(&self.path, Existing::Replace, |out| Ok(out.write_all(&bytes)?))?;
        self.out = Some(BufWriter::new(file));
        self.bytes = bytes.len() as u64;
        Ok(())
    }

    /// Removes the file, when the filter has all that was noted and the run is over.
    pub fn remove(&mut self) -> Result<()> {
        match self.out.take() {
            Some(_) => fs::remove_file(&self.path).with_context(|| self.path.display().to_string()),
            None => Ok(()),
        }
    }

    fn frame(&mut self, content: &[u8]) -> Result<()> {
        let context = || self.path.display().to_string();
        let out = match &mut self.out {
            Some(out) => out,
            none => {
                let mut file = File::create(&self.path).with_context(context)?;
                file.write_all(&START).with_context(context)?;
                // The new name must survive a crash too.
                let folder = self.path.parent().filter(|folder| *folder != Path::new(""));
                let folder = File::open(folder.unwrap_or(Path::new("."))).with_context(context)?;
                folder.sync_all().with_context(context)?;
                self.bytes = START.len() as u64;
                none.insert(BufWriter::new(file))
            }
        };
        self.bytes += write_frame(out, content).with_context(context)?;
        Ok(())
    }
}

fn write_frame(out: &mut impl Write, content: &[u8]) -> io::Result<u64> {
    out.write_all(&(content.len() as u32).to_le_bytes())?;
    out.write_all(&checksum(content).to_le_bytes())?;
    out.write_all(content)?;
    Ok(12 + content.len() as u64)
}

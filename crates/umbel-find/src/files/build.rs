//! Making an index, and bringing one up to date.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::index::column::Keys;
use crate::index::layout::{Block, Entry, GONE, HEADERS, Plan, Stamp, UNREADABLE};
use crate::index::look_up::FIELD_PROBES;
use crate::index::matrix::{self, Apart, Group, WIDTH};
use crate::index::pages::{self, DATA, PAGE, PagesWriter};
use anyhow::{Context, Result, bail, ensure};
use umbel::KeyHasher;
use umbel_io::atomic::{self, Existing};
use umbel_io::compression::Point;
use umbel_io::{FileAt, FileId, State, on_each};
use umbel_sets::{Form, Missing, Options, Records, Resources};

use super::folders::Base;
use super::opened::{self, Index};
use super::text::{BLOCK, Reading, Unreadable};
use super::{folders, memory, settings, stamp};

/// A summary of the work on an index.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Built {
    /// Files in it.
    pub files: u64,
    /// Of these, files that were read, because they are new or changed.
    pub read: u64,
    /// Files that were in it before, and are gone.
    pub gone: u64,
    /// Files and folders that cannot be read, and why. The index records such files, and an update tries them again.
    pub unreadable: Vec<(PathBuf, String)>,
    /// Paths that were named when it was made, but are gone and no longer named.
    pub dropped: Vec<PathBuf>,
    /// Blocks of all files.
    pub blocks: u64,
    /// Bytes of the text of all files.
    pub text: u64,
    /// Bytes of the text that was read.
    pub text_read: u64,
    /// Distinct keys of the blocks that were read.
    pub keys: u64,
    /// Bytes of the index.
    pub bytes: u64,
}

/// Makes an index at `target` of files, and of the files in folders.
///
/// Time: reading and decompressing everything, and about as much again for the keys. Memory: some MiB per thread, and
/// at most 40 MiB; 560 bytes for each file, and four times its path; a temporary file as long as the index.
///
/// # Errors
/// Read and write errors; options that have no field for the keys of records; a memory cap too low for that many files.
pub fn build(
    target: &Path,
    existing: Existing,
    paths: &[PathBuf],
    options: &Options,
) -> Result<Built> {
    check(&options.form)?;
    let base = Base::of_index(target)?;
    let roots = paths.iter().map(|path| base.keep(path)).collect::<Result<_>>()?;
    let draft = Draft { roots, old: None, file: None };
    write(target, existing, &draft, options)
}

/// Brings an index up to date: reads new and changed files, drops missing ones. Readers see the old or the new index.
///
/// # Errors
/// As [`build`]; an [`IndexError`](crate::IndexError) of the index.
pub fn update(target: &Path, resources: &Resources) -> Result<Built> {
    let open = || File::open(target).with_context(|| target.display().to_string());
    let file = atomic::lock(open()?, target, &open, &mut umbel_io::lock)?;
    update_of(target, file, resources)
}

/// Brings the index in an open file up to date, which is at `target` unless another run replaced it.
pub(crate) fn update_of(target: &Path, file: File, resources: &Resources) -> Result<Built> {
    let name = || target.display().to_string();
    let id = State::of(&file).with_context(name)?.id;
    let (index, form) = opened::open(file).map_err(anyhow::Error::from).with_context(name)?;
    let options = Options { resources: resources.clone(), form };
    let base = Base::of_index(target)?;
    let is_gone =
        |root: &PathBuf| State::at(&base.shown(root)).is_err_and(|error| folders::is_gone(&error));
    let (dropped, roots): (Vec<_>, Vec<_>) = index.roots.iter().cloned().partition(is_gone);
    if let ([first, ..], []) = (&dropped[..], &roots[..]) {
        let first = base.shown(first);
        bail!(
            "{}: {} no longer exists, and nothing else is indexed; rebuild the index with umbel index",
            target.display(),
            first.display()
        );
    }
    let draft = Draft { roots, old: Some(index), file: Some(id) };
    let built = write(target, Existing::Replace, &draft, &options)?;
    Ok(Built { dropped: dropped.iter().map(|root| base.shown(root)).collect(), ..built })
}

/// Refuses keys that an index cannot have.
fn check(form: &Form) -> Result<()> {
    let words = matches!(form.records, Records::Lines(_));
    if !words && form.records.key().is_empty() {
        bail!(
            "an index of records needs a field; name one with --key, or index the words of lines"
        );
    }
    if words && !form.normalization.is_none() {
        bail!(
            "words are found in any case, but otherwise as written; omit these options, or name a field with --key"
        );
    }
    let why = "a record without the field has no key to find; leave it out with --missing skip";
    ensure!(form.missing != Missing::Keep, "--missing keep: {why}");
    ensure!(!form.records.is_raw(), "--raw: an index compares values, not how they are written");
    check_rows(form)
}

/// Refuses what changes rows: searches print those of the files.
pub(super) fn check_rows(form: &Form) -> Result<()> {
    let remedy = "omit --skip, --comment and --ragged, and --bad skip of CSV";
    ensure!(!umbel_sets::rewrites(None, form), "files are searched as they are; {remedy}");
    Ok(())
}

/// An index that is about to be made.
struct Draft {
    roots: Vec<PathBuf>,
    old: Option<Index>,
    /// Which file the old index is.
    file: Option<FileId>,
}

impl Draft {
    /// Bytes of memory of the old index.
    fn lists(&self) -> u64 {
        self.old.as_ref().map_or(0, memory::of_old)
    }

    /// Bytes that the old index has for a decoder.
    fn resume_length(&self, start: Start) -> u64 {
        let (Start::Old { place }, Some(old)) = (start, &self.old) else { return 0 };
        // Unreadable bytes are refused where they are copied.
        old.resume(place).map_or(0, |bytes| bytes.len() as u64)
    }
}

/// The filter of a block: in the temporary file, or a column of a group of the old index.
#[derive(Clone, Copy)]
enum Filter {
    New { offset: u64, rows: u32 },
    Old { block: u32 },
}

/// The data from which a decoder can start at a block: in the temporary file, or in the old index.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    Nothing,
    New { offset: u64, length: u64 },
    Old { place: u64 },
}

/// A file, or a part of one, as it goes into the index.
#[derive(Default)]
struct Indexed {
    entry: Entry,
    blocks: Vec<(Block, Filter, Start)>,
    /// Line ends in the part.
    lines: u64,
    /// Whether it was read, and how many keys its blocks have then.
    read: bool,
    keys: u64,
    /// Why the file cannot be read.
    unreadable: Option<String>,
}

fn write(target: &Path, existing: Existing, draft: &Draft, options: &Options) -> Result<Built> {
    atomic::check_target(target, existing)?;
    let mut base = Base::of_index(target)?;
    let (mut paths, mut unreadable) = (Vec::new(), Vec::new());
    let mut room = memory::room_of_paths(&options.resources, draft.lists());
    for root in &draft.roots {
        base.files(root, &mut paths, &mut room, &mut unreadable)?;
    }
    if draft.roots.len() > 1 {
        folders::keep_first(&mut paths);
    }
    paths.retain(|path| !atomic::is_same_path(path, target));
    paths.iter_mut().for_each(|path| *path = base.shown(base.kept(path)));
    let temporary = Temporary::new(&options.resources)?;
    let indexed = each_file(&paths, &base, draft, &temporary, options)?;
    drop(paths);
    let mut built = Built { unreadable, ..Built::default() };
    let (mut files, mut blocks) = (Vec::new(), Vec::new());
    let (mut filters, mut starts) = (Vec::new(), Vec::new());
    for file in indexed {
        let fits = |first: &u32| first.checked_add(file.entry.blocks).is_some_and(|end| end < GONE);
        let first = u32::try_from(blocks.len()).ok().filter(fits);
        let first = first.context("an index has fewer than 2³² blocks; make several")?;
        built.files += 1;
        built.text += file.entry.text;
        built.keys += file.keys;
        if file.read {
            built.read += 1;
            built.text_read += file.entry.text;
        }
        if let Some(why) = file.unreadable {
            built.unreadable.push((base.shown(&file.entry.path), why));
        }
        files.push(Entry { first, ..file.entry });
        for (block, filter, start) in file.blocks {
            blocks.push(block);
            filters.push(filter);
            starts.push(start);
        }
    }
    if let ([(path, why), ..], None) = (&built.unreadable[..], &draft.old)
        && built.read == 0
    {
        bail!("{}: {why}", path.display());
    }
    if let Some(old) = &draft.old {
        let now: HashSet<_> = files.iter().map(|file| file.path.as_path()).collect();
        let is_gone = |file: &&Entry| !now.contains(&*base.kept_now(&file.path));
        built.gone = old.files.iter().filter(is_gone).count() as u64;
        if built.read + built.gone == 0 && built.unreadable.is_empty() && draft.roots == old.roots {
            built.blocks = old.block_count().into();
            built.bytes = fs::metadata(target)?.len();
            return Ok(built);
        }
    }
    built.blocks = blocks.len() as u64;
    let (settings, temporary) = (settings::entries(&options.form), &temporary);
    let mut segment = Segment { draft, settings, files: &files, blocks, starts, temporary };
    let append = |old| segment.append(target, old, &filters);
    built.bytes = match draft.old.as_ref().map(append).transpose()?.flatten() {
        Some(bytes) => bytes,
        None => segment.rewrite(target, existing, &filters)?,
    };
    Ok(built)
}

/// The part of an index that is written: a catalog of all of it, and the new parts.
struct Segment<'a> {
    draft: &'a Draft,
    settings: Vec<(String, String)>,
    files: &'a [Entry],
    blocks: Vec<Block>,
    starts: Vec<Start>,
    temporary: &'a Temporary,
}

/// Where the parts of a segment are.
struct Layout {
    catalog: Vec<u8>,
    header: Vec<u8>,
    /// The data that decoders need, each once.
    starts: Vec<Start>,
    pages: u64,
}

impl Segment<'_> {
    /// Appends to the index, unless rewriting all of it is better.
    fn append(&mut self, target: &Path, old: &Index, filters: &[Filter]) -> Result<Option<u64>> {
        /// Up to this many unused bytes are no reason to rewrite it.
        const SLACK: u64 = if cfg!(test) { 1 << 12 } else { 1 << 18 };
        const SLACK_GROUPS: u64 = 8;
        // A run that makes a new index does not wait: the file may now be another one, with other roots.
        let file = OpenOptions::new().write(true).open(target);
        let now = match &file {
            Ok(file) => State::of(file),
            Err(_) => State::at(target),
        };
        let name = target.display();
        if Some(now.with_context(|| name.to_string())?.id) != self.draft.file {
            bail!("{name}: another run rebuilt it meanwhile; this run left it unchanged");
        }
        // A forged index may have the highest possible generation.
        let Some(generation) = old.generation.checked_add(1) else { return Ok(None) };
        let mut groups = Groups::appended(old, filters)?;
        let base = old.pages.count() * DATA as u64;
        let layout = self.lay_out(&mut groups, base, generation, true);
        let (mut needed, mut columns) = (layout.catalog.len() as u64, BTreeMap::<u32, u64>::new());
        for (group, blocks) in &groups.all {
            let live = blocks.iter().filter(|&&block| block != GONE).count() as u64;
            needed += u64::from(group.rows / 8) * live;
            *columns.entry(group.rows).or_default() += live;
        }
        let least: u64 = columns.values().map(|columns| columns.div_ceil(WIDTH as u64)).sum();
        let is_long = layout.pages * DATA as u64 > needed / 2 * 3 + SLACK;
        if is_long || groups.all.len() as u64 > 2 * least + SLACK_GROUPS {
            return Ok(None);
        }
        let Ok(file) = file else { return Ok(None) };
        let end = old.pages.count() * PAGE as u64;
        let append = || -> Result<()> {
            // An unfinished update has left some bytes behind.
            file.set_len(end)?;
            (&file).seek(SeekFrom::Start(end))?;
            let mut out = BufWriter::with_capacity(1 << 18, &file);
            let mut pages = PagesWriter::new(&mut out, old.pages.count());
            self.write(&mut pages, &groups, &layout, None)?;
            pages.finish()?;
            out.flush()?;
            file.sync_data()?;
            // While it is incomplete, the previous generation's header counts.
            let number = generation % HEADERS;
            Ok(file.write_all_at(&pages::page(&layout.header, number), number * PAGE as u64)?)
        };
        if let Err(error) = append() {
            let _ = file.set_len(end);
            return Err(error).with_context(|| format!("{name}: nothing was changed"));
        }
        file.sync_data().with_context(|| {
            format!(
                "{name}: was updated, but could not be synced: a system crash may bring the old one back"
            )
        })?;
        Ok(Some(layout.pages * PAGE as u64))
    }

    /// Writes all of the index, with its filters in as few groups as possible.
    fn rewrite(&mut self, target: &Path, existing: Existing, filters: &[Filter]) -> Result<u64> {
        let old = self.draft.old.as_ref();
        let mut groups = Groups::new(old, filters, self.temporary)?;
        let layout = self.lay_out(&mut groups, HEADERS * DATA as u64, 0, false);
        let file = atomic::write(target, existing, |out| {
            out.write_all(&pages::page(&layout.header, 0))?;
            out.write_all(&[0; PAGE])?;
            let mut pages = PagesWriter::new(out, HEADERS);
            self.write(&mut pages, &groups, &layout, old)?;
            Ok(pages.finish()?)
        })?;
        Ok(file.metadata()?.len())
    }

    /// Gives all parts their places, from `base` on; the old index's parts stay in place, if it is kept.
    fn lay_out(&mut self, groups: &mut Groups, base: u64, generation: u64, kept: bool) -> Layout {
        let length = self.plan(groups).encode().0.len() as u64;
        let mut place = base + length;
        let (mut written, mut last) = (Vec::new(), (Start::Nothing, 0));
        for (block, start) in self.blocks.iter_mut().zip(&self.starts) {
            block.resume = match *start {
                Start::Nothing => 0,
                Start::Old { place } if kept => place,
                start if start == last.0 => last.1,
                start => {
                    written.push(start);
                    last = (start, place);
                    place += match start {
                        Start::New { length, .. } => length,
                        _ => self.draft.resume_length(start),
                    };
                    last.1
                }
            };
        }
        for ((group, _), from) in groups.all.iter_mut().zip(&groups.from) {
            if !kept || matches!(from, GroupSource::New(_)) {
                group.place = place;
                place += group.bytes();
            }
        }
        let plan = self.plan(groups);
        let (catalog, lists) = plan.encode();
        let pages = pages::count(place);
        let header = plan.header(generation, pages, base, lists);
        Layout { catalog, header, starts: written, pages }
    }

    fn plan<'a>(&'a self, groups: &'a Groups) -> Plan<'a> {
        let (settings, roots) = (&self.settings[..], &self.draft.roots[..]);
        Plan { settings, roots, files: self.files, blocks: &self.blocks, groups: &groups.all }
    }

    /// Writes the parts; copies groups of the old index, if it is given.
    fn write(
        &self,
        out: &mut PagesWriter<'_>,
        groups: &Groups,
        layout: &Layout,
        old: Option<&Index>,
    ) -> Result<()> {
        out.write(&layout.catalog)?;
        for start in &layout.starts {
            match *start {
                Start::Nothing => {}
                Start::New { offset, length } => {
                    let mut bytes = vec![0; length as usize];
                    self.temporary.file.read_exact_at(&mut bytes, offset)?;
                    out.write(&bytes)?;
                }
                Start::Old { place } => {
                    out.write(&self.draft.old.as_ref().expect("it has it").resume(place)?)?;
                }
            }
        }
        groups.write(out, old, self.temporary)
    }
}

/// The filters of blocks, until they are put side by side.
struct Temporary {
    file: File,
    end: AtomicU64,
}

impl Temporary {
    fn new(resources: &Resources) -> Result<Self> {
        let folder = resources.tmp.folders().next();
        let folder = folder.context("there is a folder for temporary files")?;
        let file = tempfile::tempfile_in(folder).with_context(|| folder.display().to_string())?;
        Ok(Self { file, end: AtomicU64::new(0) })
    }

    /// Reserves space for this many bytes; returns where.
    fn reserve(&self, bytes: u64) -> u64 {
        self.end.fetch_add(bytes, Ordering::Relaxed)
    }

    /// Writes some bytes; returns where.
    fn put(&self, bytes: &[u8]) -> Result<u64> {
        let offset = self.reserve(bytes.len() as u64);
        self.file.write_all_at(bytes, offset).context("a temporary file")?;
        Ok(offset)
    }
}

/// Threads that fit under the memory cap: each has a block and its folded copy, 1 to 4 MiB, its keys, up to 24 MiB, and a
/// decoder, up to 8 MiB.
pub(crate) fn threads(resources: &Resources) -> usize {
    const OF_ONE: u64 = 40 << 20;
    let most = resources.memory.saturating_sub(4 << 20) / OF_ONE;
    resources.threads.min(usize::try_from(most).unwrap_or(usize::MAX)).max(1)
}

/// Bytes of a plain file of lines that one thread reads; a larger one is read by several.
const PART: u64 = 64 * BLOCK as u64;

/// The unit that one thread reads at a time: a file, or a part of a large one.
struct Part<'a> {
    path: &'a Path,
    /// If there are others: the range in which its records start, and the state of the file before any was read.
    of: Option<Box<((u64, u64), Stamp)>>,
}

fn each_file(
    paths: &[PathBuf],
    base: &Base,
    draft: &Draft,
    temporary: &Temporary,
    options: &Options,
) -> Result<impl Iterator<Item = Indexed> + use<>> {
    let old = draft.old.iter().flat_map(|index| &index.files);
    let old: HashMap<_, _> = old.map(|file| (base.kept_now(&file.path), file)).collect();
    let mut whole = Reading::new(&options.form, &options.resources, 1)?;
    let (mut parts, mut all, mut expected) = (Vec::new(), Vec::new(), 0);
    for path in paths {
        let kept = match (old.get(base.kept_of(path)), &draft.old) {
            (Some(entry), Some(index)) => keep(path, base.kept_of(path), entry, index),
            _ => Ok(None),
        };
        // Unreadable files are reported when they are read.
        let kept = kept.or_else(|error| Unreadable::reason(&error).map(|_| None).ok_or(error))?;
        let first = parts.len();
        if kept.is_none() {
            expected += split(path, &mut whole, &mut parts)?;
        }
        all.push((kept, parts.len() - first));
    }
    let resources = &options.resources;
    resources.progress.expect(expected);
    let lists = draft.lists() + memory::of_paths(paths, expected);
    let (cap, resources) = (resources.memory, &memory::without(lists, 0, resources)?);
    let unforeseen = memory::Unforeseen::new(cap, lists, expected, resources.memory);
    let threads = threads(resources).min(parts.len().max(1));
    let mut reading = Reading::new(&options.form, resources, threads)?;
    reading.points = true;
    // The first part that fails is the one of the error, whichever thread is first.
    let (next, failed) = (AtomicUsize::new(0), AtomicUsize::new(usize::MAX));
    let read: Vec<Mutex<Option<Box<Indexed>>>> = parts.iter().map(|_| Mutex::default()).collect();
    let work = || -> Result<(), (usize, anyhow::Error)> {
        let mut keys = Keys::within(reading.room_of_keys());
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let part = parts.get(at).filter(|_| at < failed.load(Ordering::Relaxed));
            let Some(part) = part else { return Ok(()) };
            let (reading, unforeseen, keys) = (&reading, &unforeseen, &mut keys);
            let mut one = FileIndexer { reading, temporary, unforeseen, keys };
            let kept = base.kept_of(part.path).to_owned();
            let indexed = match one.read(part, kept.clone()) {
                Err(error) => match Unreadable::reason(&error) {
                    Some(why) => Indexed::unreadable(kept, why),
                    None => {
                        failed.fetch_min(at, Ordering::Relaxed);
                        return Err((at, error));
                    }
                },
                Ok(indexed) => {
                    let (start, end) = part.of.as_ref().map_or((0, u64::MAX), |of| of.0);
                    resources.progress.advance(end.min(indexed.entry.stamp.size) - start);
                    indexed
                }
            };
            *read[at].lock().expect("no worker panics") = Some(Box::new(indexed));
        }
    };
    let errors = on_each(threads, work).into_iter().filter_map(Result::err);
    if let Some((_, error)) = errors.min_by_key(|(at, _)| *at) {
        return Err(error);
    }
    let mut read = read.into_iter().map(|one| one.into_inner().expect("no worker panics"));
    Ok(all.into_iter().filter_map(move |(kept, parts)| match kept {
        Some(kept) => Some(*kept),
        None => read.by_ref().take(parts).flatten().map(|one| *one).reduce(Indexed::then),
    }))
}

/// Adds the parts of a file; returns its bytes.
fn split<'a>(path: &'a Path, reading: &mut Reading, parts: &mut Vec<Part<'a>>) -> Result<u64> {
    let size = fs::metadata(path).map_or(0, |meta| meta.len());
    // Unreadable files are reported when they are read.
    if size > PART
        && reading.ends_with_lines
        && let Ok(file) = File::open(path)
        && let Ok(None) = reading.recognize(path, &file)
    {
        let stamp = stamp::before_reading(&file).with_context(|| path.display().to_string())?;
        let starts = (0..stamp.size.max(1)).step_by(PART as usize);
        parts.extend(starts.map(|start| {
            let end = if start + PART < stamp.size { start + PART } else { u64::MAX };
            Part { path, of: Some(Box::new(((start, end), stamp))) }
        }));
        return Ok(stamp.size);
    }
    parts.push(Part { path, of: None });
    Ok(size)
}

impl Indexed {
    /// A file that cannot be read, which never counts as unchanged.
    fn unreadable(path: PathBuf, why: String) -> Self {
        let stamp = Stamp { size: UNREADABLE, ..Stamp::default() };
        let entry = Entry { path, stamp, ..Entry::default() };
        Self { entry, unreadable: Some(why), ..Self::default() }
    }

    /// Joins this part with the next one of the file.
    fn then(mut self, next: Self) -> Self {
        match (&self.unreadable, &next.unreadable) {
            (Some(_), _) => return self,
            (None, Some(_)) => return next,
            (None, None) => {}
        }
        let lines = self.lines;
        let after = |block: Block| Block { lines: lines + block.lines, ..block };
        let blocks = next.blocks.into_iter();
        self.blocks.extend(blocks.map(|(block, filter, start)| (after(block), filter, start)));
        self.lines += next.lines;
        self.keys += next.keys;
        self.entry.text = next.entry.text;
        self.entry.blocks += next.entry.blocks;
        self
    }
}

/// A file of the old index, if it is unchanged.
fn keep(path: &Path, kept: &Path, entry: &Entry, index: &Index) -> Result<Option<Box<Indexed>>> {
    let of = Unreadable::at(path);
    let state = State::at(path).with_context(&of)?;
    if !stamp::is_of(&entry.stamp, &state, || File::open(path)).with_context(of)? {
        return Ok(None);
    }
    let blocks = index.blocks_of(entry)?;
    let blocks = blocks.into_iter().zip(entry.first..);
    let blocks = blocks.map(|(block, number)| {
        let start = match block.resume {
            0 => Start::Nothing,
            place => Start::Old { place },
        };
        (block, Filter::Old { block: number }, start)
    });
    let entry = Entry { path: kept.to_owned(), ..entry.clone() };
    Ok(Some(Box::new(Indexed { entry, blocks: blocks.collect(), ..Indexed::default() })))
}

/// A worker's tools to index a file.
struct FileIndexer<'a> {
    reading: &'a Reading,
    temporary: &'a Temporary,
    unforeseen: &'a memory::Unforeseen,
    keys: &'a mut Keys,
}

impl FileIndexer<'_> {
    fn read(&mut self, part: &Part<'_>, stored: PathBuf) -> Result<Indexed> {
        let path = part.path;
        let of_file = Unreadable::at(path);
        let file = File::open(path).with_context(&of_file)?;
        let (stamp, compression, mut text, header) = match &part.of {
            Some(of) => {
                let ((start, end), stamp) = **of;
                let before = start.saturating_sub(1);
                let point = Arc::new(Point { input: before, text: before, resume: None });
                let mut text = self.reading.open(path, &file, stamp.size, None, point)?;
                if start == 0 {
                    // Such records have no header, but there may be a byte order mark before the first.
                    text.start()?;
                }
                text.keep_to(start, end)?;
                (stamp, None, text, None)
            }
            None => {
                let stamp = stamp::before_reading(&file).with_context(of_file)?;
                let compression = self.reading.recognize(path, &file)?;
                let point = Arc::default();
                let mut text = self.reading.open(path, &file, stamp.size, compression, point)?;
                let header = text.start()?.map(|header| self.unforeseen.header(header));
                (stamp, compression, text, header.transpose()?)
            }
        };
        let (mut blocks, mut keys) = (Vec::new(), 0);
        let mut last: Option<(Arc<Point>, Start)> = None;
        while let Some((at, length)) = text.next_block()? {
            let bytes = text.block(length);
            // Those before a part were not counted.
            let lines = part.of.is_none().then_some(at.1);
            self.see(path, header.as_deref(), bytes, (at.0, lines))?;
            keys += self.keys.len() as u64;
            let column = self.keys.column();
            let offset = self.temporary.put(column)?;
            let filter = Filter::New { offset, rows: 8 * column.len() as u32 };
            let point = text.point();
            let start = match &last {
                Some((same, start)) if Arc::ptr_eq(same, &point) => *start,
                _ => match &point.resume {
                    None => Start::Nothing,
                    Some(resume) => {
                        let bytes = resume.encode();
                        let offset = self.temporary.put(&bytes)?;
                        Start::New { offset, length: bytes.len() as u64 }
                    }
                },
            };
            let of = (point.input, point.text);
            last = Some((point, start));
            if !blocks.is_empty() {
                self.unforeseen.block()?;
            }
            let block = Block { start: at.0, lines: at.1, point: of, resume: 0 };
            blocks.push((block, filter, start));
            text.pass(length);
        }
        // Most files have one block, but room for four.
        blocks.shrink_to_fit();
        let entry = Entry {
            path: stored,
            stamp,
            compression: opened::number_of(compression),
            text: text.offset,
            header,
            first: 0,
            blocks: u32::try_from(blocks.len()).context("a file has fewer than 2³² blocks")?,
        };
        Ok(Indexed { entry, blocks, lines: text.lines, read: true, keys, unreadable: None })
    }

    /// Collects the keys of a block.
    fn see(
        &mut self,
        path: &Path,
        header: Option<&[u8]>,
        bytes: &[u8],
        place: (u64, Option<u64>),
    ) -> Result<()> {
        self.keys.clear();
        if self.reading.lines {
            self.keys.words_of(bytes);
            return Ok(());
        }
        let hasher = KeyHasher::default();
        for rows in &self.reading.rows {
            let keys = &mut *self.keys;
            let see = &mut |_: std::ops::Range<usize>, key: &[u8]| {
                keys.insert(hasher.hash(key), FIELD_PROBES);
                Ok(())
            };
            let each = rows.each(&path.display().to_string(), header, bytes, place, see);
            each.map_err(|error| Unreadable::record(error, path))?;
        }
        Ok(())
    }
}

/// New filters by their rows: the number of a block, and where its filter is in the temporary file.
type ByRows = BTreeMap<u32, Vec<(u32, u64)>>;

/// The numbers of blocks that have filters of the old index, by their numbers there; and the new filters.
fn old_and_new(filters: &[Filter]) -> (HashMap<u32, u32>, ByRows) {
    let (mut now, mut new) = (HashMap::new(), ByRows::new());
    for (number, filter) in (0u32..).zip(filters) {
        match *filter {
            Filter::Old { block } => drop(now.insert(block, number)),
            Filter::New { offset, rows } => new.entry(rows).or_default().push((number, offset)),
        }
    }
    (now, new)
}

/// Which filters are put side by side.
#[derive(Default)]
struct Groups {
    /// Each group, and the blocks of its columns.
    all: Vec<(Group, Vec<u32>)>,
    /// The group of the old index that it is, or where each of its filters is in the temporary file.
    from: Vec<GroupSource>,
}

enum GroupSource {
    Old(Group),
    New(Vec<u64>),
}

impl Groups {
    /// New filters form groups; groups of the old index are unchanged, without the blocks that are gone.
    fn appended(old: &Index, filters: &[Filter]) -> Result<Self> {
        let (now, new) = old_and_new(filters);
        let mut groups = Self::default();
        for (number, group) in old.groups.iter().enumerate() {
            let columns = old.columns(number)?;
            let blocks = columns.iter().map(|block| now.get(block).copied().unwrap_or(GONE));
            let blocks: Vec<_> = blocks.collect();
            if blocks.iter().any(|&block| block != GONE) {
                groups.all.push((*group, blocks));
                groups.from.push(GroupSource::Old(*group));
            }
        }
        groups.add(new);
        Ok(groups)
    }

    /// Adds groups of filters in the temporary file, by their rows.
    fn add(&mut self, new: ByRows) {
        for (rows, mut same) in new {
            same.sort_unstable();
            for some in same.chunks(WIDTH) {
                let blocks = some.iter().map(|filter| filter.0).collect();
                // It gets its place later.
                self.all.push((Group { rows, columns: some.len() as u32, place: 0 }, blocks));
                self.from.push(GroupSource::New(some.iter().map(|filter| filter.1).collect()));
            }
        }
    }

    /// Filters with equally many rows form groups. A group of the old index is unchanged if all its blocks stay, unless
    /// at least as many other filters could form a larger group with it: so each filter moves a few times as an index
    /// grows, and a few groups have the same rows. Other groups are taken apart.
    fn new(old: Option<&Index>, filters: &[Filter], temporary: &Temporary) -> Result<Self> {
        let (now, mut apart) = old_and_new(filters);
        let mut whole = Vec::new();
        let take_apart = |group: &Group, blocks: &[Option<u32>], to: &mut Vec<_>| {
            let index = old.expect("it has groups");
            let offset = temporary.reserve(group.bytes());
            matrix::take_apart(group, &index.pages, &temporary.file, offset)?;
            let each = u64::from(group.rows / 8);
            let stay = (0..).zip(blocks).filter_map(|(column, block)| Some((column, (*block)?)));
            to.extend(stay.map(|(column, block)| (block, offset + column * each)));
            Ok::<_, anyhow::Error>(())
        };
        for (number, group) in old.iter().flat_map(|old| old.groups.iter().enumerate()) {
            let columns = old.expect("it has groups").columns(number)?;
            let blocks: Vec<_> = columns.iter().map(|block| now.get(block).copied()).collect();
            if blocks.iter().all(Option::is_some) {
                whole.push((*group, blocks));
            } else if blocks.iter().any(Option::is_some) {
                take_apart(group, &blocks, apart.entry(group.rows).or_default())?;
            }
        }
        let mut groups = Self::default();
        whole.sort_by_key(|(group, blocks)| (group.rows, blocks.len()));
        for (group, blocks) in whole {
            match apart.get_mut(&group.rows) {
                Some(others) if blocks.len() <= others.len() && blocks.len() < WIDTH => {
                    take_apart(&group, &blocks, others)?;
                }
                _ => {
                    groups.all.push((group, blocks.into_iter().flatten().collect()));
                    groups.from.push(GroupSource::Old(group));
                }
            }
        }
        groups.add(apart);
        Ok(groups)
    }

    fn write(
        &self,
        out: &mut PagesWriter<'_>,
        old: Option<&Index>,
        temporary: &Temporary,
    ) -> Result<()> {
        for ((group, _), from) in self.all.iter().zip(&self.from) {
            match from {
                GroupSource::Old(group) => {
                    const PIECE: u64 = 1 << 20;
                    let Some(index) = old else { continue };
                    for start in (0..group.bytes()).step_by(PIECE as usize) {
                        let length = (group.bytes() - start).min(PIECE);
                        out.write(&index.pages.take(group.place + start, length)?)?;
                    }
                }
                GroupSource::New(offsets) => {
                    let apart = Apart { file: &temporary.file, offsets, rows: group.rows };
                    apart.each_strip(&mut |strip| out.write(strip))?;
                }
            }
        }
        Ok(())
    }
}

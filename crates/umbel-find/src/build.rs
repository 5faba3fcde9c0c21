//! Making an index, and bringing one up to date.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use anyhow::{Context, Result, bail};
use umbel::KeyHasher;
use umbel_files::atomic::{self, Existing};
use umbel_sets::{Missing, Options, on_each};

use crate::column::{KeySet, Recent};
use crate::folders;
use crate::layout::{Block, Entry, Index, Plan};
use crate::matrix::{self, Apart, Group, WIDTH};
use crate::pages::PagesWriter;
use crate::settings::Settings;
use crate::stamp::Stamp;
use crate::text::Reading;
use crate::words;

/// Probes of the value of a field: 2⁻⁸ of the blocks pass wrongly, for 11.6 bits per key. Part of the format.
pub(crate) const FIELD_PROBES: u32 = 8;

/// What was done to make an index.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Built {
    /// Files in it.
    pub files: u64,
    /// Of these, files that were read, because they are new or changed.
    pub read: u64,
    /// Files that were in it before, and are gone.
    pub gone: u64,
    /// Blocks of all files.
    pub blocks: u64,
    /// Bytes of the text of all files, and of those that were read.
    pub text: u64,
    /// Bytes of the text that was read.
    pub text_read: u64,
    /// Distinct keys of the blocks that were read.
    pub keys: u64,
    /// Bytes of the index.
    pub bytes: u64,
}

/// Makes an index of files, and of those in folders, at `target`.
///
/// Time: that of reading and decompressing all, and about as much again for its keys. Memory: some MiB per thread, and up to
/// 8 MiB for a decoder; a temporary file as long as the index.
///
/// # Errors
/// Those of reading and writing; options that have no field for the keys of records.
pub fn build(
    target: &Path,
    existing: Existing,
    paths: &[PathBuf],
    options: &Options,
) -> Result<Built> {
    check(options)?;
    let folder = folders::of_index(target);
    let roots = paths.iter().map(|path| folders::stored(path, &folder)).collect::<Result<_>>()?;
    let draft = Draft { settings: Settings::of(options), roots, old: None };
    write(target, existing, &draft, options)
}

/// Brings an index up to date: reads what is new or changed, and drops what is gone. Readers see the old index or the new one.
///
/// # Errors
/// As [`build`]; an [`IndexError`](crate::IndexError) of the index.
pub fn update(target: &Path, options: &Options) -> Result<Built> {
    let name = || target.display().to_string();
    let index = File::open(target)
        .map_err(crate::IndexError::from)
        .and_then(Index::open)
        .with_context(name)?;
    let options = &index.settings.apply(options);
    let draft =
        Draft { settings: index.settings.clone(), roots: index.roots.clone(), old: Some(index) };
    write(target, Existing::Replace, &draft, options)
}

/// Refuses keys that an index cannot have.
fn check(options: &Options) -> Result<()> {
    let fields = options.records.key().len();
    if options.records != umbel_sets::Records::Lines && fields != 1 {
        bail!(
            "an index of records is of one field, and there {}; name one with --key, or index the words of lines",
            if fields == 0 { "is none".to_owned() } else { format!("are {fields}") }
        );
    }
    if options.records == umbel_sets::Records::Lines && !options.normalization.is_none() {
        bail!(
            "words are found in any case, and as they are written otherwise; omit these options, or name a field with --key"
        );
    }
    if options.missing == Missing::Keep {
        bail!(
            "--missing keep: a record without the field has no key to find; leave it out with --missing skip"
        );
    }
    if umbel_sets::rewrites(None, options) {
        bail!("--bad skip: rows that cannot be read have no place in an index; omit it");
    }
    Ok(())
}

/// An index that is about to be made.
struct Draft {
    settings: Settings,
    roots: Vec<PathBuf>,
    old: Option<Index>,
}

/// The filter of a block: in the temporary file, or a column of a group of the old index.
#[derive(Clone, Copy)]
enum Filter {
    New { offset: u64, rows: u32 },
    Old { block: u32 },
}

/// A file as it goes into the index.
struct Indexed {
    entry: Entry,
    blocks: Vec<(Block, Filter)>,
    /// Whether it was read, and how many keys its blocks have then.
    read: bool,
    keys: u64,
}

fn write(target: &Path, existing: Existing, draft: &Draft, options: &Options) -> Result<Built> {
    atomic::check_target(target, existing)?;
    let folder = folders::of_index(target);
    let mut paths = Vec::new();
    for root in &draft.roots {
        folders::files(&folder.join(root), &mut paths)?;
    }
    let mut seen = HashSet::new();
    paths.retain(|path| !atomic::is_same_path(path, target) && seen.insert(path.clone()));
    let temporary = Temporary::new(options)?;
    let indexed = each_file(&paths, &folder, draft, &temporary, options)?;
    let mut built = Built { files: indexed.len() as u64, ..Built::default() };
    let (mut files, mut blocks, mut filters) = (Vec::new(), Vec::new(), Vec::new());
    for file in indexed {
        let first = u32::try_from(blocks.len()).ok();
        let first = first.filter(|first| first.checked_add(file.entry.blocks).is_some());
        let first = first.context("an index has fewer than 2³² blocks; make several")?;
        built.text += file.entry.text;
        built.keys += file.keys;
        if file.read {
            built.read += 1;
            built.text_read += file.entry.text;
        }
        files.push(Entry { first, ..file.entry });
        for (block, filter) in file.blocks {
            blocks.push(block);
            filters.push(filter);
        }
    }
    if let Some(old) = &draft.old {
        let now: HashSet<_> = files.iter().map(|file| &file.path).collect();
        built.gone = old.files.iter().filter(|file| !now.contains(&file.path)).count() as u64;
        if built.read + built.gone == 0 {
            built.blocks = old.block_count().into();
            built.bytes = fs::metadata(target)?.len();
            return Ok(built);
        }
    }
    built.blocks = blocks.len() as u64;
    let groups = Groups::new(draft.old.as_ref(), &filters, &temporary)?;
    let plan = Plan {
        settings: &draft.settings,
        roots: &draft.roots,
        files: &files,
        blocks: &blocks,
        groups: &groups.all,
    };
    let file = atomic::write(target, existing, |out| {
        let mut pages = PagesWriter::new(out);
        pages.write(&plan.encode())?;
        groups.write(&mut pages, draft.old.as_ref(), &temporary)?;
        Ok(pages.finish()?)
    })?;
    built.bytes = file.metadata()?.len();
    Ok(built)
}

/// The filters of blocks, until they are put side by side.
struct Temporary {
    file: File,
    end: AtomicU64,
}

impl Temporary {
    fn new(options: &Options) -> Result<Self> {
        let folder =
            options.tmp.folders().next().context("there is a folder for temporary files")?;
        let file = tempfile::tempfile_in(folder).with_context(|| folder.display().to_string())?;
        Ok(Self { file, end: AtomicU64::new(0) })
    }

    /// Space for so many bytes; returns where.
    fn reserve(&self, bytes: u64) -> u64 {
        self.end.fetch_add(bytes, Ordering::Relaxed)
    }
}

/// Threads that fit under the memory cap: each has a block, its folded copy, its keys and a decoder.
pub(crate) fn threads(options: &Options) -> usize {
    const OF_ONE: u64 = 12 << 20;
    let most = options.memory.saturating_sub(4 << 20) / OF_ONE;
    options.threads.min(usize::try_from(most).unwrap_or(usize::MAX)).max(1)
}

fn each_file(
    paths: &[PathBuf],
    folder: &Path,
    draft: &Draft,
    temporary: &Temporary,
    options: &Options,
) -> Result<Vec<Indexed>> {
    let threads = threads(options).min(paths.len().max(1));
    let reading = Reading::new(options, threads)?;
    let mut old = HashMap::new();
    if let Some(index) = &draft.old {
        old.extend(index.files.iter().map(|file| (folder.join(&file.path), file)));
    }
    let sizes = paths.iter().map(|path| fs::metadata(path).map_or(0, |meta| meta.len()));
    options.progress.expect(sizes.sum());
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let all: Vec<Mutex<Option<Indexed>>> = paths.iter().map(|_| Mutex::default()).collect();
    let work = || -> Result<()> {
        let (mut keys, mut recent) = (KeySet::default(), Recent::default());
        let mut folded = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(path) = paths.get(at).filter(|_| !failed.load(Ordering::Relaxed)) else {
                break;
            };
            let entry = old.get(path).copied();
            let kept = match (entry, &draft.old) {
                (Some(entry), Some(index)) => keep(path, entry, index)?,
                _ => None,
            };
            let indexed = match kept {
                Some(kept) => kept,
                None => {
                    let mut one = One {
                        reading: &reading,
                        draft,
                        temporary,
                        keys: &mut keys,
                        recent: &mut recent,
                        folded: &mut folded,
                    };
                    one.read(path, path.strip_prefix(folder).unwrap_or(path).to_owned())
                        .inspect_err(|_| failed.store(true, Ordering::Relaxed))?
                }
            };
            options.progress.advance(indexed.entry.stamp.size);
            *all[at].lock().expect("no worker panics") = Some(indexed);
        }
        Ok(())
    };
    on_each(threads, work).into_iter().collect::<Result<()>>()?;
    Ok(all.into_iter().filter_map(|one| one.into_inner().expect("no worker panics")).collect())
}

/// A file of the old index, if it is as it was.
fn keep(path: &Path, entry: &Entry, index: &Index) -> Result<Option<Indexed>> {
    let name = || path.display().to_string();
    let meta = fs::metadata(path).with_context(name)?;
    if !entry.stamp.is_of(path, &meta).with_context(name)? {
        return Ok(None);
    }
    let blocks = index.blocks(entry.first, entry.blocks)?;
    let blocks = blocks.into_iter().zip(entry.first..);
    let blocks = blocks.map(|(block, number)| (block, Filter::Old { block: number })).collect();
    Ok(Some(Indexed { entry: entry.clone(), blocks, read: false, keys: 0 }))
}

/// What a worker has to index a file with.
struct One<'a> {
    reading: &'a Reading,
    draft: &'a Draft,
    temporary: &'a Temporary,
    keys: &'a mut KeySet,
    recent: &'a mut Recent,
    folded: &'a mut Vec<u8>,
}

impl One<'_> {
    fn read(&mut self, path: &Path, stored: PathBuf) -> Result<Indexed> {
        let name = || path.display().to_string();
        let file = File::open(path).with_context(name)?;
        let stamp = Stamp::before_reading(&file).with_context(name)?;
        let mut text = self.reading.open(path, file, stamp.size)?;
        let header = text.start()?;
        let (mut blocks, mut count) = (Vec::new(), 0);
        while text.next(&mut |text, bytes| {
            self.keys.clear();
            self.see(text.name(), header.as_deref(), bytes, text.offset)?;
            count += self.keys.len() as u64;
            let column = self.keys.column();
            let offset = self.temporary.reserve(column.len() as u64);
            self.temporary.file.write_all_at(&column, offset).context("a temporary file")?;
            let point = if text.is_plain { (text.offset, text.offset) } else { (0, 0) };
            let block = Block { start: text.offset, lines: text.lines, point };
            blocks.push((block, Filter::New { offset, rows: 8 * column.len() as u32 }));
            Ok(())
        })? {}
        let entry = Entry {
            path: stored,
            stamp,
            text: text.offset,
            header,
            first: 0,
            blocks: u32::try_from(blocks.len()).context("a file has fewer than 2³² blocks")?,
        };
        Ok(Indexed { entry, blocks, read: true, keys: count })
    }

    /// Collects the keys of a block.
    fn see(&mut self, name: &str, header: Option<&[u8]>, bytes: &[u8], offset: u64) -> Result<()> {
        let hasher = KeyHasher::default();
        if self.draft.settings.are_words() {
            self.folded.clear();
            self.folded.extend_from_slice(bytes);
            self.folded.make_ascii_lowercase();
            let folded = &self.folded;
            self.recent.clear();
            words::each(folded, |key| {
                let bytes = &folded[key.range];
                if self.recent.is_new(bytes) {
                    self.keys.insert(hasher.hash(bytes), key.probes);
                }
            });
            return Ok(());
        }
        let keys = &mut *self.keys;
        let see = &mut |_: std::ops::Range<usize>, key: &[u8]| {
            keys.insert(hasher.hash(key), FIELD_PROBES);
            Ok(())
        };
        Ok(self.reading.rows.each(name, header, bytes, offset, see)?)
    }
}

/// Which filters are put side by side.
struct Groups {
    /// The rows of each group, and its blocks.
    all: Vec<(u32, Vec<u32>)>,
    /// The group of the old index that it is, or where each of its filters is in the temporary file.
    from: Vec<From>,
}

enum From {
    Old(Group),
    New(Vec<u64>),
}

impl Groups {
    /// Filters with equally many rows form groups. A group of the old index stays as it is if all its blocks stay, unless at
    /// least as many other filters are there to form a larger one with: so each filter moves a few times as an index grows,
    /// and there are a few groups with the same rows. Filters of other groups are taken apart.
    fn new(old: Option<&Index>, filters: &[Filter], temporary: &Temporary) -> Result<Self> {
        let (mut now, mut apart) = (HashMap::new(), BTreeMap::<u32, Vec<(u32, u64)>>::new());
        for (number, filter) in (0u32..).zip(filters) {
            match *filter {
                Filter::Old { block } => drop(now.insert(block, number)),
                Filter::New { offset, rows } => {
                    apart.entry(rows).or_default().push((number, offset));
                }
            }
        }
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
        let (mut all, mut from) = (Vec::new(), Vec::new());
        whole.sort_by_key(|(group, blocks)| (group.rows, blocks.len()));
        for (group, blocks) in whole {
            match apart.get_mut(&group.rows) {
                Some(others) if blocks.len() <= others.len() && blocks.len() < WIDTH => {
                    take_apart(&group, &blocks, others)?;
                }
                _ => {
                    all.push((group.rows, blocks.into_iter().flatten().collect()));
                    from.push(From::Old(group));
                }
            }
        }
        for (rows, mut same) in apart {
            same.sort_unstable();
            for group in same.chunks(WIDTH) {
                all.push((rows, group.iter().map(|filter| filter.0).collect()));
                from.push(From::New(group.iter().map(|filter| filter.1).collect()));
            }
        }
        Ok(Self { all, from })
    }

    fn write(
        &self,
        out: &mut PagesWriter<'_>,
        old: Option<&Index>,
        temporary: &Temporary,
    ) -> Result<()> {
        for ((rows, _), from) in self.all.iter().zip(&self.from) {
            match from {
                From::Old(group) => {
                    const PIECE: u64 = 1 << 20;
                    let index = old.expect("it has groups");
                    for start in (0..group.bytes()).step_by(PIECE as usize) {
                        let length = (group.bytes() - start).min(PIECE);
                        out.write(&index.pages.take(group.place + start, length)?)?;
                    }
                }
                From::New(offsets) => {
                    let apart = Apart { file: &temporary.file, offsets, rows: *rows };
                    apart.each_strip(&mut |strip| out.write(strip))?;
                }
            }
        }
        Ok(())
    }
}

//! Records the changes of a job to the files of its folder, and computes the possible results of a power failure.
//!
//! The model is a file system without barriers, as in ALICE (Pillai et al., OSDI 2014): until `fsync`, each written block, each
//! length and each change of a folder may or may not be on the disk, whatever their order. After `fsync`, the file or folder is
//! on the disk as it was at the end of the call. A block of the system's page may be torn at a sector, and a block that a file
//! grew by may hold anything. Renaming is atomic. Each file keeps its inode number while it is recorded, since journals and
//! names identify files by it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File, OpenOptions, Permissions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::{Context, Result, ensure};
use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::unistd::linkat;

use super::errors::Sort;
use super::jobs::{Files, Folder};
use super::trace::{Action, Call, Watch};

/// A page of the system, which writes it as a whole or torn between sectors.
const BLOCK: usize = 4096;

type Content = Rc<Vec<u8>>;
/// The number of a file.
type Inode = u64;
/// Names that now lead to another file, or to none.
type Changes = BTreeMap<String, Option<Inode>>;

/// An operation of the job.
enum Operation {
    /// A file's content changed.
    Content(Inode, Content),
    Names(Changes),
    Synced(Inode),
    /// The folder whose names begin with this was synced.
    FolderSynced(String),
    /// This many bytes went to standard output.
    Printed(u64),
}

/// Records the changes of a job to the files of a folder.
pub(crate) struct Recorder<'a> {
    folder: &'a Folder,
    /// Has a link to each file: it survives removal by the job, and its inode number is not reused.
    kept: PathBuf,
    start: Vec<(String, Inode, Content)>,
    names: BTreeMap<String, Inode>,
    contents: HashMap<Inode, Content>,
    /// The file that is written through a mapping.
    mapped: Option<Inode>,
    operations: Vec<Operation>,
}

impl<'a> Recorder<'a> {
    /// Starts from the folder as it is.
    pub(crate) fn new(folder: &'a Folder) -> Result<Self> {
        let kept = folder.beside("kept");
        fs::create_dir(&kept)?;
        let mut recorder = Self {
            folder,
            kept,
            start: Vec::new(),
            names: BTreeMap::new(),
            contents: HashMap::new(),
            mapped: None,
            operations: Vec::new(),
        };
        recorder.look_at_names()?;
        recorder.operations.clear();
        let start = recorder.names.iter();
        let start =
            start.map(|(name, inode)| (name.clone(), *inode, recorder.contents[inode].clone()));
        recorder.start = start.collect();
        Ok(recorder)
    }

    /// Records changes of the names.
    fn look_at_names(&mut self) -> Result<()> {
        let mut now = BTreeMap::new();
        for name in self.folder.names()? {
            let path = self.folder.path(&name);
            // A thread may have removed it in the meantime.
            let Ok(meta) = path.symlink_metadata() else { continue };
            now.insert(name, meta.ino());
            self.look_at(&path)?;
        }
        let mut changes = Changes::new();
        let gone = self.names.keys().filter(|name| !now.contains_key(*name));
        changes.extend(gone.map(|name| (name.clone(), None)));
        let new = now.iter().filter(|(name, inode)| self.names.get(*name) != Some(*inode));
        changes.extend(new.map(|(name, inode)| (name.clone(), Some(*inode))));
        if !changes.is_empty() {
            self.operations.push(Operation::Names(changes));
            self.names = now;
        }
        Ok(())
    }

    /// Records a change of the file at a path, which may be a path in the system's folder of descriptors.
    fn look_at(&mut self, path: &Path) -> Result<()> {
        let mut file = File::open(path).with_context(|| path.display().to_string())?;
        let inode = file.metadata()?.ino();
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let before = self.contents.get(&inode);
        if before.is_none() {
            linkat(AT_FDCWD, path, AT_FDCWD, &self.kept(inode), AtFlags::AT_SYMLINK_FOLLOW)?;
        }
        if before.is_none_or(|before| **before != bytes) {
            let content = Rc::new(bytes);
            self.contents.insert(inode, content.clone());
            self.operations.push(Operation::Content(inode, content));
        }
        Ok(())
    }

    fn kept(&self, inode: Inode) -> PathBuf {
        self.kept.join(inode.to_string())
    }

    /// The inode number of an open file of this folder, and its path in the system's folder of descriptors.
    fn open_file(&self, call: &Call, argument: usize) -> Option<(Inode, PathBuf)> {
        let path = call.descriptor(argument)?;
        let inside = path.strip_prefix(self.folder.root()).ok()?;
        let link = PathBuf::from(call.link(argument));
        let meta = fs::metadata(&link).ok()?;
        (meta.is_file() && !Folder::is_temporary(inside)).then(|| (meta.ino(), link))
    }

    /// The possible states of the disk if the power fails after this many operations.
    pub(crate) fn crash(&self, operations: usize) -> Crash {
        let mut names: BTreeMap<String, Inode> =
            self.start.iter().map(|(name, inode, _)| (name.clone(), *inode)).collect();
        let mut contents: HashMap<Inode, Vec<Content>> =
            self.start.iter().map(|(_, inode, bytes)| (*inode, vec![bytes.clone()])).collect();
        let (mut changes, mut printed): (Vec<&Changes>, u64) = (Vec::new(), 0);
        for operation in &self.operations[..operations] {
            match operation {
                Operation::Content(inode, content) => contents
                    .entry(*inode)
                    // A new file starts empty.
                    .or_insert_with(|| vec![Rc::default()])
                    .push(content.clone()),
                Operation::Names(changed) => changes.push(changed),
                Operation::Synced(inode) => {
                    contents.entry(*inode).and_modify(|all| drop(all.drain(..all.len() - 1)));
                }
                Operation::FolderSynced(prefix) => {
                    let of = |name: &str| of_folder(name) == prefix;
                    changes.retain(|changed| {
                        let synced = changed.keys().all(|name| of(name));
                        if synced {
                            apply(&mut names, changed);
                        }
                        !synced
                    });
                }
                Operation::Printed(bytes) => printed += bytes,
            }
        }
        // Files without a name in any state are ignored.
        let named: BTreeSet<Inode> = names
            .values()
            .copied()
            .chain(changes.iter().flat_map(|changed| changed.values().copied().flatten()))
            .collect();
        let files = named.into_iter().map(|inode| {
            let versions = contents.remove(&inode).unwrap_or_else(|| vec![Rc::default()]);
            (inode, Unsynced::new(versions))
        });
        Crash {
            names,
            changes: changes.into_iter().cloned().collect(),
            files: files.collect(),
            printed,
        }
    }

    pub(crate) fn operations(&self) -> usize {
        self.operations.len()
    }

    /// Puts the folder into the state after the power failure.
    pub(crate) fn put(&self, disk: &Disk) -> Result<()> {
        self.folder.put(&Files::new())?;
        for (name, (inode, content)) in disk {
            let mut file = OpenOptions::new().write(true).truncate(true).open(self.kept(*inode))?;
            file.write_all(content)?;
            // Secrets are among them.
            file.set_permissions(Permissions::from_mode(0o600))?;
            fs::hard_link(self.kept(*inode), self.folder.path(name))?;
        }
        Ok(())
    }
}

impl Watch for Recorder<'_> {
    fn enter(&mut self, _: &Call) -> Action {
        Action::Go
    }

    fn leave(&mut self, call: &Call) -> Result<()> {
        // Writes through a mapping are no calls: they show at the next one.
        if let Some(inode) = self.mapped {
            self.look_at(&self.kept(inode))?;
        }
        let descriptor = match Sort::of(call) {
            Some(Sort::Sync) if call.number == libc::SYS_msync => {
                self.operations.extend(self.mapped.map(Operation::Synced));
                return Ok(());
            }
            Some(Sort::Copy) if call.number != libc::SYS_sendfile => 2,
            Some(Sort::Write | Sort::Resize | Sort::Copy | Sort::Sync) => 0,
            Some(Sort::Open | Sort::Name | Sort::Remove) => return self.look_at_names(),
            Some(Sort::Map) => {
                let [_, _, protection, flags, ..] = call.arguments;
                let writes = protection as i32 & libc::PROT_WRITE != 0
                    && flags as i32 & libc::MAP_SHARED != 0;
                if let Some((inode, _)) = self.open_file(call, 4).filter(|_| writes) {
                    let one = self.mapped.replace(inode).is_none_or(|other| other == inode);
                    ensure!(one, "two files are written through mappings");
                }
                return Ok(());
            }
            _ => return Ok(()),
        };
        let syncs = matches!(call.number, libc::SYS_fsync | libc::SYS_fdatasync);
        if let Some((inode, path)) = self.open_file(call, descriptor) {
            self.look_at(&path)?;
            if syncs {
                self.operations.push(Operation::Synced(inode));
            }
        } else if let Some(path) = call.descriptor(descriptor).filter(|_| syncs) {
            if path.is_dir()
                && let Ok(inside) = path.strip_prefix(self.folder.root())
            {
                let prefix = inside.join("").display().to_string();
                self.operations.push(Operation::FolderSynced(prefix));
            }
        } else if call.number == libc::SYS_write && call.is_standard_output() {
            self.operations.push(Operation::Printed(call.arguments[2]));
        }
        Ok(())
    }
}

/// The common start of all names in a folder.
fn of_folder(name: &str) -> &str {
    name.rfind('/').map_or("", |slash| &name[..=slash])
}

fn apply(names: &mut BTreeMap<String, Inode>, changes: &Changes) {
    for (name, inode) in changes {
        match inode {
            Some(inode) => drop(names.insert(name.clone(), *inode)),
            None => drop(names.remove(name)),
        }
    }
}

/// A state of a disk: names, with the numbers and the contents of their files.
pub(crate) type Disk = BTreeMap<String, (Inode, Vec<u8>)>;

/// The files of a state.
pub(crate) fn files(disk: &Disk) -> Files {
    disk.iter().map(|(name, (_, content))| (name.clone(), content.clone())).collect()
}

/// Distinguishes states.
pub(crate) fn fingerprint(disk: &Disk) -> u64 {
    let mut hasher = DefaultHasher::new();
    disk.hash(&mut hasher);
    hasher.finish()
}

/// The possible states of the disk at one moment.
pub(crate) struct Crash {
    /// Names that are certain.
    names: BTreeMap<String, Inode>,
    changes: Vec<Changes>,
    files: BTreeMap<Inode, Unsynced>,
    /// Bytes that went to standard output.
    pub(crate) printed: u64,
}

impl Crash {
    /// The number of variants of each uncertain part. The first variant lacks everything unsynced, the second one has all of it.
    fn parts(&self) -> Vec<usize> {
        let mut parts = vec![2; self.changes.len()];
        for file in self.files.values() {
            parts.push(file.lengths.len());
            parts.extend(file.blocks.iter().map(Vec::len));
        }
        parts
    }

    /// The state with these variants.
    fn disk(&self, variants: &[usize]) -> Disk {
        let (of_names, mut rest) = variants.split_at(self.changes.len());
        let mut names = self.names.clone();
        for (changes, _) in self.changes.iter().zip(of_names).filter(|(_, there)| **there == 1) {
            apply(&mut names, changes);
        }
        let mut contents = BTreeMap::new();
        for (inode, file) in &self.files {
            let (of_file, after) = rest.split_at(1 + file.blocks.len());
            contents.insert(*inode, file.content(of_file[0], &of_file[1..]));
            rest = after;
        }
        let content = |inode: Inode| (inode, contents[&inode].clone());
        names.into_iter().map(|(name, inode)| (name, content(inode))).collect()
    }

    /// The states: all of them if there are at most `most`; otherwise `most` of them: both extremes, states that differ from
    /// these in one part, and a random sample. Also returns the number of states.
    pub(crate) fn disks(&self, most: usize, random: &mut fastrand::Rng) -> (Vec<Disk>, f64) {
        let parts = self.parts();
        let all: f64 = parts.iter().map(|variants| *variants as f64).product();
        let mut chosen = Vec::new();
        if all <= most as f64 {
            let mut variants = vec![0; parts.len()];
            loop {
                chosen.push(variants.clone());
                let next = (0..parts.len()).find(|&part| variants[part] + 1 < parts[part]);
                let Some(part) = next else { break };
                variants[..part].fill(0);
                variants[part] += 1;
            }
        } else {
            let nothing = vec![0; parts.len()];
            let complete: Vec<usize> = parts.iter().map(|variants| variants.min(&2) - 1).collect();
            chosen.extend([nothing.clone(), complete.clone()]);
            let open: Vec<usize> = (0..parts.len()).filter(|&part| parts[part] > 1).collect();
            for &part in &open {
                for variant in 0..parts[part] {
                    for end in [&nothing, &complete] {
                        let mut variants = end.clone();
                        variants[part] = variant;
                        chosen.push(variants);
                    }
                }
            }
            random.shuffle(&mut chosen[2..]);
            chosen.truncate(most.max(2) * 2 / 3);
            while chosen.len() < most {
                chosen.push(parts.iter().map(|variants| random.usize(..*variants)).collect());
            }
        }
        (chosen.iter().map(|variants| self.disk(variants)).collect(), all)
    }
}

/// A file since it was last synced.
struct Unsynced {
    /// The content at that time.
    synced: Content,
    /// Its lengths since then: the synced one, the last one, and the ones in between.
    lengths: Vec<usize>,
    /// The possible contents of each block, in the same order, and then torn or not written at all.
    blocks: Vec<Vec<Vec<u8>>>,
}

impl Unsynced {
    fn new(versions: Vec<Content>) -> Self {
        let (first, last) = (&versions[0], &versions[versions.len() - 1]);
        let longest = versions.iter().map(|content| content.len()).max().unwrap_or(0);
        let order: Vec<&Content> = [first, last].into_iter().chain(&versions[1..]).collect();
        let mut lengths = Vec::new();
        order.iter().for_each(|content| push_new(&mut lengths, content.len()));
        let block = |number: usize| {
            let mut variants = Vec::new();
            order.iter().for_each(|content| push_new(&mut variants, block(content, number)));
            if let [old, new, ..] = &variants[..] {
                let (old, new) = (old.clone(), new.clone());
                let half = BLOCK / 2;
                push_new(&mut variants, [&new[..half], &old[half..]].concat());
                push_new(&mut variants, [&old[..half], &new[half..]].concat());
                if number * BLOCK >= first.len() {
                    push_new(&mut variants, vec![0xa5; BLOCK]);
                }
            }
            variants
        };
        let blocks = (0..longest.div_ceil(BLOCK)).map(block).collect();
        Self { synced: first.clone(), lengths, blocks }
    }

    fn content(&self, length: usize, blocks: &[usize]) -> Vec<u8> {
        let mut content = Vec::with_capacity(self.synced.len());
        for (variants, &variant) in self.blocks.iter().zip(blocks) {
            content.extend_from_slice(&variants[variant]);
        }
        content.resize(self.lengths[length], 0);
        content
    }
}

/// A block of a file, padded with zeros.
fn block(content: &[u8], number: usize) -> Vec<u8> {
    let from = content.len().min(number * BLOCK);
    let mut block = content[from..content.len().min(from + BLOCK)].to_vec();
    block.resize(BLOCK, 0);
    block
}

fn push_new<T: PartialEq>(all: &mut Vec<T>, one: T) {
    if !all.contains(&one) {
        all.push(one);
    }
}

//! What systems do differently, under the same names for Unix and Windows.
//!
//! All code that knows which system it runs on is here, with what is unsafe in calling it; the other crates have no
//! `cfg` of a system. [`unix`](self) is Linux, macOS and their like.

#[cfg(target_env = "musl")]
#[expect(unsafe_code, reason = "memory is the system's")]
mod musl;
#[cfg(target_os = "linux")]
mod nameless;
#[cfg(any(unix, windows))]
mod new_file;
mod read_at;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
#[expect(unsafe_code, reason = "the system is called directly")]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

/// What names of files next to a target begin with.
#[cfg(any(unix, windows))]
const BESIDE: &str = ".umbel-";

/// Elsewhere than on Linux, each file has a name.
#[cfg(all(any(unix, windows), not(target_os = "linux")))]
mod nameless {
    use std::fs::File;
    use std::io;
    use std::path::Path;

    use tempfile::TempPath;

    pub(super) fn make(_: &Path, _: bool) -> Option<File> {
        None
    }

    pub(super) fn link(_: &File, _: &Path) -> io::Result<()> {
        unreachable!("no file is nameless here")
    }

    pub(super) fn link_beside(_: &File, _: &Path) -> io::Result<TempPath> {
        unreachable!("no file is nameless here")
    }
}

#[cfg(any(unix, windows))]
pub use here::*;
#[cfg(target_env = "musl")]
pub use musl::Memory;
pub use read_at::{FileAt, ReadAt};
/// What a program allocates with.
#[cfg(not(target_env = "musl"))]
pub use std::alloc::System as Memory;

/// The path of these bytes: where there are no files, it is only shown.
#[cfg(not(any(unix, windows)))]
pub fn path_from(bytes: Vec<u8>) -> Option<std::path::PathBuf> {
    Some(String::from_utf8_lossy(&bytes).into_owned().into())
}

#[cfg(any(unix, windows))]
mod here {
    use std::ffi::OsString;
    use std::fs::{File, Metadata, TryLockError};
    use std::io::{self, Read};
    use std::path::{Path, PathBuf};

    use super::system;

    pub use super::new_file::NewFile;
    pub use system::{Closer, Stop, Stops};

    /// What tells files apart: the number of its file system, and its own there.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct FileId {
        /// The file system.
        pub device: u64,
        /// The file.
        pub inode: u64,
    }

    /// What the system says of a file.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct State {
        /// Which file it is.
        pub id: FileId,
        /// Its bytes.
        pub length: u64,
        /// When its bytes last changed: nanoseconds since 1970.
        pub modified: i64,
        /// When anything of it last changed, which no program sets back.
        pub changed: i64,
        /// Names that it has: 0 once it is removed.
        pub links: u64,
        /// Whether it is a folder.
        pub is_dir: bool,
        /// Whether it is a regular file.
        pub is_file: bool,
        /// Whether it is a pipe or a socket, of which one reader gets what another does not. Not told on Windows.
        pub is_pipe: bool,
    }

    impl State {
        /// The state of an open file.
        ///
        /// # Errors
        /// Those of the system.
        pub fn of(file: &File) -> io::Result<Self> {
            system::state_of(file)
        }

        /// The state of what a path leads to.
        ///
        /// # Errors
        /// Those of the system.
        pub fn at(path: &Path) -> io::Result<Self> {
            system::state_at(path)
        }
    }

    /// The path of these bytes, as a list of paths or a file has them: on Windows they are UTF-8.
    pub fn path_from(bytes: Vec<u8>) -> Option<PathBuf> {
        Some(PathBuf::from(system::os_string(bytes)?))
    }

    /// Who may read and write a file. On Windows its owner alone, or whom the folder allows to.
    #[derive(Clone, Copy, Debug)]
    pub struct Access(system::Access);

    impl Access {
        /// Its owner alone.
        pub fn private() -> Self {
            Self(system::Access::PRIVATE)
        }

        /// Who may read and write the file at `path`; its owner alone, if there is none.
        pub fn of(path: &Path) -> Self {
            Self(system::Access::of(path))
        }

        /// Lets them read and write `file`, and nobody else.
        ///
        /// # Errors
        /// Those of the system.
        pub fn set(self, file: &File) -> io::Result<()> {
            self.0.set(file)
        }
    }

    /// What every system has under the same name.
    macro_rules! of_system {
        ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),*) $(-> $returned:ty)?;)*) => {$(
            $(#[$doc])*
            pub fn $name($($argument: $type),*) $(-> $returned)? {
                system::$name($($argument),*)
            }
        )*};
    }

    of_system! {
        /// The arguments of the process. `cmd.exe` leaves `*` and `?` to programs: on Windows, those outside of quotes stand for
        /// the files that are there.
        fn arguments() -> impl Iterator<Item = OsString>;

        /// Whether it is a named pipe.
        fn is_fifo(meta: &Metadata) -> bool;

        /// What others than its owner may do with a file: "read" or "change" it. Windows does not tell so easily.
        fn others_may(meta: &Metadata) -> Option<&'static str>;

        /// Gives `file` the owner of the file `before`, as far as we may, and its permissions: without those to act as its owner,
        /// and for another group only what everybody may. On Windows a file has the permissions of its folder.
        ///
        /// # Errors
        /// Those of the system.
        fn inherit(file: &File, before: &Metadata) -> io::Result<()>;

        /// Copies up to `most` bytes of a file from byte `at` on to the end of what was written to another, as the system does it
        /// fastest: sharing the blocks on disk, if the file system can. Others may meanwhile read the first one by
        /// [`FileAt`](crate::FileAt), but nobody from where it stands. Returns the bytes copied, fewer only at its end.
        ///
        /// # Errors
        /// Those of reading and writing.
        fn copy(from: &File, at: u64, most: u64, to: &File) -> io::Result<u64>;

        /// The path of a file from the root, without links: as [`std::fs::canonicalize`], and on Windows in the form in which
        /// people write it.
        ///
        /// # Errors
        /// Those of the system.
        fn canonical(path: &Path) -> io::Result<PathBuf>;

        /// Makes the names in a folder survive a crash. Windows does that by itself.
        ///
        /// # Errors
        /// Those of the system.
        fn sync_folder(folder: &Path) -> io::Result<()>;

        /// Cuts off a file that may have been opened for appending alone.
        ///
        /// # Errors
        /// Those of the system.
        fn set_length(file: &File, length: u64) -> io::Result<()>;

        /// Opens a file to read it. A folder opens, too, on all systems, so that those who ask what it is can say so.
        ///
        /// # Errors
        /// Those of the system.
        fn open(path: &Path) -> io::Result<File>;

        /// Whether all that is written to a file goes to its end.
        fn appends(file: &File) -> bool;

        /// Tells the system that a file is read from start to end, so that the disk works while its bytes are processed. A
        /// system that ignores this is only slower.
        fn read_ahead(file: &File);

        /// Locks a file, or says that another process has. It keeps nobody from reading or writing.
        ///
        /// # Errors
        /// Those of the system.
        fn try_lock(file: &File) -> Result<(), TryLockError>;

        /// Locks a file, after waiting for others that have.
        ///
        /// # Errors
        /// Those of the system.
        fn lock(file: &File) -> io::Result<()>;

        /// Whether a file could not be locked because it is not open for writing, as over NFS.
        fn locks_only_writable(error: &io::Error) -> bool;

        /// Whether standard output was closed when the process started: what is written then is lost in silence.
        fn is_stdout_closed() -> bool;

        /// The error of writing to what is closed.
        fn closed() -> io::Error;

        /// Standard output without a buffer.
        ///
        /// # Errors
        /// Those of the system.
        fn stdout() -> io::Result<File>;

        /// Standard input without a buffer, so that a redirected file can be read again.
        ///
        /// # Errors
        /// Those of the system.
        fn stdin() -> io::Result<File>;

        /// What is typed, where a terminal's bytes are in another encoding than text is here.
        fn typed() -> Option<Box<dyn Read + Send>>;

        /// The file that is standard output, opened for reading.
        ///
        /// # Errors
        /// Those of the system.
        fn reopen_stdout() -> io::Result<File>;

        /// Writes to standard output, which is a terminal.
        ///
        /// # Errors
        /// Those of the system.
        fn write_to_terminal(out: &mut File, bytes: &[u8]) -> io::Result<usize>;

        /// The memory of the machine in bytes, or less if this process may use less, where the system tells.
        fn memory() -> Option<u64>;

        /// The most memory that this process has had in use, in bytes.
        fn peak_memory() -> u64;

        /// Makes the allocator return freed memory of 1 MiB or more to the system. By itself, glibc keeps blocks as large as the
        /// largest one freed before, up to 32 MiB: with lines of 4 MB, some 60 MiB above a memory cap.
        fn return_memory();

        /// Makes the allocator keep up to `bytes` of freed memory per thread, for work that allocates and frees buffers of some
        /// MiB over and over: the system clears each that it hands out.
        fn keep_memory(bytes: u64);

        /// Files that this process may have open.
        fn open_files() -> u64;

        /// Allows this process as many open files as it may allow itself, within reason: lines that do not fit in memory go to
        /// some hundred temporary files. Where that is refused, work has fewer of them.
        fn allow_open_files();

        /// The folder for temporary files: the system's, unless that is in memory and another is on a disk.
        fn temporary_folder() -> PathBuf;

        /// Whether a folder is in memory.
        fn is_in_memory(folder: &Path) -> bool;
    }
}

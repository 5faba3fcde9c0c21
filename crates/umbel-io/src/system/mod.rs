//! Functions that differ between systems, under the same names for Unix and Windows.
//!
//! All code that depends on the system is here, with the unsafe calls; the other crates have no `cfg` for a system.
//! [`unix`](self) is Linux, macOS and their like.

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

/// The prefix of the names of files next to a target.
#[cfg(any(unix, windows))]
const BESIDE: &str = ".umbel-";

/// On systems other than Linux, each file has a name.
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
/// The program's allocator.
#[cfg(not(target_env = "musl"))]
pub use std::alloc::System as Memory;

/// The path of these bytes: without files, it is only shown.
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

    /// The identity of a file: the number of its file system, and its own number there.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct FileId {
        /// The file system.
        pub device: u64,
        /// The file.
        pub inode: u64,
    }

    /// A file's state as the system reports it.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct State {
        /// Which file it is.
        pub id: FileId,
        /// Its bytes.
        pub length: u64,
        /// When its bytes last changed: nanoseconds since 1970.
        pub modified: i64,
        /// When anything about it last changed; programs cannot set this back.
        pub changed: i64,
        /// The number of its names: 0 once it is removed.
        pub links: u64,
        /// Whether it is a folder.
        pub is_dir: bool,
        /// Whether it is a regular file.
        pub is_file: bool,
        /// Whether it is a pipe or a socket, whose bytes each go to only one reader. Unknown on Windows.
        pub is_pipe: bool,
    }

    impl State {
        /// The state of an open file.
        ///
        /// # Errors
        /// System errors.
        pub fn of(file: &File) -> io::Result<Self> {
            system::state_of(file)
        }

        /// The state of the file that a path leads to.
        ///
        /// # Errors
        /// System errors.
        pub fn at(path: &Path) -> io::Result<Self> {
            system::state_at(path)
        }
    }

    /// The path of these bytes, as a list of paths or a file has them: on Windows they are UTF-8.
    pub fn path_from(bytes: Vec<u8>) -> Option<PathBuf> {
        Some(PathBuf::from(system::os_string(bytes)?))
    }

    /// The users that may read and write a file. On Windows, its owner only, or the users that the folder allows.
    #[derive(Clone, Copy, Debug)]
    pub struct Access(system::Access);

    impl Access {
        /// Its owner alone.
        pub fn private() -> Self {
            Self(system::Access::PRIVATE)
        }

        /// The users that may read and write the file at `path`; its owner only, if the file does not exist.
        pub fn of(path: &Path) -> Self {
            Self(system::Access::of(path))
        }

        /// Lets only these users read and write `file`.
        ///
        /// # Errors
        /// System errors.
        pub fn set(self, file: &File) -> io::Result<()> {
            self.0.set(file)
        }
    }

    /// Functions that every system has under the same name.
    macro_rules! of_system {
        ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),*) $(-> $returned:ty)?;)*) => {$(
            $(#[$doc])*
            pub fn $name($($argument: $type),*) $(-> $returned)? {
                system::$name($($argument),*)
            }
        )*};
    }

    of_system! {
        /// The arguments of the process. `cmd.exe` leaves `*` and `?` to programs: on Windows, those outside of quotes
        /// are expanded to existing files.
        fn arguments() -> impl Iterator<Item = OsString>;

        /// Whether it is a named pipe.
        fn is_fifo(meta: &Metadata) -> bool;

        /// The access of users other than its owner to a file: "read" or "change" it. Not determined on Windows.
        fn others_may(meta: &Metadata) -> Option<&'static str>;

        /// Gives `file` the owner of the file `before`, as far as we may, and its permissions, without set-ID bits;
        /// another group gets only what everyone may do. On Windows a file has the permissions of its folder.
        ///
        /// # Errors
        /// System errors.
        fn inherit(file: &File, before: &Metadata) -> io::Result<()>;

        /// Copies up to `most` bytes of a file, from byte `at` on, to the end of another, in the system's fastest way:
        /// sharing the blocks on disk, if the file system can. Meanwhile the first may be read by
        /// [`FileAt`](crate::FileAt), but not from its position. Returns the bytes copied, fewer only at its end.
        ///
        /// # Errors
        /// Read and write errors.
        fn copy(from: &File, at: u64, most: u64, to: &File) -> io::Result<u64>;

        /// The absolute path of a file, without links: as [`std::fs::canonicalize`], and on Windows in the form that
        /// people write.
        ///
        /// # Errors
        /// System errors.
        fn canonical(path: &Path) -> io::Result<PathBuf>;

        /// Makes the names in a folder survive a crash. Windows does that by itself.
        ///
        /// # Errors
        /// System errors.
        fn sync_folder(folder: &Path) -> io::Result<()>;

        /// Truncates a file that may have been opened for appending only.
        ///
        /// # Errors
        /// System errors.
        fn set_length(file: &File, length: u64) -> io::Result<()>;

        /// Opens a file to read it. Folders also open, on all systems: callers can then report that it is a folder.
        ///
        /// # Errors
        /// System errors.
        fn open(path: &Path) -> io::Result<File>;

        /// Whether all writes to a file go to its end.
        fn appends(file: &File) -> bool;

        /// Announces that a file is read from start to end: the disk then works while its bytes are processed. A system
        /// that ignores this is only slower.
        fn read_ahead(file: &File);

        /// Locks a file, or reports that another process has. The lock does not prevent reading or writing.
        ///
        /// # Errors
        /// System errors.
        fn try_lock(file: &File) -> Result<(), TryLockError>;

        /// Locks a file, after waiting for other locks.
        ///
        /// # Errors
        /// System errors.
        fn lock(file: &File) -> io::Result<()>;

        /// Whether a file could not be locked because it is not open for writing, as over NFS.
        fn locks_only_writable(error: &io::Error) -> bool;

        /// Whether standard output was closed when the process started: output is then lost silently.
        fn is_stdout_closed() -> bool;

        /// The error of writing to a closed file.
        fn closed() -> io::Error;

        /// Standard output without a buffer.
        ///
        /// # Errors
        /// System errors.
        fn stdout() -> io::Result<File>;

        /// Standard input without a buffer: a redirected file can be read again.
        ///
        /// # Errors
        /// System errors.
        fn stdin() -> io::Result<File>;

        /// Typed text, on systems where a terminal's bytes are in another encoding than umbel's text.
        fn typed() -> Option<Box<dyn Read + Send>>;

        /// The file that is standard output, opened for reading.
        ///
        /// # Errors
        /// System errors.
        fn reopen_stdout() -> io::Result<File>;

        /// Writes to standard output, which is a terminal.
        ///
        /// # Errors
        /// System errors.
        fn write_to_terminal(out: &mut File, bytes: &[u8]) -> io::Result<usize>;

        /// The memory of the machine in bytes, or less if this process may use less, where the system reports it.
        fn memory() -> Option<u64>;

        /// The most memory that this process has had in use, in bytes.
        fn peak_memory() -> u64;

        /// Makes the allocator return freed memory of 1 MiB or more to the system. By itself, glibc keeps blocks as large as the
        /// largest one freed before, up to 32 MiB: with lines of 4 MB, some 60 MiB above a memory cap.
        fn return_memory();

        /// Makes the allocator keep up to `bytes` of freed memory per thread, for work that keeps allocating and
        /// freeing buffers of some MiB: the system zeroes each one that it provides.
        fn keep_memory(bytes: u64);

        /// Files that this process may have open.
        fn open_files() -> u64;

        /// Raises this process's limit of open files as far as allowed, within reason: lines that do not fit in memory
        /// go to some hundred temporary files. If that is refused, jobs use fewer.
        fn allow_open_files();

        /// The folder for temporary files: the system's, unless that is in memory and another is on a disk.
        fn temporary_folder() -> PathBuf;

        /// Whether a folder is in memory.
        fn is_in_memory(folder: &Path) -> bool;
    }
}

//! Windows: its calls, and why they differ from Unix.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, IsTerminal, Read, Seek, SeekFrom, Write};
use std::mem;
use std::os::windows::fs::{FileExt, OpenOptionsExt};
use std::os::windows::io::{AsHandle, AsRawHandle, FromRawHandle, RawHandle};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use windows_sys::Wdk::Storage::FileSystem::{
    FILE_ACCESS_INFORMATION, FileAccessInformation, NtQueryInformationFile,
};
use windows_sys::Win32::Foundation::{
    ERROR_IO_PENDING, ERROR_LOCK_VIOLATION, GENERIC_READ, GENERIC_WRITE, HANDLE,
    INVALID_HANDLE_VALUE, LocalFree, STATUS_CONTROL_C_EXIT,
};
use windows_sys::Win32::Security::Authorization::{
    ConvertStringSecurityDescriptorToSecurityDescriptorW, SDDL_REVISION_1,
};
use windows_sys::Win32::Security::{
    DACL_SECURITY_INFORMATION, PROTECTED_DACL_SECURITY_INFORMATION, PSECURITY_DESCRIPTOR,
    SetKernelObjectSecurity,
};
use windows_sys::Win32::Storage::FileSystem as files;
use windows_sys::Win32::System::Console::{
    CTRL_CLOSE_EVENT, GetStdHandle, STD_OUTPUT_HANDLE, SetConsoleCtrlHandler,
};
use windows_sys::Win32::System::IO::{IO_STATUS_BLOCK, OVERLAPPED};
use windows_sys::Win32::System::JobObjects as jobs;
use windows_sys::Win32::System::ProcessStatus::{K32GetProcessMemoryInfo, PROCESS_MEMORY_COUNTERS};
use windows_sys::Win32::System::SystemInformation::{GlobalMemoryStatusEx, MEMORYSTATUSEX};
use windows_sys::Win32::System::Threading::GetCurrentProcess;

use super::{FileId, State};

pub(crate) use std::env::temp_dir as temporary_folder;
pub(crate) use wild::args_os as arguments;

/// Access of other programs to a file while it is open: everything, as on Unix.
const SHARED: u32 = files::FILE_SHARE_READ | files::FILE_SHARE_WRITE | files::FILE_SHARE_DELETE;

/// The error of a call that returns zero on failure.
fn check(result: i32) -> io::Result<()> {
    if result == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// A structure that a call fills; those here consist of numbers.
fn empty<T>() -> T {
    // SAFETY: used for structures of numbers and pointers alone.
    unsafe { mem::zeroed() }
}

pub(crate) fn state_of(file: &File) -> io::Result<State> {
    let handle = file.as_raw_handle() as HANDLE;
    let mut known: files::BY_HANDLE_FILE_INFORMATION = empty();
    let mut times: files::FILE_BASIC_INFO = empty();
    // SAFETY: the handle is open, and both structures have the size passed.
    unsafe {
        // A pipe or a console has no such state.
        if files::GetFileType(handle) != files::FILE_TYPE_DISK {
            return Ok(State::default());
        }
        check(files::GetFileInformationByHandle(handle, &raw mut known))?;
        let size = size_of_val(&times) as u32;
        let to = (&raw mut times).cast();
        check(files::GetFileInformationByHandleEx(handle, files::FileBasicInfo, to, size))?;
    }
    let both = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    // In steps of 100 ns since 1601. Beyond the year 2262 times wrap around, but stay distinct.
    let nanoseconds = |time: i64| time.wrapping_sub(116_444_736_000_000_000).wrapping_mul(100);
    let is_dir = known.dwFileAttributes & files::FILE_ATTRIBUTE_DIRECTORY != 0;
    Ok(State {
        id: FileId {
            device: known.dwVolumeSerialNumber.into(),
            inode: both(known.nFileIndexHigh, known.nFileIndexLow),
        },
        length: both(known.nFileSizeHigh, known.nFileSizeLow),
        modified: nanoseconds(times.LastWriteTime),
        changed: nanoseconds(times.ChangeTime),
        links: known.nNumberOfLinks.into(),
        is_dir,
        is_file: !is_dir,
        is_pipe: false,
    })
}

pub(crate) fn state_at(path: &Path) -> io::Result<State> {
    // Needs no right to read; folders open only so.
    let flags = files::FILE_FLAG_BACKUP_SEMANTICS;
    state_of(&OpenOptions::new().access_mode(0).custom_flags(flags).open(path)?)
}

pub(crate) fn os_string(bytes: Vec<u8>) -> Option<OsString> {
    Some(String::from_utf8(bytes).ok()?.into())
}

pub(crate) fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    stays(file, || file.seek_read(bytes, offset))
}

pub(crate) fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    stays(file, || file.seek_write(bytes, offset))
}

pub(crate) fn copy(from: &File, at: u64, most: u64, mut to: &File) -> io::Result<u64> {
    let mut bytes = vec![0; most.min(256 << 10) as usize];
    let mut done = 0;
    while done < most {
        let wanted = (most - done).min(bytes.len() as u64) as usize;
        // Not at the file's position: readers at any position move it meanwhile.
        match read_at(from, &mut bytes[..wanted], at + done)? {
            0 => break,
            read => {
                to.write_all(&bytes[..read])?;
                done += read as u64;
            }
        }
    }
    Ok(done)
}

/// Moves a file back to its position, if it has one.
fn stays(mut file: &File, run: impl FnOnce() -> io::Result<usize>) -> io::Result<usize> {
    let position = file.stream_position();
    let done = run();
    if let Ok(position) = position {
        file.seek(SeekFrom::Start(position))?;
    }
    done
}

/// Opens a file to read it, or a folder to learn that it is one.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(files::FILE_FLAG_BACKUP_SEMANTICS).open(path)
}

pub(crate) fn is_fifo(_: &Metadata) -> bool {
    false
}

pub(crate) fn others_may(_: &Metadata) -> Option<&'static str> {
    None
}

/// Whether access is the owner's only, or inherited from the folder.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    is_private: bool,
}

impl Access {
    pub(crate) const PRIVATE: Self = Self { is_private: true };

    pub(crate) fn of(path: &Path) -> Self {
        Self { is_private: !path.is_file() }
    }

    pub(crate) fn set(self, file: &File) -> io::Result<()> {
        if self.is_private { make_private(file) } else { Ok(()) }
    }
}

fn make_private(file: &File) -> io::Result<()> {
    // Full access for its owner, the system and administrators, as OpenSSH requires for its keys, and nothing inherited
    // from the folder. Wine knows no rights of an owner, but it knows who is an administrator.
    let text = "D:P(A;;FA;;;OW)(A;;FA;;;SY)(A;;FA;;;BA)\0";
    let text: Vec<u16> = text.encode_utf16().collect();
    let mut descriptor: PSECURITY_DESCRIPTOR = ptr::null_mut();
    let which = DACL_SECURITY_INFORMATION | PROTECTED_DACL_SECURITY_INFORMATION;
    // SAFETY: the text ends with a zero; what the first call allocates is used by the second and freed by the third.
    unsafe {
        check(ConvertStringSecurityDescriptorToSecurityDescriptorW(
            text.as_ptr(),
            SDDL_REVISION_1,
            &raw mut descriptor,
            ptr::null_mut(),
        ))?;
        let set = SetKernelObjectSecurity(file.as_raw_handle() as HANDLE, which, descriptor);
        let set = check(set);
        LocalFree(descriptor.cast());
        set
    }
}

pub(crate) fn inherit(_: &File, _: &Metadata) -> io::Result<()> {
    Ok(())
}

pub(crate) fn create_new(path: &Path, _: bool) -> io::Result<File> {
    // It has the permissions of its folder, unless it is made private.
    let rights = GENERIC_READ | GENERIC_WRITE | files::WRITE_DAC;
    OpenOptions::new().write(true).create_new(true).access_mode(rights).open(path)
}

pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        // Only NTFS can replace an open file. Elsewhere the old file is renamed first, and for a moment the name is
        // unused.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && to.is_file() => {
            let mut old = from.as_os_str().to_owned();
            old.push(".old");
            fs::rename(to, &old)?;
            let renamed = fs::rename(from, to);
            match renamed {
                // Even if the old one stays, the new one is in place.
                Ok(()) => {
                    let _ = fs::remove_file(&old);
                    Ok(())
                }
                Err(_) => fs::rename(&old, to).and(renamed),
            }
        }
        renamed => renamed,
    }
}

pub(crate) fn canonical(path: &Path) -> io::Result<PathBuf> {
    let path = fs::canonicalize(path)?;
    // As people write it, where that means the same: longer paths are read literally only with the prefix.
    const LONGEST: usize = 260;
    let text = path.to_str().filter(|text| text.len() < LONGEST);
    let plain = text.and_then(|text| text.strip_prefix(r"\\?\"));
    Ok(match plain.filter(|plain| plain.as_bytes().get(1) == Some(&b':')) {
        Some(plain) => PathBuf::from(plain),
        None => path,
    })
}

pub(crate) fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

/// The same file once more, with these rights.
fn reopen(handle: RawHandle, rights: u32) -> io::Result<File> {
    // SAFETY: the handle is of an open file, and the new one has no other owner.
    unsafe {
        let again = files::ReOpenFile(handle as HANDLE, rights, SHARED, 0);
        if again == INVALID_HANDLE_VALUE {
            return Err(io::Error::last_os_error());
        }
        Ok(File::from_raw_handle(again as RawHandle))
    }
}

pub(crate) fn set_length(file: &File, length: u64) -> io::Result<()> {
    // The right to append does not include truncating.
    reopen(file.as_raw_handle(), GENERIC_WRITE)?.set_len(length)
}

pub(crate) fn appends(file: &File) -> bool {
    let mut access: FILE_ACCESS_INFORMATION = empty();
    let mut done: IO_STATUS_BLOCK = empty();
    let to = (&raw mut access).cast();
    let size = size_of_val(&access) as u32;
    // SAFETY: the handle is open, and both structures have the size passed.
    let status = unsafe {
        let handle = file.as_raw_handle() as HANDLE;
        NtQueryInformationFile(handle, &raw mut done, to, size, FileAccessInformation)
    };
    // Opened for appending only. Shells open files that they append to for writing, and go to their end.
    let rights = access.AccessFlags & (files::FILE_APPEND_DATA | files::FILE_WRITE_DATA);
    status == 0 && rights == files::FILE_APPEND_DATA
}

pub(crate) fn read_ahead(_: &File) {}

/// Locks the last byte that a file could have: a lock of existing bytes would keep others from reading them.
fn lock_with(file: &File, flags: u32) -> io::Result<()> {
    if state_of(file)?.is_dir {
        // Folders have no bytes to lock. Reading this one reports that it is a folder.
        return Ok(());
    }
    let mut place: OVERLAPPED = empty();
    place.Anonymous.Anonymous.Offset = u32::MAX - 1;
    place.Anonymous.Anonymous.OffsetHigh = i32::MAX as u32;
    let flags = flags | files::LOCKFILE_EXCLUSIVE_LOCK;
    // SAFETY: the handle is open and waits synchronously, so the structure is not used after the call.
    check(unsafe {
        files::LockFileEx(file.as_raw_handle() as HANDLE, flags, 0, 1, 0, &raw mut place)
    })
}

pub(crate) fn try_lock(file: &File) -> Result<(), TryLockError> {
    let is = |error: &io::Error, code: u32| error.raw_os_error() == Some(code as i32);
    lock_with(file, files::LOCKFILE_FAIL_IMMEDIATELY).map_err(|error| {
        match is(&error, ERROR_LOCK_VIOLATION) || is(&error, ERROR_IO_PENDING) {
            true => TryLockError::WouldBlock,
            false => TryLockError::Error(error),
        }
    })
}

pub(crate) fn lock(file: &File) -> io::Result<()> {
    lock_with(file, 0)
}

pub(crate) fn locks_only_writable(_: &io::Error) -> bool {
    false
}

pub(crate) fn is_stdout_closed() -> bool {
    // SAFETY: queries a handle that need not exist.
    let handle = unsafe { GetStdHandle(STD_OUTPUT_HANDLE) };
    handle.is_null() || handle == INVALID_HANDLE_VALUE
}

pub(crate) fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::NotConnected, "is closed")
}

pub(crate) fn stdout() -> io::Result<File> {
    Ok(File::from(io::stdout().as_handle().try_clone_to_owned()?))
}

pub(crate) fn stdin() -> io::Result<File> {
    Ok(File::from(io::stdin().as_handle().try_clone_to_owned()?))
}

pub(crate) fn typed() -> Option<Box<dyn Read + Send>> {
    // The standard library asks a console for UTF-16 and gives UTF-8.
    io::stdin().is_terminal().then(|| Box::new(io::stdin()) as _)
}

pub(crate) fn reopen_stdout() -> io::Result<File> {
    reopen(io::stdout().as_raw_handle(), GENERIC_READ)
}

pub(crate) fn write_to_terminal(_: &mut File, bytes: &[u8]) -> io::Result<usize> {
    // The standard library gives a console UTF-16, and refuses bytes that are not UTF-8.
    let whole = match std::str::from_utf8(bytes) {
        // An incomplete character, whose rest may follow.
        Err(error) if error.error_len().is_none() && error.valid_up_to() > 0 => error.valid_up_to(),
        _ => bytes.len(),
    };
    let mut out = io::stdout().lock();
    out.write_all(String::from_utf8_lossy(&bytes[..whole]).as_bytes())?;
    out.flush()?;
    Ok(whole)
}

/// The receiver of requests to stop: used up by the first one.
static LISTENER: Mutex<Option<Sender<u32>>> = Mutex::new(None);

fn listener() -> Option<Sender<u32>> {
    LISTENER.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Called on a thread of its own when Ctrl-C or Ctrl-Break is pressed, the window is closed, or the system shuts down.
unsafe extern "system" fn on_request(kind: u32) -> i32 {
    // Without a listener, and at a second time, the process ends.
    let Some(listener) = listener() else { return 0 };
    if listener.send(kind).is_err() {
        return 0;
    }
    // When this returns, a closed window ends the process; some seconds are granted.
    if kind >= CTRL_CLOSE_EVENT {
        loop {
            thread::park();
        }
    }
    1
}

/// Requests to stop: the first one is reported; a second one ends the process immediately.
pub struct Stops(Receiver<u32>);

/// Ends the waiting for requests.
pub struct Closer(());

/// A request.
pub struct Stop(());

impl Stops {
    /// Listens to requests.
    ///
    /// # Errors
    /// System errors.
    pub fn new() -> io::Result<Self> {
        let (sender, receiver) = channel();
        *LISTENER.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
        // SAFETY: the function may be called at any time, from any thread.
        check(unsafe { SetConsoleCtrlHandler(Some(on_request), 1) })?;
        Ok(Self(receiver))
    }

    /// Returns a handle that ends the waiting.
    pub fn closer(&self) -> Closer {
        Closer(())
    }

    /// Waits for the first request; `None` once the waiting is ended.
    pub fn wait(self) -> Option<Stop> {
        self.0.recv().ok().map(|_| Stop(()))
    }
}

impl Closer {
    /// Ends the waiting.
    pub fn close(self) {
        drop(listener());
    }
}

impl Stop {
    /// Ends the process as the request would have.
    pub fn end(self) {
        std::process::exit(STATUS_CONTROL_C_EXIT);
    }
}

/// The memory of the machine, or the limit of the job that the process is in.
pub(crate) fn memory() -> Option<u64> {
    let mut status: MEMORYSTATUSEX = empty();
    status.dwLength = size_of_val(&status) as u32;
    let mut limits: jobs::JOBOBJECT_EXTENDED_LIMIT_INFORMATION = empty();
    let size = size_of_val(&limits) as u32;
    // SAFETY: both structures have the size passed.
    let (there, limited) = unsafe {
        let to = (&raw mut limits).cast();
        let which = jobs::JobObjectExtendedLimitInformation;
        (
            GlobalMemoryStatusEx(&raw mut status) != 0,
            jobs::QueryInformationJobObject(ptr::null_mut(), which, to, size, ptr::null_mut()) != 0,
        )
    };
    let is_set = |flag: u32| limited && limits.BasicLimitInformation.LimitFlags & flag != 0;
    [
        (there, status.ullTotalPhys),
        (is_set(jobs::JOB_OBJECT_LIMIT_PROCESS_MEMORY), limits.ProcessMemoryLimit as u64),
        (is_set(jobs::JOB_OBJECT_LIMIT_JOB_MEMORY), limits.JobMemoryLimit as u64),
    ]
    .into_iter()
    .filter_map(|(known, bytes)| known.then_some(bytes))
    .min()
}

pub(crate) fn peak_memory() -> u64 {
    let mut counters: PROCESS_MEMORY_COUNTERS = empty();
    let size = size_of_val(&counters) as u32;
    // SAFETY: the structure has the size passed.
    let told =
        unsafe { K32GetProcessMemoryInfo(GetCurrentProcess(), &raw mut counters, size) } != 0;
    if told { counters.PeakWorkingSetSize as u64 } else { 0 }
}

pub(crate) fn return_memory() {}

pub(crate) fn keep_memory(_: u64) {}

pub(crate) fn open_files() -> u64 {
    // Millions of handles, as long as there is memory for them.
    1 << 14
}

pub(crate) fn allow_open_files() {}

pub(crate) fn is_in_memory(_: &Path) -> bool {
    false
}

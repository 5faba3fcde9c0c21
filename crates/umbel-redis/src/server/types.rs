//! Types of values: how the server saves, loads, copies and frees them.

use std::ffi::{CStr, c_int, c_void};
use std::mem::ManuallyDrop;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering};

use umbel_foreign::Relocate;

use super::Context;
use super::api::{self, DefragCtx, DigestHandle, Io, ModuleType, Str, TypeMethods, api};
use super::memory::ALIGNED;

/// The server's handle of a type, set when the module is loaded.
pub(crate) struct ServerType(AtomicPtr<ModuleType>);

impl ServerType {
    pub(crate) const fn new() -> Self {
        Self(AtomicPtr::new(null_mut()))
    }

    #[inline]
    pub(crate) fn raw(&self) -> *mut ModuleType {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn set(&self, raw: *mut ModuleType) {
        self.0.store(raw, Ordering::Relaxed);
    }
}

/// A value of a key.
pub(crate) trait Value: Sized + 'static {
    /// The name of the type, 9 letters.
    const NAME: &'static CStr;
    /// The version of its snapshots.
    const VERSION: c_int;
    /// The newest version that is read.
    const NEWEST: c_int = Self::VERSION;

    fn server_type() -> &'static ServerType;

    /// Loads a value from a snapshot, or returns what is wrong with it.
    /// The context decides whether limits on its size apply, as for `RESTORE`.
    fn load(fields: &mut Fields, version: c_int, context: &Context) -> Result<Self, String>;
    fn save(&self, fields: &mut Fields);
    /// Writes the value as commands, for the append-only file.
    fn rewrite(&self, rewrite: &Rewrite);
    /// Returns its bytes in memory.
    fn bytes(&self) -> u64;
    /// Calls `add` with everything in which two values can differ.
    fn digest(&self, add: &mut dyn FnMut(&[u8]));
    /// Copies the value; `None` if memory is lacking or must not be used.
    fn copy(&self, context: &Context) -> Option<Self>;
    /// Moves its small allocations.
    fn relocate(&mut self, to: &mut Mover) {
        let _ = to;
    }
    /// Returns the placeholder for a copy that the primary has and this server lacks memory for.
    fn lost() -> Option<Self> {
        None
    }
}

/// A snapshot that is read or written field by field.
pub(crate) struct Fields {
    raw: *mut Io,
}

impl Fields {
    /// Returns the last value read, or an error if the snapshot ended.
    fn whole<T>(&self, read: T) -> Result<T, String> {
        // SAFETY: a snapshot in progress; so for all functions here.
        if unsafe { (api().IsIOError)(self.raw) } != 0 {
            return Err("the snapshot ends too early".to_owned());
        }
        Ok(read)
    }

    pub(crate) fn unsigned(&mut self) -> Result<u64, String> {
        // SAFETY: as above.
        let read = unsafe { (api().LoadUnsigned)(self.raw) };
        self.whole(read)
    }

    /// Reads a number that must fit the type.
    pub(crate) fn small<T: TryFrom<u64>>(&mut self, what: &str) -> Result<T, String> {
        let number = self.unsigned()?;
        T::try_from(number).map_err(|_| format!("{what} is {number}"))
    }

    pub(crate) fn double(&mut self) -> Result<f64, String> {
        // SAFETY: as above.
        let read = unsafe { (api().LoadDouble)(self.raw) };
        self.whole(read)
    }

    /// Reads a string without a copy, in the server's memory.
    pub(crate) fn string(&mut self) -> Result<Vec<u8>, String> {
        let mut length = 0;
        // SAFETY: as above; we own the string, and this crate's allocator frees it whatever its length.
        unsafe {
            let start = (api().LoadStringBuffer)(self.raw, &raw mut length);
            if start.is_null() {
                return Err("a string is missing".to_owned());
            }
            // A vector without capacity would not free it.
            let bytes = Vec::from_raw_parts(start.cast(), length, length.max(1));
            self.whole(bytes)
        }
    }

    pub(crate) fn save_unsigned(&mut self, number: u64) {
        // SAFETY: as above.
        unsafe { (api().SaveUnsigned)(self.raw, number) };
    }

    pub(crate) fn save_double(&mut self, number: f64) {
        // SAFETY: as above.
        unsafe { (api().SaveDouble)(self.raw, number) };
    }

    pub(crate) fn save_string(&mut self, bytes: &[u8]) {
        // SAFETY: as above.
        unsafe { (api().SaveStringBuffer)(self.raw, bytes.as_ptr().cast(), bytes.len()) };
    }
}

/// An append-only file that is rewritten.
pub(crate) struct Rewrite {
    io: *mut Io,
    key: *mut Str,
}

impl Rewrite {
    /// Writes `COMMAND key content`.
    pub(crate) fn whole(&self, command: &CStr, content: &[u8]) {
        // SAFETY: a file in progress; the format gives the types: a string of the server, bytes.
        unsafe {
            (api().EmitAOF)(
                self.io,
                command.as_ptr(),
                c"sb".as_ptr(),
                self.key,
                content.as_ptr(),
                content.len(),
            );
        }
    }

    /// Writes `COMMAND key iterator chunk`.
    pub(crate) fn chunk(&self, command: &CStr, iterator: u64, chunk: &[u8]) {
        // SAFETY: a file in progress; the format gives the types: a string of the server, a number, bytes.
        unsafe {
            (api().EmitAOF)(
                self.io,
                command.as_ptr(),
                c"slb".as_ptr(),
                self.key,
                iterator as std::ffi::c_longlong,
                chunk.as_ptr(),
                chunk.len(),
            );
        }
    }
}

/// Calls a function and returns `otherwise` if it panics, because a panic must not reach the server.
fn guarded<T>(otherwise: T, call: impl FnOnce() -> T) -> T {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).unwrap_or(otherwise)
}

/// Returns the functions that the server calls for values of a type.
pub(super) fn methods<T: Value>() -> TypeMethods {
    TypeMethods {
        version: api::METHODS_VERSION,
        rdb_load: Some(load::<T>),
        rdb_save: Some(save::<T>),
        aof_rewrite: Some(rewrite::<T>),
        mem_usage: Some(mem_usage::<T>),
        digest: Some(digest::<T>),
        free: Some(free::<T>),
        aux_load: null(),
        aux_save: null(),
        aux_save_triggers: 0,
        free_effort: Some(free_effort::<T>),
        unlink: null(),
        copy: Some(copy::<T>),
        defrag: Some(defrag::<T>),
        mem_usage2: null(),
        free_effort2: null(),
        unlink2: null(),
        copy2: null(),
        aux_save2: null(),
    }
}

unsafe extern "C" fn load<T: Value>(io: *mut Io, version: c_int) -> *mut c_void {
    guarded(null_mut(), || {
        let loaded = if version > T::NEWEST {
            Err(format!("version {version}, this module reads up to {}", T::NEWEST))
        } else {
            T::load(&mut Fields { raw: io }, version, &Context::of_value())
        };
        match loaded {
            Ok(value) => Box::into_raw(Box::new(value)).cast(),
            Err(what) => {
                let what = super::text(&what);
                // SAFETY: a snapshot in progress; the format takes a text.
                unsafe {
                    (api().LogIOError)(
                        io,
                        c"warning".as_ptr(),
                        c"umbel: %s".as_ptr(),
                        what.as_ptr(),
                    );
                }
                null_mut()
            }
        }
    })
}

/// Returns the value behind a pointer that the server holds.
///
/// # Safety
/// It comes from this module's `Box` of a `T`, and nothing changes it meanwhile.
unsafe fn value<'a, T>(value: *const c_void) -> &'a T {
    // SAFETY: the caller promises it.
    unsafe { &*value.cast::<T>() }
}

unsafe extern "C" fn save<T: Value>(io: *mut Io, this: *mut c_void) {
    // SAFETY: called by the server with a value of the type; so for all functions below.
    guarded((), || unsafe { value::<T>(this) }.save(&mut Fields { raw: io }));
}

unsafe extern "C" fn rewrite<T: Value>(io: *mut Io, key: *mut Str, this: *mut c_void) {
    // SAFETY: as above.
    guarded((), || unsafe { value::<T>(this) }.rewrite(&Rewrite { io, key }));
}

unsafe extern "C" fn mem_usage<T: Value>(this: *const c_void) -> usize {
    // SAFETY: as above.
    guarded(0, || unsafe { value::<T>(this) }.bytes() as usize)
}

unsafe extern "C" fn digest<T: Value>(digest: *mut DigestHandle, this: *mut c_void) {
    guarded((), || {
        // SAFETY: as above; a digest in progress.
        unsafe {
            value::<T>(this).digest(&mut |piece| {
                (api().DigestAddStringBuffer)(digest, piece.as_ptr().cast(), piece.len());
            });
            (api().DigestEndSequence)(digest);
        }
    });
}

unsafe extern "C" fn free<T: Value>(this: *mut c_void) {
    // SAFETY: as above; the server forgets it.
    guarded((), || drop(unsafe { Box::from_raw(this.cast::<T>()) }));
}

/// Bytes per unit of effort; from 64 units on, `UNLINK` frees a value in the background.
const EFFORT: u64 = 64 << 10;

unsafe extern "C" fn free_effort<T: Value>(_: *mut Str, this: *const c_void) -> usize {
    // SAFETY: as above.
    guarded(1, || (1 + unsafe { value::<T>(this) }.bytes() / EFFORT) as usize)
}

unsafe extern "C" fn copy<T: Value>(_: *mut Str, _: *mut Str, this: *const c_void) -> *mut c_void {
    guarded(null_mut(), || {
        // SAFETY: as above.
        let value = unsafe { value::<T>(this) };
        let context = Context::of_value();
        let copy =
            value.copy(&context).or_else(|| if context.must_obey() { T::lost() } else { None });
        copy.map_or(null_mut(), |copy| Box::into_raw(Box::new(copy)).cast())
    })
}

/// The server's defragmentation.
pub(crate) struct Mover {
    ctx: *mut DefragCtx,
}

impl Relocate for Mover {
    fn vector<T>(&mut self, vector: &mut Vec<T>) {
        const { assert!(align_of::<T>() <= ALIGNED, "its memory is the server's as it is") };
        if vector.capacity() == 0 || size_of::<T>() == 0 {
            return;
        }
        let mut parts = ManuallyDrop::new(std::mem::take(vector));
        let (start, length, capacity) = (parts.as_mut_ptr(), parts.len(), parts.capacity());
        // SAFETY: the vector's memory is from the server, which copies the bytes to a better place or returns null;
        // values may be moved. Nothing else uses the parts.
        *vector = unsafe {
            let moved: *mut T = (api().DefragAlloc)(self.ctx, start.cast()).cast();
            Vec::from_raw_parts(if moved.is_null() { start } else { moved }, length, capacity)
        };
    }
}

/// Moves the value itself, and its small allocations. Above 14 KiB, jemalloc gives bits pages of their own, which `DefragAlloc` never
/// moves.
unsafe extern "C" fn defrag<T: Value>(
    ctx: *mut DefragCtx,
    _: *mut Str,
    this: *mut *mut c_void,
) -> c_int {
    const { assert!(align_of::<T>() <= ALIGNED, "its memory is the server's as it is") };
    guarded(0, || {
        // SAFETY: the server moves the bytes to a better place, or returns null; a value may be moved, and is unshared.
        unsafe {
            let moved = (api().DefragAlloc)(ctx, *this);
            if !moved.is_null() {
                *this = moved;
            }
            (*(*this).cast::<T>()).relocate(&mut Mover { ctx });
        }
        0
    })
}

//! The server's functions as `redismodule.h` declares them. They are looked up by name when the module is loaded.
//!
//! `tests/server/test_headers.py` compares them with the headers. The existing crates with these declarations need libclang
//! to build, bring an allocator that aborts when memory is short, and have no zeroed allocation. This module needs some 70
//! functions; functions that an older server lacks are `None`.

// These are the server's names.
#![allow(non_snake_case)]

use std::ffi::{
    CStr, c_char, c_double, c_int, c_long, c_longlong, c_uchar, c_uint, c_ulonglong, c_void,
};
use std::sync::OnceLock;

/// Declares opaque types of the server.
macro_rules! opaque {
    ($($name:ident)*) => {$(
        #[repr(C)]
        #[derive(Debug)]
        pub(crate) struct $name([u8; 0]);
    )*};
}

opaque! { Ctx Str KeyHandle ModuleType Io DigestHandle DefragCtx CommandHandle ServerInfo BlockedClient }

pub(crate) type Command = unsafe extern "C" fn(*mut Ctx, *mut *mut Str, c_int) -> c_int;
pub(crate) type GetString = unsafe extern "C" fn(*const c_char, *mut c_void) -> *mut Str;
pub(crate) type SetString =
    unsafe extern "C" fn(*const c_char, *mut Str, *mut c_void, *mut *mut Str) -> c_int;
pub(crate) type GetNumber = unsafe extern "C" fn(*const c_char, *mut c_void) -> c_longlong;
pub(crate) type SetNumber =
    unsafe extern "C" fn(*const c_char, c_longlong, *mut c_void, *mut *mut Str) -> c_int;

pub(crate) type Apply = unsafe extern "C" fn(*mut Ctx, *mut c_void, *mut *mut Str) -> c_int;
pub(crate) type FreeData = unsafe extern "C" fn(*mut Ctx, *mut c_void);
pub(crate) type Gone = unsafe extern "C" fn(*mut Ctx, *mut BlockedClient);

pub(crate) const OK: c_int = 0;
pub(crate) const ERR: c_int = 1;
pub(crate) const READ: c_int = 1;
pub(crate) const WRITE: c_int = 2;
pub(crate) const KEY_EMPTY: c_int = 0;
pub(crate) const KEY_MODULE: c_int = 6;
pub(crate) const NOTIFY_GENERIC: c_int = 1 << 2;
pub(crate) const HANDLE_IO_ERRORS: c_int = 1;
/// `CONFIG SET` may change it only if `enable-protected-configs` allows that.
pub(crate) const CONFIG_PROTECTED: c_uint = 1 << 5;
pub(crate) const CONFIG_MEMORY: c_uint = 1 << 7;
pub(crate) const CONFIG_UNPREFIXED: c_uint = 1 << 9;
/// The command comes from the primary.
pub(crate) const CONTEXT_REPLICATED: c_int = 1 << 12;
pub(crate) const CONTEXT_LUA: c_int = 1;
pub(crate) const CONTEXT_MULTI: c_int = 1 << 1;
/// The server is a replica.
pub(crate) const CONTEXT_REPLICA: c_int = 1 << 3;
/// All of `maxmemory` is in use.
pub(crate) const CONTEXT_OOM: c_int = 1 << 10;
pub(crate) const CONTEXT_LOADING: c_int = 1 << 13;
pub(crate) const CONTEXT_ASYNC_LOADING: c_int = 1 << 23;
pub(crate) const CONTEXT_DENY_BLOCKING: c_int = 1 << 21;
pub(crate) const CONTEXT_RESP3: c_int = 1 << 22;

/// `RedisModuleTypeMethods`, version 5. An older server reads only the first fields.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct TypeMethods {
    pub(crate) version: u64,
    pub(crate) rdb_load: Option<unsafe extern "C" fn(*mut Io, c_int) -> *mut c_void>,
    pub(crate) rdb_save: Option<unsafe extern "C" fn(*mut Io, *mut c_void)>,
    pub(crate) aof_rewrite: Option<unsafe extern "C" fn(*mut Io, *mut Str, *mut c_void)>,
    pub(crate) mem_usage: Option<unsafe extern "C" fn(*const c_void) -> usize>,
    pub(crate) digest: Option<unsafe extern "C" fn(*mut DigestHandle, *mut c_void)>,
    pub(crate) free: Option<unsafe extern "C" fn(*mut c_void)>,
    pub(crate) aux_load: *const c_void,
    pub(crate) aux_save: *const c_void,
    pub(crate) aux_save_triggers: c_int,
    pub(crate) free_effort: Option<unsafe extern "C" fn(*mut Str, *const c_void) -> usize>,
    pub(crate) unlink: *const c_void,
    pub(crate) copy: Option<unsafe extern "C" fn(*mut Str, *mut Str, *const c_void) -> *mut c_void>,
    pub(crate) defrag:
        Option<unsafe extern "C" fn(*mut DefragCtx, *mut Str, *mut *mut c_void) -> c_int>,
    pub(crate) mem_usage2: *const c_void,
    pub(crate) free_effort2: *const c_void,
    pub(crate) unlink2: *const c_void,
    pub(crate) copy2: *const c_void,
    pub(crate) aux_save2: *const c_void,
}

pub(crate) const METHODS_VERSION: u64 = 5;

#[repr(C)]
pub(crate) struct InfoVersion {
    pub(crate) version: c_int,
    pub(crate) history_size: usize,
    pub(crate) key_spec_size: usize,
    pub(crate) argument_size: usize,
}

/// `RedisModuleCommandKeySpec` for keys that are found by index and range.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct KeySpec {
    pub(crate) notes: *const c_char,
    pub(crate) flags: u64,
    pub(crate) begin_search_type: c_int,
    pub(crate) begin_search: BeginSearch,
    pub(crate) find_keys_type: c_int,
    /// Last key, step, limit.
    pub(crate) find_keys: [c_int; 3],
}

/// As large as its other variant, a keyword with a start.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) union BeginSearch {
    pub(crate) index: c_int,
    pub(crate) keyword: (*const c_char, c_int),
}

pub(crate) const SEARCH_INDEX: c_int = 2;
pub(crate) const FIND_RANGE: c_int = 2;
pub(crate) const KEY_RO: u64 = 1;
pub(crate) const KEY_RW: u64 = 1 << 1;
pub(crate) const KEY_ACCESS: u64 = 1 << 4;
pub(crate) const KEY_UPDATE: u64 = 1 << 5;
pub(crate) const KEY_INSERT: u64 = 1 << 6;
pub(crate) const KEY_DELETE: u64 = 1 << 7;

#[repr(C)]
pub(crate) struct CommandInfo {
    pub(crate) version: *const InfoVersion,
    pub(crate) summary: *const c_char,
    pub(crate) complexity: *const c_char,
    pub(crate) since: *const c_char,
    pub(crate) history: *const c_void,
    pub(crate) tips: *const c_char,
    pub(crate) arity: c_int,
    pub(crate) key_specs: *const KeySpec,
    pub(crate) arguments: *const c_void,
}

/// The sizes of the structures in a [`CommandInfo`].
pub(crate) static INFO_VERSION_OF_MODULE: InfoVersion = InfoVersion {
    version: 1,
    history_size: 2 * size_of::<usize>(),
    key_spec_size: size_of::<KeySpec>(),
    argument_size: size_of::<CommandArgument>(),
};

/// `RedisModuleCommandArg`; only its size is needed.
#[repr(C)]
struct CommandArgument {
    name: *const c_char,
    kind: c_int,
    key_spec: c_int,
    texts: [*const c_char; 3],
    flags: c_int,
    rest: [*const c_char; 3],
}

macro_rules! functions {
    (
        needed { $($(#[$doc:meta])* fn $name:ident($($arg:ty),* $(; $dots:tt)?) $(-> $ret:ty)?;)* }
        later { $(fn $late:ident($($late_arg:ty),*) $(-> $late_ret:ty)?;)* }
    ) => {
        /// The server's functions: the ones in every supported server, and later ones.
        pub(crate) struct Api {
            $($(#[$doc])* pub(crate) $name: unsafe extern "C" fn($($arg),* $(, $dots)?) $(-> $ret)?,)*
            $(pub(crate) $late: Option<unsafe extern "C" fn($($late_arg),*) $(-> $late_ret)?>,)*
        }

        #[allow(clippy::missing_transmute_annotations)] // the types are those above
        impl Api {
            /// Looks up all functions. `None` if a function of every server from 7.0 on is missing.
            ///
            /// # Safety
            /// `ctx` is what the server gave `RedisModule_OnLoad`.
            unsafe fn resolve(ctx: *mut Ctx) -> Option<Self> {
                // SAFETY: the caller promises it.
                let found = |name: &'static CStr| unsafe { find(ctx, name) };
                macro_rules! named {
                    ($of:ident) => {
                        found(
                            const {
                                let name = concat!("RedisModule_", stringify!($of), "\0");
                                match CStr::from_bytes_with_nul(name.as_bytes()) {
                                    Ok(name) => name,
                                    Err(_) => unreachable!(),
                                }
                            },
                        )
                    };
                }
                Some(Self {
                    // SAFETY: the server's function of this name has this type.
                    $($name: unsafe { std::mem::transmute::<*mut c_void, _>(named!($name)?) },)*
                    // SAFETY: as above; every function exists.
                    $($late: named!($late).map(|function| unsafe { std::mem::transmute::<*mut c_void, _>(function) }),)*
                })
            }
        }
    };
}

functions! {
    needed {
        fn Calloc(usize, usize) -> *mut c_void;
        fn Free(*mut c_void);
        fn TryAlloc(usize) -> *mut c_void;
        fn CreateCommand(*mut Ctx, *const c_char, Command, *const c_char, c_int, c_int, c_int) -> c_int;
        fn GetCommand(*mut Ctx, *const c_char) -> *mut CommandHandle;
        fn SetCommandInfo(*mut CommandHandle, *const CommandInfo) -> c_int;
        fn SetModuleAttribs(*mut Ctx, *const c_char, c_int, c_int);
        fn IsModuleNameBusy(*const c_char) -> c_int;
        fn SetModuleOptions(*mut Ctx, c_int);
        fn CreateDataType(*mut Ctx, *const c_char, c_int, *mut TypeMethods) -> *mut ModuleType;
        fn RegisterStringConfig(*mut Ctx, *const c_char, *const c_char, c_uint, GetString, SetString, Option<Apply>, *mut c_void) -> c_int;
        fn RegisterNumericConfig(*mut Ctx, *const c_char, c_longlong, c_uint, c_longlong, c_longlong, GetNumber, SetNumber, Option<Apply>, *mut c_void) -> c_int;
        fn LoadConfigs(*mut Ctx) -> c_int;
        fn GetServerVersion() -> c_int;
        fn Milliseconds() -> c_longlong;
        fn GetContextFlags(*mut Ctx) -> c_int;
        fn Log(*mut Ctx, *const c_char, *const c_char; ...);
        fn LogIOError(*mut Io, *const c_char, *const c_char; ...);
        fn WrongArity(*mut Ctx) -> c_int;
        fn ReplyWithError(*mut Ctx, *const c_char) -> c_int;
        fn ReplyWithLongLong(*mut Ctx, c_longlong) -> c_int;
        fn ReplyWithSimpleString(*mut Ctx, *const c_char) -> c_int;
        fn ReplyWithStringBuffer(*mut Ctx, *const c_char, usize) -> c_int;
        fn ReplyWithArray(*mut Ctx, c_long) -> c_int;
        fn ReplyWithMap(*mut Ctx, c_long) -> c_int;
        fn ReplyWithBool(*mut Ctx, c_int) -> c_int;
        fn ReplyWithDouble(*mut Ctx, c_double) -> c_int;
        fn ReplyWithNull(*mut Ctx) -> c_int;
        fn OpenKey(*mut Ctx, *mut Str, c_int) -> *mut KeyHandle;
        fn CloseKey(*mut KeyHandle);
        fn DeleteKey(*mut KeyHandle) -> c_int;
        fn KeyType(*mut KeyHandle) -> c_int;
        fn ModuleTypeGetType(*mut KeyHandle) -> *mut ModuleType;
        fn ModuleTypeGetValue(*mut KeyHandle) -> *mut c_void;
        fn ModuleTypeSetValue(*mut KeyHandle, *mut ModuleType, *mut c_void) -> c_int;
        fn StringPtrLen(*const Str, *mut usize) -> *const c_char;
        fn StringToLongLong(*const Str, *mut c_longlong) -> c_int;
        fn StringToDouble(*const Str, *mut c_double) -> c_int;
        fn CreateString(*mut Ctx, *const c_char, usize) -> *mut Str;
        fn FreeString(*mut Ctx, *mut Str);
        fn Replicate(*mut Ctx, *const c_char, *const c_char; ...) -> c_int;
        fn ReplicateVerbatim(*mut Ctx) -> c_int;
        fn NotifyKeyspaceEvent(*mut Ctx, c_int, *const c_char, *mut Str) -> c_int;
        fn EmitAOF(*mut Io, *const c_char, *const c_char; ...);
        fn SaveUnsigned(*mut Io, u64);
        fn LoadUnsigned(*mut Io) -> u64;
        fn SaveDouble(*mut Io, c_double);
        fn LoadDouble(*mut Io) -> c_double;
        fn SaveStringBuffer(*mut Io, *const c_char, usize);
        fn LoadStringBuffer(*mut Io, *mut usize) -> *mut c_char;
        fn IsIOError(*mut Io) -> c_int;
        fn DigestAddStringBuffer(*mut DigestHandle, *const c_char, usize);
        fn DigestEndSequence(*mut DigestHandle);
        fn DefragAlloc(*mut DefragCtx, *mut c_void) -> *mut c_void;
        fn BlockClient(*mut Ctx, Option<Command>, Option<Command>, Option<FreeData>, c_longlong) -> *mut BlockedClient;
        fn SetDisconnectCallback(*mut BlockedClient, Gone);
        fn UnblockClient(*mut BlockedClient, *mut c_void) -> c_int;
        fn GetThreadSafeContext(*mut BlockedClient) -> *mut Ctx;
        fn FreeThreadSafeContext(*mut Ctx);
        fn ThreadSafeContextLock(*mut Ctx);
        fn ThreadSafeContextUnlock(*mut Ctx);
        fn AvoidReplicaTraffic() -> c_int;
        fn GetRandomBytes(*mut c_uchar, usize);
        fn GetServerInfo(*mut Ctx, *const c_char) -> *mut ServerInfo;
        fn FreeServerInfo(*mut Ctx, *mut ServerInfo);
        fn ServerInfoGetFieldUnsigned(*mut ServerInfo, *const c_char, *mut c_int) -> c_ulonglong;
        fn ServerInfoGetFieldC(*mut ServerInfo, *const c_char) -> *const c_char;
    }
    later {
        fn TryCalloc(usize, usize) -> *mut c_void;
        fn AddACLCategory(*mut Ctx, *const c_char) -> c_int;
        fn SetCommandACLCategories(*mut CommandHandle, *const c_char) -> c_int;
    }
}

/// Returns whether the server is Valkey, which also has its functions under its own names.
///
/// # Safety
/// `ctx` is what the server gave `RedisModule_OnLoad`.
pub(crate) unsafe fn is_valkey(ctx: *mut Ctx) -> bool {
    // SAFETY: the caller promises it.
    unsafe { find(ctx, c"ValkeyModule_GetServerVersion") }.is_some()
}

/// Looks up a function of the server.
///
/// # Safety
/// `ctx` is what the server gave `RedisModule_OnLoad`.
unsafe fn find(ctx: *mut Ctx, name: &CStr) -> Option<*mut c_void> {
    let mut function: *mut c_void = std::ptr::null_mut();
    // SAFETY: the first field of a context is the function that finds others; it writes a pointer where it finds one.
    unsafe {
        let find: unsafe extern "C" fn(*const c_char, *mut *mut c_void) -> c_int = *ctx.cast();
        find(name.as_ptr(), &raw mut function);
    }
    (!function.is_null()).then_some(function)
}

static API: OnceLock<Api> = OnceLock::new();

/// Looks up the server's functions. Returns false if one is missing.
///
/// # Safety
/// `ctx` is what the server gave `RedisModule_OnLoad`.
pub(crate) unsafe fn load(ctx: *mut Ctx) -> bool {
    // SAFETY: the caller promises it.
    let Some(api) = (unsafe { Api::resolve(ctx) }) else { return false };
    API.set(api).is_ok()
}

/// Returns the server's functions; `None` outside a server.
#[inline]
pub(crate) fn loaded() -> Option<&'static Api> {
    API.get()
}

/// Returns the server's functions.
///
/// # Panics
/// Outside a server.
#[inline]
pub(crate) fn api() -> &'static Api {
    API.get().expect("the server loads the module before it calls it")
}

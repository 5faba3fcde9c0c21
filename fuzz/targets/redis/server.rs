//! A server in this process: the functions that the module calls, over a map of keys.
//!
//! One thread uses it. Commands that answer more or less than one reply, and snapshots whose fields are read as other
//! types, show as in a real server: by [`Server::run`], which checks the reply, and by an error of the snapshot.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::ffi::{CStr, c_char, c_double, c_int, c_long, c_longlong, c_uint, c_void};
use std::ptr::{null, null_mut};
use std::sync::Mutex;

use umbel_redis as _; // its entry point is called by name

/// Bytes that all filters may have; the module never refuses those up to 1 MiB.
const MEMORY: u64 = 1 << 20;
const RESP3: c_int = 1 << 22;
const LOADING: c_int = 1 << 13;
const WRITE: c_int = 2;

type Str = Vec<u8>;
type Command = unsafe extern "C" fn(*mut Context, *mut *mut Str, c_int) -> c_int;

/// The methods of a type, as in `redismodule.h`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Methods {
    version: u64,
    rdb_load: unsafe extern "C" fn(*mut Snapshot, c_int) -> *mut c_void,
    rdb_save: unsafe extern "C" fn(*mut Snapshot, *mut c_void),
    aof_rewrite: unsafe extern "C" fn(*mut Snapshot, *mut Str, *mut c_void),
    mem_usage: unsafe extern "C" fn(*const c_void) -> usize,
    digest: unsafe extern "C" fn(*mut Vec<u8>, *mut c_void),
    free: unsafe extern "C" fn(*mut c_void),
    aux: [*const c_void; 2],
    aux_save_triggers: c_int,
    free_effort: unsafe extern "C" fn(*mut Str, *const c_void) -> usize,
    unlink: *const c_void,
    copy: unsafe extern "C" fn(*mut Str, *mut Str, *const c_void) -> *mut c_void,
}

/// A type that the module registered.
pub struct Type {
    methods: Methods,
    pub version: c_int,
}

/// A field of a snapshot.
#[derive(Clone, Debug, PartialEq)]
pub enum Field {
    Unsigned(u64),
    Double(u64),
    Bytes(Vec<u8>),
}

/// A snapshot that is read or written, or an append-only file that is rewritten.
#[derive(Default)]
pub struct Snapshot {
    pub fields: VecDeque<Field>,
    failed: bool,
    /// Command, iterator and chunk; 0 for a command that takes the whole content.
    pub commands: Vec<(Vec<u8>, i64, Vec<u8>)>,
}

/// A value of the module; freed when dropped.
pub struct Value {
    pub of: &'static Type,
    raw: *mut c_void,
}

impl Drop for Value {
    fn drop(&mut self) {
        // SAFETY: made by the module, and dropped once; so for all calls with `raw` here.
        unsafe { (self.of.methods.free)(self.raw) };
    }
}

impl Value {
    pub fn load(of: &'static Type, version: c_int, fields: Vec<Field>) -> Option<Self> {
        let mut snapshot = Snapshot { fields: fields.into(), ..Snapshot::default() };
        // SAFETY: a snapshot that outlives the call; so below.
        let raw = unsafe { (of.methods.rdb_load)(&raw mut snapshot, version) };
        (!raw.is_null()).then(|| Self { of, raw })
    }

    pub fn save(&self) -> Vec<Field> {
        let mut snapshot = Snapshot::default();
        // SAFETY: as above.
        unsafe { (self.of.methods.rdb_save)(&raw mut snapshot, self.raw) };
        snapshot.fields.into()
    }

    /// The commands of an append-only file.
    pub fn rewrite(&self) -> Vec<(Vec<u8>, i64, Vec<u8>)> {
        let (mut snapshot, mut key) = (Snapshot::default(), Str::new());
        // SAFETY: as above.
        unsafe { (self.of.methods.aof_rewrite)(&raw mut snapshot, &raw mut key, self.raw) };
        snapshot.commands
    }

    pub fn digest(&self) -> Vec<u8> {
        let mut digest = Vec::new();
        // SAFETY: as above.
        unsafe { (self.of.methods.digest)(&raw mut digest, self.raw) };
        digest
    }

    pub fn copy(&self) -> Option<Self> {
        let mut key = Str::new();
        // SAFETY: as above.
        let raw = unsafe {
            assert!((self.of.methods.free_effort)(&raw mut key, self.raw) > 0);
            (self.of.methods.copy)(&raw mut key, &raw mut key, self.raw)
        };
        (!raw.is_null()).then(|| Self { of: self.of, raw })
    }

    pub fn bytes(&self) -> usize {
        // SAFETY: as above.
        unsafe { (self.of.methods.mem_usage)(self.raw) }
    }
}

/// A part of a reply.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// This many replies follow.
    Follow(usize),
    Error(String),
    Other,
}

/// The module's way to call back: it finds the functions through the first field.
#[repr(C)]
pub struct Context {
    find: unsafe extern "C" fn(*const c_char, *mut *mut c_void) -> c_int,
}

/// A key that a command opened.
struct Handle(Vec<u8>);

#[derive(Default)]
struct State {
    commands: Vec<(String, Command)>,
    types: Vec<&'static Type>,
    keys: BTreeMap<Vec<u8>, Value>,
    replies: Vec<Reply>,
    flags: c_int,
    milliseconds: i64,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

fn with<T>(call: impl FnOnce(&mut State) -> T) -> T {
    STATE.with(|state| call(&mut state.borrow_mut()))
}

/// The server with the module loaded; without keys.
pub struct Server {
    pub commands: Vec<(String, Command)>,
    pub types: Vec<&'static Type>,
}

unsafe extern "C" {
    fn RedisModule_OnLoad(ctx: *mut Context, argv: *mut *mut c_void, argc: c_int) -> c_int;
    fn malloc(bytes: usize) -> *mut c_void;
    fn calloc(count: usize, bytes: usize) -> *mut c_void;
    fn free(memory: *mut c_void);
}

impl Server {
    pub fn start() -> Self {
        let mut context = Context { find };
        // SAFETY: a context as the module expects it.
        assert_eq!(unsafe { RedisModule_OnLoad(&raw mut context, null_mut(), 0) }, 0);
        with(|state| Self { commands: state.commands.clone(), types: state.types.clone() })
    }

    pub fn clear(&self) {
        drop(with(|state| std::mem::take(&mut state.keys)));
    }

    pub fn advance(&self, milliseconds: u32) {
        with(|state| state.milliseconds += i64::from(milliseconds));
    }

    /// Runs a command and returns its reply, which must be one. `obeys` if it comes from the append-only file.
    pub fn run(&self, command: Command, words: &[&[u8]], resp3: bool, obeys: bool) -> Vec<Reply> {
        with(|state| {
            state.replies.clear();
            state.flags = if resp3 { RESP3 } else { 0 } | if obeys { LOADING } else { 0 };
        });
        let mut context = Context { find };
        let mut words: Vec<Str> = words.iter().map(|word| word.to_vec()).collect();
        let mut argv: Vec<*mut Str> = words.iter_mut().map(|word| &raw mut *word).collect();
        // SAFETY: the arguments outlive the call.
        unsafe { command(&raw mut context, argv.as_mut_ptr(), argv.len() as c_int) };
        let replies = with(|state| std::mem::take(&mut state.replies));
        let mut open = 1;
        for (i, reply) in replies.iter().enumerate() {
            assert!(open > 0, "the reply ended before its part {i}: {replies:?}");
            open -= 1;
            match reply {
                Reply::Follow(more) => open += more,
                Reply::Error(text) => assert_ne!(text, "ERR internal error of the module"),
                Reply::Other => {}
            }
        }
        assert_eq!(open, 0, "parts are missing: {replies:?}");
        replies
    }

    pub fn command(&self, name: &[u8]) -> Command {
        let name = name.to_ascii_lowercase();
        self.commands.iter().find(|(own, _)| own.as_bytes() == name).expect("a command").1
    }

    pub fn take(&self, key: &[u8]) -> Option<Value> {
        with(|state| state.keys.remove(key))
    }

    pub fn put(&self, key: &[u8], value: Value) {
        drop(with(|state| state.keys.insert(key.to_vec(), value)));
    }
}

/// Returns the function of a name, or null.
unsafe extern "C" fn find(name: *const c_char, found: *mut *mut c_void) -> c_int {
    // SAFETY: a text, and a place for a pointer.
    let name = unsafe { CStr::from_ptr(name) }.to_str().unwrap_or_default();
    let function = name.strip_prefix("RedisModule_").map_or(null(), function);
    // SAFETY: as above.
    unsafe { *found = function.cast_mut() };
    c_int::from(function.is_null())
}

/// Casts functions to pointers by their names.
macro_rules! table {
    ($name:ident: $($($of:literal)|+ => $function:path,)*) => {
        match $name {
            $($($of)|+ => $function as *const c_void,)*
            _ => null(),
        }
    };
}

fn function(name: &str) -> *const c_void {
    table! { name:
        "Calloc" | "TryCalloc" => calloc,
        "TryAlloc" => malloc,
        "Free" => free,
        "CreateCommand" => create_command,
        "CreateDataType" => create_type,
        "RegisterStringConfig" => register_text,
        "GetServerVersion" => server_version,
        "Milliseconds" => milliseconds,
        "GetContextFlags" => flags,
        "WrongArity" => wrong_arity,
        "ReplyWithError" => reply_error,
        "ReplyWithLongLong" | "ReplyWithSimpleString" | "ReplyWithStringBuffer" | "ReplyWithBool"
            | "ReplyWithDouble" | "ReplyWithNull" => reply,
        "ReplyWithArray" => reply_array,
        "ReplyWithMap" => reply_map,
        "OpenKey" => open_key,
        "CloseKey" => close_key,
        "DeleteKey" => delete_key,
        "KeyType" => key_type,
        "ModuleTypeGetType" => value_type,
        "ModuleTypeGetValue" => value,
        "ModuleTypeSetValue" => set_value,
        "StringPtrLen" => string,
        "StringToLongLong" => to_integer,
        "StringToDouble" => to_double,
        "CreateString" => create_string,
        "FreeString" => free_string,
        "EmitAOF" => emit,
        "SaveUnsigned" => save_unsigned,
        "LoadUnsigned" => load_unsigned,
        "SaveDouble" => save_double,
        "LoadDouble" => load_double,
        "SaveStringBuffer" => save_string,
        "LoadStringBuffer" => load_string,
        "IsIOError" => is_error,
        "DigestAddStringBuffer" => digest,
        "ServerInfoGetFieldUnsigned" => info_number,
        "ServerInfoGetFieldC" => info_text,
        "GetCommand" | "GetServerInfo" => some_pointer,
        // Threads are for filters larger than those here.
        "DefragAlloc" | "BlockClient" | "GetThreadSafeContext" => no_pointer,
        "SetCommandInfo" | "SetModuleAttribs" | "IsModuleNameBusy" | "SetModuleOptions"
            | "RegisterNumericConfig" | "LoadConfigs" | "Log" | "LogIOError" | "Replicate"
            | "ReplicateVerbatim" | "NotifyKeyspaceEvent" | "DigestEndSequence" | "SetDisconnectCallback"
            | "UnblockClient" | "FreeThreadSafeContext" | "ThreadSafeContextLock"
            | "ThreadSafeContextUnlock" | "AvoidReplicaTraffic" | "GetRandomBytes" | "FreeServerInfo"
            => nothing,
    }
}

/// For functions whose effects do not matter; their arguments are not read, however many there are.
extern "C" fn nothing() -> c_int {
    0
}

extern "C" fn no_pointer() -> *mut c_void {
    null_mut()
}

/// For pointers that are only passed on.
extern "C" fn some_pointer() -> *mut c_void {
    std::ptr::dangling_mut()
}

extern "C" fn register_text(
    _: *mut Context,
    _: *const c_char,
    _: *const c_char,
    _: c_uint,
    _: *const c_void,
    _: *const c_void,
    _: *const c_void,
    kept: *mut c_void,
) -> c_int {
    /// Kept until the end of the program: it must not count as a leak.
    static KEPT: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    KEPT.lock().unwrap().push(kept.expose_provenance());
    0
}

unsafe extern "C" fn create_command(
    _: *mut Context,
    name: *const c_char,
    command: Command,
) -> c_int {
    // SAFETY: a text.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
    with(|state| state.commands.push((name, command)));
    0
}

unsafe extern "C" fn create_type(
    _: *mut Context,
    _: *const c_char,
    version: c_int,
    methods: *const Methods,
) -> *mut Type {
    // SAFETY: the module's methods, of which the first fields are those here.
    let made = Box::leak(Box::new(Type { methods: unsafe { *methods }, version }));
    let raw = &raw mut *made;
    // SAFETY: it is never freed nor changed.
    with(|state| state.types.push(unsafe { &*raw }));
    raw
}

extern "C" fn server_version() -> c_int {
    0x0008_0200
}

extern "C" fn milliseconds() -> c_longlong {
    with(|state| state.milliseconds)
}

extern "C" fn flags(_: *mut Context) -> c_int {
    with(|state| state.flags)
}

fn add(reply: Reply) -> c_int {
    with(|state| state.replies.push(reply));
    0
}

extern "C" fn reply() -> c_int {
    add(Reply::Other)
}

extern "C" fn wrong_arity(_: *mut Context) -> c_int {
    add(Reply::Error("wrong number of arguments".to_owned()))
}

unsafe extern "C" fn reply_error(_: *mut Context, text: *const c_char) -> c_int {
    // SAFETY: a text.
    add(Reply::Error(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()))
}

extern "C" fn reply_array(_: *mut Context, length: c_long) -> c_int {
    add(Reply::Follow(length as usize))
}

extern "C" fn reply_map(_: *mut Context, length: c_long) -> c_int {
    add(Reply::Follow(2 * length as usize))
}

unsafe extern "C" fn open_key(_: *mut Context, name: *mut Str, mode: c_int) -> *mut Handle {
    // SAFETY: an argument of the command.
    let name = unsafe { &*name };
    match with(|state| state.keys.contains_key(name)) || mode & WRITE != 0 {
        true => Box::into_raw(Box::new(Handle(name.clone()))),
        false => null_mut(),
    }
}

unsafe extern "C" fn close_key(key: *mut Handle) {
    // SAFETY: opened above, and closed once.
    drop(unsafe { Box::from_raw(key) });
}

unsafe extern "C" fn delete_key(key: *mut Handle) -> c_int {
    // SAFETY: an open key.
    let name = unsafe { &(*key).0 };
    drop(with(|state| state.keys.remove(name)));
    0
}

/// Calls `get` with the value of an open key.
unsafe fn at<T>(key: *mut Handle, missing: T, get: impl FnOnce(&Value) -> T) -> T {
    // SAFETY: an open key.
    let name = unsafe { &(*key).0 };
    with(|state| state.keys.get(name).map_or(missing, get))
}

unsafe extern "C" fn key_type(key: *mut Handle) -> c_int {
    const EMPTY: c_int = 0;
    const MODULE: c_int = 6;
    // SAFETY: an open key; so below.
    unsafe { at(key, EMPTY, |_| MODULE) }
}

unsafe extern "C" fn value_type(key: *mut Handle) -> *const Type {
    // SAFETY: as above.
    unsafe { at(key, null(), |value| std::ptr::from_ref(value.of)) }
}

unsafe extern "C" fn value(key: *mut Handle) -> *mut c_void {
    // SAFETY: as above.
    unsafe { at(key, null_mut(), |value| value.raw) }
}

unsafe extern "C" fn set_value(key: *mut Handle, of: *const Type, raw: *mut c_void) -> c_int {
    // SAFETY: as above; a type made above, which lives on.
    let (name, of) = unsafe { ((*key).0.clone(), &*of) };
    drop(with(|state| state.keys.insert(name, Value { of, raw })));
    0
}

unsafe extern "C" fn string(of: *const Str, length: *mut usize) -> *const u8 {
    // SAFETY: a string made here, and a place for its length.
    unsafe {
        *length = (*of).len();
        (*of).as_ptr()
    }
}

/// Parses a text as the server does, which accepts no signs and zeros in front of numbers.
unsafe extern "C" fn to_integer(of: *const Str, number: *mut c_longlong) -> c_int {
    // SAFETY: as above.
    let text = std::str::from_utf8(unsafe { &*of }).unwrap_or_default();
    let parsed = text.parse::<i64>().ok().filter(|parsed| parsed.to_string() == text);
    let Some(parsed) = parsed else { return 1 };
    // SAFETY: a place for it.
    unsafe { *number = parsed };
    0
}

unsafe extern "C" fn to_double(of: *const Str, number: *mut c_double) -> c_int {
    // SAFETY: as above.
    let text = std::str::from_utf8(unsafe { &*of }).unwrap_or_default();
    let Ok(parsed) = text.parse::<f64>() else { return 1 };
    // SAFETY: a place for it.
    unsafe { *number = parsed };
    0
}

unsafe extern "C" fn create_string(_: *mut Context, text: *const u8, length: usize) -> *mut Str {
    // SAFETY: so many bytes.
    Box::into_raw(Box::new(unsafe { std::slice::from_raw_parts(text, length) }.to_vec()))
}

unsafe extern "C" fn free_string(_: *mut Context, string: *mut Str) {
    // SAFETY: made above, and freed once.
    drop(unsafe { Box::from_raw(string) });
}

/// Takes `COMMAND key iterator chunk` or `COMMAND key content`, which the module passes as further arguments.
unsafe extern "C" fn emit(
    file: *mut Snapshot,
    command: *const c_char,
    format: *const c_char,
    _: *mut Str,
    iterator: c_longlong,
    chunk: *const u8,
    length: usize,
) {
    // SAFETY: a file in progress, texts and so many bytes; without an iterator, the bytes and their number are one place further
    // ahead.
    unsafe {
        let command = CStr::from_ptr(command).to_bytes().to_vec();
        let (iterator, chunk, length) = match CStr::from_ptr(format).to_bytes() {
            b"sb" => (0, iterator as *const u8, chunk as usize),
            _ => (iterator, chunk, length),
        };
        let chunk = std::slice::from_raw_parts(chunk, length).to_vec();
        (*file).commands.push((command, iterator, chunk));
    }
}

unsafe fn save(snapshot: *mut Snapshot, field: Field) {
    // SAFETY: a snapshot in progress.
    unsafe { (*snapshot).fields.push_back(field) };
}

/// Returns the next field, if it is of the type that `take` takes.
unsafe fn load<T>(snapshot: *mut Snapshot, take: impl FnOnce(Field) -> Option<T>) -> Option<T> {
    // SAFETY: a snapshot in progress, which nothing else uses.
    let snapshot = unsafe { &mut *snapshot };
    let field = if snapshot.failed { None } else { snapshot.fields.pop_front() };
    let taken = field.and_then(take);
    snapshot.failed |= taken.is_none();
    taken
}

unsafe extern "C" fn save_unsigned(snapshot: *mut Snapshot, number: u64) {
    // SAFETY: as above; so below.
    unsafe { save(snapshot, Field::Unsigned(number)) };
}

unsafe extern "C" fn load_unsigned(snapshot: *mut Snapshot) -> u64 {
    let take = |field| if let Field::Unsigned(number) = field { Some(number) } else { None };
    // SAFETY: as above.
    unsafe { load(snapshot, take) }.unwrap_or(0)
}

unsafe extern "C" fn save_double(snapshot: *mut Snapshot, number: c_double) {
    // SAFETY: as above.
    unsafe { save(snapshot, Field::Double(number.to_bits())) };
}

unsafe extern "C" fn load_double(snapshot: *mut Snapshot) -> c_double {
    let take = |field| if let Field::Double(bits) = field { Some(bits) } else { None };
    // SAFETY: as above.
    f64::from_bits(unsafe { load(snapshot, take) }.unwrap_or(0))
}

unsafe extern "C" fn save_string(snapshot: *mut Snapshot, bytes: *const u8, length: usize) {
    // SAFETY: as above; so many bytes.
    unsafe { save(snapshot, Field::Bytes(std::slice::from_raw_parts(bytes, length).to_vec())) };
}

unsafe extern "C" fn load_string(snapshot: *mut Snapshot, length: *mut usize) -> *mut u8 {
    let take = |field| if let Field::Bytes(bytes) = field { Some(bytes) } else { None };
    // SAFETY: as above; the module frees the memory.
    unsafe {
        let Some(bytes) = load(snapshot, take) else { return null_mut() };
        let memory = malloc(bytes.len().max(1)).cast::<u8>();
        memory.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        *length = bytes.len();
        memory
    }
}

unsafe extern "C" fn is_error(snapshot: *mut Snapshot) -> c_int {
    // SAFETY: as above.
    unsafe { (*snapshot).failed.into() }
}

unsafe extern "C" fn digest(digest: *mut Vec<u8>, bytes: *const u8, length: usize) {
    // SAFETY: a digest in progress; so many bytes.
    unsafe { (*digest).extend_from_slice(std::slice::from_raw_parts(bytes, length)) };
}

unsafe extern "C" fn info_number(_: *mut c_void, field: *const c_char, _: *mut c_int) -> u64 {
    // SAFETY: a text.
    let field = unsafe { CStr::from_ptr(field) };
    if field == c"maxmemory" { MEMORY } else { 0 }
}

extern "C" fn info_text() -> *const c_char {
    c"noeviction".as_ptr()
}

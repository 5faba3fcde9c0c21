//! The server's interface in Rust: contexts, arguments, keys, replies. All unsafe code of this crate is here.

pub(crate) mod api;
mod background;
pub(crate) mod memory;
mod register;
mod types;

use std::ffi::{CStr, CString, c_int, c_long};
use std::marker::PhantomData;
use std::ptr::null_mut;

use api::{Ctx, KeyHandle, Str, api};

pub(crate) use background::{End, Job, settle};

pub(crate) use register::{
    Access, CommandSpec, Refused, Registration, Setting, load_arguments, spec,
};
pub(crate) use types::{Fields, Mover, Rewrite, ServerType, Value};

/// The error that a command answers with.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The wrong number of arguments, with the server's message.
    Arity,
    /// A fixed text, with a prefix such as `ERR` where RedisBloom has one.
    Words(&'static str),
    /// Any other text.
    Text(String),
}

impl Refusal {
    /// The key has another type.
    pub(crate) const WRONG_TYPE: Self =
        Self::Words("WRONGTYPE Operation against a key holding the wrong kind of value");

    const INTERNAL: Self = Self::Words("ERR internal error of the module");

    pub(crate) fn words(&self) -> &str {
        match self {
            Self::Arity => "wrong number of arguments",
            Self::Words(words) => words,
            Self::Text(words) => words,
        }
    }
}

/// The refusal of an impossible filter: RedisBloom's message, then the reason.
pub(crate) fn no_memory(why: impl std::fmt::Display) -> Refusal {
    Refusal::Text(format!("ERR Insufficient memory to create filter: {why}"))
}

/// For [`Context::replicate_as`]: nothing between the key and the items.
pub(crate) const NO_WORDS: &[&str] = &[];

/// The result of a command: it has replied, or replies with this error.
pub(crate) type Answer = Result<(), Refusal>;

/// A command in progress.
pub(crate) struct Context {
    raw: *mut Ctx,
    /// Whether the server holds the command and its arguments; false for one that has waited.
    has_command: bool,
}

/// An argument of a command.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Argument<'a> {
    raw: *mut Str,
    command: PhantomData<&'a Context>,
}

impl<'a> Argument<'a> {
    pub(crate) fn bytes(self) -> &'a [u8] {
        let mut length = 0;
        // SAFETY: the server's string lives as long as the command, and does not change meanwhile.
        unsafe {
            let start = (api().StringPtrLen)(self.raw, &raw mut length);
            std::slice::from_raw_parts(start.cast(), length)
        }
    }

    /// Returns whether it is this word, ignoring case.
    pub(crate) fn is(self, word: &str) -> bool {
        self.bytes().eq_ignore_ascii_case(word.as_bytes())
    }

    /// Parses an integer as the server does.
    pub(crate) fn integer(self) -> Option<i64> {
        let mut number = 0;
        // SAFETY: a string of the server.
        let read = unsafe { (api().StringToLongLong)(self.raw, &raw mut number) };
        (read == api::OK).then_some(number)
    }

    /// Parses a number as the server does; never NaN.
    pub(crate) fn number(self) -> Option<f64> {
        let mut number = 0.0;
        // SAFETY: a string of the server.
        let read = unsafe { (api().StringToDouble)(self.raw, &raw mut number) };
        (read == api::OK && !number.is_nan()).then_some(number)
    }
}

/// Makes a string of the server, for the caller to free.
fn string(bytes: &[u8]) -> *mut Str {
    // SAFETY: the server copies the bytes; without a context, the string is the caller's.
    unsafe { (api().CreateString)(null_mut(), bytes.as_ptr().cast(), bytes.len()) }
}

/// Makes a text for the server; NUL bytes become blanks.
fn text(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).expect("no NUL is left")
}

/// The handler of a command.
pub(crate) type Handler = fn(&Context, &[Argument<'_>]) -> Answer;

/// Runs a command. Errors and panics become error replies.
///
/// # Safety
/// The server called a command with these arguments.
pub(crate) unsafe fn run(
    handler: Handler,
    ctx: *mut Ctx,
    argv: *mut *mut Str,
    argc: c_int,
) -> c_int {
    let context = Context { raw: ctx, has_command: true };
    // SAFETY: the server passes `argc` arguments, and they outlive the call; an argument is just a pointer
    // to one.
    let arguments =
        unsafe { std::slice::from_raw_parts(argv.cast::<Argument<'_>>(), argc as usize) };
    let call = std::panic::AssertUnwindSafe(|| handler(&context, arguments));
    match std::panic::catch_unwind(call) {
        Ok(Ok(())) => {}
        Ok(Err(refusal)) => context.refuse(&refusal),
        Err(_) => context.refuse(&Refusal::INTERNAL),
    }
    api::OK
}

/// Makes the function that the server calls for a handler.
macro_rules! exported {
    ($handler:expr) => {{
        #[allow(unsafe_code)] // the only line between the server and a handler
        unsafe extern "C" fn command(
            ctx: *mut $crate::server::api::Ctx,
            argv: *mut *mut $crate::server::api::Str,
            argc: std::ffi::c_int,
        ) -> std::ffi::c_int {
            // SAFETY: called by the server.
            unsafe { $crate::server::run($handler, ctx, argv, argc) }
        }
        command
    }};
}
pub(crate) use exported;

/// The value of a key.
pub(crate) enum Found<'a, T> {
    /// The key does not exist.
    Missing,
    /// Something of another type.
    Other,
    Value(&'a mut T),
}

/// The value of a key, for commands that know two types.
pub(crate) enum Either<'a, A, B> {
    Missing,
    Other,
    First(&'a mut A),
    Second(&'a mut B),
}

/// An open key.
pub(crate) struct Key<'a> {
    raw: *mut KeyHandle,
    context: PhantomData<&'a Context>,
}

impl Key<'_> {
    /// Returns what it holds.
    pub(crate) fn get<T: Value>(&mut self) -> Found<'_, T> {
        match self.get_either::<T, T>() {
            Either::Missing => Found::Missing,
            Either::Other => Found::Other,
            Either::First(value) | Either::Second(value) => Found::Value(value),
        }
    }

    /// Returns what it holds, of two types.
    pub(crate) fn get_either<A: Value, B: Value>(&mut self) -> Either<'_, A, B> {
        if self.raw.is_null() {
            return Either::Missing;
        }
        // SAFETY: an open key; a value of a type is one that this module gave the server.
        unsafe {
            match (api().KeyType)(self.raw) {
                api::KEY_EMPTY => return Either::Missing,
                api::KEY_MODULE => {}
                _ => return Either::Other,
            }
            let (found, value) =
                ((api().ModuleTypeGetType)(self.raw), (api().ModuleTypeGetValue)(self.raw));
            if found == A::server_type().raw() {
                Either::First(&mut *value.cast::<A>())
            } else if found == B::server_type().raw() {
                Either::Second(&mut *value.cast::<B>())
            } else {
                Either::Other
            }
        }
    }

    /// Returns this error if it holds a value of one of two types, or another error for any other type.
    pub(crate) fn check_missing<A: Value, B: Value>(&mut self, there: &'static str) -> Answer {
        match self.get_either::<A, B>() {
            Either::Missing => Ok(()),
            Either::Other => Err(Refusal::WRONG_TYPE),
            Either::First(_) | Either::Second(_) => Err(Refusal::Words(there)),
        }
    }

    /// Sets its value and frees the old one.
    pub(crate) fn set<T: Value>(&mut self, value: Box<T>) {
        let value = Box::into_raw(value);
        // SAFETY: an open key, for writing; the server owns the value from now on, and gives it back to `free`.
        unsafe { (api().ModuleTypeSetValue)(self.raw, T::server_type().raw(), value.cast()) };
    }

    /// Deletes it, and frees its value.
    pub(crate) fn delete(self) {
        // SAFETY: an open key, for writing; it is closed when dropped.
        unsafe { (api().DeleteKey)(self.raw) };
    }
}

impl Drop for Key<'_> {
    fn drop(&mut self) {
        if !self.raw.is_null() {
            // SAFETY: opened here.
            unsafe { (api().CloseKey)(self.raw) };
        }
    }
}

impl Context {
    pub(crate) fn key(&self, name: Argument<'_>) -> Key<'_> {
        self.open(name, api::READ)
    }

    pub(crate) fn key_for_writing(&self, name: Argument<'_>) -> Key<'_> {
        self.open(name, api::READ | api::WRITE)
    }

    fn open(&self, name: Argument<'_>, mode: c_int) -> Key<'_> {
        // SAFETY: a context and an argument of the command in progress.
        let raw = unsafe { (api().OpenKey)(self.raw, name.raw, mode) };
        Key { raw, context: PhantomData }
    }

    fn flags(&self) -> c_int {
        // SAFETY: a context of the command in progress, or null.
        unsafe { (api().GetContextFlags)(self.raw) }
    }

    /// For the server's use of a value outside the module's commands. Query only its flags and the information about
    /// memory.
    fn of_value() -> Self {
        Self { raw: null_mut(), has_command: false }
    }

    /// Returns whether the write must be accepted, because it comes from the primary or from a file.
    pub(crate) fn must_obey(&self) -> bool {
        let obeys = if self.raw.is_null() {
            // The sender of a command is unknown. On a replica, it is the primary.
            api::CONTEXT_REPLICA | api::CONTEXT_ASYNC_LOADING
        } else {
            api::CONTEXT_REPLICATED
        };
        self.flags() & (obeys | api::CONTEXT_LOADING) != 0
    }

    pub(crate) fn is_out_of_memory(&self) -> bool {
        self.flags() & api::CONTEXT_OOM != 0
    }

    pub(crate) fn is_resp3(&self) -> bool {
        self.flags() & api::CONTEXT_RESP3 != 0
    }

    /// Returns whether [`replicate`](Self::replicate) may be called.
    pub(crate) fn has_command(&self) -> bool {
        self.has_command
    }

    /// Sends the command as it is to replicas and the append-only file.
    pub(crate) fn replicate(&self) {
        debug_assert!(self.has_command, "the server has forgotten the command");
        // SAFETY: a context of the command in progress.
        unsafe { (api().ReplicateVerbatim)(self.raw) };
    }

    /// Sends `COMMAND key word... item...` there instead of this command; after others that were sent.
    pub(crate) fn replicate_as(
        &self,
        command: &CStr,
        key: Argument<'_>,
        words: &[impl AsRef<[u8]>],
        items: &[Argument<'_>],
    ) {
        // SAFETY: a context and an argument of the command in progress; the format gives the types: a string, and twice
        // a vector of strings and their number, which the server retains if it keeps them. An argument is just a
        // pointer to a string.
        unsafe {
            let words: Vec<*mut Str> = words.iter().map(|word| string(word.as_ref())).collect();
            (api().Replicate)(
                self.raw,
                command.as_ptr(),
                c"svv".as_ptr(),
                key.raw,
                words.as_ptr(),
                words.len(),
                items.as_ptr().cast::<*mut Str>(),
                items.len(),
            );
            words.into_iter().for_each(|word| (api().FreeString)(null_mut(), word));
        }
    }

    /// Writes a line into the server's log.
    pub(crate) fn warn(&self, what: &str) {
        let what = text(what);
        // SAFETY: a context of the command in progress; the format takes a text.
        unsafe { (api().Log)(self.raw, c"warning".as_ptr(), c"%s".as_ptr(), what.as_ptr()) };
    }

    /// Returns the milliseconds since 1970.
    pub(crate) fn milliseconds(&self) -> u64 {
        // SAFETY: it may always be called.
        unsafe { (api().Milliseconds)() }.unsigned_abs()
    }

    /// Returns random bytes.
    pub(crate) fn random<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        // SAFETY: it writes that many bytes.
        unsafe { (api().GetRandomBytes)(bytes.as_mut_ptr(), N) };
        bytes
    }

    /// Ends a command that changed an open key: sends the command as it is, publishes an event, and replies.
    pub(crate) fn done(&self, opened: Key<'_>, event: &CStr, key: Argument<'_>) -> Answer {
        drop(opened);
        self.replicate();
        self.notify(event, key);
        self.reply_ok()
    }

    /// Publishes a keyspace event.
    pub(crate) fn notify(&self, event: &CStr, key: Argument<'_>) {
        // SAFETY: a context and an argument of the command in progress.
        unsafe {
            (api().NotifyKeyspaceEvent)(self.raw, api::NOTIFY_GENERIC, event.as_ptr(), key.raw)
        };
    }

    /// Calls `read` with the server's information about its memory.
    pub(crate) fn memory_info<T>(&self, read: impl FnOnce(&MemoryInfo) -> T) -> T {
        // SAFETY: a context of the command in progress, or null; the information lives until it is freed, below.
        unsafe {
            let info = MemoryInfo { raw: (api().GetServerInfo)(self.raw, c"memory".as_ptr()) };
            let result = read(&info);
            (api().FreeServerInfo)(self.raw, info.raw);
            result
        }
    }

    fn refuse(&self, refusal: &Refusal) {
        // SAFETY: a context of the command in progress; the server copies the text.
        unsafe {
            match refusal {
                Refusal::Arity => (api().WrongArity)(self.raw),
                other => (api().ReplyWithError)(self.raw, text(other.words()).as_ptr()),
            };
        }
    }

    /// Replies with an error as an element.
    pub(crate) fn reply_error(&self, words: &'static str) {
        self.refuse(&Refusal::Words(words));
    }

    pub(crate) fn reply_ok(&self) -> Answer {
        self.reply_name(c"OK");
        Ok(())
    }

    pub(crate) fn reply_bool(&self, answer: bool) {
        // SAFETY: a context of the command in progress; so for the others.
        unsafe { (api().ReplyWithBool)(self.raw, answer.into()) };
    }

    pub(crate) fn reply_integer(&self, number: i64) {
        // SAFETY: as above.
        unsafe { (api().ReplyWithLongLong)(self.raw, number) };
    }

    pub(crate) fn reply_number(&self, number: f64) {
        // SAFETY: as above.
        unsafe { (api().ReplyWithDouble)(self.raw, number) };
    }

    /// Replies with a count, at most the largest integer of the protocol.
    pub(crate) fn reply_count(&self, count: u64) {
        self.reply_integer(i64::try_from(count).unwrap_or(i64::MAX));
    }

    pub(crate) fn reply_name(&self, name: &CStr) {
        // SAFETY: as above.
        unsafe { (api().ReplyWithSimpleString)(self.raw, name.as_ptr()) };
    }

    pub(crate) fn reply_bytes(&self, bytes: &[u8]) {
        // SAFETY: as above; the server copies the bytes.
        unsafe { (api().ReplyWithStringBuffer)(self.raw, bytes.as_ptr().cast(), bytes.len()) };
    }

    pub(crate) fn reply_null(&self) {
        // SAFETY: as above.
        unsafe { (api().ReplyWithNull)(self.raw) };
    }

    /// Begins an array; its elements follow.
    pub(crate) fn reply_array(&self, length: usize) {
        // SAFETY: as above.
        unsafe { (api().ReplyWithArray)(self.raw, length as c_long) };
    }

    /// Begins a map; its pairs follow.
    pub(crate) fn reply_map(&self, length: usize) {
        // SAFETY: as above.
        unsafe { (api().ReplyWithMap)(self.raw, length as c_long) };
    }
}

/// The server's information about its memory.
pub(crate) struct MemoryInfo {
    raw: *mut api::ServerInfo,
}

impl MemoryInfo {
    /// Returns a number, 0 if the field does not exist.
    pub(crate) fn number(&self, field: &CStr) -> u64 {
        let mut missing = 0;
        // SAFETY: the information is not freed yet.
        unsafe { (api().ServerInfoGetFieldUnsigned)(self.raw, field.as_ptr(), &raw mut missing) }
    }

    pub(crate) fn is(&self, field: &CStr, value: &[u8]) -> bool {
        // SAFETY: the information is not freed yet; a field is a text, or null.
        unsafe {
            let found = (api().ServerInfoGetFieldC)(self.raw, field.as_ptr());
            !found.is_null() && CStr::from_ptr(found).to_bytes() == value
        }
    }
}

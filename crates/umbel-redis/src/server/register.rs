//! Registers the module with the server: types, commands, settings.

use std::ffi::{CStr, c_char, c_int, c_longlong, c_uint, c_void};
use std::marker::PhantomData;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicI64, AtomicPtr, Ordering};

use super::api::{self, BeginSearch, Command, CommandInfo, Ctx, KeySpec, Str, api};
use super::types::{Value, methods};
use super::{Argument, Context, string};

/// The effect of a command on its key, which is its first argument.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Reads it.
    Read,
    /// Creates it or adds to it.
    Insert,
    /// Changes it.
    Update,
    /// Deletes from it.
    Delete,
}

/// A command.
pub(crate) struct CommandSpec {
    pub(crate) name: &'static CStr,
    pub(crate) function: Command,
    /// The number of arguments with the name; negative if more may follow.
    pub(crate) arity: c_int,
    pub(crate) access: Access,
    /// Whether it is in the category `fast`.
    pub(crate) is_fast: bool,
    /// Whether its time grows with the filter, so it is not flagged as fast.
    pub(crate) is_long: bool,
    /// Whether the server allows it when memory is full, although it inserts.
    pub(crate) is_in_place: bool,
    /// The index of its last key; -1 if all arguments are keys.
    pub(crate) last_key: c_int,
    /// Whether clients may cache its replies.
    pub(crate) is_cacheable: bool,
    pub(crate) summary: &'static CStr,
}

/// Specifies a command, in one line of a table.
pub(crate) const fn spec(
    name: &'static CStr,
    function: Command,
    arity: c_int,
    access: Access,
    summary: &'static CStr,
) -> CommandSpec {
    CommandSpec {
        name,
        function,
        arity,
        access,
        is_fast: false,
        is_long: false,
        is_in_place: false,
        last_key: 1,
        is_cacheable: true,
        summary,
    }
}

impl CommandSpec {
    pub(crate) const fn many_keys(self) -> Self {
        Self { last_key: -1, ..self }
    }

    pub(crate) const fn fast(self) -> Self {
        Self { is_fast: true, ..self }
    }

    pub(crate) const fn in_place(self) -> Self {
        Self { is_in_place: true, ..self }
    }

    pub(crate) const fn long(self) -> Self {
        Self { is_long: true, ..self }
    }

    pub(crate) const fn not_cached(self) -> Self {
        Self { is_cacheable: false, ..self }
    }
}

/// A module that is being loaded.
pub(crate) struct Registration {
    pub(crate) context: Context,
}

/// The server refused something; its log has the reason.
#[derive(Debug)]
pub(crate) struct Refused;

fn done(status: c_int) -> Result<(), Refused> {
    if status == api::OK { Ok(()) } else { Err(Refused) }
}

impl Registration {
    /// Looks up the server's functions and registers the module's name.
    ///
    /// # Safety
    /// `ctx` is what the server gave `RedisModule_OnLoad`.
    pub(crate) unsafe fn begin(
        ctx: *mut Ctx,
        name: &CStr,
        version: c_int,
    ) -> Result<Self, Refused> {
        let context = Context { raw: ctx, has_command: false };
        // SAFETY: the caller promises it; so for all functions here.
        unsafe {
            if !api::load(ctx) || (api().IsModuleNameBusy)(name.as_ptr()) != 0 {
                // Redis does not say why it does not load a module.
                if api::loaded().is_some() {
                    let busy = "umbel: a module called bf, such as RedisBloom, is loaded already: remove its loadmodule line";
                    context.warn(busy);
                }
                return Err(Refused);
            }
            (api().SetModuleAttribs)(ctx, name.as_ptr(), version, 1);
            (api().SetModuleOptions)(ctx, api::HANDLE_IO_ERRORS);
        }
        Ok(Self { context })
    }

    pub(crate) fn value<T: Value>(&self) -> Result<(), Refused> {
        // SAFETY: as above; the server copies the methods.
        let made = unsafe {
            (api().CreateDataType)(
                self.context.raw,
                T::NAME.as_ptr(),
                T::VERSION,
                &mut methods::<T>(),
            )
        };
        T::server_type().set(made);
        if made.is_null() { Err(Refused) } else { Ok(()) }
    }

    /// Adds a category for access control. Servers before 7.4 have only their own.
    pub(crate) fn category(&self, name: &CStr) {
        if let Some(add) = api().AddACLCategory {
            // SAFETY: as above.
            unsafe { add(self.context.raw, name.as_ptr()) };
        }
    }

    /// Registers a command. `category` is its category for access control, next to `read` or `write`.
    pub(crate) fn command(&self, spec: &CommandSpec, category: &CStr) -> Result<(), Refused> {
        let (flags, key) = match spec.access {
            Access::Read if spec.is_long => (c"readonly", api::KEY_RO | api::KEY_ACCESS),
            Access::Read => (c"readonly fast", api::KEY_RO | api::KEY_ACCESS),
            Access::Insert if spec.is_in_place => (c"write", api::KEY_RW | api::KEY_INSERT),
            Access::Insert => (c"write deny-oom", api::KEY_RW | api::KEY_INSERT),
            Access::Update => (c"write", api::KEY_RW | api::KEY_ACCESS | api::KEY_UPDATE),
            Access::Delete => (c"write fast", api::KEY_RW | api::KEY_DELETE),
        };
        let keys = |flags, first, last| KeySpec {
            notes: null(),
            flags,
            begin_search_type: api::SEARCH_INDEX,
            begin_search: BeginSearch { index: first },
            find_keys_type: api::FIND_RANGE,
            find_keys: [last, 1, 0],
        };
        // An empty entry ends the list.
        let end = KeySpec {
            notes: null(),
            flags: 0,
            begin_search_type: 0,
            begin_search: BeginSearch { keyword: (null(), 0) },
            find_keys_type: 0,
            find_keys: [0; 3],
        };
        // Further keys are only read.
        let further =
            if spec.last_key < 0 { keys(api::KEY_RO | api::KEY_ACCESS, 2, -1) } else { end };
        let specs = [keys(key, 1, 0), further, end];
        let info = CommandInfo {
            version: &raw const api::INFO_VERSION_OF_MODULE,
            summary: spec.summary.as_ptr(),
            complexity: null(),
            since: null(),
            history: null(),
            tips: if spec.is_cacheable { null() } else { c"dont_cache".as_ptr() },
            arity: spec.arity,
            key_specs: specs.as_ptr(),
            arguments: null(),
        };
        let name = spec.name.as_ptr();
        // SAFETY: as above; the server copies the information.
        unsafe {
            let created = (api().CreateCommand)(
                self.context.raw,
                name,
                spec.function,
                flags.as_ptr(),
                1,
                spec.last_key,
                1,
            );
            done(created)?;
            let command = (api().GetCommand)(self.context.raw, name);
            done((api().SetCommandInfo)(command, &raw const info))?;
            if let Some(set) = api().SetCommandACLCategories {
                let access = if spec.access == Access::Read { "read" } else { "write" };
                let fast = if spec.is_fast { " fast" } else { "" };
                // Custom categories came after the function that sets them.
                let own = if api().AddACLCategory.is_some() { category } else { c"" };
                let own = own.to_string_lossy();
                let categories = super::text(&format!("{access}{fast} {own}"));
                done(set(command, categories.as_ptr()))?;
            }
        }
        Ok(())
    }

    /// Registers a text setting, without the module's name in front if the server allows that.
    pub(crate) fn setting(&self, setting: &'static dyn Setting) -> Result<(), Refused> {
        // SAFETY: as above.
        let version = unsafe { (api().GetServerVersion)() };
        // SAFETY: as above. Redis 8 keeps the names of modules' settings; Valkey, with other version numbers, does not.
        let unprefixed = version >= 0x0008_0000 && !unsafe { api::is_valkey(self.context.raw) };
        self.named(setting, if unprefixed { api::CONFIG_UNPREFIXED } else { 0 })
    }

    /// Registers a text setting with the module's name in front, and with flags.
    pub(crate) fn named(
        &self,
        setting: &'static dyn Setting,
        flags: c_uint,
    ) -> Result<(), Refused> {
        let default = super::text(&setting.text());
        let registered = Registered { setting, shown: AtomicPtr::new(null_mut()) };
        // SAFETY: as above; the server copies the texts, and the setting outlives its use of it.
        unsafe {
            done((api().RegisterStringConfig)(
                self.context.raw,
                setting.name().as_ptr(),
                default.as_ptr(),
                flags,
                get_setting,
                set_setting,
                None,
                (&raw const *Box::leak(Box::new(registered))).cast_mut().cast(),
            ))
        }
    }

    /// Registers a setting in bytes with the module's name in front. The value is its default.
    pub(crate) fn bytes_setting(
        &self,
        name: &CStr,
        value: &'static AtomicI64,
    ) -> Result<(), Refused> {
        // SAFETY: as above.
        unsafe {
            done((api().RegisterNumericConfig)(
                self.context.raw,
                name.as_ptr(),
                value.load(Ordering::Relaxed),
                api::CONFIG_MEMORY,
                0,
                i64::MAX,
                get_bytes,
                set_bytes,
                None,
                (&raw const *value).cast_mut().cast(),
            ))
        }
    }

    /// Loads the settings in the server's configuration.
    pub(crate) fn load_settings(&self) -> Result<(), Refused> {
        // SAFETY: as above.
        done(unsafe { (api().LoadConfigs)(self.context.raw) })
    }
}

/// A setting, as text.
pub(crate) trait Setting: Sync {
    fn name(&self) -> &'static CStr;
    /// Returns the value; when it is registered, the default.
    fn text(&self) -> String;
    /// Sets a value, or returns what is wrong with it.
    fn set(&self, text: &str) -> Result<(), String>;
}

/// A setting that the server knows.
struct Registered {
    setting: &'static dyn Setting,
    /// The last value returned, which the server does not free.
    shown: AtomicPtr<Str>,
}

unsafe extern "C" fn get_setting(_: *const c_char, setting: *mut c_void) -> *mut Str {
    // SAFETY: registered with a setting.
    let registered = unsafe { &*setting.cast::<Registered>() };
    let shown = string(registered.setting.text().as_bytes());
    let before = registered.shown.swap(shown, Ordering::Relaxed);
    if !before.is_null() {
        // SAFETY: made here, and no longer used: one thread reads and writes settings.
        unsafe { (api().FreeString)(null_mut(), before) };
    }
    shown
}

unsafe extern "C" fn set_setting(
    _: *const c_char,
    value: *mut Str,
    setting: *mut c_void,
    error: *mut *mut Str,
) -> c_int {
    // SAFETY: registered with a setting.
    let registered = unsafe { &*setting.cast::<Registered>() };
    // It lives during the call.
    let value = Argument { raw: value, command: PhantomData };
    match registered.setting.set(&String::from_utf8_lossy(value.bytes())) {
        Ok(()) => api::OK,
        Err(what) => {
            // SAFETY: the server frees it.
            unsafe { *error = string(what.as_bytes()) };
            api::ERR
        }
    }
}

unsafe extern "C" fn get_bytes(_: *const c_char, value: *mut c_void) -> c_longlong {
    // SAFETY: registered with such a number.
    unsafe { &*value.cast::<AtomicI64>() }.load(Ordering::Relaxed)
}

unsafe extern "C" fn set_bytes(
    _: *const c_char,
    bytes: c_longlong,
    value: *mut c_void,
    _: *mut *mut Str,
) -> c_int {
    // SAFETY: registered with such a number.
    unsafe { &*value.cast::<AtomicI64>() }.store(bytes, Ordering::Relaxed);
    api::OK
}

/// Returns the arguments of `loadmodule` as texts.
///
/// # Safety
/// They are the arguments that the server gave `RedisModule_OnLoad`.
pub(crate) unsafe fn load_arguments(argv: *mut *mut Str, argc: c_int) -> Vec<String> {
    // SAFETY: the caller promises it.
    let argument = |i| Argument { raw: unsafe { *argv.add(i) }, command: PhantomData };
    let text = |i| String::from_utf8_lossy(argument(i).bytes()).into_owned();
    (0..argc as usize).map(text).collect()
}

//! A module whose commands get each argument and reply with a boolean for it, without a key or a filter: the server's
//! own cost of such a command is the limit for every module.

use std::ffi::{c_char, c_int, c_long, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;

type Command = unsafe extern "C" fn(*mut c_void, *mut *mut c_void, c_int) -> c_int;

/// The server's functions that the module needs.
struct Api {
    attribs: unsafe extern "C" fn(*mut c_void, *const c_char, c_int, c_int),
    create: unsafe extern "C" fn(
        *mut c_void,
        *const c_char,
        Command,
        *const c_char,
        c_int,
        c_int,
        c_int,
    ) -> c_int,
    string: unsafe extern "C" fn(*const c_void, *mut usize) -> *const c_char,
    array: unsafe extern "C" fn(*mut c_void, c_long) -> c_int,
    bool: unsafe extern "C" fn(*mut c_void, c_int) -> c_int,
}

static API: OnceLock<Api> = OnceLock::new();

/// The entry point of the module.
///
/// # Safety
/// Only the server may call it.
#[allow(non_snake_case)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn RedisModule_OnLoad(
    ctx: *mut c_void,
    _: *mut *mut c_void,
    _: c_int,
) -> c_int {
    // SAFETY: the first field of a context is the function that finds others; the types are as in `redismodule.h`.
    unsafe {
        let get: unsafe extern "C" fn(*const c_char, *mut *mut c_void) -> c_int = *ctx.cast();
        macro_rules! find {
            ($name:literal) => {{
                let mut function = null_mut();
                get($name.as_ptr(), &raw mut function);
                std::mem::transmute::<*mut c_void, _>(function)
            }};
        }
        let api = API.get_or_init(|| Api {
            attribs: find!(c"RedisModule_SetModuleAttribs"),
            create: find!(c"RedisModule_CreateCommand"),
            string: find!(c"RedisModule_StringPtrLen"),
            array: find!(c"RedisModule_ReplyWithArray"),
            bool: find!(c"RedisModule_ReplyWithBool"),
        });
        (api.attribs)(ctx, c"limit".as_ptr(), 1, 1);
        // The flags and keys of the commands that are compared with it.
        for (name, command, flags) in [
            (c"limit.add", one as Command, c"write deny-oom"),
            (c"limit.madd", many, c"write deny-oom"),
            (c"limit.exists", one, c"readonly fast"),
            (c"limit.mexists", many, c"readonly fast"),
        ] {
            if (api.create)(ctx, name.as_ptr(), command, flags.as_ptr(), 1, 1, 1) != 0 {
                return 1;
            }
        }
    }
    0
}

/// Replies with the lowest bit of an argument's length, which makes it read the argument.
///
/// # Safety
/// Called by the server.
unsafe fn answer(api: &Api, ctx: *mut c_void, argument: *mut c_void) {
    let mut length = 0;
    // SAFETY: promised.
    unsafe {
        (api.string)(argument, &raw mut length);
        (api.bool)(ctx, (length & 1) as c_int);
    }
}

unsafe extern "C" fn one(ctx: *mut c_void, argv: *mut *mut c_void, _: c_int) -> c_int {
    let Some(api) = API.get() else { return 1 };
    // SAFETY: called by the server, with a key and an item.
    unsafe { answer(api, ctx, *argv.add(2)) };
    0
}

unsafe extern "C" fn many(ctx: *mut c_void, argv: *mut *mut c_void, argc: c_int) -> c_int {
    let Some(api) = API.get() else { return 1 };
    // SAFETY: called by the server, with so many arguments.
    unsafe {
        (api.array)(ctx, c_long::from(argc - 2));
        for i in 2..argc as usize {
            answer(api, ctx, *argv.add(i));
        }
    }
    0
}

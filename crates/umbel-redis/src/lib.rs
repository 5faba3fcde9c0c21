//! A module for Redis and Valkey: RedisBloom's commands `BF.*` and `CF.*`, and `UM.*` for umbel's own filters.
//!
//! The same library loads into Redis 7.0 and later and Valkey 8. The first two use the filters of `umbel-foreign`, byte
//! for byte RedisBloom's, so dumps, snapshots and replicas work both ways; bits and formulas are in other crates.
//!
//! | module | what it alone knows |
//! |---|---|
//! | `server` | the server's functions; all unsafe code |
//! | `values` | types of values: snapshots, the append-only file, copies |
//! | `settings` | configuration, and what fits into memory |
//! | `secrets` | secrets of keyed filters |
//! | `bloom`, `cuckoo`, `um` | commands: syntax, answers, errors |
//! | `lookup` | the look-ups that `bloom` and `cuckoo` share |

mod bloom;
mod cuckoo;
mod lookup;
mod secrets;
// The server has a C interface.
#[allow(unsafe_code)]
mod server;
mod settings;
mod um;
mod values;

use std::ffi::{CStr, c_int};

use server::api::{Ctx, ERR, OK, Str};
use server::{CommandSpec, Refused, Registration};

#[global_allocator]
static MEMORY: server::memory::ServerMemory = server::memory::ServerMemory;

/// The name that clients look for, and the version of RedisBloom that has these commands: 2.8.2.
const NAME: &CStr = c"bf";
const VERSION: c_int = 20_802;

/// All commands, each family with its category for access control.
const FAMILIES: [(&CStr, &[CommandSpec]); 3] =
    [(c"bloom", &bloom::COMMANDS), (c"cuckoo", &cuckoo::COMMANDS), (c"umbel", &um::COMMANDS)];

/// The entry point of the module.
///
/// # Safety
/// Only the server may call it.
#[allow(unsafe_code, non_snake_case)]
#[unsafe(no_mangle)]
unsafe extern "C" fn RedisModule_OnLoad(ctx: *mut Ctx, argv: *mut *mut Str, argc: c_int) -> c_int {
    // SAFETY: the server's context, before anything is allocated.
    let loaded = unsafe { Registration::begin(ctx, NAME, VERSION) }.and_then(|module| {
        // SAFETY: the server's arguments, after its functions are known.
        let arguments = unsafe { server::load_arguments(argv, argc) };
        register(&module, &arguments)
    });
    if loaded.is_ok() { OK } else { ERR }
}

fn register(module: &Registration, arguments: &[String]) -> Result<(), Refused> {
    module.value::<values::Bloom>()?;
    module.value::<values::Cuckoo>()?;
    module.value::<values::Umbel>()?;
    module.value::<values::Valkey>()?;
    for (category, commands) in FAMILIES {
        module.category(category);
        commands.iter().try_for_each(|spec| module.command(spec, category))?;
    }
    settings::register(module, arguments)
}

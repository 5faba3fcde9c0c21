//! The Rust blocks of the Markdown pages: all compile; in docs/networks.md and docs/rust.md they print what the page shows.
//!
//! They run in order, in one folder. A block may use `?`. Its `println!` output is compared with the `text` block that
//! follows it, if any.
#![allow(dead_code, unsafe_code)]

use std::env;
use std::error::Error;
use std::fmt::Write;
use std::sync::Mutex;

type Outcome = Result<(), Box<dyn Error>>;
/// The page and line of a block, the block, and what the page shows that it prints.
type Run = (&'static str, u32, fn() -> Outcome, Option<&'static str>);

static PRINTED: Mutex<String> = Mutex::new(String::new());

/// Collects what blocks print.
macro_rules! println {
    ($($argument:tt)*) => {
        writeln!(PRINTED.lock().unwrap(), $($argument)*).unwrap()
    };
}

include!(concat!(env!("OUT_DIR"), "/blocks.rs"));

#[test]
fn the_blocks_print_what_the_page_shows() {
    let folder = tempfile::tempdir().unwrap();
    env::set_current_dir(&folder).unwrap();
    let mut wrong = String::new();
    for (page, line, block, shown) in RUN {
        block().unwrap_or_else(|error| panic!("{page}:{line}: {error}"));
        let printed = std::mem::take(&mut *PRINTED.lock().unwrap());
        if printed != shown.unwrap_or_default() {
            writeln!(wrong, "{page}:{line} prints\n{printed}").unwrap();
        }
    }
    assert!(RUN.len() > 8, "{} blocks: are they still found?", RUN.len());
    assert!(wrong.is_empty(), "{wrong}");
}

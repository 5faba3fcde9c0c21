//! Answers requests without a browser: one JSON document per line on standard input, whose `file` is an index into the
//! paths given. The bench compares these answers, and their times, with those of WebAssembly.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufRead, Read, Seek, SeekFrom};
use std::time::Instant;

use anyhow::{Context, Result};
use umbel_page::{Core, Host};

struct Files {
    open: Vec<RefCell<File>>,
    started: Instant,
}

impl Host for Files {
    fn read(&self, file: u32, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let mut file = self.open[file as usize].borrow_mut();
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(bytes)
    }

    fn progress(&self, _: u64, _: u64) {}

    fn give(&self, _: &[u8]) {}

    fn now(&self) -> f64 {
        self.started.elapsed().as_nanos() as f64
    }
}

fn main() -> Result<()> {
    let open = std::env::args().skip(1).map(|path| File::open(&path).context(path));
    let open = open.map(|file| file.map(RefCell::new)).collect::<Result<_>>()?;
    let mut core = Core::new(Files { open, started: Instant::now() });
    for line in io::stdin().lock().lines() {
        println!("{}", core.answer(line?.as_bytes()));
    }
    Ok(())
}

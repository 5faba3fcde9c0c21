//! The keys of lines in their order, for work that no filter of ours does.

use std::io::Read;
use std::sync::{Mutex, MutexGuard};

use umbel::KeyHasher;

use crate::input::Input;
use crate::report::Report;
use crate::scan::{Lines, Scanner, Tally, Visit};
use crate::{Error, Options};

/// The keys of some lines that follow each other.
pub struct Keys<'a> {
    name: &'a str,
    lines: &'a Lines<'a>,
}

impl<'a> Keys<'a> {
    /// Each key: a line without its end, or the field of a record.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'a [u8]> {
        let lines = self.lines;
        (0..lines.len()).map(|i| lines.key(i))
    }

    /// The error of key `i`, which says where its line stands.
    pub fn refuse(
        &self,
        i: usize,
        why: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Error {
        let offset = self.lines.offset(i);
        Error::Key { name: self.name.to_owned(), offset, source: why.into() }
    }
}

/// Shows the keys of a file to `see`, some at a time, in the order of the lines. `room` is the memory, in bytes,
/// that one long line may take: [`room_beside`](crate::room_beside) tells it.
///
/// # Errors
/// Those of reading and those of `see`.
pub fn keys(
    input: &Input,
    room: u64,
    options: &Options,
    see: impl FnMut(&Keys<'_>) -> Result<(), Error> + Send,
) -> Result<Report, Error> {
    options.progress.expect(input.length());
    let show = Show { name: input.name(), room, see: Mutex::new(see) };
    let tally = scanner(options)?.scan(input, &show)?;
    Ok(report(&tally, input.length()))
}

/// As [`keys`], of lines that come one by one: those that are there are shown at once.
///
/// # Errors
/// As there.
pub fn keys_stream(
    name: &str,
    source: impl Read,
    room: u64,
    options: &Options,
    see: impl FnMut(&Keys<'_>) -> Result<(), Error> + Send,
) -> Result<Report, Error> {
    let before = options.progress.done();
    let show = Show { name, room, see: Mutex::new(see) };
    let tally = scanner(options)?.stream(name, source, &show)?;
    Ok(report(&tally, options.progress.done() - before))
}

/// The scanner hashes all keys with our scheme, in vain: at some 10 GB/s that is not worth another one.
fn scanner(options: &Options) -> Result<Scanner<'_>, Error> {
    Scanner::new(options, KeyHasher::default())
}

fn report(tally: &Tally, bytes_read: u64) -> Report {
    Report { lines: tally.lines, bytes_read, passes: 1, ..Report::default() }
}

struct Show<'a, F> {
    name: &'a str,
    room: u64,
    see: Mutex<F>,
}

impl<F: FnMut(&Keys<'_>) -> Result<(), Error> + Send> Visit for Show<'_, F> {
    type Local = ();

    fn local(&self) {}

    fn kept(&self, (): &mut (), lines: &Lines<'_>) -> Result<(), Error> {
        let mut see: MutexGuard<'_, F> = self.see.lock().expect("no worker panics");
        see(&Keys { name: self.name, lines })
    }

    fn room(&self) -> u64 {
        self.room
    }
}

//! Reads a pipe ahead into a temporary file while other sources are read; the job then reads the file in its turn.
//!
//! One writer may fill several pipes in turns, as `tee` does. If they were read one after another, both sides could
//! wait forever: the writer for room in a later pipe, the reader for more of the first.

use std::io::{self, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, mpsc};
use std::thread;

use crate::temporary::TempFile;
use crate::{Error, Resources};

/// Bytes read at a time: as many as a pipe holds.
const PIECE: usize = 64 << 10;

/// Starts reading `source` in a separate thread; returns a reader of the bytes that have arrived, which waits for more.
/// If no thread can be started, returns `source`. Later errors, of the file or of `source`, reach the reader.
pub(crate) fn read_ahead(
    source: Box<dyn Read + Send>,
    resources: &Resources,
) -> Result<Box<dyn Read + Send>, Error> {
    let (file, state, changed) = (resources.tmp.file()?, Mutex::default(), Condvar::new());
    let shared = Arc::new(Shared { file, state, changed });
    let copy = Arc::clone(&shared);
    let (to_thread, handed) = mpsc::channel();
    let work = move || {
        let Ok(source) = handed.recv() else { return };
        let end = copy.copy_from(source);
        copy.state().end = Some(end);
        copy.changed.notify_all();
    };
    if thread::Builder::new().spawn(work).is_err() {
        return Ok(source);
    }
    to_thread.send(source).expect("the thread waits for it");
    Ok(Box::new(Ahead { shared, at: 0 }))
}

struct Shared {
    file: TempFile,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Bytes in the file.
    length: u64,
    /// How the source ended; the reader takes the error.
    end: Option<io::Result<()>>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics with it")
    }

    fn copy_from(self: &Arc<Self>, mut source: Box<dyn Read + Send>) -> io::Result<()> {
        let mut piece = vec![0; PIECE];
        let mut length = 0;
        loop {
            let read = match source.read(&mut piece) {
                Ok(0) => return Ok(()),
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            self.file.write_all_at(&piece[..read], length).map_err(io::Error::other)?;
            length += read as u64;
            // The reader is gone.
            if Arc::strong_count(self) == 1 {
                return Ok(());
            }
            self.state().length = length;
            self.changed.notify_all();
        }
    }
}

/// Reads the file as far as it is written.
struct Ahead {
    shared: Arc<Shared>,
    at: u64,
}

impl Read for Ahead {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let Shared { file, changed, .. } = &*self.shared;
        let behind = |state: &mut State| state.length == self.at && state.end.is_none();
        let state = changed.wait_while(self.shared.state(), behind);
        let mut state = state.expect("nothing panics with it");
        let there = state.length - self.at;
        if there == 0 {
            return state.end.replace(Ok(())).expect("it has ended").map(|()| 0);
        }
        drop(state);
        let some = bytes.len().min(usize::try_from(there).unwrap_or(usize::MAX));
        file.read_exact_at(&mut bytes[..some], self.at).map_err(io::Error::other)?;
        self.at += some as u64;
        Ok(some)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::testing::workplace;

    #[test]
    fn what_is_written_is_read_meanwhile_and_after() {
        let (_dir, options) = workplace(b'\n');
        let (from, mut to) = io::pipe().unwrap();
        let mut ahead = read_ahead(Box::new(from), &options.resources).unwrap();
        let mut some = [0; 3];
        to.write_all(b"abc").unwrap();
        ahead.read_exact(&mut some).unwrap();
        assert_eq!(&some, b"abc");
        // More than a pipe holds, and no one reads.
        let long: Vec<u8> = (0..1_000_000).map(|i| i as u8).collect();
        to.write_all(&long).unwrap();
        drop(to);
        let mut rest = Vec::new();
        ahead.read_to_end(&mut rest).unwrap();
        assert!(rest == long);
        assert_eq!(ahead.read(&mut some).unwrap(), 0);
    }

    #[test]
    fn an_error_comes_when_it_is_reached() {
        struct Fails;
        impl Read for Fails {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("it fails"))
            }
        }
        let (_dir, options) = workplace(b'\n');
        let source = b"abc".chain(Fails);
        let mut ahead = read_ahead(Box::new(source), &options.resources).unwrap();
        let mut some = Vec::new();
        assert_eq!(ahead.read_to_end(&mut some).unwrap_err().to_string(), "it fails");
        assert_eq!(some, b"abc");
    }
}

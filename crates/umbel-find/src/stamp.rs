//! What shows whether a file is still the one that was indexed.
//!
//! Every write sets the time of the last change, which no program can set back: as long as it, the size and the inode are the
//! same, so are the bytes. A file that was renamed, copied or restored has another one; then the sum of some of its bytes, with
//! its size and the time of its modification, tells it from a changed one.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use twox_hash::XxHash3_64;
use umbel_index::layout::Stamp;
use umbel_system::{FileAt, State};

/// Bytes of a sample, and how many there are: the first and last of the file, and six between them. Part of the format.
const SAMPLE: u64 = 4096;
const SAMPLES: u64 = 8;

/// The state of an open file, without its sum.
fn of(state: &State) -> Stamp {
    let State { id, length, modified, changed, .. } = *state;
    Stamp { size: length, modified, changed, device: id.device, inode: id.inode, sum: 0 }
}

/// The state of a file that is about to be read. If it changed within the last ticks of the system's clock, a later change
/// might have the same time, so that this waits until it would not.
pub(crate) fn before_reading(file: &File) -> io::Result<Stamp> {
    /// Two ticks of the slowest clock.
    const TICKS: Duration = Duration::from_millis(20);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut stamp = of(&State::of(file)?);
    let age = (now.as_nanos() as i64).wrapping_sub(stamp.changed);
    if (0..TICKS.as_nanos() as i64).contains(&age) {
        std::thread::sleep(TICKS);
        stamp = of(&State::of(file)?);
    }
    stamp.sum = sum(file, stamp.size)?;
    Ok(stamp)
}

/// Whether the file at `path`, which the system now says is in `state`, is as it was.
pub(crate) fn is_of(stamp: &Stamp, path: &Path, state: &State) -> io::Result<bool> {
    let now = Stamp { sum: stamp.sum, ..of(state) };
    Ok(now == *stamp
        || (now.size, now.modified) == (stamp.size, stamp.modified)
            && sum(&File::open(path)?, stamp.size)? == stamp.sum)
}

/// XXH3-64 of the samples of a file, one after the other; of all of it, if that is less.
fn sum(file: &File, size: u64) -> io::Result<u64> {
    let mut bytes = Vec::new();
    if size <= SAMPLE * SAMPLES {
        bytes.resize(size as usize, 0);
        file.read_exact_at(&mut bytes, 0)?;
    } else {
        bytes.resize((SAMPLE * SAMPLES) as usize, 0);
        for (number, sample) in (0..).zip(bytes.chunks_exact_mut(SAMPLE as usize)) {
            let place = u128::from(size - SAMPLE) * number / u128::from(SAMPLES - 1);
            file.read_exact_at(sample, place as u64)?;
        }
    }
    Ok(XxHash3_64::oneshot(&bytes))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Also where nanoseconds no longer fit 64 bits. File systems that have no such years keep the last one they have.
    #[test]
    fn years_beyond_2038_2106_and_2262_tell_files_apart() {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        fs::write(&path, "text").unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        let mut stamps = Vec::new();
        for seconds in [0, 1 << 31, 1 << 32, (1 << 33) + 1, 10_413_792_000, 13_569_465_600] {
            let time = UNIX_EPOCH + Duration::new(seconds, 999_999_999);
            let Ok(()) = file.set_modified(time) else { continue };
            let stamp = before_reading(&File::open(&path).unwrap()).unwrap();
            assert!(is_of(&stamp, &path, &State::of(&file).unwrap()).unwrap());
            if file.metadata().unwrap().modified().unwrap() == time {
                assert!(!stamps.contains(&stamp.modified), "{seconds}");
                stamps.push(stamp.modified);
            }
        }
        assert!(stamps.len() >= 2, "{stamps:?}");
    }
}

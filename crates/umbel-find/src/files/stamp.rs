//! How to recognize whether a file is still the one that was indexed.
//!
//! Every write sets the time of the last change, which programs cannot set back: as long as it, the size and the inode
//! are the same, so are the bytes. Renaming, copying or restoring a file changes it; then a sum of some of its bytes,
//! its size and its modification time distinguish it from a changed file.

use std::fs::File;
use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::index::layout::Stamp;
use twox_hash::XxHash3_64;
use umbel_io::{FileAt, State};

/// Bytes of a sample, and the number of them: the first and last of the file, and six in between. Part of the format.
const SAMPLE: u64 = 4096;
const SAMPLES: u64 = 8;

/// The state of an open file, without its sum.
fn of(state: &State) -> Stamp {
    let State { id, length, modified, changed, .. } = *state;
    Stamp { size: length, modified, changed, device: id.device, inode: id.inode, sum: 0 }
}

/// The state of a file that is about to be read. If it changed a moment ago, a later change might have the same time,
/// so this waits until that is impossible.
pub(crate) fn before_reading(file: &File) -> io::Result<Stamp> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut stamp = of(&State::of(file)?);
    let wait = unsettled(&stamp, now.as_nanos() as i64);
    if !wait.is_zero() {
        std::thread::sleep(wait);
        stamp = of(&State::of(file)?);
    }
    stamp.sum = sum(file, stamp.size)?;
    Ok(stamp)
}

/// How long from `now` on a change may have the same time as the last one.
fn unsettled(stamp: &Stamp, now: i64) -> Duration {
    /// Two ticks of the slowest clock of a system.
    const TICKS: i64 = 20_000_000;
    /// Some file systems have whole seconds, and FAT every other one.
    const SECOND: i64 = 1_000_000_000;
    let wait = |time: i64| {
        let ticks = if time % SECOND == 0 { 2 * SECOND } else { TICKS };
        let age = now.wrapping_sub(time);
        if (0..ticks).contains(&age) { ticks - age } else { 0 }
    };
    Duration::from_nanos(wait(stamp.changed).max(wait(stamp.modified)).unsigned_abs())
}

/// Whether the file that `open` opens, whose present state is `state`, is unchanged.
pub(crate) fn is_of(
    stamp: &Stamp,
    state: &State,
    open: impl FnOnce() -> io::Result<File>,
) -> io::Result<bool> {
    let now = Stamp { sum: stamp.sum, ..of(state) };
    Ok(now == *stamp
        || (now.size, now.modified) == (stamp.size, stamp.modified)
            && sum(&open()?, stamp.size)? == stamp.sum)
}

/// XXH3-64 of a file's samples, concatenated; of the whole file, if that is shorter.
fn sum(file: &File, size: u64) -> io::Result<u64> {
    let mut bytes = vec![0; size.min(SAMPLE * SAMPLES) as usize];
    if size <= SAMPLE * SAMPLES {
        file.read_exact_at(&mut bytes, 0)?;
    } else {
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

    /// File systems with whole seconds, or with every other one.
    #[test]
    fn a_file_that_changed_a_moment_ago_is_waited_for() {
        const SECOND: i64 = 1_000_000_000;
        let wait = |modified: i64, changed: i64, now: i64| {
            let stamp = Stamp { modified, changed, ..Stamp::default() };
            unsettled(&stamp, now).as_nanos() as i64
        };
        assert_eq!(wait(5, 7 * SECOND + 3, 7 * SECOND + 3), 20_000_000);
        assert_eq!(wait(5, 7 * SECOND + 3, 7 * SECOND + 20_000_003), 0);
        assert_eq!(wait(5, 8 * SECOND, 9 * SECOND + 1), SECOND - 1);
        assert_eq!(wait(8 * SECOND, 0, 9 * SECOND), SECOND, "FAT on Windows has one time");
        assert_eq!(wait(8 * SECOND, 8 * SECOND, 10 * SECOND), 0);
        assert_eq!(wait(9 * SECOND, 9 * SECOND, 8 * SECOND), 0, "a clock that is behind");
    }

    /// Also where nanoseconds no longer fit in 64 bits. File systems without such years keep their last one.
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
            let state = State::of(&file).unwrap();
            assert!(is_of(&stamp, &state, || File::open(&path)).unwrap());
            if file.metadata().unwrap().modified().unwrap() == time {
                assert!(!stamps.contains(&stamp.modified), "{seconds}");
                stamps.push(stamp.modified);
            }
        }
        assert!(stamps.len() >= 2, "{stamps:?}");
    }
}

//! Work that several threads share.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Runs `work` on this thread and on `count` − 1 others, and returns their results once all have ended. If the system starts
/// no more threads, there are fewer: each has to do all that is left to do.
///
/// # Panics
/// If `work` panics on any of them.
pub fn on_each<T: Send>(count: usize, work: impl Fn() -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let spawn = |_| thread::Builder::new().spawn_scoped(scope, &work).ok();
        let others: Vec<_> = (1..count).map_while(spawn).collect();
        let mut results = vec![work()];
        results.extend(
            others
                .into_iter()
                .map(|other| other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))),
        );
        results
    })
}

/// What is said if a job does not work without one more thread.
pub fn no_thread(error: &io::Error) -> String {
    format!(
        "the system starts no more threads: {error}; raise its limit (ulimit -u, or that of the container)"
    )
}

/// The results of `make` for the numbers below `count`, in their order, made on up to `threads` threads.
///
/// # Panics
/// If `make` panics.
pub fn in_order<T: Send>(threads: usize, count: usize, make: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let work = || {
        let numbers = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        numbers.take_while(|&number| number < count).map(|i| (i, make(i))).collect::<Vec<_>>()
    };
    let mut made: Vec<_> = on_each(threads.min(count).max(1), work).into_iter().flatten().collect();
    made.sort_unstable_by_key(|(number, _)| *number);
    made.into_iter().map(|(_, result)| result).collect()
}

//! Work that several threads share.

use std::thread;

/// Runs `work` on this thread and on `count` − 1 others, and returns their results once all have ended.
///
/// # Panics
/// If `work` panics on any of them.
pub(crate) fn on_each<T: Send>(count: usize, work: impl Fn() -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let others: Vec<_> = (1..count).map(|_| scope.spawn(&work)).collect();
        let mut results = vec![work()];
        results.extend(
            others
                .into_iter()
                .map(|other| other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))),
        );
        results
    })
}

//! Work that several threads share.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Runs `work` on this thread and on `count` − 1 others, and returns their results once all have ended. If the system starts
/// no more threads, there are fewer: each one must do whatever work is left.
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

/// The message if a job cannot work without one more thread.
pub fn no_thread(error: &io::Error) -> String {
    format!(
        "cannot start more threads: {error}; raise the system's limit (ulimit -u, or the container's)"
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

/// Does `work` on all parts, each of which may produce more, on up to `threads` threads. Returns each thread's state,
/// which `start` makes. After an error, no other part is begun.
///
/// # Panics
/// If `work` panics on any of them: no other part is begun then.
pub fn on_parts<P: Send, S: Send, E: Send>(
    threads: usize,
    parts: Vec<P>,
    start: impl Fn() -> S + Sync,
    work: impl Fn(P, &mut S) -> Result<Vec<P>, E> + Sync,
) -> Result<Vec<S>, E> {
    let queue = Queue {
        waiting: Mutex::new(Waiting { parts, working: 0, stopped: false }),
        changed: Condvar::new(),
    };
    let run = || {
        let stop = StopOnDrop(&queue);
        let mut state = start();
        while let Some(part) = queue.next() {
            let more = work(part, &mut state)?;
            queue.done(more);
        }
        std::mem::forget(stop);
        Ok(state)
    };
    on_each(threads, run).into_iter().collect()
}

struct Queue<P> {
    waiting: Mutex<Waiting<P>>,
    changed: Condvar,
}

struct Waiting<P> {
    parts: Vec<P>,
    /// Parts in progress, which may produce others.
    working: usize,
    stopped: bool,
}

impl<P> Queue<P> {
    fn lock(&self) -> MutexGuard<'_, Waiting<P>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next part; `None` when there will be no more.
    fn next(&self) -> Option<P> {
        let mut waiting = self.lock();
        while !waiting.stopped {
            if let Some(part) = waiting.parts.pop() {
                waiting.working += 1;
                return Some(part);
            }
            if waiting.working == 0 {
                break;
            }
            waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        None
    }

    /// One part is done, and produced these.
    fn done(&self, more: Vec<P>) {
        let mut waiting = self.lock();
        waiting.working -= 1;
        waiting.parts.extend(more);
        self.changed.notify_all();
    }
}

/// Ends the waiting of the other threads if this one ends by an error or a panic.
struct StopOnDrop<'a, P>(&'a Queue<P>);

impl<P> Drop for StopOnDrop<'_, P> {
    fn drop(&mut self) {
        self.0.lock().stopped = true;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::time::Duration;

    use super::*;

    /// The sum of the parts that were done.
    fn halved(threads: usize, parts: Vec<u64>, bad: u64) -> Result<u64, u64> {
        let states = on_parts(
            threads,
            parts,
            || 0,
            |part: u64, sum: &mut u64| {
                // Other threads wait meanwhile.
                thread::sleep(Duration::from_micros(50));
                match part {
                    _ if part == bad && bad % 2 == 1 => panic!("an odd one"),
                    _ if part == bad => Err(bad),
                    ..2 => {
                        *sum += part;
                        Ok(Vec::new())
                    }
                    _ => Ok(vec![part / 2, part - part / 2]),
                }
            },
        )?;
        Ok(states.into_iter().sum())
    }

    #[test]
    fn all_parts_are_done_with_what_they_give() {
        for threads in 1..5 {
            assert_eq!(halved(threads, vec![100, 0, 7, 43], u64::MAX), Ok(150));
            assert_eq!(halved(threads, Vec::new(), u64::MAX), Ok(0));
        }
    }

    #[test]
    fn an_error_or_a_panic_of_one_thread_ends_the_others() {
        for threads in 1..5 {
            // One part: the other threads wait for the parts that it produces.
            assert_eq!(halved(threads, vec![64], 32), Err(32));
            let halved = || halved(threads, vec![66], 33);
            assert!(catch_unwind(AssertUnwindSafe(halved)).is_err());
        }
    }
}

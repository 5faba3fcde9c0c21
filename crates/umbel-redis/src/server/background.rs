//! Long commands, on a separate thread, so the server answers other commands meanwhile.
//!
//! A job looks its filters up and shares them while it holds the server's lock, works without the lock, and ends with it.
//! There is one thread, and only the running job shares filters. Commands that want to change one of them wait until it has
//! ended, and run before the next job begins; those that cannot wait, as in a transaction, end it themselves.

use std::collections::VecDeque;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use super::api::{self, BlockedClient, Ctx, Str, api};
use super::{Answer, Argument, Context, Handler, Refusal, string};

/// The last step of a job: applies what it made, and replies.
pub(crate) type End = Box<dyn FnOnce(&Context, &[Argument<'_>]) -> Answer + Send>;

/// The work of a job, without the server's lock.
pub(crate) type Job = Box<dyn FnOnce() -> End + Send>;

/// The first step of a job: shares the filters that it needs.
pub(crate) type Begin = fn(&Context, &[Argument<'_>]) -> Result<Job, Refusal>;

/// A client that waits for the answer to its command.
struct Waiting {
    client: *mut BlockedClient,
    arguments: Vec<*mut Str>,
    /// Whether the server was a replica.
    at_replica: bool,
}

// SAFETY: the server's functions for blocked clients may be called by any thread; strings are used with the server's lock.
unsafe impl Send for Waiting {}

struct State {
    jobs: VecDeque<(Waiting, Begin)>,
    /// Commands that wait for the running job.
    writers: VecDeque<(Waiting, Handler)>,
    running: Running,
}

enum Running {
    Nothing,
    Working,
    /// The work is done; the holder of the server's lock ends the job.
    Done(Waiting, End),
}

static STATE: Mutex<State> = Mutex::new(State {
    jobs: VecDeque::new(),
    writers: VecDeque::new(),
    running: Running::Nothing,
});
/// A job was added, or one is done.
static CHANGED: Condvar = Condvar::new();

fn state() -> MutexGuard<'static, State> {
    // No code panics while it is locked.
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Context {
    /// Returns whether a command may leave its client waiting.
    pub(crate) fn can_wait(&self) -> bool {
        let forbidden = api::CONTEXT_DENY_BLOCKING | api::CONTEXT_LUA | api::CONTEXT_MULTI;
        !self.must_obey() && self.flags() & forbidden == 0
    }

    /// Does a job in the background if the client can wait for it, otherwise immediately.
    pub(crate) fn do_job(&self, arguments: &[Argument<'_>], begin: Begin) -> Answer {
        static THREAD: OnceLock<bool> = OnceLock::new();
        let spawn = || std::thread::Builder::new().name("umbel".to_owned()).spawn(work).is_ok();
        if !self.can_wait() || !THREAD.get_or_init(spawn) {
            return begin(self, arguments)?()(self, arguments);
        }
        let waiting = self.wait(arguments);
        state().jobs.push_back((waiting, begin));
        CHANGED.notify_all();
        Ok(())
    }

    /// Runs a command once the running job has ended.
    pub(crate) fn after_job(&self, arguments: &[Argument<'_>], handler: Handler) -> Answer {
        let waiting = self.wait(arguments);
        state().writers.push_back((waiting, handler));
        Ok(())
    }

    fn is_replica(&self) -> bool {
        self.flags() & api::CONTEXT_REPLICA != 0
    }

    fn wait(&self, arguments: &[Argument<'_>]) -> Waiting {
        // SAFETY: a context of the command in progress; its arguments are copied, as they may be freed early.
        unsafe {
            let arguments = arguments.iter().map(|argument| string(argument.bytes())).collect();
            let client = (api().BlockClient)(self.raw, None, None, None, 0);
            (api().SetDisconnectCallback)(client, forget);
            Waiting { client, arguments, at_replica: self.is_replica() }
        }
    }
}

/// Drops the job of a client that has hung up, unless it has begun. Otherwise clients that send a command and leave
/// could keep the thread busy for hours, and their state would fill the server's memory.
unsafe extern "C" fn forget(_: *mut Ctx, client: *mut BlockedClient) {
    let mut locked = state();
    let place = locked.jobs.iter().position(|(waiting, _)| waiting.client == client);
    let job = place.and_then(|place| locked.jobs.remove(place));
    drop(locked);
    if let Some((waiting, _)) = job {
        waiting.end();
    }
}

impl Waiting {
    /// Calls a step of its command. The caller has the server's lock.
    fn step<T>(&self, step: impl FnOnce(&Context, &[Argument<'_>]) -> T) -> Result<T, Refusal> {
        // SAFETY: a blocked client; an argument is a pointer to a string and nothing else.
        unsafe {
            let context =
                Context { raw: (api().GetThreadSafeContext)(self.client), has_command: false };
            let arguments = std::slice::from_raw_parts(
                self.arguments.as_ptr().cast::<Argument<'_>>(),
                self.arguments.len(),
            );
            let call = AssertUnwindSafe(|| step(&context, arguments));
            let done = catch_unwind(call).map_err(|_| Refusal::INTERNAL);
            (api().FreeThreadSafeContext)(context.raw);
            done
        }
    }

    /// Ends its command. The caller has the server's lock.
    fn answer(self, step: impl FnOnce(&Context, &[Argument<'_>]) -> Answer) {
        let answered = self.step(|context, arguments| {
            let answer = match context.is_replica() && !self.at_replica {
                // The server has dropped the client, and must not change its primary's data.
                true => Err(Refusal::Words("UNBLOCKED the server became a replica")),
                false => step(context, arguments),
            };
            if let Err(refusal) = answer {
                context.refuse(&refusal);
            }
        });
        if let Err(refusal) = answered {
            let _ = self.step(|context, _| context.refuse(&refusal));
        }
        self.end();
    }

    /// Unblocks its client. The caller has the server's lock.
    fn end(self) {
        // SAFETY: strings made above, and a client that is unblocked once.
        unsafe {
            self.arguments.iter().for_each(|argument| (api().FreeString)(null_mut(), *argument));
            (api().UnblockClient)(self.client, null_mut::<c_void>());
        }
    }
}

/// The server's lock, for the thread of jobs.
struct Lock(*mut Ctx);

impl Lock {
    fn new() -> Self {
        // SAFETY: a context without a client may be created at any time, and locked once.
        let lock = unsafe { Self((api().GetThreadSafeContext)(null_mut())) };
        loop {
            // SAFETY: as above.
            unsafe { (api().ThreadSafeContextLock)(lock.0) };
            // SAFETY: as above. While the server hands over to a replica, or pauses writes, its data must not change.
            if unsafe { (api().AvoidReplicaTraffic)() } == 0 {
                return lock;
            }
            // SAFETY: locked just above.
            unsafe { (api().ThreadSafeContextUnlock)(lock.0) };
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // SAFETY: locked by this thread; freed once.
        unsafe {
            (api().ThreadSafeContextUnlock)(self.0);
            (api().FreeThreadSafeContext)(self.0);
        }
    }
}

/// The thread of jobs.
fn work() {
    loop {
        let mut locked = state();
        let (waiting, begin) = loop {
            if let Some(job) = locked.jobs.pop_front() {
                break job;
            }
            locked = CHANGED.wait(locked).unwrap_or_else(PoisonError::into_inner);
        };
        drop(locked);
        let lock = Lock::new();
        let job = match waiting.step(begin) {
            Ok(Ok(job)) => job,
            Ok(Err(refusal)) | Err(refusal) => {
                waiting.answer(|_, _| Err(refusal));
                continue;
            }
        };
        state().running = Running::Working;
        drop(lock);
        let end = catch_unwind(AssertUnwindSafe(job));
        let end = end.unwrap_or_else(|_| Box::new(|_, _| Err(Refusal::INTERNAL)));
        state().running = Running::Done(waiting, end);
        CHANGED.notify_all();
        let _lock = Lock::new();
        settle();
    }
}

/// Waits for the running job, ends it, and runs the commands that waited for it. The caller has the server's lock.
pub(crate) fn settle() {
    let mut locked = state();
    let done = loop {
        match std::mem::replace(&mut locked.running, Running::Nothing) {
            Running::Working => locked.running = Running::Working,
            Running::Done(waiting, end) => break Some((waiting, end)),
            Running::Nothing => break None,
        }
        locked = CHANGED.wait(locked).unwrap_or_else(PoisonError::into_inner);
    };
    let writers = std::mem::take(&mut locked.writers);
    drop(locked);
    if let Some((waiting, end)) = done {
        waiting.answer(end);
    }
    writers.into_iter().for_each(|(waiting, handler)| waiting.answer(handler));
}

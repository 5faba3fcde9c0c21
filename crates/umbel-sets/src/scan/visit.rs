//! How the lines of a pass are processed.

use std::sync::Arc;

use crate::prelude::*;

/// The work of one thread on the lines it reads, batch by batch: often a reference to shared data, and its own
/// data. It is called once per batch, so reading is compiled once, not for each kind of work.
pub(crate) trait Work {
    /// Processes lines, in any order; sets `keep[i]` for lines to hand on.
    fn batch(&mut self, lines: &Lines<'_>, keep: &mut [bool]) -> Result<(), Error>;

    /// Receives the lines kept since the last call, all from one input. If the visit is [`ordered`](Visit::ordered),
    /// one thread at a time is called, in the order of the inputs. A thread that keeps the order by other means from
    /// some point on calls `pass` there: the lines of the next chunk may then follow, if these are the last of theirs.
    fn kept(&mut self, _lines: &Lines<'_>, _pass: &dyn Fn()) -> Result<(), Error> {
        Ok(())
    }

    /// Whether there is something to hand on even if no line was kept.
    fn carries(&self) -> bool {
        false
    }

    /// Whether the lines kept so far must be handed on before the next batch.
    fn is_full(&self) -> bool {
        false
    }

    /// Ends the work of the thread.
    fn finish(self: Box<Self>) -> Result<(), Error> {
        Ok(())
    }
}

/// Work on batches alone.
impl<F: FnMut(&Lines<'_>, &mut [bool]) -> Result<(), Error>> Work for F {
    fn batch(&mut self, lines: &Lines<'_>, keep: &mut [bool]) -> Result<(), Error> {
        self(lines, keep)
    }
}

/// Receives a header.
pub(crate) type SeeHeader<'a> = dyn Fn(&[u8]) -> Result<(), Error> + Sync + 'a;

/// A pass over lines: the work of all threads, and its conditions.
pub(crate) struct Visit<'a> {
    /// Makes the work of a thread.
    pub(crate) work: Box<dyn Fn() -> Box<dyn Work + 'a> + Sync + 'a>,
    /// Whether kept lines are handed on in order: a thread that is ahead then waits for its turn.
    pub(crate) ordered: bool,
    /// How many consecutive inputs may be processed at the same time.
    pub(crate) at_once: usize,
    /// Whether two inputs are read side by side, and not one after the other.
    pub(crate) abreast: bool,
    /// Bytes that one line too long for a chunk may use in memory now. Called in the order of the inputs.
    pub(crate) room: Box<dyn Fn() -> u64 + Sync + 'a>,
    /// Receives the header of the first input that has one, before any line.
    pub(crate) header: Box<SeeHeader<'a>>,
}

impl<'a> Visit<'a> {
    /// A visit of all inputs together, in order. `work` makes the work of each thread. A line too long for a chunk may use
    /// `spare` bytes.
    pub(crate) fn new<W: Work + 'a>(spare: u64, work: impl Fn() -> W + Sync + 'a) -> Self {
        Self {
            work: Box::new(move || Box::new(work())),
            ordered: true,
            at_once: usize::MAX,
            abreast: false,
            room: Box::new(move || spare),
            header: Box::new(|_| Ok(())),
        }
    }

    /// Calls `each` with all lines, some at a time, in order.
    pub(crate) fn in_order(
        spare: u64,
        each: impl FnMut(&Lines<'_>) -> Result<(), Error> + Send + 'a,
    ) -> Self {
        let all = |_: &Lines<'_>, keep: &mut [bool]| {
            keep.fill(true);
            Ok(())
        };
        Self::of_some(spare, all, each)
    }

    /// Calls `each` with the lines that `pick` keeps on any thread, some at a time, in order.
    pub(crate) fn of_some(
        spare: u64,
        pick: impl Fn(&Lines<'_>, &mut [bool]) -> Result<(), Error> + Send + Sync + 'a,
        each: impl FnMut(&Lines<'_>) -> Result<(), Error> + Send + 'a,
    ) -> Self {
        let both = Arc::new((pick, Mutex::new(each)));
        Self::new(spare, move || InOrder(Arc::clone(&both)))
    }

    /// Calls `each` with all lines, some at a time, on one thread at a time.
    pub(crate) fn in_any_order(
        spare: u64,
        each: impl FnMut(&Lines<'_>) -> Result<(), Error> + Send + 'a,
    ) -> Self {
        let each = Mutex::new(each);
        let one =
            move |lines: &Lines<'_>, _: &mut [bool]| each.lock().expect("no worker panics")(lines);
        Self::of_some(spare, one, |_| Ok(()))
    }
}

/// Selects lines to keep, and receives them.
struct InOrder<P, F>(Arc<(P, Mutex<F>)>);

impl<P, F> Work for InOrder<P, F>
where
    P: Fn(&Lines<'_>, &mut [bool]) -> Result<(), Error>,
    F: FnMut(&Lines<'_>) -> Result<(), Error>,
{
    fn batch(&mut self, lines: &Lines<'_>, keep: &mut [bool]) -> Result<(), Error> {
        (self.0.0)(lines, keep)
    }

    fn kept(&mut self, lines: &Lines<'_>, _: &dyn Fn()) -> Result<(), Error> {
        self.0.1.lock().expect("no worker panics")(lines)
    }
}

//! What is done with the lines that are read.

use std::sync::Mutex;

use super::Lines;
use crate::Error;

/// Processes the lines of inputs.
pub(crate) trait Visit: Sync {
    /// The state of a worker, from batch to batch.
    type Local: Default;

    fn local(&self) -> Self::Local {
        Self::Local::default()
    }

    /// Receives the header of the first input that has one, before any line.
    fn header(&self, _row: &[u8]) -> Result<(), Error> {
        Ok(())
    }

    /// Processes lines, in any order, on any thread; sets `keep[i]` for lines to hand on in order: by default, all.
    fn batch(
        &self,
        _local: &mut Self::Local,
        _lines: &Lines<'_>,
        keep: &mut [bool],
    ) -> Result<(), Error> {
        keep.fill(true);
        Ok(())
    }

    /// Receives the lines kept by this worker since the last call, all from one input; if it is
    /// [`ordered`](Self::ordered), one thread at a time, in the order of the inputs.
    fn kept(&self, _local: &mut Self::Local, _lines: &Lines<'_>) -> Result<(), Error> {
        Ok(())
    }

    /// As [`kept`](Self::kept), where the order is kept by other means than turns: once `pass` is called, the lines of the
    /// next chunk may follow, if these are the last of their chunk.
    fn kept_in_line(
        &self,
        local: &mut Self::Local,
        lines: &Lines<'_>,
        _pass: &dyn Fn(),
    ) -> Result<(), Error> {
        self.kept(local, lines)
    }

    /// Whether a worker has something to hand on even if no line was kept.
    fn carries(&self, _local: &Self::Local) -> bool {
        false
    }

    /// Whether kept lines are handed on in order: a worker that is ahead then waits for its turn.
    fn ordered(&self) -> bool {
        true
    }

    /// Receives the final state of a worker.
    fn finish(&self, _local: Self::Local) -> Result<(), Error> {
        Ok(())
    }

    /// How many consecutive inputs may be processed at the same time.
    fn inputs_at_once(&self) -> usize {
        usize::MAX
    }

    /// Bytes that one line too long for a chunk may use in memory now; `spare` bytes are reserved for such lines.
    /// Called in the order of the inputs.
    fn room(&self, spare: u64) -> u64 {
        spare
    }
}

/// Calls a function with the lines, some at a time, on one thread at a time.
pub(crate) struct Each<F> {
    work: Mutex<F>,
    in_order: bool,
}

impl<F: FnMut(&Lines<'_>) -> Result<(), Error> + Send> Each<F> {
    /// In the order of the inputs.
    pub(crate) fn in_order(work: F) -> Self {
        Self::new(true, work)
    }

    /// In the order of the inputs, or in any.
    pub(crate) fn new(in_order: bool, work: F) -> Self {
        Self { work: Mutex::new(work), in_order }
    }

    fn call(&self, lines: &Lines<'_>) -> Result<(), Error> {
        self.work.lock().expect("no worker panics")(lines)
    }
}

impl<F: FnMut(&Lines<'_>) -> Result<(), Error> + Send> Visit for Each<F> {
    type Local = ();

    fn batch(&self, (): &mut (), lines: &Lines<'_>, keep: &mut [bool]) -> Result<(), Error> {
        keep.fill(self.in_order);
        if self.in_order { Ok(()) } else { self.call(lines) }
    }

    fn kept(&self, (): &mut (), lines: &Lines<'_>) -> Result<(), Error> {
        self.call(lines)
    }
}

/// Looks at no line: for a pass that only tallies.
pub(crate) struct Nothing;

impl Visit for Nothing {
    type Local = ();

    fn batch(&self, _: &mut (), _: &Lines<'_>, keep: &mut [bool]) -> Result<(), Error> {
        keep.fill(false);
        Ok(())
    }
}

/// A [`Visit`] of an erased type: reading is compiled once, not for each visitor. It is called once per batch.
pub(crate) trait Visitor: Sync {
    /// What one worker does, with its state.
    fn work(&self) -> Box<dyn Work + '_>;
    /// As [`Visit::header`].
    fn header(&self, row: &[u8]) -> Result<(), Error>;
    /// As [`Visit::inputs_at_once`].
    fn inputs_at_once(&self) -> usize;
    /// As [`Visit::room`].
    fn room(&self, spare: u64) -> u64;
}

impl<V: Visit> Visitor for V {
    fn work(&self) -> Box<dyn Work + '_> {
        Box::new(Visiting { visit: self, local: self.local() })
    }

    fn header(&self, row: &[u8]) -> Result<(), Error> {
        Visit::header(self, row)
    }

    fn inputs_at_once(&self) -> usize {
        Visit::inputs_at_once(self)
    }

    fn room(&self, spare: u64) -> u64 {
        Visit::room(self, spare)
    }
}

/// The part of a [`Visit`] that belongs to one worker.
pub(crate) trait Work {
    /// As [`Visit::batch`].
    fn batch(&mut self, lines: &Lines<'_>, keep: &mut [bool]) -> Result<(), Error>;
    /// As [`Visit::kept_in_line`].
    fn kept(&mut self, lines: &Lines<'_>, pass: &dyn Fn()) -> Result<(), Error>;
    /// As [`Visit::carries`].
    fn carries(&self) -> bool;
    /// As [`Visit::ordered`].
    fn ordered(&self) -> bool;
    /// As [`Visit::finish`].
    fn finish(self: Box<Self>) -> Result<(), Error>;
}

/// A visitor and the state of one worker.
struct Visiting<'v, V: Visit> {
    visit: &'v V,
    local: V::Local,
}

impl<V: Visit> Work for Visiting<'_, V> {
    fn batch(&mut self, lines: &Lines<'_>, keep: &mut [bool]) -> Result<(), Error> {
        self.visit.batch(&mut self.local, lines, keep)
    }

    fn kept(&mut self, lines: &Lines<'_>, pass: &dyn Fn()) -> Result<(), Error> {
        self.visit.kept_in_line(&mut self.local, lines, pass)
    }

    fn carries(&self) -> bool {
        self.visit.carries(&self.local)
    }

    fn ordered(&self) -> bool {
        Visit::ordered(self.visit)
    }

    fn finish(self: Box<Self>) -> Result<(), Error> {
        let Self { visit, local } = *self;
        visit.finish(local)
    }
}

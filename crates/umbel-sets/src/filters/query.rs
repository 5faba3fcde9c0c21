//! Finds the lines that may be in a filter, or those that certainly are not.

use std::io::{Read, Write};
use std::sync::Mutex;

use umbel::{AnyFilter, Attributes};
use umbel_foreign::ForeignFilter;

use super::count::one_field;
use super::filter::{Filter, ForeignLines};
use super::room::room_beside;
use super::rows::Places;
use crate::input::{Input, lengths};
use crate::report::Report;
use crate::scan::{Lines, Scanner, Visit};
use crate::sink::Sink;
use crate::{Error, Options};

/// A query of a filter: which lines may be in it, or which certainly are not. Results are in the order of the lines;
/// the header of the first input that has one comes first.
pub struct Query<'a> {
    scanner: Scanner<'a>,
    ask: Ask<'a>,
    options: &'a Options,
    report: Report,
}

impl<'a> Query<'a> {
    /// Queries for lines that may be in `filter`, or with `absent` for those that certainly are not.
    ///
    /// # Errors
    /// [`Error::Memory`]; errors of contradictory [`Records`](crate::Records).
    pub fn new(
        filter: &'a Filter,
        absent: bool,
        out: &'a mut (dyn Write + Send),
        options: &'a Options,
    ) -> Result<Self, Error> {
        let scanner = Scanner::new(options, filter.hasher())?;
        let asked = match filter {
            Filter::Foreign(lines) => {
                one_field(lines.filter().format(), options)?;
                Asked::Foreign(lines)
            }
            Filter::Own(own) => match (own, Places::asked(own, options)?) {
                (AnyFilter::Attributes(rows), Some(places)) => Asked::Rows(rows, places),
                _ => Asked::Keys(own),
            },
        };
        let ask = Ask {
            asked,
            absent,
            flush: false,
            out: Mutex::new(Sink::new(out, options.separator)),
            room: room_beside(filter.bytes(), options)?,
        };
        Ok(Self { scanner, ask, options, report: Report::default() })
    }

    /// Returns the probability that a line passes that was never inserted. For a filter of rows, the worst case for
    /// this query, which is 1 if values of different rows pass together.
    pub fn fpp(&self) -> f64 {
        match &self.ask.asked {
            Asked::Rows(filter, places) => {
                filter.fpp_asked(&places.mask()).expect("the filter's own attributes")
            }
            Asked::Keys(filter) => filter.receipt().fpp,
            Asked::Foreign(lines) => lines.filter().receipt().fpp,
        }
    }

    /// Looks up the lines of files.
    ///
    /// # Errors
    /// Those of reading; [`Error::Output`].
    pub fn inputs(&mut self, inputs: &[Input]) -> Result<(), Error> {
        self.options.progress.expect(lengths(inputs));
        self.ask.flush = false;
        self.report.passed(inputs, &self.scanner.scan(inputs, &self.ask)?);
        self.ask.out.lock().expect("no worker panics").flush()
    }

    /// Looks up lines from a stream: each result is flushed as soon as it is known.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn stream(&mut self, name: &str, source: impl Read) -> Result<(), Error> {
        let before = self.options.progress.done();
        self.ask.flush = true;
        let tally = self.scanner.stream(name, source, &self.ask)?;
        self.report.streamed(&tally, self.options.progress.done() - before);
        Ok(())
    }

    /// Writes the rest and returns the report.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub fn finish(self) -> Result<Report, Error> {
        let Self { ask, mut report, .. } = self;
        ask.out.into_inner().expect("no worker panics").finish(&mut report)?;
        Ok(report)
    }
}

/// What is queried, and for what.
enum Asked<'a> {
    Keys(&'a AnyFilter),
    Rows(&'a Attributes, Places),
    Foreign(&'a ForeignLines),
}

struct Ask<'a> {
    asked: Asked<'a>,
    absent: bool,
    flush: bool,
    out: Mutex<Sink<'a>>,
    room: u64,
}

impl Visit for Ask<'_> {
    type Local = ();

    fn local(&self) {}

    fn header(&self, row: &[u8]) -> Result<(), Error> {
        let mut out = self.out.lock().expect("no worker panics");
        out.header(Some(row))?;
        if self.flush { out.flush() } else { Ok(()) }
    }

    fn batch(&self, (): &mut (), lines: &Lines<'_>, keep: &mut [bool]) -> Result<(), Error> {
        match &self.asked {
            Asked::Rows(filter, places) => places.ask(filter, lines, keep)?,
            Asked::Keys(filter) => filter.contains_all(lines.hashes(), keep),
            Asked::Foreign(foreign) => foreign.ask(lines, keep)?,
        }
        if self.absent {
            for keep in keep {
                *keep = !*keep;
            }
        }
        Ok(())
    }

    fn kept(&self, (): &mut (), lines: &Lines<'_>) -> Result<(), Error> {
        let mut out = self.out.lock().expect("no worker panics");
        out.rows(lines, 0..lines.len())?;
        if self.flush { out.flush() } else { Ok(()) }
    }

    fn room(&self) -> u64 {
        self.room
    }
}

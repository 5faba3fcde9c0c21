//! Finds the lines that may be in a filter, or have a prefix in a list, or the other lines.

use std::borrow::Cow;
use std::io::{Read, Write};
use std::sync::Mutex;

use umbel::{AnyFilter, Attributes, Filter as _, KeyHash, KeyHasher, Scheme};
use umbel_foreign::ForeignFilter;

use super::count::one_field;
use super::filter::{Filter, ForeignLines};
use super::room::room_left;
use super::rows::Indices;
use crate::input::Input;
use crate::report::Report;
use crate::scan::{Lines, Scanner, Visit};
use crate::sink::{RowStyle, Sink};
use crate::{Error, Options};

/// A list of prefixes.
pub trait Listed: Sync {
    /// Sets `found` for the keys that have a prefix in the list.
    fn find_all(&self, keys: &[&[u8]], found: &mut [bool]);

    /// Returns the longest prefix of a key in the list, as text.
    fn longest<'k>(&self, key: &'k [u8]) -> Option<Cow<'k, str>>;

    /// Returns the probability that a key without a prefix in the list is found.
    fn fpp(&self) -> f64;

    /// Returns the bytes of memory that it uses.
    fn bytes(&self) -> u64;
}

/// A query of one or more filters: which lines may be in all of them, or which definitely are not; or of a list of
/// prefixes: which lines have one in it, or none. Results are in the order of the lines, after the first header of the
/// inputs.
pub struct Query<'a> {
    scanner: Scanner<'a>,
    ask: Ask<'a>,
    room: u64,
    report: Report,
}

impl<'a> Query<'a> {
    /// Queries for lines that may be in `filter` and in all of the `others`, or with `absent` for lines that are
    /// definitely missing from one of them.
    ///
    /// # Errors
    /// [`Error::Memory`]; errors of contradictory [`Records`](crate::Records).
    pub fn new(
        filter: &'a Filter,
        others: &'a [Filter],
        absent: bool,
        out: &'a mut (dyn Write + Send),
        options: &'a Options,
    ) -> Result<Self, Error> {
        let scanner = Scanner::new(options, filter.hasher())?;
        let hashed = filter.hasher().scheme();
        let filters = || std::iter::once(filter).chain(others);
        let asked = filters()
            .map(|filter| Queried::new(filter, hashed, options))
            .collect::<Result<_, _>>()?;
        let bytes = filters().map(Filter::bytes).fold(0, u64::saturating_add);
        let ask = Ask {
            wanted: Among::Filters(asked),
            absent,
            flush: false,
            out: Mutex::new(Sink::new(out, options.separator)),
        };
        let room = room_left(bytes, options)?;
        Ok(Self { scanner, ask, room, report: Report::default() })
    }

    /// Queries for lines whose key has a prefix in the list, or with `absent` for the others. With `shown`, each line comes
    /// after its longest prefix in the list, as a column, or with JSON lines as `{"prefix":"192.0.2.0/24","record":…}`.
    ///
    /// The [reader of keys](crate::Normalization::read) in the options reads them as addresses or hosts.
    ///
    /// # Errors
    /// [`Error::Memory`]; errors of contradictory [`Records`](crate::Records).
    pub fn of_list(
        list: &'a dyn Listed,
        absent: bool,
        shown: bool,
        out: &'a mut (dyn Write + Send),
        options: &'a Options,
    ) -> Result<Self, Error> {
        let mut out = Sink::new(out, options.separator);
        let column = options.records.column();
        if shown {
            out = out.with_style(RowStyle::Behind("prefix", column));
        }
        let wanted = Among::Listed { list, shown, json: column.is_none() };
        let ask = Ask { wanted, absent, flush: false, out: Mutex::new(out) };
        let room = room_left(list.bytes(), options)?;
        let scanner = Scanner::new(options, KeyHasher::default())?;
        Ok(Self { scanner, ask, room, report: Report::default() })
    }

    /// Returns the probability that a line in none of the filters passes; for a filter of rows, in the worst case for
    /// this query, which is 1 if values of different rows pass together; for a list, its own rate.
    ///
    /// Filters that hash differently are independent, so their rates are multiplied. Filters of one scheme are not:
    /// for these, the lowest rate counts, which is an upper bound. Filters of other systems are assumed to hash alike.
    pub fn fpp(&self) -> f64 {
        let asked = match &self.ask.wanted {
            Among::Filters(asked) => asked,
            Among::Listed { list, .. } => return list.fpp(),
        };
        let mut lowest: Vec<(Option<Scheme>, f64)> = Vec::new();
        for (scheme, fpp) in asked.iter().map(|asked| (asked.scheme(), asked.fpp())) {
            match lowest.iter_mut().find(|(own, _)| *own == scheme) {
                Some((_, least)) => *least = least.min(fpp),
                None => lowest.push((scheme, fpp)),
            }
        }
        lowest.into_iter().map(|(_, fpp)| fpp).product()
    }

    /// Returns the bytes of memory left for lines, and for a decoder of them.
    pub fn room(&self) -> u64 {
        self.room
    }

    /// Looks up the lines of files.
    ///
    /// # Errors
    /// Read errors; [`Error::NoKey`]; [`Error::Output`].
    pub fn inputs(&mut self, inputs: &[Input]) -> Result<(), Error> {
        self.ask.flush = false;
        self.scanner.read(inputs, self.room, &self.ask, &mut self.report)?;
        self.ask.out.lock().expect("no worker panics").flush()
    }

    /// Looks up lines from a stream: each result is flushed as soon as it is known.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn stream(&mut self, name: &str, source: &mut dyn Read) -> Result<(), Error> {
        self.ask.flush = true;
        self.scanner.read_stream((name, source), self.room, &self.ask, &mut self.report)
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

/// What a line must be in.
enum Among<'a> {
    /// All of these.
    Filters(Vec<Queried<'a>>),
    /// One of them.
    Listed { list: &'a dyn Listed, shown: bool, json: bool },
}

/// A filter that is queried, and how.
enum Queried<'a> {
    /// A filter that uses the scanner's hashes.
    Keys(&'a AnyFilter),
    /// One that hashes keys itself.
    OtherKeys(&'a AnyFilter),
    Rows(&'a Attributes, Indices),
    Foreign(&'a ForeignLines),
}

impl<'a> Queried<'a> {
    /// `hashed` is the scheme of the scanner.
    fn new(filter: &'a Filter, hashed: Scheme, options: &Options) -> Result<Self, Error> {
        Ok(match filter {
            Filter::Foreign(lines) => {
                one_field(lines.filter().format(), options)?;
                Self::Foreign(lines)
            }
            Filter::Own(own) => match (own, Indices::asked(own, options)?) {
                (AnyFilter::Attributes(rows), Some(places)) => Self::Rows(rows, places),
                _ if own.hasher().scheme() == hashed => Self::Keys(own),
                _ => Self::OtherKeys(own),
            },
        })
    }

    /// Whether each line may be in it.
    fn ask(&self, lines: &Lines<'_>, found: &mut [bool]) -> Result<(), Error> {
        match self {
            Self::Rows(filter, places) => places.ask(filter, lines, found)?,
            Self::Keys(filter) => filter.contains_all(lines.hashes(), found),
            Self::OtherKeys(filter) => {
                let hash = |i| filter.hasher().hash(lines.key(i));
                let hashes: Vec<KeyHash> = (0..lines.len()).map(hash).collect();
                filter.contains_all(&hashes, found);
            }
            Self::Foreign(foreign) => foreign.ask(lines, found)?,
        }
        Ok(())
    }

    /// How it hashes; `None` for another system's filter.
    fn scheme(&self) -> Option<Scheme> {
        match self {
            Self::Keys(filter) | Self::OtherKeys(filter) => Some(filter.hasher().scheme()),
            Self::Rows(filter, _) => Some(filter.hasher().scheme()),
            Self::Foreign(_) => None,
        }
    }

    fn fpp(&self) -> f64 {
        match self {
            Self::Rows(filter, places) => {
                filter.query_fpp(&places.mask()).expect("the filter's own attributes")
            }
            Self::Keys(filter) | Self::OtherKeys(filter) => filter.receipt().fpp,
            Self::Foreign(lines) => lines.filter().receipt().fpp,
        }
    }
}

struct Ask<'a> {
    wanted: Among<'a>,
    absent: bool,
    flush: bool,
    out: Mutex<Sink<'a>>,
}

impl Visit for Ask<'_> {
    type Local = ();

    fn header(&self, row: &[u8]) -> Result<(), Error> {
        let mut out = self.out.lock().expect("no worker panics");
        out.header(Some(row))?;
        if self.flush { out.flush() } else { Ok(()) }
    }

    fn batch(&self, (): &mut (), lines: &Lines<'_>, keep: &mut [bool]) -> Result<(), Error> {
        match &self.wanted {
            Among::Filters(asked) => in_all(asked, lines, keep)?,
            Among::Listed { list, .. } => {
                let keys: Vec<_> = (0..lines.len()).map(|i| lines.key(i)).collect();
                list.find_all(&keys, keep);
            }
        }
        keep.iter_mut().for_each(|keep| *keep ^= self.absent);
        Ok(())
    }

    fn kept(&self, (): &mut (), lines: &Lines<'_>) -> Result<(), Error> {
        let mut out = self.out.lock().expect("no worker panics");
        match self.wanted {
            Among::Listed { list, shown: true, json } => {
                for i in 0..lines.len() {
                    let mut prefix = list.longest(lines.key(i)).unwrap_or_default();
                    if json {
                        prefix = format!("\"{prefix}\"").into();
                    }
                    out.row(prefix.as_bytes(), lines.row(i))?;
                }
            }
            _ => out.rows(lines, 0..lines.len())?,
        }
        if self.flush { out.flush() } else { Ok(()) }
    }
}

/// Whether each line may be in all filters.
fn in_all(asked: &[Queried<'_>], lines: &Lines<'_>, keep: &mut [bool]) -> Result<(), Error> {
    let mut asked = asked.iter();
    if let Some(first) = asked.next() {
        first.ask(lines, keep)?;
    }
    for other in asked {
        let mut found = vec![false; lines.len()];
        other.ask(lines, &mut found)?;
        keep.iter_mut().zip(found).for_each(|(keep, found)| *keep &= found);
    }
    Ok(())
}

//! Finds the lines that may be in a filter, or have a prefix in a list, or the other lines.

use std::borrow::Cow;
use std::io::Write;

use umbel::{AnyFilter, Attributes, Filter as _, Scheme};
use umbel_foreign::ForeignFilter;

use super::count::one_field;
use super::filter::Filter;
use super::rows::Indices;
use crate::labels::{LabelColumn, Labels};
use crate::prelude::*;
use crate::sink::{RowStyle, Sink};

/// Finds out which keys have a prefix in a list.
pub type FindPrefixes<'a> = dyn Fn(&[&[u8]], &mut [bool]) + Sync + 'a;

/// Returns the longest prefix of a key in a list, as text.
pub type LongestPrefix<'a> = dyn for<'k> Fn(&'k [u8]) -> Option<Cow<'k, str>> + Sync + 'a;

/// A query of one or more filters: which lines may be in all of them, or in any, and which definitely are not; or of a list
/// of prefixes: which lines have one in it, or none. Results are in the order of the lines, after the first header of the
/// inputs.
pub struct Query<'a> {
    scanner: Scanner<'a>,
    wanted: Among<'a>,
    absent: bool,
    out: Sink<'a>,
    room: u64,
    report: Report,
}

impl<'a> Query<'a> {
    /// Queries for lines that may be in all `filters`, or with `absent` for lines that are definitely missing from one of
    /// them.
    ///
    /// # Errors
    /// [`Error::Memory`]; errors of contradictory [`Records`](crate::Records).
    pub fn new(
        filters: &'a [Filter],
        absent: bool,
        out: &'a mut (dyn Write + Send),
        options: &'a Options,
    ) -> Result<Self, Error> {
        let hasher = filters.first().map_or_else(KeyHasher::default, Filter::hasher);
        let scanner = Scanner::new(options, hasher.clone())?;
        let queried = |filter| Queried::new(filter, hasher.scheme(), options);
        let asked = filters.iter().map(queried).collect::<Result<_, _>>()?;
        let bytes = filters.iter().map(Filter::bytes).fold(0, u64::saturating_add);
        let (room, out) = (scanner.budget.left(bytes)?, Sink::new(out, options.form.records.end()));
        let wanted = Among::Filters { asked, any: false, labels: None };
        Ok(Self { scanner, wanted, absent, out, room, report: Report::default() })
    }

    /// With `any`, queries for lines that may be in at least one of the filters, or are definitely in none.
    #[must_use]
    pub fn any(mut self, any_of_them: bool) -> Self {
        if let Among::Filters { any, .. } = &mut self.wanted {
            *any = any_of_them;
        }
        self
    }

    /// Writes the filters that may have it in front of each line, as a column named `filters`, separated by commas;
    /// with JSON lines, as `{"filters":[1,3],"record":…}`. `names` are the filters' names.
    ///
    /// # Panics
    /// If it is a query of a list, or for absent lines, or if there are not as many names as filters.
    #[must_use]
    pub fn with_labels(mut self, labels: Labels, names: &[String], options: &'a Options) -> Self {
        let records = &options.form.records;
        let Among::Filters { asked, labels: column, .. } = &mut self.wanted else {
            panic!("lists have no labels")
        };
        assert!(!self.absent && asked.len() == names.len(), "each filter has one name");
        *column = Some(LabelColumn::new(labels, names.iter().map(String::as_str), records));
        self.out = self.out.with_style(RowStyle::Behind("filters", records.column()));
        self
    }

    /// Queries for lines whose key has a prefix in a list of `bytes` bytes, or with `absent` for the others. If the `longest`
    /// one is shown, each line comes after it, as a column, or with JSON lines as
    /// `{"prefix":"192.0.2.0/24","record":…}`.
    ///
    /// The [reader of keys](crate::Normalization::read) in the options reads them as addresses or hosts.
    ///
    /// # Errors
    /// [`Error::Memory`]; errors of contradictory [`Records`](crate::Records).
    pub fn of_list(
        find: &'a FindPrefixes<'a>,
        longest: Option<&'a LongestPrefix<'a>>,
        bytes: u64,
        absent: bool,
        out: &'a mut (dyn Write + Send),
        options: &'a Options,
    ) -> Result<Self, Error> {
        let column = options.form.records.column();
        let wanted = Among::Listed { find, longest, json: column.is_none() };
        let scanner = Scanner::new(options, KeyHasher::default())?;
        let room = scanner.budget.left(bytes)?;
        let mut out = Sink::new(out, options.form.records.end());
        if longest.is_some() {
            out = out.with_style(RowStyle::Behind("prefix", column));
        }
        Ok(Self { scanner, wanted, absent, out, room, report: Report::default() })
    }

    /// Returns the probability that a line in none of the filters passes; for a filter of rows, in the worst case for
    /// this query, which is 1 if values of different rows pass together; 1 for a list, which has a rate of its own.
    ///
    /// Filters that hash differently are independent: the probability that all of them pass is the product of their rates,
    /// and that none does is the product of the complements. Filters of one scheme are not: for these, the lowest rate is
    /// an upper bound, and for any of them the sum. Filters of other systems are assumed to hash alike.
    pub fn fpp(&self) -> f64 {
        let Among::Filters { asked, any, .. } = &self.wanted else { return 1.0 };
        let mut schemes: Vec<(Option<Scheme>, f64)> = Vec::new();
        for (scheme, fpp) in asked.iter().map(Queried::fpp) {
            match schemes.iter_mut().find(|(own, _)| *own == scheme) {
                Some((_, rate)) if *any => *rate = (*rate + fpp).min(1.0),
                Some((_, rate)) => *rate = rate.min(fpp),
                None => schemes.push((scheme, fpp)),
            }
        }
        let rates = schemes.into_iter().map(|(_, rate)| rate);
        if *any { 1.0 - rates.map(|rate| 1.0 - rate).product::<f64>() } else { rates.product() }
    }

    /// Returns the bytes of memory left for lines, and for a decoder of them.
    pub fn room(&self) -> u64 {
        self.room
    }

    /// Looks up the lines that are read: for a stream, each result is flushed as soon as it is known.
    ///
    /// # Errors
    /// Read errors; [`Error::NoKey`]; [`Error::Output`].
    pub fn read<'r>(&mut self, from: impl Into<ReadFrom<'r>>) -> Result<(), Error> {
        let from = from.into();
        let flush = matches!(from, ReadFrom::Stream(..));
        let Self { scanner, wanted, absent, out, room, report } = self;
        let out = Mutex::new(out);
        let write = |write: &dyn Fn(&mut Sink<'_>) -> Result<(), Error>| {
            let mut out = out.lock().expect("no worker panics");
            write(&mut out)?;
            if flush { out.flush() } else { Ok(()) }
        };
        let ask = |lines: &Lines<'_>, keep: &mut [bool]| {
            wanted.ask(lines, keep)?;
            keep.iter_mut().for_each(|keep| *keep ^= *absent);
            Ok(())
        };
        let header = Box::new(|row: &[u8]| write(&|out| out.header(Some(row))));
        let rows = |lines: &Lines<'_>| write(&|out| wanted.write(lines, out));
        let visit = Visit { header, ..Visit::of_some(*room, ask, rows) };
        report.add(scanner.read(from, &visit)?);
        drop(visit);
        self.out.flush()
    }

    /// Writes the rest and returns the report.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub fn finish(self) -> Result<Report, Error> {
        self.out.finish(self.report)
    }
}

/// The filters or the list that lines are looked up in.
enum Among<'a> {
    /// All of these, or any; the labels in front of each line show which ones.
    Filters { asked: Vec<Queried<'a>>, any: bool, labels: Option<LabelColumn<'a>> },
    /// A prefix list; shows the longest prefix if `longest` is set, for JSON lines if `json`.
    Listed { find: &'a FindPrefixes<'a>, longest: Option<&'a LongestPrefix<'a>>, json: bool },
}

impl Among<'_> {
    /// Sets `found` for the lines that are or may be in it.
    fn ask(&self, lines: &Lines<'_>, found: &mut [bool]) -> Result<(), Error> {
        match self {
            Self::Filters { asked, any, .. } => {
                found.fill(!any);
                let mut one = vec![false; lines.len()];
                for asked in asked {
                    asked.ask(lines, &mut one)?;
                    for (found, one) in found.iter_mut().zip(&one) {
                        *found = if *any { *found | one } else { *found & one };
                    }
                }
            }
            Self::Listed { find, .. } => {
                let keys: Vec<_> = (0..lines.len()).map(|i| lines.key(i)).collect();
                find(&keys, found);
            }
        }
        Ok(())
    }

    /// Writes lines, with their prefixes or filters if these are shown.
    fn write(&self, lines: &Lines<'_>, out: &mut Sink<'_>) -> Result<(), Error> {
        if let Self::Filters { asked, labels: Some(labels), .. } = self {
            let mut holds = vec![vec![false; lines.len()]; asked.len()];
            asked.iter().zip(&mut holds).try_for_each(|(asked, holds)| asked.ask(lines, holds))?;
            let mut text = Vec::new();
            return (0..lines.len()).try_for_each(|line| {
                labels.write(|filter| holds[filter][line], &mut text);
                out.row(&text, lines.row(line))
            });
        }
        let Self::Listed { longest: Some(longest), json, .. } = self else {
            return out.rows(lines, 0..lines.len());
        };
        for i in 0..lines.len() {
            let mut prefix = longest(lines.key(i)).unwrap_or_default();
            if *json {
                prefix = format!("\"{prefix}\"").into();
            }
            out.row(prefix.as_bytes(), lines.row(i))?;
        }
        Ok(())
    }
}

/// A filter that is queried, and how.
struct Queried<'a> {
    filter: &'a Filter,
    /// Whether it uses the scanner's hashes, if it is one of umbel's.
    hashed: bool,
    /// For a filter of rows.
    places: Option<Indices>,
}

impl<'a> Queried<'a> {
    /// `hashed` is the scheme of the scanner.
    fn new(filter: &'a Filter, hashed: Scheme, options: &Options) -> Result<Self, Error> {
        let places = match filter {
            Filter::Own(own) => Indices::of(own, options, Attributes::indices)?,
            Filter::Foreign(lines) => {
                one_field(lines.filter.format(), &options.form)?;
                None
            }
        };
        Ok(Self { filter, hashed: filter.hasher().scheme() == hashed, places })
    }

    /// Whether each line may be in it.
    fn ask(&self, lines: &Lines<'_>, found: &mut [bool]) -> Result<(), Error> {
        match (self.filter, &self.places) {
            (Filter::Own(AnyFilter::Attributes(filter)), Some(places)) => {
                places.ask(filter, lines, found)?;
            }
            (Filter::Own(filter), _) if self.hashed => filter.contains_all(lines.hashes(), found),
            (Filter::Own(filter), _) => {
                let hash = |i| filter.hasher().hash(lines.key(i));
                let hashes: Vec<KeyHash> = (0..lines.len()).map(hash).collect();
                filter.contains_all(&hashes, found);
            }
            (Filter::Foreign(foreign), _) => foreign.ask(lines, found)?,
        }
        Ok(())
    }

    /// How it hashes, or `None` for another system's filter; and its rate.
    fn fpp(&self) -> (Option<Scheme>, f64) {
        match (self.filter, &self.places) {
            (Filter::Foreign(lines), _) => (None, lines.filter.receipt().fpp),
            (Filter::Own(AnyFilter::Attributes(filter)), Some(places)) => {
                let fpp = filter.query_fpp(&places.mask()).expect("the filter's own attributes");
                (Some(filter.hasher().scheme()), fpp)
            }
            (Filter::Own(filter), _) => (Some(filter.hasher().scheme()), filter.receipt().fpp),
        }
    }
}

/// Looks up the lines of `inputs` in a filter of keys, on all threads, and calls `each` in order with the hashes of
/// lines that may be in it. `beside` is the number of bytes that the caller uses, without the filter.
///
/// # Errors
/// Read errors; [`Error::NoKey`]; [`Error::Memory`].
pub fn hits(
    inputs: &[Input],
    filter: &AnyFilter,
    beside: u64,
    each: &mut (dyn FnMut(&[KeyHash]) + Send),
    options: &Options,
) -> Result<Report, Error> {
    let scanner = Scanner::new(options, filter.hasher().clone())?;
    let room = scanner.budget.left(filter.bytes().saturating_add(beside))?;
    let mut found = 0;
    let ask = |lines: &Lines<'_>, keep: &mut [bool]| {
        filter.contains_all(lines.hashes(), keep);
        Ok(())
    };
    let see = |lines: &Lines<'_>| {
        found += lines.len() as u64;
        each(lines.hashes());
        Ok(())
    };
    let report = scanner.read(inputs, &Visit::of_some(room, ask, see))?;
    Ok(Report { found, ..report })
}

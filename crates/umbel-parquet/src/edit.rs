//! The changes to make to the filters of a file, and the changes made.

use std::fmt;

/// Which filters to add and to remove.
#[derive(Clone, Debug)]
pub struct Edit {
    /// Paths of columns that get filters.
    pub add: Vec<String>,
    /// The columns whose filters are removed.
    pub remove: Removal,
    /// The highest rate of a new filter.
    pub fpp: f64,
    /// Whether filters are also added where they would not help.
    pub always: bool,
}

/// The columns whose filters are removed before others are added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removal {
    /// The columns with these paths.
    Of(Vec<String>),
    /// All.
    All,
}

/// A summary of the changes made.
#[derive(Clone, Debug, Default)]
pub struct Edited {
    /// The columns to which filters were to be added, in the order of the schema.
    pub columns: Vec<Added>,
    /// The columns whose filters were removed, in the order of the schema, and how many filters each had.
    pub removed: Vec<(String, usize)>,
    /// Bytes of removed filters that stay in the file, because something else is behind them.
    pub unreachable: u64,
    /// Bytes read of values.
    pub bytes_read: u64,
    /// Bytes of the new file; 0 if nothing changes and no file is written.
    pub bytes_written: u64,
}

/// The filters that a column got.
#[derive(Clone, Debug)]
pub struct Added {
    /// The path of the column.
    pub column: String,
    /// The filters, in the order of row groups.
    pub filters: Vec<NewFilter>,
    /// Row groups without a new filter, and why.
    pub left_out: Vec<(usize, Reason)>,
}

impl Added {
    /// The row groups without a new filter, by the reason.
    pub fn by_reason(&self) -> impl Iterator<Item = (Reason, Vec<usize>)> {
        Reason::ALL.into_iter().filter_map(|reason| {
            let groups = self.left_out.iter().filter(|(_, why)| *why == reason);
            let groups: Vec<_> = groups.map(|(group, _)| *group).collect();
            (!groups.is_empty()).then_some((reason, groups))
        })
    }
}

/// A new filter.
#[derive(Clone, Copy, Debug)]
pub struct NewFilter {
    /// The number of the row group.
    pub row_group: usize,
    /// Bytes of the filter, with its header.
    pub bytes: u64,
    /// The number of different values, estimated from its bits.
    pub keys: f64,
    /// Its rate, from its bits.
    pub fpp: f64,
}

/// Why a row group got no filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// DuckDB would not find its values: [`Column::is_read_as_float`](crate::footer::Column::is_read_as_float).
    ReadAsFloat,
    /// It has one.
    Present,
    /// It has no values.
    Empty,
    /// Minimum and maximum are the same value.
    OneValue,
    /// All values are in the dictionary.
    Dictionary,
    /// There are few different values, each many times.
    FewValues,
}

impl Reason {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::ReadAsFloat,
        Self::Present,
        Self::Empty,
        Self::OneValue,
        Self::Dictionary,
        Self::FewValues,
    ];

    /// Its name for programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadAsFloat => "read_as_float",
            Self::Present => "present",
            Self::Empty => "empty",
            Self::OneValue => "one_value",
            Self::Dictionary => "dictionary",
            Self::FewValues => "few_values",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReadAsFloat => {
                "DuckDB reads such values as wider floats, and would miss them in a filter"
            }
            Self::Present => "has a filter already",
            Self::Empty => "no values",
            Self::OneValue => "one value, which minimum and maximum already show",
            Self::Dictionary => "all values are in the dictionary",
            Self::FewValues => "few different values",
        })
    }
}

//! Settings that guard, keeper and rebuild must share, and the names of the keys.

use std::path::PathBuf;
use std::time::Duration;

/// The settings of one guarded table. All processes use the same, except for `patience` and `umbel`.
///
/// `table`, `key` and `row` become part of SQL: they are configuration, never input.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Names the filter.
    pub name: String,
    /// Addresses of the servers, primary or replica; the first that answers as a primary is used.
    pub redis: Vec<String>,
    /// How to connect to PostgreSQL: to its primary.
    pub postgres: String,
    /// The table.
    pub table: String,
    /// Its column of keys: unique, and of text, integers or uuid, where equal keys have one text.
    pub key: String,
    /// The content to read of a row: an expression over its columns, read as text.
    pub row: String,
    /// False positive rate: the share of absent keys that still reach the table.
    pub fpp: f64,
    /// Room in a new filter, as a multiple of the present keys.
    pub headroom: f64,
    /// Whether the filter counts, and so drops deleted keys. It is then some 4 times as large.
    pub deletes: bool,
    /// A file with the secret of a keyed hash, which keeps attackers from computing keys that pass the filter. The server has the
    /// same one in its setting `secret-files`.
    pub secret: Option<PathBuf>,
    /// How long a guard waits for the filter's server before it asks the table. If it is shorter than the delays on a loaded host,
    /// the table gets unnecessary requests.
    pub patience: Duration,
    /// How long the keeper vouches for the filter each time.
    pub lease: Duration,
    /// How long rows stay in the cache.
    pub cached: Duration,
    /// How long entries stay in the journal: copies of the filter that lag longer are rebuilt.
    pub journal: Duration,
    /// The program `umbel`.
    pub umbel: PathBuf,
}

impl Settings {
    /// Settings for a table: a counting filter with room for half as many more keys, at 1 %, and a lease of one second.
    pub fn new(table: &str, key: &str, row: &str, redis: Vec<String>, postgres: &str) -> Self {
        Self {
            name: table.to_owned(),
            redis,
            postgres: postgres.to_owned(),
            table: table.to_owned(),
            key: key.to_owned(),
            row: row.to_owned(),
            fpp: 0.01,
            headroom: 1.5,
            deletes: true,
            secret: None,
            patience: Duration::from_millis(250),
            lease: Duration::from_secs(1),
            cached: Duration::from_secs(60),
            journal: Duration::from_secs(3600),
            umbel: PathBuf::from("umbel"),
        }
    }

    /// The longest time until a committed row is found, or a filter without it is no longer vouched for. A tenth more than the
    /// lease, because clocks differ in speed.
    pub(crate) fn settled(&self) -> Duration {
        self.lease + self.lease / 10
    }

    /// The key of the voucher.
    pub(crate) fn voucher(&self) -> String {
        format!("{{{}}}:voucher", self.name)
    }

    /// The key of a cached row.
    pub(crate) fn cached_row(&self, key: &str) -> String {
        format!("{}:row:{key}", self.name)
    }

    /// The keys of the filter that answers.
    pub(crate) fn current(&self) -> Copy {
        Copy::named(&format!("{{{}}}", self.name))
    }

    /// The keys of the filter that a rebuild makes.
    pub(crate) fn next(&self) -> Copy {
        Copy::named(&format!("{{{}}}:next", self.name))
    }
}

/// The keys of a filter and its state. The braces keep them on one node.
pub(crate) struct Copy {
    /// The filter.
    pub(crate) filter: String,
    /// Which build it is from (`build`), the xid before which it has everything (`position`), and whether it has a secret (`keyed`).
    pub(crate) state: String,
    /// The journal entries that it has, of transactions from the position on.
    pub(crate) done: String,
}

impl Copy {
    fn named(name: &str) -> Self {
        Self {
            filter: format!("{name}:filter"),
            state: format!("{name}:state"),
            done: format!("{name}:done"),
        }
    }
}

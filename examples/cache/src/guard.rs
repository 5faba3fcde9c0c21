//! Reads and writes of a service: filter, cache, table.

use std::thread;
use std::time::Instant;

use postgres::{Client, NoTls, Statement, Transaction};
use redis::Pipeline;

use crate::journal::{self, Entry};
use crate::key::Keys;
use crate::server::{Server, read};
use crate::{Error, Settings};

/// Answers requests for rows, and writes them. Use one per thread.
pub struct Guard {
    settings: Settings,
    server: Server,
    database: Client,
    keys: Keys,
    read: Statement,
}

/// The row of a key, if it exists, and the source of this answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The row, as text.
    pub row: Option<String>,
    /// The source.
    pub source: Source,
}

/// The source of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The key itself: it is not an integer or a UUID, as the table's keys are.
    Key,
    /// The filter: the row does not exist.
    Filter,
    /// The cache.
    Cache,
    /// The table; the filter does not rule the key out.
    Table,
    /// The table, because the filter could not be trusted.
    Open(Why),
}

impl Why {
    fn of(error: &Error) -> Self {
        match error {
            Error::Resting => Self::Resting,
            Error::Server(error) if error.is_timeout() => Self::Late,
            Error::Server(error) if error.code().is_some() => Self::Refused,
            _ => Self::Unreachable,
        }
    }
}

/// Why a filter could not be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Why {
    /// No connection to a primary.
    Unreachable,
    /// The answer did not come in time: within [`Settings::patience`].
    Late,
    /// A server did not answer a moment ago, and nothing has been sent since.
    Resting,
    /// The server answered with an error: it lacks the secret, or a permission.
    Refused,
    /// The server has no such filter.
    NoFilter,
    /// No keeper vouches for it: it may lag.
    NotVouched,
}

impl Guard {
    /// Connects to the database. The server of the filter may be down.
    ///
    /// # Errors
    /// If the database cannot be reached, or has no such table; [`Error::Key`] or [`Error::NoKey`] if the column cannot be guarded;
    /// if an address is invalid.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        let mut database = Client::connect(&settings.postgres, NoTls)?;
        let Settings { table, key, row, .. } = &settings;
        let keys = Keys::of(&mut database, &settings)?;
        let kind = keys.sql();
        let read = format!("SELECT ({row})::text FROM {table} WHERE {key} = $1::text::{kind}");
        let read = database.prepare(&read)?;
        let server = Server::new(&settings, settings.patience)?;
        Ok(Self { settings, server, database, keys, read })
    }

    /// The row of a key: one round trip to the filter and the cache, and one to the table if they do not decide.
    ///
    /// # Errors
    /// When the table is needed and the database fails.
    pub fn get(&mut self, key: &str) -> Result<Answer, Error> {
        let Some(key) = &self.keys.printed(key) else {
            return Ok(Answer { row: None, source: Source::Key });
        };
        let source = match self.ask_filter(key) {
            Ok(Reply::Cached(row)) => {
                return Ok(Answer { row: Some(row), source: Source::Cache });
            }
            Ok(Reply::Absent) => return Ok(Answer { row: None, source: Source::Filter }),
            Ok(Reply::Maybe) => Source::Table,
            Err(why) => Source::Open(why),
        };
        let row = self.database.query_opt(&self.read, &[key])?;
        let row = row.map(|row| row.get::<_, Option<String>>(0).unwrap_or_default());
        if let Some(row) = &row
            && !matches!(source, Source::Open(Why::Unreachable | Why::Late | Why::Resting))
        {
            let mut store = Pipeline::new();
            let milliseconds = self.settings.cached.as_millis() as u64;
            store.cmd("SET").arg(self.settings.cached_row(key)).arg(row);
            store.arg("PX").arg(milliseconds);
            // Without it the next request reads the table again.
            let _ = self.server.ask(&store);
        }
        Ok(Answer { row, source })
    }

    fn ask_filter(&mut self, key: &str) -> Result<Reply, Why> {
        let mut question = Pipeline::new();
        question.cmd("MGET").arg(self.settings.cached_row(key)).arg(self.settings.voucher());
        question.cmd("UM.EXISTS").arg(self.settings.current().filter).arg(key);
        let (mut answers, history) = self.server.ask(&question).map_err(|error| Why::of(&error))?;
        let (exists, mget) = (answers.pop(), answers.pop());
        let (row, voucher): (Option<String>, Option<String>) =
            read(mget).map_err(|_| Why::Refused)?;
        if let Some(row) = row {
            return Ok(Reply::Cached(row));
        }
        let exists: bool = read(exists).map_err(|error| match error.code() {
            Some("NOFILTER") => Why::NoFilter,
            _ => Why::Refused,
        })?;
        match exists {
            true => Ok(Reply::Maybe),
            // The voucher was read before the filter and the history after it: all three are of one history.
            false if voucher.as_deref() == Some(history.name()) => Ok(Reply::Absent),
            false => Err(Why::NotVouched),
        }
    }

    /// Runs a transaction and commits it, then adds its new keys to the filter.
    ///
    /// Once this returns, every guard finds the rows. Usually that takes one round trip. If the filter cannot be reached, or no
    /// keeper vouches for it, this waits until vouchers for any filter without the keys must have expired: a little longer than the
    /// lease.
    ///
    /// # Errors
    /// When the database refuses. If the commit itself failed, it may have happened; then the keeper adds the keys.
    pub fn write<T>(
        &mut self,
        work: impl FnOnce(&mut Transaction<'_>) -> Result<T, postgres::Error>,
    ) -> Result<T, Error> {
        let mut transaction = self.database.transaction()?;
        let done = work(&mut transaction)?;
        let entries = journal::of_transaction(&mut transaction, &self.settings)?;
        transaction.commit()?;
        let committed = Instant::now();
        let is_known = self.announce(&entries);
        if !is_known && entries.iter().any(|entry| entry.added) {
            thread::sleep(self.settings.settled().saturating_sub(committed.elapsed()));
        }
        Ok(done)
    }

    /// Adds keys to the filter, and drops the cached rows of all. Returns whether every guard finds the added ones from now on.
    ///
    /// Deletions are left to the keeper: it knows that the key was added before. Deleting a key that was not added would remove
    /// bits of other keys.
    fn announce(&mut self, entries: &[Entry]) -> bool {
        if entries.is_empty() {
            return true;
        }
        let mut news = journal::apply(entries.iter().filter(|entry| entry.added), &self.settings);
        let scripts = news.len();
        let rows = entries.iter().map(|entry| self.settings.cached_row(&entry.key));
        news.cmd("DEL").arg(rows.collect::<Vec<_>>());
        let Ok((answers, history)) = self.server.ask(&news) else { return false };
        // Whether each script found the filter vouched for in this history.
        answers.into_iter().take(scripts).all(|answer| {
            let voucher = read::<Option<String>>(Some(answer));
            voucher.is_ok_and(|voucher| voucher.as_deref() == Some(history.name()))
        })
    }
}

/// The reply of filter and cache.
enum Reply {
    Cached(String),
    Absent,
    Maybe,
}

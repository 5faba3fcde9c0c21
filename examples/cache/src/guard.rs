//! Reads and writes of a service: filter, cache, table.

use std::thread;
use std::time::Instant;

use postgres::{Client, NoTls, Statement, Transaction};
use redis::{Pipeline, RedisResult, Value};

use crate::journal::{self, Entry};
use crate::key::Keys;
use crate::server::{History, Server, read};
use crate::{Error, Settings};

/// Answers requests for rows, and writes them. One for each thread.
pub struct Guard {
    settings: Settings,
    server: Server,
    database: Client,
    keys: Keys,
    read: Statement,
}

/// The row of a key, if there is one, and where that is known from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The row, as text.
    pub row: Option<String>,
    /// Where it comes from.
    pub source: Source,
}

/// Where an answer comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The key itself: it is no integer or no UUID, as the table's keys are.
    Key,
    /// The filter: there is no such row.
    Filter,
    /// The cache.
    Cache,
    /// The table; the filter does not rule the key out.
    Table,
    /// The table, because the filter could not be believed.
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

/// Why a filter could not be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Why {
    /// No server could be connected to that is a primary.
    Unreachable,
    /// The answer did not come in time: within [`Settings::patience`].
    Late,
    /// One did not answer a moment ago, and nothing has been sent since.
    Resting,
    /// The server answered with an error: it lacks the secret, or a permission.
    Refused,
    /// The server has no such filter.
    NoFilter,
    /// Nobody vouches for it: it may lag.
    NotVouched,
}

impl Guard {
    /// Connects to the database. The server of the filter may be down.
    ///
    /// # Errors
    /// When the database cannot be reached, or has no such table; [`Error::Key`] or [`Error::NoKey`] if the column cannot be guarded;
    /// when an address is none.
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

    /// The row of a key: one round trip to the filter and the cache, and one to the table if they do not settle it.
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
            // Without it the next request asks the table again.
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
    /// From when this returns, every guard finds the rows. Usually that is after one round trip. If the filter cannot be
    /// reached, or nobody vouches for it, this waits for as long as somebody could still vouch for a filter without the keys
    /// somewhere: a little longer than the lease.
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

    /// Adds keys to the filter, and drops what is cached of all. Returns whether every guard finds the added ones from now on.
    ///
    /// Deletions are left to the keeper: it knows that the key was added before. Deleting a key that was not would take
    /// bits of others.
    fn announce(&mut self, entries: &[Entry]) -> bool {
        if entries.is_empty() {
            return true;
        }
        let mut news = journal::apply(entries.iter().filter(|entry| entry.added), &self.settings);
        let scripts = news.len();
        let rows = entries.iter().map(|entry| self.settings.cached_row(&entry.key));
        news.cmd("DEL").arg(rows.collect::<Vec<_>>());
        let Ok((answers, history)) = self.server.ask(&news) else { return false };
        answers.into_iter().take(scripts).all(|answer| is_vouched(Some(answer), &history))
    }
}

/// What filter and cache say.
enum Reply {
    Cached(String),
    Absent,
    Maybe,
}

/// Whether a script found the filter vouched for in this history.
fn is_vouched(voucher: Option<RedisResult<Value>>, history: &History) -> bool {
    read::<Option<String>>(voucher).is_ok_and(|voucher| voucher.as_deref() == Some(history.name()))
}

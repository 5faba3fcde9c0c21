//! Shared by keeper and rebuild: the lock that only one of each holds, and applying missing journal entries to a filter.

use postgres::Client;
use redis::{FromRedisValue, Pipeline, RedisResult, Value};

use crate::server::{History, Server, read};
use crate::settings::Copy;
use crate::{Error, Settings, journal};

/// Whether this connection got a lock of the database, which it keeps until it ends.
pub(crate) fn lock(
    database: &mut Client,
    settings: &Settings,
    purpose: &str,
) -> Result<bool, Error> {
    let name = format!("umbel-cache {purpose} {}", settings.name);
    Ok(database.query_one("SELECT pg_try_advisory_lock(hashtextextended($1, 0))", &[&name])?.get(0))
}

/// A filter that has everything that was committed.
pub(crate) struct CaughtUp {
    pub(crate) build: String,
    pub(crate) history: History,
    pub(crate) entries: usize,
    pub(crate) position: i64,
}

/// Adds missing journal entries to a filter. `None` if the filter does not exist, or the journal does not reach back to it.
///
/// The script skips entries that were applied before: a counting filter counts each once.
pub(crate) fn catch_up(
    server: &mut Server,
    database: &mut Client,
    settings: &Settings,
    copy: &Copy,
) -> Result<Option<CaughtUp>, Error> {
    let mut read = Pipeline::new();
    read.cmd("HMGET").arg(&copy.state).arg("build").arg("position");
    // Only whether it fails matters. A filter that lost writes gives the same error as a missing one.
    read.cmd("UM.EXISTS").arg(&copy.filter).arg("");
    let (mut answers, history) = server.ask(&read)?;
    match answers.pop() {
        Some(Err(error)) if error.code() == Some("NOFILTER") => return Ok(None),
        Some(Err(error)) => return Err(error.into()),
        _ => {}
    }
    let state: (Option<String>, Option<i64>) = first(answers)?;
    let (Some(build), Some(position)) = state else { return Ok(None) };
    let since = journal::since(database, settings, position)?;
    if !since.is_complete {
        return Ok(None);
    }
    let mut apply = journal::apply(since.entries.iter(), settings);
    apply.cmd("EVAL").arg(include_str!("../scripts/advance.lua")).arg(2);
    apply.arg(&copy.state).arg(&copy.done).arg(&build).arg(since.position);
    let (answers, after) = server.ask(&apply)?;
    let answers = answers.into_iter().collect::<RedisResult<Vec<_>>>()?;
    // If another filter or server took its place in the meantime, the next round reads everything again.
    let is_same = answers.last().is_some_and(|answer| *answer == Value::Int(1));
    if !is_same || after != history {
        return Err(Error::Superseded);
    }
    let entries = since.entries.len();
    Ok(Some(CaughtUp { build, history, entries, position: since.position }))
}

/// The first answer.
pub(crate) fn first<T: FromRedisValue>(answers: Vec<RedisResult<Value>>) -> Result<T, Error> {
    Ok(read(answers.into_iter().next())?)
}

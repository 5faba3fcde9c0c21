//! The connection to the filter's server: finds the primary, limits waiting times, and knows whose data it sees.

use std::time::{Duration, Instant};

use redis::{Client, Connection, ErrorKind, FromRedisValue, Pipeline};
use redis::{RedisError, RedisResult, Value};

use crate::{Error, Settings};

/// The history of a server's data: its replication id as a primary.
///
/// It is new whenever a server starts, and whenever a replica becomes a primary, because that may lack the last writes. So a
/// voucher in one history is void in another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct History(String);

impl History {
    /// Reads it from `INFO replication`; `None` for a replica.
    pub(crate) fn of(info: &Value) -> Option<Self> {
        let info = String::from_redis_value_ref(info).ok()?;
        let field = |name: &str| info.lines().find_map(|line| line.strip_prefix(name));
        (field("role:")? == "master").then_some(())?;
        Some(Self(field("master_replid:")?.to_owned()))
    }

    pub(crate) fn name(&self) -> &str {
        &self.0
    }
}

/// The answers to commands, and the history of the server that gave them.
type Answers = (Vec<RedisResult<Value>>, History);

/// Reads an answer.
pub(crate) fn read<T: FromRedisValue>(answer: Option<RedisResult<Value>>) -> RedisResult<T> {
    let missing = || RedisError::from((ErrorKind::Parse, "an answer is missing"));
    Ok(T::from_redis_value(answer.ok_or_else(missing)??)?)
}

/// A connection made on demand.
pub(crate) struct Server {
    clients: Vec<Client>,
    connection: Option<Connection>,
    patience: Duration,
    /// Whether the last question got no answer. A single answer may be late on a busy host.
    failed: bool,
    /// A server that failed twice in a row gets no requests until then; otherwise every request would wait for it.
    rests_until: Option<Instant>,
}

impl Server {
    /// Does not connect yet.
    pub(crate) fn new(settings: &Settings, patience: Duration) -> Result<Self, Error> {
        let clients = settings.redis.iter().map(|address| Client::open(address.as_str()));
        let clients = clients.collect::<RedisResult<_>>()?;
        Ok(Self { clients, connection: None, patience, failed: false, rests_until: None })
    }

    /// Sends commands together; returns the answer to each, which may be an error. `INFO replication` is sent with them as
    /// the last one.
    ///
    /// # Errors
    /// If no primary answers in time. The commands may have been executed or not.
    pub(crate) fn ask(&mut self, commands: &Pipeline) -> Result<Answers, Error> {
        if self.rests_until.is_some_and(|end| Instant::now() < end) {
            return Err(Error::Resting);
        }
        let answer = self.try_ask(commands);
        if answer.is_err() {
            // A late reply would be taken for the answer to the next question.
            self.connection = None;
        }
        let failed_again = answer.is_err() && self.failed;
        self.failed = answer.is_err();
        self.rests_until = failed_again.then(|| Instant::now() + self.patience);
        answer
    }

    fn try_ask(&mut self, commands: &Pipeline) -> Result<Answers, Error> {
        if self.connection.is_none() {
            self.connection = Some(self.primary()?);
        }
        let connection = self.connection.as_mut().ok_or(Error::NoPrimary)?;
        let mut commands = commands.clone();
        commands.cmd("INFO").arg("replication").ignore_errors();
        let mut answers: Vec<RedisResult<Value>> = commands.query(connection)?;
        let info = answers.pop().ok_or(Error::NoPrimary)??;
        Ok((answers, History::of(&info).ok_or(Error::NoPrimary)?))
    }

    /// Connects to the first server that answers as a primary.
    fn primary(&self) -> Result<Connection, Error> {
        let mut failed = Error::NoPrimary;
        for client in &self.clients {
            match self.connect(client) {
                Ok(Some(connection)) => return Ok(connection),
                Ok(None) => {}
                Err(error) if error.is_timeout() => failed = error.into(),
                Err(_) => {}
            }
        }
        Err(failed)
    }

    /// Connects to a server; `None` if it is not a primary.
    fn connect(&self, client: &Client) -> RedisResult<Option<Connection>> {
        let mut connection = client.get_connection_with_timeout(self.patience)?;
        connection.set_read_timeout(Some(self.patience))?;
        connection.set_write_timeout(Some(self.patience))?;
        let info = redis::cmd("INFO").arg("replication").query(&mut connection)?;
        Ok(History::of(&info).map(|_| connection))
    }
}

//! The connection to the server of the filter: finds the primary, waits no longer than it may, and knows whose data it sees.

use std::time::{Duration, Instant};

use redis::{Client, Connection, ErrorKind, FromRedisValue, Pipeline};
use redis::{RedisError, RedisResult, Value};

use crate::{Error, Settings};

/// The history of a server's data: its replication id as a primary.
///
/// A server that starts has a new one, and so has a replica that becomes a primary, because it may lack the last writes. So
/// what was vouched for in one history is not in another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct History(String);

impl History {
    /// Reads it from `INFO replication`; nothing for a replica.
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

/// Reads an answer.
pub(crate) fn read<T: FromRedisValue>(answer: Option<RedisResult<Value>>) -> RedisResult<T> {
    let missing = || RedisError::from((ErrorKind::Parse, "an answer is missing"));
    Ok(T::from_redis_value(answer.ok_or_else(missing)??)?)
}

/// A connection that is made when it is needed.
pub(crate) struct Server {
    clients: Vec<Client>,
    connection: Option<Connection>,
    patience: Duration,
    /// Whether the last question was not answered. One may be late on a busy host.
    failed: bool,
    /// Until then nothing is sent to a server that did not answer twice, so that requests do not all wait for it.
    rests_until: Option<Instant>,
}

impl Server {
    /// Nothing is sent yet.
    pub(crate) fn new(settings: &Settings, patience: Duration) -> Result<Self, Error> {
        let clients = settings.redis.iter().map(|address| Client::open(address.as_str()));
        let clients = clients.collect::<RedisResult<_>>()?;
        Ok(Self { clients, connection: None, patience, failed: false, rests_until: None })
    }

    /// Sends commands together; the answer to each, which may be an error. `INFO replication` goes with them as the last one.
    ///
    /// # Errors
    /// When no primary answers in time. Then it is not known what the server has done.
    pub(crate) fn ask(
        &mut self,
        commands: &Pipeline,
    ) -> Result<(Vec<RedisResult<Value>>, History), Error> {
        if self.rests_until.is_some_and(|end| Instant::now() < end) {
            return Err(Error::Resting);
        }
        let answer = self.try_ask(commands);
        if answer.is_err() {
            // What is still to come would be taken for the answer to the next question.
            self.connection = None;
        }
        let failed_again = answer.is_err() && self.failed;
        self.failed = answer.is_err();
        self.rests_until = failed_again.then(|| Instant::now() + self.patience);
        answer
    }

    fn try_ask(
        &mut self,
        commands: &Pipeline,
    ) -> Result<(Vec<RedisResult<Value>>, History), Error> {
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

    /// Connects to a server; nothing if it is no primary.
    fn connect(&self, client: &Client) -> RedisResult<Option<Connection>> {
        let mut connection = client.get_connection_with_timeout(self.patience)?;
        connection.set_read_timeout(Some(self.patience))?;
        connection.set_write_timeout(Some(self.patience))?;
        let info = redis::cmd("INFO").arg("replication").query(&mut connection)?;
        Ok(History::of(&info).map(|_| connection))
    }
}

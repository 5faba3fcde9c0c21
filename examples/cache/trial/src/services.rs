//! Ways to guard a table: none, a cache of absent answers, a filter that is believed as it is, and a [`Guard`].

use std::time::Duration;

use anyhow::{Context, Result};
use postgres::{Client, NoTls, Statement};
use redis::{Connection, Pipeline};
use umbel_cache::{Guard, Settings, Source, Why};

/// How a request was answered.
#[derive(Clone, Copy)]
pub(crate) struct Outcome {
    pub(crate) is_found: bool,
    pub(crate) reached_table: bool,
    /// Why the filter was not believed, if it was not.
    pub(crate) open: Option<Why>,
}

/// A way to guard a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Way {
    /// Only a cache of rows.
    None,
    /// The cache also keeps that there is no row.
    AbsentAnswers,
    /// `BF.EXISTS`, of whichever module is loaded.
    Bf,
    /// `UM.EXISTS` through a guard.
    Um,
}

/// The filter of `BF.*`.
pub(crate) const BLOOM: &str = "bloom";

/// One client of a guarded table.
pub(crate) enum Service {
    Guard(Box<Guard>),
    Plain(Box<Plain>),
}

impl Service {
    pub(crate) fn new(way: Way, settings: &Settings) -> Result<Self> {
        Ok(match way {
            Way::Um => Self::Guard(Box::new(Guard::new(settings.clone())?)),
            _ => Self::Plain(Box::new(Plain::new(way, settings)?)),
        })
    }

    pub(crate) fn get(&mut self, key: &str) -> Result<Outcome> {
        let guard = match self {
            Self::Guard(guard) => guard,
            Self::Plain(plain) => return plain.get(key),
        };
        let answer = guard.get(key)?;
        let (reached_table, open) = match answer.source {
            Source::Open(why) => (true, Some(why)),
            source => (source == Source::Table, None),
        };
        Ok(Outcome { is_found: answer.row.is_some(), reached_table, open })
    }
}

/// A client that believes the server.
pub(crate) struct Plain {
    way: Way,
    cached: Duration,
    server: Connection,
    database: Client,
    read: Statement,
}

impl Plain {
    fn new(way: Way, settings: &Settings) -> Result<Self> {
        let mut database = Client::connect(&settings.postgres, NoTls)?;
        let read = database.prepare("SELECT (body)::text FROM articles WHERE slug = $1")?;
        Ok(Self { way, cached: settings.cached, server: connection(settings)?, database, read })
    }

    fn get(&mut self, key: &str) -> Result<Outcome> {
        let name = format!("articles:row:{key}");
        let mut question = Pipeline::new();
        question.cmd("GET").arg(&name);
        let (cached, may_exist) = if self.way == Way::Bf {
            question.cmd("BF.EXISTS").arg(BLOOM).arg(key);
            question.query::<(Option<String>, bool)>(&mut self.server)?
        } else {
            (question.query::<(Option<String>,)>(&mut self.server)?.0, true)
        };
        if let Some(row) = cached {
            return Ok(Outcome { is_found: !row.is_empty(), reached_table: false, open: None });
        }
        if !may_exist {
            return Ok(Outcome { is_found: false, reached_table: false, open: None });
        }
        let row = self.database.query_opt(&self.read, &[&key])?.map(|row| row.get::<_, String>(0));
        let is_found = row.is_some();
        if is_found || self.way == Way::AbsentAnswers {
            let mut store = redis::cmd("SET");
            // An empty row says that there is none.
            store.arg(&name).arg(row.unwrap_or_default());
            store.arg("PX").arg(self.cached.as_millis() as u64).exec(&mut self.server)?;
        }
        Ok(Outcome { is_found, reached_table: true, open: None })
    }
}

/// A connection to the first server.
pub(crate) fn connection(settings: &Settings) -> Result<Connection> {
    let address = settings.redis.first().context("an address of a server is missing")?;
    Ok(redis::Client::open(address.as_str())?.get_connection()?)
}

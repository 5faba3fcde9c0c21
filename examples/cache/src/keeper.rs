//! The keeper: adds missing journal entries to the filter, and then vouches for it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use postgres::{Client, NoTls};
use redis::Pipeline;

use crate::catch_up::{CaughtUp, catch_up, first, lock};
use crate::server::{History, Server};
use crate::{Error, Settings, journal, rebuild};

/// Keeps the filter of a table. Every process may run one: the database elects the one that works.
pub struct Keeper {
    settings: Settings,
    server: Server,
    database: Client,
    is_elected: bool,
    /// The history seen last, and since when no other was vouched for.
    seen: Option<(History, Instant)>,
    trimmed: Instant,
}

/// The outcome of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    /// Another keeper works.
    Standby,
    /// The filter has everything committed when the round began, and is vouched for until a lease after that.
    Vouched {
        /// Journal entries read.
        entries: usize,
    },
    /// The filter has everything, but a filter in another history may still be vouched for.
    Waiting,
    /// The filter is missing, or older than the journal.
    NeedsRebuild,
}

impl Keeper {
    /// Connects to the database.
    ///
    /// # Errors
    /// If the database cannot be reached; if an address is invalid.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        let database = Client::connect(&settings.postgres, NoTls)?;
        let server = Server::new(&settings, settings.lease / 2)?;
        let trimmed = Instant::now();
        Ok(Self { settings, server, database, is_elected: false, seen: None, trimmed })
    }

    /// Works until `stop`, and rebuilds the filter when necessary. Errors are passed to `report`; then everything is tried again.
    pub fn run(settings: &Settings, stop: &AtomicBool, mut report: impl FnMut(Error)) {
        let mut keeper = None;
        while !stop.load(Ordering::Relaxed) {
            let begun = Instant::now();
            if let Err(error) = Self::work(&mut keeper, settings) {
                // A database error may have ended the election, so it is held again.
                if matches!(error, Error::Database(_)) {
                    keeper = None;
                }
                report(error);
            }
            thread::sleep((settings.lease / 4).saturating_sub(begun.elapsed()));
        }
    }

    fn work(keeper: &mut Option<Self>, settings: &Settings) -> Result<(), Error> {
        if keeper.is_none() {
            *keeper = Some(Self::new(settings.clone())?);
        }
        let round = keeper.as_mut().map(Self::round).transpose()?;
        if round == Some(Round::NeedsRebuild) {
            rebuild(settings)?;
        }
        Ok(())
    }

    /// One round: catch up, then vouch.
    ///
    /// # Errors
    /// When the database or the server fails. The filter is then vouched for no longer than by the rounds before.
    pub fn round(&mut self) -> Result<Round, Error> {
        if !self.is_elected()? {
            return Ok(Round::Standby);
        }
        // The lease starts before the journal is read, and uses the clock that ends it.
        let mut time = Pipeline::new();
        time.cmd("TIME");
        let (answers, history) = self.server.ask(&time)?;
        let (seconds, micros): (u64, u64) = first(answers)?;
        let begun = Duration::from_secs(seconds) + Duration::from_micros(micros);
        let now = Instant::now();
        let since = match &self.seen {
            Some((seen, since)) if *seen == history => *since,
            _ => now,
        };
        self.seen = Some((history.clone(), since));

        let current = self.settings.current();
        let caught_up = catch_up(&mut self.server, &mut self.database, &self.settings, &current)?;
        let Some(CaughtUp { build, entries, position, .. }) = caught_up else {
            return Ok(Round::NeedsRebuild);
        };
        if self.trimmed.elapsed() > self.settings.journal / 60 {
            journal::trim(&mut self.database, &self.settings, position)?;
            self.trimmed = Instant::now();
        }
        // An earlier round or keeper may have vouched for a filter in another history: on another server, or here before a restart.
        if now - since < self.settings.settled() {
            return Ok(Round::Waiting);
        }
        let mut vouch = Pipeline::new();
        vouch.cmd("EVAL").arg(include_str!("../scripts/vouch.lua")).arg(3);
        vouch.arg(&current.filter).arg(&current.state).arg(self.settings.voucher());
        let end = (begun + self.settings.lease).as_millis() as u64;
        vouch.arg(&build).arg(history.name()).arg(end);
        let (answers, _) = self.server.ask(&vouch)?;
        // If a rebuild put another filter there, the next round vouches for that.
        Ok(if first(answers)? { Round::Vouched { entries } } else { Round::Waiting })
    }

    /// Whether this keeper works. Its lock is held until the connection ends.
    fn is_elected(&mut self) -> Result<bool, Error> {
        if !self.is_elected {
            self.is_elected = lock(&mut self.database, &self.settings, "keeper")?;
            self.seen = None;
        }
        Ok(self.is_elected)
    }
}

//! A new filter from the table, while the old one answers.

use std::fs::File;
use std::io::{self, Read};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use postgres::{Client, IsolationLevel, NoTls, Transaction};
use redis::Pipeline;
use tempfile::TempDir;

use crate::catch_up::{CaughtUp, catch_up, first, lock};
use crate::server::Server;
use crate::{Error, Settings, journal};

/// Bytes of a part of the file; the server copies one in less than a millisecond.
const PART: usize = 1 << 20;
/// How long a part may take, and how long the rest of a rebuild that failed stays in the server.
const PATIENCE: Duration = Duration::from_secs(10);
const LEFT_OVER: Duration = Duration::from_secs(3600);
/// By then the database has released the lock of a rebuild whose program has ended.
const LETS_GO: Duration = Duration::from_secs(1);

/// The result of a rebuild.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rebuilt {
    /// Keys in the table.
    pub keys: u64,
    /// Bytes of the filter's file.
    pub bytes: u64,
}

/// Builds a filter from the table, loads it next to the old one, adds what was written in the meantime, and swaps.
///
/// The old filter answers until the swap. Once the new one is loaded, guards and keeper add keys to both.
///
/// # Errors
/// [`Error::Busy`] if another one is running; [`Error::NoSecret`] if the filter has a secret and the settings have none; when the database, the builder or the server fails. The old filter stays.
pub fn rebuild(settings: &Settings) -> Result<Rebuilt, Error> {
    let mut database = Client::connect(&settings.postgres, NoTls)?;
    let begun = Instant::now();
    while !lock(&mut database, settings, "rebuild")? {
        if begun.elapsed() > LETS_GO {
            return Err(Error::Busy);
        }
        thread::sleep(Duration::from_millis(20));
    }
    let mut server = Server::new(settings, PATIENCE)?;
    let current = settings.current();
    let mut keyed = Pipeline::new();
    keyed.cmd("HGET").arg(&current.state).arg("keyed");
    if first(server.ask(&keyed)?.0)? && settings.secret.is_none() {
        return Err(Error::NoSecret { filter: current.filter });
    }
    let folder = TempDir::new()?;
    let path = folder.path().join("filter.umbel");
    // The count, the keys and the position belong to one moment.
    let snapshot = database.build_transaction().isolation_level(IsolationLevel::RepeatableRead);
    let mut snapshot = snapshot.read_only(true).start()?;
    let keys = build(&mut snapshot, settings, &path)?;
    let (position, seen) = journal::position(&mut snapshot, settings)?;
    snapshot.commit()?;

    let mut file = File::open(&path)?;
    let bytes = file.metadata()?.len();
    let next = settings.next();
    // The folder's name is unique, so it also names the build.
    let build = folder.path().file_name().map(|name| name.to_string_lossy().into_owned());
    let build = format!("{}-{position}", build.unwrap_or_default());
    let loading = format!("{}:{build}", next.filter);
    load(&mut server, &loading, &mut file)?;

    let mut place = Pipeline::new();
    place.atomic().cmd("DEL").arg(&next.done);
    if !seen.is_empty() {
        place.cmd("ZADD").arg(&next.done);
        for (xid, seq) in &seen {
            place.arg(xid).arg(seq);
        }
    }
    place.cmd("HSET").arg(&next.state).arg("build").arg(&build).arg("position").arg(position);
    place.arg("keyed").arg(u8::from(settings.secret.is_some()));
    place.cmd("PERSIST").arg(&loading).cmd("RENAME").arg(&loading).arg(&next.filter);
    for answer in server.ask(&place)?.0 {
        answer?;
    }

    // From here on guards and keeper write to both. Their earlier writes are in the journal.
    let caught_up = catch_up(&mut server, &mut database, settings, &next)?;
    let CaughtUp { history, .. } = caught_up.ok_or(Error::Superseded)?;
    let mut swap = Pipeline::new();
    swap.cmd("EVAL").arg(include_str!("../scripts/swap.lua")).arg(7);
    journal::keys(journal::keys(&mut swap, &current), &next).arg(settings.voucher());
    swap.arg(&build).arg(history.name());
    let (answers, _) = server.ask(&swap)?;
    if !first::<bool>(answers)? {
        return Err(Error::Superseded);
    }
    Ok(Rebuilt { keys, bytes })
}

/// Runs `umbel filter build` on the keys of the table.
fn build(
    snapshot: &mut Transaction<'_>,
    settings: &Settings,
    path: &std::path::Path,
) -> Result<u64, Error> {
    let Settings { table, key, .. } = settings;
    let count: i64 = snapshot.query_one(&format!("SELECT count(*) FROM {table}"), &[])?.get(0);
    let keys = count.cast_unsigned();
    let planned = (keys as f64 * settings.headroom).max(1000.0) as u64;
    let mut command = Command::new(&settings.umbel);
    command.args(["filter", "build", "--quiet", "--csv", "--key", "key"]).arg("-o").arg(path);
    command.arg("--keys").arg(planned.to_string()).arg("--fpp").arg(settings.fpp.to_string());
    command.args(["--kind", if settings.deletes { "counting" } else { "blocked" }]);
    if let Some(secret) = &settings.secret {
        command.arg("--secret-file").arg(secret);
    }
    let mut builder = command.stdin(Stdio::piped()).spawn()?;
    let copy =
        format!("COPY (SELECT ({key})::text AS key FROM {table}) TO STDOUT (FORMAT csv, HEADER)");
    let mut rows = snapshot.copy_out(&copy)?;
    // If the builder stops reading, its own message is the better one.
    let copied = io::copy(&mut rows, &mut builder.stdin.take().expect("a pipe"));
    let status = builder.wait()?;
    if !status.success() {
        return Err(Error::Builder { program: settings.umbel.clone(), status });
    }
    copied?;
    Ok(keys)
}

/// Loads a filter's file under a name that guards do not read.
fn load(server: &mut Server, name: &str, file: &mut File) -> Result<(), Error> {
    let (mut offset, mut part) = (0_u64, Vec::with_capacity(PART));
    loop {
        part.clear();
        file.by_ref().take(PART as u64).read_to_end(&mut part)?;
        let mut load = Pipeline::new();
        load.cmd("UM.LOAD").arg(name).arg(offset).arg(&part);
        load.cmd("PEXPIRE").arg(name).arg(LEFT_OVER.as_millis() as u64);
        offset = first(server.ask(&load)?.0)?;
        if offset == 0 {
            return Ok(());
        }
    }
}

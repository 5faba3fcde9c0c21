//! The journal of a table: the keys added and deleted, each entered in the same transaction.

use postgres::{Client, GenericClient, IsolationLevel, Row, Transaction};
use redis::Pipeline;

use crate::key::Keys;
use crate::settings::Copy;
use crate::{Error, Settings};

/// The oldest transaction still running in this snapshot: all earlier ones are over.
const XMIN: &str = "pg_snapshot_xmin(pg_current_snapshot())::text::bigint";
/// Entries that one command applies; some 3 ms of the server's time.
const CHUNK: usize = 1000;

/// Makes the journal of the table, and its triggers. An existing journal stays; triggers of an earlier version are replaced.
///
/// # Errors
/// [`Error::Key`] or [`Error::NoKey`] if the column cannot be guarded; when the database refuses.
pub fn install(settings: &Settings) -> Result<(), Error> {
    let mut database = Client::connect(&settings.postgres, postgres::NoTls)?;
    Keys::of(&mut database, settings)?;
    let script = include_str!("../scripts/journal.sql");
    let script = script.replace("GUARDED", &settings.table);
    let script = script.replace(".KEY", &format!(".{}", settings.key));
    let mut transaction = database.transaction()?;
    transaction.batch_execute("SELECT pg_advisory_xact_lock(hashtext('umbel-cache install'))")?;
    transaction.batch_execute(&script)?;
    Ok(transaction.commit()?)
}

/// A key that was added or deleted.
pub(crate) struct Entry {
    seq: i64,
    xid: i64,
    pub(crate) added: bool,
    pub(crate) key: String,
}

impl Entry {
    fn of(row: &Row) -> Self {
        Self { seq: row.get(0), xid: row.get(1), added: row.get(2), key: row.get(3) }
    }
}

/// The entries that a transaction has made so far.
pub(crate) fn of_transaction(
    transaction: &mut Transaction<'_>,
    settings: &Settings,
) -> Result<Vec<Entry>, Error> {
    let own = format!(
        "SELECT seq, xid, added, key FROM {}_journal WHERE xid = pg_current_xact_id()::text::bigint",
        settings.table
    );
    Ok(transaction.query(&own, &[])?.iter().map(Entry::of).collect())
}

/// Entries committed from a position on.
pub(crate) struct Since {
    pub(crate) entries: Vec<Entry>,
    /// The next position: all entries of earlier transactions are among these, or came before.
    pub(crate) position: i64,
    /// Whether the journal reaches back to the requested position.
    pub(crate) is_complete: bool,
}

/// Reads the entries committed from a position on.
pub(crate) fn since(
    database: &mut Client,
    settings: &Settings,
    position: i64,
) -> Result<Since, Error> {
    let table = &settings.table;
    let snapshot = database.build_transaction().isolation_level(IsolationLevel::RepeatableRead);
    let mut snapshot = snapshot.read_only(true).start()?;
    let row = snapshot.query_one(&format!("SELECT {XMIN}, xid FROM {table}_journal_start"), &[])?;
    let (xmin, start): (i64, i64) = (row.get(0), row.get(1));
    let entries =
        format!("SELECT seq, xid, added, key FROM {table}_journal WHERE xid >= $1 ORDER BY seq");
    let entries = snapshot.query(&entries, &[&position])?.iter().map(Entry::of).collect();
    snapshot.commit()?;
    Ok(Since { entries, position: xmin, is_complete: position >= start })
}

/// In the snapshot of a transaction: its position, and the entries from there on that are in the table already.
pub(crate) fn position(
    snapshot: &mut impl GenericClient,
    settings: &Settings,
) -> Result<(i64, Vec<(i64, i64)>), Error> {
    let position: i64 = snapshot.query_one(&format!("SELECT {XMIN}"), &[])?.get(0);
    let seen = format!("SELECT xid, seq FROM {}_journal WHERE xid >= $1", settings.table);
    let seen = snapshot.query(&seen, &[&position])?;
    Ok((position, seen.iter().map(|row| (row.get(0), row.get(1))).collect()))
}

/// Deletes entries that are old, and before a position.
pub(crate) fn trim(
    database: &mut Client,
    settings: &Settings,
    position: i64,
) -> Result<u64, Error> {
    let trim = format!(
        "WITH old AS (DELETE FROM {0}_journal
                      WHERE xid < $1 AND at < now() - make_interval(secs => $2) RETURNING xid),
              start AS (UPDATE {0}_journal_start SET xid = greatest(xid, (SELECT max(xid) + 1 FROM old))
                        WHERE EXISTS (SELECT FROM old))
         SELECT count(*) FROM old",
        settings.table
    );
    let row = database.query_one(&trim, &[&position, &settings.journal.as_secs_f64()])?;
    Ok(row.get::<_, i64>(0).cast_unsigned())
}

/// Commands that apply entries to the filter and its successor: additions first, so a key that was deleted and added again is
/// never missing in between. Each command returns the voucher.
pub(crate) fn apply<'e>(
    entries: impl Iterator<Item = &'e Entry> + Clone,
    settings: &Settings,
) -> Pipeline {
    let mut commands = Pipeline::new();
    let (current, next) = (settings.current(), settings.next());
    for (added, command) in [(true, "UM.ADD"), (false, "UM.DEL")] {
        let entries = entries.clone().filter(|entry| entry.added == added);
        // A filter that does not count keeps deleted keys until it is rebuilt.
        let entries: Vec<_> = entries.filter(|entry| entry.added || settings.deletes).collect();
        for chunk in entries.chunks(CHUNK) {
            let apply = commands.cmd("EVAL").arg(include_str!("../scripts/apply.lua")).arg(7);
            keys(keys(apply, &current), &next).arg(settings.voucher());
            for entry in chunk {
                apply.arg(entry.seq).arg(entry.xid).arg(command).arg(&entry.key);
            }
        }
    }
    commands
}

/// The three keys of a filter, as arguments.
pub(crate) fn keys<'p>(command: &'p mut Pipeline, copy: &Copy) -> &'p mut Pipeline {
    command.arg(&copy.filter).arg(&copy.state).arg(&copy.done)
}

//! Keeps requests for keys that do not exist away from PostgreSQL, with a filter in Redis or Valkey.
//!
//! A [`Guard`] asks the filter and the cache in one round trip, and the table only for keys that neither decides. It never
//! denies an existing row: whatever happens to the filter's server, a guard that cannot be sure asks the table.
//!
//! Three parts work together:
//! - A trigger writes each change of the table into a *journal*, in the same transaction ([`install`]).
//! - The guards that write add new keys to the filter, after the commit ([`Guard::write`]).
//! - One [`Keeper`] adds missing journal entries to the filter, several times a second, and then *vouches* for it: for this
//!   history of this server, until a lease ends. Guards trust a filter only while it is vouched for.
//!
//! [`rebuild`] makes a new filter from the table while the old one answers. README.md has the reasons.

mod catch_up;
mod guard;
mod journal;
mod keeper;
mod key;
mod rebuild;
mod server;
mod settings;

pub use guard::{Answer, Guard, Source, Why};
pub use journal::install;
pub use keeper::{Keeper, Round};
pub use rebuild::{Rebuilt, rebuild};
pub use settings::Settings;

/// Possible errors. If the filter's server does not answer, a [`Guard`] reports no error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// PostgreSQL refused something, or is gone.
    #[error("the database: {0}")]
    Database(#[from] postgres::Error),
    /// The server of the filter refused something, or is gone.
    #[error("the filter's server: {0}")]
    Server(#[from] redis::RedisError),
    /// None of the addresses is a primary that answers.
    #[error("none of the filter's servers answers as a primary")]
    NoPrimary,
    /// One of them did not answer a moment ago, so nothing was sent.
    #[error("the filter's server did not answer a moment ago")]
    Resting,
    /// The builder failed; its message is on standard error.
    #[error("{program} failed: {status}")]
    Builder {
        /// The program.
        program: std::path::PathBuf,
        /// How it ended.
        status: std::process::ExitStatus,
    },
    /// A file or a pipe to the builder failed.
    #[error("the new filter's file: {0}")]
    File(#[from] std::io::Error),
    /// Another rebuild is running.
    #[error("another rebuild of this filter is running")]
    Busy,
    /// The column of keys treats different texts as equal, and the filter does not.
    #[error(
        "{table}.{key} is {found}, which takes different texts for equal or prints one key differently; \
         guard a column of text, integers or uuid, such as one generated as lower({key})"
    )]
    Key {
        /// The table.
        table: String,
        /// The column.
        key: String,
        /// Its type, and its collation if that is the reason.
        found: String,
    },
    /// The table has no such column.
    #[error("{table} has no column {key}")]
    NoKey {
        /// The table.
        table: String,
        /// The column.
        key: String,
    },
    /// The filter is keyed, and a rebuild without the secret would replace it by one for which anyone can choose keys that
    /// collide.
    #[error(
        "{filter} has a secret, and no file with it is set; set CACHE_SECRET, or delete the filter to have one without"
    )]
    NoSecret {
        /// The name of the filter.
        filter: String,
    },
    /// The new filter disappeared before it could take the old one's place: the server restarted or failed over.
    #[error("the new filter is gone; rebuild again")]
    Superseded,
}

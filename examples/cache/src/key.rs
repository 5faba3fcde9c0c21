//! Keys as the filter has them: as PostgreSQL prints the column, however a request spells them.

use postgres::Client;

use crate::{Error, Settings};

/// How a column compares its keys.
#[derive(Clone, Copy)]
pub(crate) enum Keys {
    Text,
    Integer,
    Uuid,
}

impl Keys {
    /// Asks the database.
    ///
    /// # Errors
    /// [`Error::Key`] for columns that take different texts for one key; [`Error::NoKey`]; when the database fails.
    pub(crate) fn of(database: &mut Client, settings: &Settings) -> Result<Self, Error> {
        let Settings { table, key, .. } = settings;
        let column = include_str!("../scripts/keys.sql");
        let column = column.replace("GUARDED", table).replace("'KEY'", &format!("'{key}'"));
        let (table, key) = (table.clone(), key.clone());
        let Some(row) = database.query_opt(&column, &[])? else {
            return Err(Error::NoKey { table, key });
        };
        match row.get(0) {
            Some("text") => Ok(Self::Text),
            Some("bigint") => Ok(Self::Integer),
            Some("uuid") => Ok(Self::Uuid),
            _ => Err(Error::Key { table, key, found: row.get(1) }),
        }
    }

    /// The type in SQL.
    pub(crate) fn sql(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Integer => "bigint",
            Self::Uuid => "uuid",
        }
    }

    /// The key as the database prints it; nothing if no row can have it.
    pub(crate) fn printed(self, key: &str) -> Option<String> {
        match self {
            Self::Text => (!key.contains('\0')).then(|| key.to_owned()),
            Self::Integer => key.trim().parse().ok().map(|key: i64| key.to_string()),
            Self::Uuid => {
                let key = key.trim_start_matches('{').trim_end_matches('}');
                let digits: String = key.chars().filter(|&digit| digit != '-').collect();
                let right = digits.len() == 32 && digits.chars().all(|c| c.is_ascii_hexdigit());
                let digits = right.then(|| digits.to_ascii_lowercase())?;
                let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| &digits[part]);
                Some(parts.join("-"))
            }
        }
    }
}

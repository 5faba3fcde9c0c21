//! Why a request was not answered, and which field was wrong.

#[cfg(feature = "files")]
use crate::reason::Reason;

/// Why a request was not answered.
#[derive(Debug, serde::Serialize)]
pub(crate) struct Refused {
    pub(crate) message: String,
    /// The field of the request that was wrong.
    pub(crate) field: Option<&'static str>,
    /// The reason as data, if a page words it itself.
    #[cfg(feature = "files")]
    pub(crate) reason: Option<Reason>,
}

impl Refused {
    pub(crate) fn of(field: &'static str, message: impl ToString) -> Self {
        Self { field: Some(field), ..Self::new(message) }
    }

    pub(crate) fn new(message: impl ToString) -> Self {
        Self {
            message: message.to_string(),
            field: None,
            #[cfg(feature = "files")]
            reason: None,
        }
    }
}

impl From<anyhow::Error> for Refused {
    fn from(error: anyhow::Error) -> Self {
        Self {
            #[cfg(feature = "files")]
            reason: Reason::of(&error),
            ..Self::new(format!("{error:#}"))
        }
    }
}

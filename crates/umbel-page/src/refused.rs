//! Why a request was not answered, and what of it that is about.

/// Why a request was not answered.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) message: String,
    /// What of the request it is about.
    pub(crate) field: Option<&'static str>,
}

impl Refused {
    pub(crate) fn of(field: &'static str, message: impl ToString) -> Self {
        Self { message: message.to_string(), field: Some(field) }
    }
}

impl From<anyhow::Error> for Refused {
    fn from(error: anyhow::Error) -> Self {
        Self { message: format!("{error:#}"), field: None }
    }
}

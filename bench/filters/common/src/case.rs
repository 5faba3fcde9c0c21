//! The case that a program measures.

use crate::keys::{Hashed, Key, Text};

/// The form of the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyForm {
    /// 64-bit hashes.
    Hashed,
    /// Integers, to be hashed.
    Int,
    /// 64 bytes each, to be hashed.
    Text,
}

/// One case: how many keys, at which rate, in which form.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Keys inserted.
    pub n: u64,
    /// The requested rate.
    pub fpp: f64,
    /// Form of the keys.
    pub form: KeyForm,
}

impl Case {
    /// Reads `N FPP FORM` from the command line; the program reads what follows.
    ///
    /// # Panics
    /// With a usage message if they are missing or invalid.
    pub fn from_args() -> Self {
        let words: Vec<String> = std::env::args().skip(1).collect();
        Self::parse(&words).unwrap_or_else(|| panic!("usage: N FPP {{hashed|u64|str64}}"))
    }

    fn parse(words: &[String]) -> Option<Self> {
        let [n, fpp, form, ..] = words else { return None };
        let form = match form.as_str() {
            Hashed::NAME => KeyForm::Hashed,
            <u64 as Key>::NAME => KeyForm::Int,
            Text::NAME => KeyForm::Text,
            _ => return None,
        };
        let (n, fpp) = (n.parse().ok()?, fpp.parse().ok()?);
        (n > 0 && fpp > 0.0 && fpp < 1.0).then_some(Self { n, fpp, form })
    }
}

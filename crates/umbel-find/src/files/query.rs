//! Texts to find in lines.

use crate::index::words;
use memchr::memmem::Finder;

/// How a text is compared with lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Matching {
    /// It may start and end inside a word, as in `grep -F`. Otherwise each of its words must be a whole word of the
    /// line.
    pub inside: bool,
    /// The case of letters is ignored, one for one; ASCII letters match only ASCII letters.
    pub ignore_case: bool,
}

/// A text that lines are searched for.
pub(crate) struct Text {
    finder: Finder<'static>,
    pub(crate) matching: Matching,
}

impl Text {
    /// The text must not be empty.
    pub(crate) fn new(text: &[u8], matching: Matching) -> Self {
        let mut folded = Vec::new();
        if matching.ignore_case {
            words::fold(text, &mut folded);
        }
        let finder =
            Finder::new(if matching.ignore_case { &folded[..] } else { text }).into_owned();
        Self { finder, matching }
    }

    /// The place of the first match in `bytes` from `from` on; they are [folded](words::fold), if case is ignored.
    pub(crate) fn find(&self, bytes: &[u8], mut from: usize) -> Option<usize> {
        let length = self.finder.needle().len();
        loop {
            let at = from + self.finder.find(bytes.get(from..)?)?;
            let is_whole = || words::is_edge(bytes, at) && words::is_edge(bytes, at + length);
            if self.matching.inside || is_whole() {
                return Some(at);
            }
            from = at + 1;
        }
    }
}

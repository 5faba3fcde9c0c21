//! What is looked for: texts in lines, or values of a field, and which keys a block must have to hold them.

use memchr::memmem::Finder;
use umbel::{KeyHash, KeyHasher};

use crate::build::FIELD_PROBES;
use crate::words;

/// How a text is compared with lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Matching {
    /// It may start and end inside a word, as in `grep -F`. Otherwise its words are whole words of the line.
    pub inside: bool,
    /// The case of ASCII letters is ignored.
    pub ignore_case: bool,
}

/// Why an index cannot narrow a text down, so that all is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wide {
    /// It has no word.
    NoWord,
    /// It may be a part of longer words, and has none of its own.
    PartOfWord,
    /// It is not UTF-8, so that its words may be others where it is found.
    NotUtf8,
}

impl Wide {
    /// Returns the reason, as the end of a sentence about the text.
    pub fn reason(self) -> &'static str {
        match self {
            Self::NoWord => "has no word",
            Self::PartOfWord => "may be a part of longer words",
            Self::NotUtf8 => "is not UTF-8",
        }
    }
}

/// A text that lines are searched for.
pub(crate) struct Text {
    finder: Finder<'static>,
    matching: Matching,
    /// What a block must have.
    pub(crate) keys: Vec<(KeyHash, u32)>,
    pub(crate) wide: Option<Wide>,
}

impl Text {
    /// The text must not be empty.
    pub(crate) fn new(text: &[u8], matching: Matching) -> Self {
        let folded = text.to_ascii_lowercase();
        let hasher = KeyHasher::default();
        let (mut keys, mut any) = (Vec::new(), false);
        if std::str::from_utf8(text).is_ok() {
            words::each(&folded, |key| {
                any = true;
                let at_end = key.range.start == 0 || key.range.end == folded.len();
                if !matching.inside || key.single || !at_end {
                    keys.push((hasher.hash(&folded[key.range]), key.probes));
                }
            });
        }
        let wide = match keys.is_empty() {
            false => None,
            true if std::str::from_utf8(text).is_err() => Some(Wide::NotUtf8),
            true if any => Some(Wide::PartOfWord),
            true => Some(Wide::NoWord),
        };
        // The longest words have the most probes, which leave the fewest blocks.
        keys.sort_by_key(|&(_, probes)| std::cmp::Reverse(probes));
        keys.dedup();
        let finder =
            Finder::new(if matching.ignore_case { &folded[..] } else { text }).into_owned();
        Self { finder, matching, keys, wide }
    }

    pub(crate) fn ignores_case(&self) -> bool {
        self.matching.ignore_case
    }

    /// The place of the first match in `bytes` from `from` on; `folded` are these in lower case, if case is ignored.
    pub(crate) fn find(&self, bytes: &[u8], folded: &[u8], from: usize) -> Option<usize> {
        let searched = if self.matching.ignore_case { folded } else { bytes };
        let length = self.finder.needle().len();
        let mut from = from;
        loop {
            let at = from + self.finder.find(searched.get(from..)?)?;
            let is_whole = || words::is_edge(bytes, at) && words::is_edge(bytes, at + length);
            if self.matching.inside || is_whole() {
                return Some(at);
            }
            from = at + 1;
        }
    }
}

/// What a block must have to hold a value of the field.
pub(crate) fn key_of_field(value: &[u8]) -> (KeyHash, u32) {
    (KeyHasher::default().hash(value), FIELD_PROBES)
}

//! What the verbs are and do, one file per verb, and their list.

mod answer;
mod common;
mod dedup;
mod diff;
mod docs;
mod except;
mod explain;
mod filter;
mod find;
mod index;
mod join;
mod matching;
mod operation;
mod parquet;
mod prelude;
mod unseen;

use crate::verb::{Entry, Group, Noun};

/// The verbs that work on files.
pub(crate) const FILES: &[Group] = &[
    Group {
        title: "Files of lines or records",
        verbs: &[
            Entry::of::<common::CommonArgs>(),
            Entry::of::<except::ExceptArgs>(),
            Entry::of::<diff::DiffArgs>(),
            Entry::of::<dedup::DedupArgs>(),
            Entry::of::<join::JoinArgs>(),
            Entry::of::<unseen::UnseenArgs>(),
            Entry::of::<matching::MatchArgs>(),
        ],
    },
    Group {
        title: "Many files",
        verbs: &[Entry::of::<index::IndexArgs>(), Entry::of::<find::FindArgs>()],
    },
];

/// What else verbs work on.
pub(crate) const NOUNS: &[Noun] = &[filter::FILTER, parquet::PARQUET];

/// The verbs that are typed once, when umbel is installed.
pub(crate) const SET_UP: Group = Group {
    title: "Set up",
    verbs: &[Entry::of::<docs::CompletionsArgs>(), Entry::of::<docs::ManArgs>()],
};

/// The verbs of one word.
pub(crate) fn short() -> impl Iterator<Item = &'static Entry> {
    FILES.iter().chain([&SET_UP]).flat_map(|group| group.verbs)
}

/// All verbs.
pub(crate) fn all() -> impl Iterator<Item = &'static Entry> {
    short().chain(NOUNS.iter().flat_map(Noun::verbs))
}

/// The verb with a name such as `dedup` or `filter build`.
pub(crate) fn named(name: &str) -> Option<&'static Entry> {
    all().find(|verb| verb.about.name == name)
}

//! Compares work with filters of any kind with plain sets of lines.

use umbel::{KeyHasher, Kind, Plan};

use super::*;
use crate::testing::{input, lines, workplace};

#[test]
fn two_lists_are_read_twice() {
    let (dir, options) = workplace(b'\n');
    let [include, exclude] = [("block", 0..3000), ("allow", 3000..6000)]
        .map(|(name, range)| [input(dir.path(), name, &lines(range))]);
    let plan = |included, excluded| Plan::for_lists(Kind::Cascade, included, excluded, 0.01);
    let built = build_lists(&include, &exclude, &plan, KeyHasher::default(), &options);
    let (_, report) = built.unwrap();
    assert_eq!((report.lines, report.passes), (6000, 4));
}

#[test]
fn a_repeat_counts_where_the_system_counts_it() {
    use umbel_foreign::Format;
    let (dir, options) = workplace(b'\n');
    let inputs = [input(dir.path(), "a", b"a\na\nb\n")];
    for (format, keys) in [(Format::RocksDb, 2), (Format::LevelDb, 3), (Format::Guava, 3)] {
        assert_eq!(count_keys(&inputs, format, None, &options).unwrap(), keys, "{format}");
    }
}

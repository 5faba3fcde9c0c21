//! Compares work with filters of any kind with plain sets of lines.

use umbel::{AnyFilter, KeyHasher, Kind, Plan};

use super::*;
use crate::Error;
use crate::inputs::ReadFrom;
use crate::testing::{input, lines, workplace};

fn filter(kind: Kind, keys: u64) -> AnyFilter {
    let plan = Plan::for_keys(kind, keys, 1e-6).unwrap();
    AnyFilter::with_plan(&plan, KeyHasher::default()).unwrap()
}

#[test]
fn lines_are_taken_out_and_counted() {
    let (dir, options) = workplace(b'\n');
    let mut held = Filter::Own(filter(Kind::Counting, 2000));
    let all = [input(dir.path(), "all", &lines(0..2000))];
    assert_eq!(insert(&all, &mut held, &options).unwrap().lines, 2000);
    let Filter::Own(mut held) = held else { unreachable!("it was ours") };
    let some = [input(dir.path(), "some", &lines(1500..2500))];
    let report = remove(&some, &mut held, &options).unwrap();
    assert_eq!((report.lines, report.found, report.passes), (1000, 500, 1));
    assert_eq!(report.bytes_read, lines(1500..2500).len() as u64);
    let report = remove(ReadFrom::Stream("some", &mut &lines(0..2000)[..]), &mut held, &options);
    let report = report.unwrap();
    assert_eq!((report.lines, report.found), (2000, 1500));
}

#[test]
fn a_line_on_both_lists_is_named_with_its_place() {
    let (dir, options) = workplace(b'\n');
    let include = [input(dir.path(), "block", &lines(0..3000))];
    let plan = |included, excluded| Plan::for_lists(Kind::Cascade, included, excluded, 0.01);
    let build = |exclude| build_lists(&include, exclude, &plan, KeyHasher::default(), &options);
    let apart = [input(dir.path(), "allow", &lines(3000..6000))];
    let (cascade, report) = build(&apart).unwrap();
    assert_eq!((report.lines, report.passes), (6000, 4));
    assert!(
        lines(0..3000)
            .split(|byte| *byte == b'\n')
            .all(|line| line.is_empty() || cascade.contains(line))
    );
    assert!(!lines(3000..6000).split(|byte| *byte == b'\n').any(|line| cascade.contains(line)));
    let both = [
        input(dir.path(), "first", &lines(4000..4100)),
        input(dir.path(), "second", &lines(2999..3500)),
    ];
    match build(&both).unwrap_err() {
        Error::BothLists { at, line, other } => {
            assert_eq!((at.name.as_str(), other.as_str()), ("block", "second"));
            assert_eq!(at.offset, lines(0..2999).len() as u64);
            assert_eq!(at.line, Some((3000, 1)));
            assert_eq!([&line[..], b"\n"].concat(), lines(2999..3000));
        }
        error => panic!("{error}"),
    }
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

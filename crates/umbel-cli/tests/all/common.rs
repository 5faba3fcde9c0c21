//! `umbel common`, `umbel dedup` and `umbel except`: what `cases/common.md` cannot show.

use umbel::KeyHasher;

use crate::util::{Folder, least_memory, lines, long};

#[test]
#[cfg(target_os = "linux")]
fn the_peak_told_is_not_that_of_who_started_it() {
    let folder = Folder::new();
    folder.write("a", "1\n2\n");
    let held = vec![1u8; 300 << 20];
    let report = folder.umbel("common a a --json").run().report();
    assert!(report["peak_memory"].as_u64() < Some(100 << 20), "{report}");
    assert!(held.iter().all(|&byte| byte == 1));
}

#[test]
fn lines_whose_hashes_collide_are_told_apart() {
    /// The bits of the low half that the slots of a table keep.
    const TAG: u32 = 28;
    let all_lines: u64 = long(6_000_000, 1_500_000);
    let line = |number: u64| format!("{number:x}");
    let hasher = KeyHasher::default();
    let number = (1 << (64 - TAG)) - 1;
    let mut tagged: Vec<u64> =
        (0..all_lines).map(|i| hasher.hash(line(i)).low & !number | i).collect();
    tagged.sort_unstable();
    let groups = tagged.chunk_by(|one, other| one & !number == other & !number);
    let groups: Vec<_> = groups.filter(|group| group.len() > 1).collect();
    // Of n lines, n²/2²⁹ pairs collide: 67,055, or 4,190.
    let pairs = (all_lines * all_lines) >> 29;
    assert!(groups.len() as u64 > pairs / 4 * 3, "{} groups", groups.len());
    assert!(groups.iter().any(|group| group.len() > 2));
    let member = |nth: usize| {
        let lines = groups.iter().filter_map(|group| group.get(nth));
        lines.map(|tagged| line(tagged & number)).collect::<Vec<_>>()
    };
    let folder = Folder::new();
    let members = [0, 1, 2].map(|nth| lines(member(nth)));
    for (name, lines) in ["a", "b", "c"].into_iter().zip(&members) {
        folder.write(name, lines);
    }
    let all = members.concat();
    folder.write("all", &all);
    folder.umbel("common a b").run().nothing();
    folder.umbel("common b c --memory 16MiB").run().nothing();
    assert!(folder.umbel("common a all").run().done() == members[0]);
    assert!(folder.umbel("common all b --memory 16MiB").run().done() == members[1]);
    assert!(folder.umbel("common a b --at-least 1").run().done() == members[..2].concat());
    assert!(folder.umbel("dedup all").run().done() == all);
    assert!(folder.umbel("dedup a b c a --memory 16MiB").run().done() == all);
    folder.umbel("dedup --repeated a b c").run().nothing();
    assert!(folder.umbel("dedup --repeated all b").run().done() == members[1]);
    assert!(folder.umbel("except a b").run().done() == members[0]);
    assert!(folder.umbel("except b a c --memory 16MiB").run().done() == members[1]);
    assert!(folder.umbel("except all a c").run().done() == members[1]);
    // Under whatever seed a run has: of half of the lines in a table, a quarter as many pairs collide.
    let every = |nth: usize| lines((0..all_lines / 2).step_by(nth).map(line));
    folder.write("every", every(1));
    folder.write("even", every(2));
    let odd = lines((1..all_lines / 2).step_by(2).map(line));
    let run = |arguments: &str| folder.umbel(&format!("{arguments} --memory 1GiB")).run().done();
    assert!(run("dedup every every") == every(1));
    assert!(run("dedup every even --repeated") == every(2));
    assert!(run("except every even") == odd);
    assert!(run("common every even") == every(2));
    // Filters see 128 bits.
    assert!(folder.umbel("dedup --fpp 1e-12 all all").run().done() == all);
    assert!(folder.umbel("except --fpp 1e-12 a b").run().done() == members[0]);
}

#[test]
fn a_line_of_100_mb_just_works_and_says_what_memory_it_needs() {
    let folder = Folder::new();
    let length = long(100_000_000, 70_000_000);
    let long_line = vec![b'x'; length];
    folder.write("a", [b"before\n", &long_line[..], b"\nbetween\nbefore\n"].concat());
    folder.write("b", [b"before\n", &long_line[..]].concat());
    folder.write("c", "between\n");
    let jobs = [
        ("common a b", [b"before\n", &long_line[..], b"\n"].concat()),
        ("dedup a b", [b"before\n", &long_line[..], b"\nbetween\n"].concat()),
        ("except a b", b"between\n".to_vec()),
        ("dedup --repeated a b", [b"before\n", &long_line[..], b"\n"].concat()),
        ("dedup --count b c", [b"1\tbefore\n1\t", &long_line[..], b"\n1\tbetween\n"].concat()),
        ("except a c", [b"before\n", &long_line[..], b"\n"].concat()),
    ];
    for (arguments, expected) in jobs.into_iter().take(long(6, 3)) {
        let run = |memory: &str| folder.umbel(&format!("{arguments} {memory}")).run();
        assert!(run("").done() == expected, "{arguments}");
        let stopped = run("--memory 64MiB");
        assert_eq!(stopped.status.code(), Some(2), "{arguments}");
        // What went out before is the beginning of the answer.
        assert!(expected.starts_with(&stopped.stdout), "{arguments}");
        let stopped = stopped.says(&format!(" 2: the line has {length} bytes")).says("64MiB");
        let least = format!("--memory {}", least_memory(&stopped.stderr));
        assert!(run(&least).done() == expected, "{arguments} {least}");
    }
    // A byte that differs in the midst of it is seen.
    let mut other = long_line;
    other[length / 2] = b'y';
    folder.write("b", [b"before\n", &other[..]].concat());
    assert_eq!(folder.umbel("common a b").run().text(), "before\n");
}

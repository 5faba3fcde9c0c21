//! Rows of two files side by side: what `cases/join.md` cannot show.

use crate::util::Folder;

fn joined(folder: &Folder, arguments: &str) -> String {
    folder.umbel(&format!("join {arguments}")).run().text()
}

/// 4 × 10¹⁰ pairs, which nobody walks: of a table in memory, and of temporary files.
#[test]
fn the_total_of_a_product_is_multiplied() {
    let folder = Folder::new();
    let others = (0..100_000).map(|i| format!("{i}\tx{i:09}\n")).collect::<String>();
    folder.write("a", "k\ty\n".repeat(200_000) + &others);
    folder.write("b", others + &"k\ty\n".repeat(200_000));
    for memory in ["16MiB", "1GiB"] {
        let job = format!("-q --tsv --no-header -k 1 --total --memory {memory} a b");
        assert_eq!(joined(&folder, &job), "40000100000\n", "{memory}");
    }
}

/// Both sides go through temporary files, and a key has millions of pairs: as with memory for all.
#[test]
fn the_answer_is_the_same_for_any_memory() {
    let folder = Folder::new();
    let row = |i: u64| format!("{i},{:040}\n", i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 300_000);
    let many = |i: u64| format!("{i},many\n");
    let rows = |count: u64| (0..count).map(row).chain((0..1200).map(many)).collect::<String>();
    folder.write("a", rows(200_000));
    folder.write("b", rows(250_000));
    let job = |more: &str| format!("join --csv --no-header --key 2 a b {more}");
    let whole = folder.umbel(&job("--left -q --memory 1GiB")).run().stdout;
    let spilled = folder.umbel(&job("--left --json --memory 16MiB")).run();
    assert!(spilled.stdout == whole);
    let pairs = whole.split(|byte| *byte == b'\n');
    assert_eq!(
        pairs.filter(|line| line.windows(6).any(|part| part == b",many,")).count(),
        1_440_000
    );
    assert!(spilled.report()["bytes_spilled"].as_u64() > Some(0));
}

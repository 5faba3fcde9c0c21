//! The footer of a Parquet file, or the header of a page: any bytes are either refused, or read. A footer whose filters
//! move changes only in their places, and moving them back restores its bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use umbel_fuzz::memory;
use umbel_parquet::{FilterPlace, Footer, PageHeader, rewrite};

#[global_allocator]
static MEMORY: memory::Counted = memory::Counted;

fuzz_target!(|bytes: &[u8]| {
    let _ = PageHeader::decode(bytes);
    let Ok(read) = Footer::decode(bytes) else { return };
    assert!(read.length <= bytes.len());
    let (offset, length) = (1 << 40, 1 << 20);
    let placed = |place: FilterPlace| {
        let new = rewrite(bytes, &mut |_, _| place).expect("what is read is rewritten");
        let mut expected = read.clone();
        expected.length = read.length + new.len() - bytes.len();
        for chunk in expected.row_groups.iter_mut().flat_map(|group| &mut group.chunks) {
            (chunk.filter_offset, chunk.filter_length) = match place {
                FilterPlace::At { offset, length } => (Some(offset), Some(length)),
                _ => (None, None),
            };
        }
        assert_eq!(Footer::decode(&new).expect("what is rewritten is read"), expected);
        new
    };
    assert_eq!(rewrite(bytes, &mut |_, _| FilterPlace::Kept).unwrap(), bytes);
    let without = placed(FilterPlace::Removed);
    let with = placed(FilterPlace::At { offset, length });
    // Adding places and removing them leaves no trace.
    assert_eq!(rewrite(&with, &mut |_, _| FilterPlace::Removed).unwrap(), without);
});

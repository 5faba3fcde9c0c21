//! Golden files with some bytes changed: one for each rule that a reader may miss, with the step that refuses it.

use anyhow::Result;

use crate::vectors::Change;

/// A golden file, and where its changes go.
struct Changed<'a> {
    file: &'a str,
    header: usize,
    length: usize,
    changes: &'a mut Vec<Change>,
}

impl Changed<'_> {
    /// Refused at a step, with all checksums right.
    fn refused(&mut self, step: u32, what: &str, bytes: &[(usize, &[u8])]) {
        self.push(step, what, bytes, None, true);
    }

    /// Refused at step 3 for each of these values at a place.
    fn each<const N: usize, const LENGTH: usize>(
        &mut self,
        what: &str,
        at: usize,
        values: [[u8; LENGTH]; N],
    ) {
        values.iter().for_each(|value| self.refused(3, what, &[(at, value)]));
    }

    /// Refused at a step, with the checksums as they were.
    fn damaged(&mut self, step: u32, what: &str, at: usize, bytes: &[u8]) {
        self.push(step, what, &[(at, bytes)], None, false);
    }

    /// Refused at a step for its length.
    fn cut(&mut self, step: u32, what: &str, length: usize) {
        self.push(step, what, &[], Some(length), false);
    }

    /// A file like any other.
    fn valid(&mut self, what: &str, bytes: &[(usize, &[u8])]) {
        self.push(0, what, bytes, None, true);
    }

    fn push(
        &mut self,
        step: u32,
        what: &str,
        bytes: &[(usize, &[u8])],
        length: Option<usize>,
        sealed: bool,
    ) {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let bytes = bytes.iter().map(|&(at, bytes)| (at, hex(bytes))).collect();
        let (file, what) = (self.file.to_owned(), what.to_owned());
        self.changes.push(Change { file, what, bytes, length, sealed, step });
    }
}

fn u16(number: u16) -> [u8; 2] {
    number.to_le_bytes()
}

fn u32(number: u32) -> [u8; 4] {
    number.to_le_bytes()
}

fn u64(number: u64) -> [u8; 8] {
    number.to_le_bytes()
}

fn f64(number: f64) -> [u8; 8] {
    number.to_le_bytes()
}

/// Adds the changes of a file with these bytes.
type Add = fn(&mut Changed<'_>, &[u8]);

/// All of them; `read` gives the bytes of a golden file.
pub(super) fn all(read: impl Fn(&str) -> Result<Vec<u8>>) -> Result<Vec<Change>> {
    let kinds: [(&str, Add); 19] = [
        ("blocked-empty", shared),
        ("caller-blocked", hashes_of_the_caller),
        ("blocked-keyed", keyed),
        ("described-blocked", described),
        ("classic-tiny", classic),
        ("sliced-odd", sliced),
        ("counting-4", counting),
        ("scalable-four", scalable),
        ("scalable-empty", of_one_link),
        ("stable-3", stable),
        ("window-four", window),
        ("window-three-keyed", young_window),
        ("window-by-time", by_time),
        ("bloomier-7", bloomier),
        ("bloomier-values", values),
        ("attributes-classic", attributes),
        ("coded-12", coded),
        ("cascade-levels", levels),
        ("cascade-list", list),
    ];
    let mut changes = Vec::new();
    for (name, add) in kinds {
        let file = format!("{name}.umbel");
        let bytes = read(&file)?;
        let header = u32::from_le_bytes(bytes[12..16].try_into()?) as usize;
        let length = bytes.len();
        add(&mut Changed { file: &file, header, length, changes: &mut changes }, &bytes);
    }
    Ok(changes)
}

/// What all kinds share, and the fields of kind 1.
fn shared(file: &mut Changed<'_>, bytes: &[u8]) {
    file.cut(1, "nothing", 0);
    file.cut(1, "less than the magic", 7);
    file.cut(1, "less than a header", 127);
    file.damaged(1, "another magic", 0, &[0x88]);
    file.damaged(1, "magic with another line end", 6, b"\n");
    for version in [0, 2] {
        file.refused(1, "a version that there is not", &[(8, &u16(version))]);
    }
    file.damaged(2, "a bit of the header", 100, &[1]);
    file.damaged(2, "a bit of its checksum", 120, &[!bytes[120]]);
    file.damaged(2, "the checksum is looked for at byte 184", 12, &u32(192));

    file.refused(3, "header_length 0", &[(12, &u32(0))]);
    file.each("a kind that there is not", 10, [0, 12, 200].map(u16));
    file.each("an algorithm that there is not", 16, [0, 4].map(u16));
    file.refused(3, "reserved bytes", &[(18, &[1])]);
    file.refused(3, "a description of one byte", &[(20, &u32(1))]);
    file.refused(3, "key_id without a secret", &[(32, &u64(1))]);
    file.each("payload_length of another size", 40, [0, 63, 128, u64::MAX - 63].map(u64));
    file.each("planned_fpp", 48, [0.0, -0.5, 1.0, f64::NAN].map(f64));
    file.refused(3, "planned_keys", &[(56, &u64(0))]);
    file.each("bits", 64, [0, 511, 513, 1024, 1 << 63].map(u64));
    let most = 1u64 << 48;
    let size = |bits: u64| (u64(bits / 8), u64(bits));
    let (length, bits) = size(most + 512);
    file.refused(3, "more than 2^48 bits", &[(40, &length), (64, &bits)]);
    let (length, bits) = size(most);
    file.refused(4, "2^48 bits, which the file does not have", &[(40, &length), (64, &bits)]);
    file.each("probes", 72, [0, 33, 8 + (1 << 31)].map(u32));
    file.refused(3, "bytes after the fields", &[(76, &[1])]);
    file.refused(3, "bytes before the checksum", &[(119, &[1])]);
    file.cut(4, "a byte less", file.length - 1);
    file.cut(4, "a byte more", file.length + 1);
    file.cut(4, "only the header", 128);
    file.damaged(5, "a bit of the payload", 128, &[1]);
    file.damaged(5, "the checksum of a chunk", file.length - 16, &[!bytes[file.length - 16]]);
    file.damaged(5, "the table checksum", file.length - 8, &[!bytes[file.length - 8]]);
    file.valid("a bit of the payload", &[(128, &[1])]);
    file.valid("another rate", &[(48, &f64(0.25))]);
    file.valid("another kind", &[(10, &u16(2))]);
}

fn hashes_of_the_caller(file: &mut Changed<'_>, _: &[u8]) {
    file.refused(3, "an algorithm that there is not", &[(16, &u16(4))]);
    file.refused(3, "key_id without a secret", &[(32, &u64(1))]);
    file.valid("the id of another function", &[(24, &u64(1))]);
}

fn keyed(file: &mut Changed<'_>, _: &[u8]) {
    file.refused(3, "seed with a secret", &[(24, &u64(1))]);
}

fn described(file: &mut Changed<'_>, bytes: &[u8]) {
    let length = u32::from_le_bytes(bytes[20..24].try_into().expect("4 bytes"));
    let start = file.header - 8 - length as usize;
    // The first entry is `field`, `größe`; the last one has an empty value.
    file.damaged(2, "header_length that is no multiple of 64 is read as 128", 12, &u32(250));
    file.refused(3, "an entry without a name", &[(start, &u16(0))]);
    file.refused(3, "a name of 256 bytes", &[(start, &u16(256))]);
    file.refused(3, "a name beyond the description", &[(start, &u16(u16::MAX))]);
    file.refused(3, "a name that is not UTF-8", &[(start + 2, &[0xff])]);
    file.refused(3, "a value that ends within a letter", &[(start + 7, &u16(3))]);
    file.refused(3, "a value that is not UTF-8", &[(start + 9, &[0xff])]);
    file.refused(3, "a value beyond the description", &[(file.header - 10, &u16(1))]);
    file.refused(3, "a description cut off", &[(20, &u32(length + 1))]);
    file.refused(3, "a description that begins too late", &[(20, &u32(length - 1))]);
    file.refused(3, "no description", &[(20, &u32(0))]);
    file.refused(3, "a description longer than the header", &[(20, &u32(u32::MAX))]);
    file.refused(3, "bytes before the description", &[(start - 1, &[1])]);
    file.valid("another name", &[(start + 2, b"F")]);
}

fn classic(file: &mut Changed<'_>, bytes: &[u8]) {
    let at = file.header + 8;
    file.refused(3, "another number of blocks", &[(64, &u64(513))]);
    file.refused(6, "a bit of padding", &[(at, &[bytes[at] | 8])]);
    file.refused(6, "the last bit", &[(file.header + 63, &[0x80])]);
    file.valid("the last bit that is no padding", &[(at, &[bytes[at] ^ 4])]);
}

fn sliced(file: &mut Changed<'_>, _: &[u8]) {
    file.refused(3, "bits that are no multiple of the probes", &[(64, &u64(7 * 1_371 + 1))]);
    let at = file.header + 7 * 1_371 / 8;
    file.refused(6, "a bit of padding", &[(at, &[0x20])]);
}

fn counting(file: &mut Changed<'_>, bytes: &[u8]) {
    file.each("counter_bits", 76, [0, 2, 5, 32].map(u32));
    file.refused(3, "half of a block", &[(64, &u64(40_960 + 1024)), (40, &u64(5_120 + 128))]);
    // A counter of the first block that is 0.
    let start = file.header;
    let used = |at: usize| bytes[start + at] | bytes[start + 64 + at];
    let at = (0..64).find(|&at| used(at) != 255).expect("a counter that is 0");
    let counter = 1 << used(at).trailing_ones();
    let plane = |n: usize| (start + 64 * n + at, [bytes[start + 64 * n + at] | counter]);
    let [(low, lowest), _, (third, high), (fourth, highest)] = [0, 1, 2, 3].map(plane);
    file.refused(6, "the pattern 4", &[(third, &high)]);
    file.refused(6, "the pattern 8", &[(fourth, &highest)]);
    file.valid("the pattern 5", &[(low, &lowest), (third, &high)]);
}

fn scalable(file: &mut Changed<'_>, bytes: &[u8]) {
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
    let link = |i: usize| 72 + 40 * i;
    file.cut(1, "less than header_length says", 192);
    file.damaged(1, "a longer header than the file", 12, &u32(131_072));
    file.damaged(2, "a longer header than there may be is read as 128 bytes", 12, &u32(131_136));
    file.damaged(2, "header_length that is no multiple of 64 is read as 128", 12, &u32(250));
    file.damaged(2, "the checksum is looked for at byte 184", 12, &u32(192));
    file.each("links", 64, [0, 3, 5, 49, u32::MAX].map(u32));
    file.refused(3, "growth", &[(68, &u32(2))]);
    file.refused(3, "growth of other links", &[(68, &u32(1))]);
    file.refused(3, "planned_keys of which the last link has 2^64", &[(56, &u64(1 << 61))]);
    for i in [0, 1, 3] {
        file.refused(3, "link_keys", &[(link(i), &u64(number(link(i)) + 1))]);
        file.refused(3, "link_fpp", &[(link(i) + 8, &u64(number(link(i) + 8) + 1))]);
        file.refused(3, "link_taken", &[(link(i) + 16, &u64(number(link(i)) + 1))]);
        file.refused(3, "link_taken", &[(link(i) + 16, &u64(0))]);
        file.refused(3, "link_bits", &[(link(i) + 24, &u64(0))]);
        file.refused(3, "link_bits", &[(link(i) + 24, &u64(1 << 48))]);
        file.refused(3, "link_probes", &[(link(i) + 32, &u32(0))]);
        file.refused(3, "reserved bytes", &[(link(i) + 36, &[1])]);
    }
    file.refused(3, "link_taken of a link before the last", &[(link(2) + 16, &u64(799))]);
    file.valid("link_taken of the last link", &[(link(3) + 16, &u64(1))]);
}

fn of_one_link(file: &mut Changed<'_>, _: &[u8]) {
    file.damaged(2, "the checksum is looked for at byte 184", 12, &u32(192));
    file.refused(3, "links", &[(64, &u32(2))]);
    file.valid("link_taken of the only link", &[(88, &u64(1))]);
}

fn stable(file: &mut Changed<'_>, bytes: &[u8]) {
    file.each("cell_bits", 76, [0, 9].map(u32));
    file.each("lowered", 80, [0, 320 * 21 + 1, u64::MAX].map(u64));
    let last = file.header + 7;
    file.refused(6, "the last bit of a word", &[(last, &[bytes[last] | 0x80])]);
    file.valid("all cells lowered", &[(80, &u64(320 * 21))]);
    file.valid("any number of insertions", &[(88, &u64(u64::MAX))]);
    file.valid("no insertions", &[(88, &u64(0))]);
}

fn window(file: &mut Changed<'_>, bytes: &[u8]) {
    // Generation 8 is at index 0; each of the others took 334.
    let taken = |index: usize| 96 + 8 * index;
    file.each("generations", 76, [0, 1, 3, 5, 9, u32::MAX].map(u32));
    file.refused(3, "half of a group of blocks", &[(64, &u64(12_800)), (40, &u64(1_600))]);
    file.refused(3, "a newest generation that is full", &[(taken(0), &u64(334))]);
    file.each("another generation that is not", taken(2), [0, 333, 335].map(u64));
    file.refused(3, "another newest generation", &[(88, &u64(9))]);
    file.refused(3, "generations that are to come", &[(88, &u64(0))]);
    file.refused(6, "bits of a newest generation that took nothing", &[(taken(0), &u64(0))]);
    file.valid("fewer insertions", &[(taken(0), &u64(1))]);
    file.valid("a later number with the same index", &[(88, &u64(u64::MAX - 3))]);
    let bits = file.header + 64;
    file.valid("a bit of a generation", &[(bits, &[!bytes[bits]])]);
}

fn young_window(file: &mut Changed<'_>, _: &[u8]) {
    file.refused(3, "a generation that is to come", &[(88, &u64(1))]);
}

fn by_time(file: &mut Changed<'_>, _: &[u8]) {
    // 900 ticks a generation.
    file.refused(3, "number after the last tick", &[(88, &u64(u64::MAX / 900 + 1))]);
    file.valid("the last number", &[(88, &u64(u64::MAX / 900))]);
    file.valid("any number of keys in a generation", &[(96, &u64(u64::MAX))]);
}

fn bloomier(file: &mut Changed<'_>, _: &[u8]) {
    // 1,408 slots of 7 bits, 9,856 bits of 10,240.
    file.each("shards", 64, [0, 2, 8_001, u32::MAX].map(u32));
    file.each("segment_length", 68, [0, 1, 3, 192, 1 << 19].map(u32));
    file.each("segments", 72, [0, 10, (1 << 17) - 1, u32::MAX].map(u32));
    file.each("fingerprint_bits", 76, [0, 8, 65, u32::MAX].map(u32));
    file.each("value_bits", 80, [1, 58, 65, u32::MAX].map(u32));
    file.refused(3, "other positions", &[(84, &[0])]);
    file.refused(3, "more keys than planned", &[(88, &u64(1_001))]);
    file.refused(3, "more keys than slots", &[(56, &u64(2_000)), (88, &u64(1_409))]);
    let low = 0.5f64.powi(7);
    file.refused(3, "a rate below that of the fingerprints", &[(48, &f64(low.next_down()))]);
    let padding = file.header + 9_856 / 8;
    file.refused(6, "a bit after the last slot", &[(padding, &[1])]);
    file.valid("the rate of the fingerprints", &[(48, &f64(low))]);
    file.valid("a value of one bit more", &[(76, &u32(6)), (80, &u32(1)), (48, &f64(0.5))]);
}

fn values(file: &mut Changed<'_>, _: &[u8]) {
    file.refused(3, "a rate below 1 - 2^-53 without fingerprints", &[(48, &f64(0.5))]);
    file.valid("a fingerprint in place of one bit", &[(76, &u32(1)), (80, &u32(32))]);
}

fn attributes(file: &mut Changed<'_>, _: &[u8]) {
    // x, y and z; filters of 4,801 bits, in 640 bytes each.
    file.each("detail", 76, [3, 9, 13, 20, u32::MAX].map(u32));
    file.each("attributes", 80, [0, 2, 4, 9, 65, u32::MAX].map(u32));
    file.refused(3, "reserved bytes", &[(84, &[1])]);
    file.each("name_length", 88, [0, 2, 256, u32::MAX].map(u32));
    file.refused(3, "a name that is not UTF-8", &[(92, &[0xff])]);
    file.refused(3, "the same name twice", &[(97, b"x")]);
    file.refused(3, "bits of which all filters have 2^64", &[(64, &u64(u64::MAX / 7 + 1))]);
    for part in [0, 2] {
        let padding = file.header + 640 * part + 600;
        file.refused(6, "a bit of padding between filters", &[(padding, &[2])]);
    }
    file.valid("another name", &[(92, b"w")]);
}

fn coded(file: &mut Changed<'_>, bytes: &[u8]) {
    file.each("code_bits", 76, [0, 1, 41].map(u32));
    file.each("probes", 72, [0, 2].map(u32));
    file.refused(3, "half of a bucket", &[(64, &u64(15_360 + 256))]);
    let start = file.header;
    let bucket = |b: usize| start + 64 * b;
    let spare = bucket(0) + 63;
    file.refused(6, "a bit after the last cell", &[(spare, &[bytes[spare] | 0x80])]);
    // The last cell ends at bit 504, and bytes before it are those of empty cells.
    let roomy = (0..30).find(|&b| bytes[bucket(b) + 56..bucket(b) + 63] == [0; 7]);
    let last = bucket(roomy.expect("a bucket with room")) + 62;
    file.refused(6, "a cell after an empty one", &[(last, &[1])]);
}

fn levels(file: &mut Changed<'_>, _: &[u8]) {
    let level = |i: usize| 96 + 32 * i;
    file.each("levels", 64, [0, 6, 8, 129, u32::MAX].map(u32));
    file.each("form", 68, [1, 2].map(u32));
    file.refused(3, "included", &[(72, &u64(1_001))]);
    file.refused(3, "excluded less than level 1 has", &[(80, &u64(1))]);
    file.refused(3, "listed in form 0", &[(88, &u64(1))]);
    file.refused(3, "level_keys of level 0", &[(level(0), &u64(999))]);
    file.refused(3, "level_keys of level 2", &[(level(2), &u64(1_001))]);
    for i in 1..7 {
        file.refused(3, "level_keys", &[(level(i), &u64(0))]);
        file.refused(3, "level_keys", &[(level(i), &u64(20_001))]);
        file.refused(3, "level_fpp", &[(level(i) + 8, &f64(0.0))]);
        file.refused(3, "level_bits", &[(level(i) + 16, &u64(511))]);
        file.refused(3, "level_probes", &[(level(i) + 24, &u32(33))]);
        file.refused(3, "reserved bytes", &[(level(i) + 28, &[1])]);
    }
    file.refused(3, "level_fpp of level 0", &[(level(0) + 8, &f64(0.06))]);
    file.valid("fewer keys in the last level", &[(level(6), &u64(1))]);
    file.valid("another rate of level 1", &[(level(1) + 8, &f64(0.75))]);
}

fn list(file: &mut Changed<'_>, bytes: &[u8]) {
    let listed = u64::from_le_bytes(bytes[88..96].try_into().expect("8 bytes"));
    let list = file.header + 6_144 / 8;
    let hash = |n: usize| &bytes[list + 16 * n..list + 16 * n + 16];
    file.refused(3, "more listed than excluded", &[(88, &u64(3_001))]);
    file.refused(3, "listed in more blocks", &[(88, &u64(listed + 4))]);
    let all = u64(1 << 60);
    file.refused(3, "2^60 listed, of 2^64 bytes", &[(80, &all), (88, &all)]);
    file.refused(3, "two levels in form 1", &[(64, &u32(2))]);
    let swapped = [hash(1), hash(0)].concat();
    file.refused(6, "a list in another order", &[(list, &swapped)]);
    file.refused(6, "a hash twice", &[(list, hash(1))]);
    let end = list + 16 * listed as usize;
    file.refused(6, "bytes after the list", &[(end, &[1])]);
    file.refused(6, "zeros in the list", &[(88, &u64(listed + 2))]);
}

//! The definition of words, and the keys of a text. **Part of the format**: FORMAT.md has the same rule.
//!
//! A *letter* is an ASCII letter or digit, `_`, or a character beyond ASCII that the table below does not exclude. A *word*
//! is the longest run of letters, except that each character of a script written without spaces is a word by
//! itself. The table is fixed, and does not follow the versions of Unicode: an index and a query must cut alike.
//!
//! The keys of a text are its words, with ASCII letters in lower case, and its *chains*: three words of at most 3
//! bytes, with nothing or one non-blank byte between them, including that byte. Words of an address such as 10.0.3.17
//! are in every block, and its chains 10.0.3 and 0.3.17 in few. Pairs made an index of logs twice as large; chains make
//! it a fifth larger (bench/record has the table).

use std::ops::Range;

/// The role of a character in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Between words.
    Other,
    /// Part of a word.
    Letter,
    /// A word of its own.
    Single,
}

/// Characters beyond ASCII that are between words: signs, punctuation, spaces, arrows, frames, pictures.
const OTHERS: [(u32, u32); 15] = [
    (0x80, 0xa9),
    (0xab, 0xb4),
    (0xb6, 0xb9),
    (0xbb, 0xbf),
    (0xd7, 0xd7),
    (0xf7, 0xf7),
    (0x2000, 0x206f),
    (0x20a0, 0x20cf),
    (0x2190, 0x2bff),
    (0x3000, 0x3004),
    (0x3008, 0x3020),
    (0xd800, 0xf8ff),
    (0xfe10, 0xfe6f),
    (0xfeff, 0xff0f),
    (0x1f000, 0x1faff),
];

/// Scripts that are written without spaces between words: Thai, Lao, Myanmar, Khmer, kana and ideographs.
const SINGLES: [(u32, u32); 8] = [
    (0xe00, 0xeff),
    (0x1000, 0x109f),
    (0x1780, 0x17ff),
    (0x3005, 0x3007),
    (0x3021, 0x30ff),
    (0x31f0, 0x31ff),
    (0x3400, 0x9fff),
    (0x20000, 0x3ffff),
];

impl Class {
    fn of(letter: char) -> Self {
        let letter = u32::from(letter);
        let among = |ranges: &[(u32, u32)]| {
            let after = ranges.partition_point(|&(first, _)| first <= letter);
            after > 0 && letter <= ranges[after - 1].1
        };
        if among(&OTHERS) {
            Self::Other
        } else if among(&SINGLES) {
            Self::Single
        } else {
            Self::Letter
        }
    }
}

const fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Which of 64 bytes are letters of ASCII or parts of characters beyond it: bit i is for byte i. Without a branch: the
/// compiler then compares 16 bytes at a time.
#[inline]
fn letters(bytes: &[u8; 64]) -> u64 {
    let mut are = [0u8; 64];
    for (is, &byte) in are.iter_mut().zip(bytes) {
        let letter = (byte | 0x20).wrapping_sub(b'a') < 26;
        let digit = byte.wrapping_sub(b'0') < 10;
        *is = u8::from(letter | digit | (byte == b'_') | (byte >= 0x80));
    }
    let mut mask = 0;
    for (at, eight) in are.chunks_exact(8).enumerate() {
        let eight = u64::from_le_bytes(eight.try_into().expect("8 bytes"));
        // The lowest bits of 8 bytes, side by side in the highest byte.
        mask |= eight.wrapping_mul(0x0102_0408_1020_4080) >> 56 << (8 * at);
    }
    mask
}

/// The class and the length of the character that `bytes` start with; an invalid byte is between words.
fn first(bytes: &[u8]) -> (Class, usize) {
    let lead = bytes[0];
    if lead < 0x80 {
        return (if is_letter(lead) { Class::Letter } else { Class::Other }, 1);
    }
    let length = match lead {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return (Class::Other, 1),
    };
    let text = bytes.get(..length).and_then(|bytes| std::str::from_utf8(bytes).ok());
    match text.and_then(|text| text.chars().next()) {
        Some(letter) => (Class::of(letter), length),
        None => (Class::Other, 1),
    }
}

/// The class of the last character of `bytes`, which are not empty.
fn last(bytes: &[u8]) -> Class {
    for length in 1..=bytes.len().min(4) {
        let start = bytes.len() - length;
        if bytes[start] & 0xc0 != 0x80 {
            return match first(&bytes[start..]) {
                (class, whole) if whole == length => class,
                _ => Class::Other,
            };
        }
    }
    Class::Other
}

/// Whether a word may start or end between two bytes of a text.
pub fn is_edge(text: &[u8], at: usize) -> bool {
    let (before, after) = text.split_at(at);
    before.is_empty()
        || after.is_empty()
        || last(before) != Class::Letter
        || first(after).0 != Class::Letter
}

/// A letter without its case: one for one. Letters beyond ASCII do not become ASCII ones (`ſ`, `K`), because an index
/// distinguishes them.
fn folded(letter: char) -> char {
    fn one(letter: char, mut cased: impl Iterator<Item = char>) -> char {
        match (cased.next(), cased.next()) {
            (Some(one), None) if one.is_ascii() == letter.is_ascii() => one,
            _ => letter,
        }
    }
    // By its capital, because two small letters may share one: σ and ς.
    let capital = one(letter, letter.to_uppercase());
    one(capital, capital.to_lowercase())
}

/// Appends a text without the case of its letters.
pub fn fold(text: &[u8], to: &mut Vec<u8>) {
    if text.is_ascii() {
        let start = to.len();
        to.extend_from_slice(text);
        return to[start..].make_ascii_lowercase();
    }
    for chunk in text.utf8_chunks() {
        for letter in chunk.valid().chars() {
            match letter.is_ascii() {
                true => to.push(letter.to_ascii_lowercase() as u8),
                false => to.extend_from_slice(folded(letter).encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        to.extend_from_slice(chunk.invalid());
    }
}

/// Whether a text has letters whose case an index keeps: letters with a case beyond ASCII.
pub(crate) fn has_case(text: &str) -> bool {
    let has =
        |letter: char| !letter.to_lowercase().eq([letter]) || !letter.to_uppercase().eq([letter]);
    text.chars().any(|letter| !letter.is_ascii() && has(letter))
}

/// A key of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Where it is.
    pub range: Range<usize>,
    /// How many probes it has in a filter.
    pub probes: u32,
    /// Whether it is a word by itself wherever it is.
    pub single: bool,
}

/// Words of a chain have at most this many bytes. Part of the format.
const SHORT: usize = 3;

/// Probes of a chain. Part of the format.
const CHAIN_PROBES: u32 = 5;

/// Probes of a word, by its length in bytes: short ones are in most blocks, and long ones are what people look for. Part of
/// the format.
fn word_probes(length: usize) -> u32 {
    match length {
        ..=3 => 2,
        4..=7 => 4,
        8..=11 => 8,
        _ => 12,
    }
}

/// Bytes of text whose words are found at a time: the places are noted first, without a branch for each.
const PIECE: usize = 1 << 12;

/// Passes each key of a text to `see`.
#[inline]
pub fn each(text: &[u8], see: impl FnMut(Key)) {
    let mut cut = Cut { text, see, starts: [0; 2], singles: [false; 2], linked: 0, end: 0 };
    // Places of bytes that differ from the byte before: starts and ends of runs, in turn. The first may be the start of a run
    // that continues from the piece before.
    let mut turns = [0; PIECE + 16];
    let (mut before, mut open) = (0, 0);
    // Whether the pieces that this one's runs are in are all ASCII. Checking a long run again with each piece would
    // take time quadratic in its length.
    let mut is_ascii = true;
    for (piece, at) in text.chunks(PIECE).zip((0..).step_by(PIECE)) {
        let mut count = open;
        for (chunk, at) in piece.chunks(64).zip((at..).step_by(64)) {
            let mask = match chunk.first_chunk() {
                Some(whole) => letters(whole),
                None => {
                    let mut padded = [b' '; 64];
                    padded[..chunk.len()].copy_from_slice(chunk);
                    letters(&padded)
                }
            };
            let mut changes = mask ^ (mask << 1 | before);
            before = mask >> 63;
            let end = count + changes.count_ones() as usize;
            // Eight at a time; places after the last one are overwritten.
            while count < end {
                let eight: &mut [usize; 8] =
                    turns[count..].first_chunk_mut().expect("8 are behind the last");
                for turn in eight {
                    *turn = at + changes.trailing_zeros() as usize;
                    changes &= changes.wrapping_sub(1);
                }
                count += 8;
            }
            count = end;
        }
        is_ascii = piece.is_ascii() && (open == 0 || is_ascii);
        let (runs, rest) = turns[..count].as_chunks::<2>();
        for &[start, end] in runs {
            cut.run(start..end, is_ascii);
        }
        open = rest.len();
        if let [start] = *rest {
            turns[0] = start;
        }
    }
    if open == 1 && turns[0] < text.len() {
        cut.run(turns[0]..text.len(), false);
    }
}

/// A text that is being cut.
struct Cut<'a, F> {
    text: &'a [u8],
    see: F,
    /// The starts of the last two words, the later one first, and whether they are words by themselves.
    starts: [usize; 2],
    singles: [bool; 2],
    /// How many short words in a row are joined, with the last one.
    linked: u32,
    /// The end of the last word.
    end: usize,
}

impl<F: FnMut(Key)> Cut<'_, F> {
    /// Bytes that are letters of ASCII, or not of ASCII.
    #[inline]
    fn run(&mut self, run: Range<usize>, is_ascii: bool) {
        if is_ascii || self.text[run.clone()].is_ascii() {
            self.word(run, false);
        } else {
            self.characters(run);
        }
    }

    #[cold]
    fn characters(&mut self, run: Range<usize>) {
        let (mut at, mut start) = (run.start, run.start);
        while at < run.end {
            let (class, length) = first(&self.text[at..]);
            if class != Class::Letter {
                if start < at {
                    self.word(start..at, false);
                }
                if class == Class::Single {
                    self.word(at..at + length, true);
                }
                start = at + length;
            }
            at += length;
        }
        if start < run.end {
            self.word(start..run.end, false);
        }
    }

    #[inline]
    fn word(&mut self, word: Range<usize>, single: bool) {
        let Range { start, end } = word;
        (self.see)(Key { range: word, probes: word_probes(end - start), single });
        let between = start - self.end;
        let blank = matches!(self.text[self.end], b' ' | b'\t' | b'\n' | b'\r');
        let joined = (between == 0) | (between == 1) & !blank;
        // Without branches: words are long or short, joined or not at random.
        self.linked = (self.linked * u32::from(joined) + 1) * u32::from(end - start <= SHORT);
        if self.linked > 2 {
            let ([_, from], [_, alone]) = (self.starts, self.singles);
            (self.see)(Key { range: from..end, probes: CHAIN_PROBES, single: single && alone });
        }
        self.starts = [start, self.starts[0]];
        self.singles = [single, self.singles[0]];
        self.end = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn keys(text: &str, expected: &[&str]) {
        let mut found = Vec::new();
        each(text.as_bytes(), |key| found.push(&text[key.range]));
        assert_eq!(found, expected, "{text}");
    }

    /// A folded letter keeps its role in words and still has a case, so the index is not queried for it.
    #[test]
    fn folded_letters_are_of_the_same_class() {
        for letter in ('\u{80}'..=char::MAX).filter(|letter| folded(*letter) != *letter) {
            let now = folded(letter);
            assert_eq!(Class::of(letter), Class::of(now), "{letter} {now}");
            assert!(!now.is_ascii() && folded(now) == now, "{letter} {now}");
            assert!(has_case(&letter.to_string()) && has_case(&now.to_string()), "{letter} {now}");
        }
        let fold = |text: &[u8]| {
            let mut folded = Vec::new();
            super::fold(text, &mut folded);
            folded
        };
        let text = "ÉTUDE Σς \u{212a}ſß İ Ж";
        assert_eq!(fold(text.as_bytes()), "étude σσ \u{212a}ſß İ ж".as_bytes());
        assert_eq!(fold(b"\xc3A\xffB\xe2\x82"), b"\xc3a\xffb\xe2\x82");
    }

    #[test]
    fn texts_have_their_words_and_chains() {
        keys("", &[]);
        keys("user_id=17, Zoë's", &["user_id", "17", "Zoë", "s"]);
        keys("10.0.3.17:8080", &["10", "0", "3", "10.0.3", "17", "0.3.17", "8080"]);
        keys("a b.c.d", &["a", "b", "c", "d", "b.c.d"]);
        keys("a..b.c.d", &["a", "b", "c", "d", "b.c.d"]);
        keys("“ab” — cd", &["ab", "cd"]);
        keys("日本語です", &["日", "本", "語", "日本語", "で", "本語で", "す", "語です"]);
        keys("x日y", &["x", "日", "y", "x日y"]);
        keys("longer.a.b.c", &["longer", "a", "b", "c", "a.b.c"]);
    }

    #[test]
    fn letters_are_told_apart_in_any_place() {
        for byte in 0..=u8::MAX {
            for at in 0..64 {
                let mut bytes = [b' '; 64];
                bytes[at] = byte;
                let expected = u64::from(is_letter(byte) || byte >= 0x80) << at;
                assert_eq!(letters(&bytes), expected, "{byte}");
            }
        }
    }

    #[test]
    fn words_go_on_from_piece_to_piece() {
        for length in [63, 64, 65, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, 2 * PIECE + 70] {
            for start in [0, 1, 5, 64, PIECE - 2] {
                let text = [" ".repeat(start), "é".repeat(length), " b ".to_owned()].concat();
                let short = [" ".repeat(start), "x".repeat(length)].concat();
                keys(&text, &[&"é".repeat(length), "b"]);
                keys(&short, &[&"x".repeat(length)]);
            }
        }
        let many = "a ".repeat(PIECE);
        keys(&many, &vec!["a"; PIECE]);
    }

    /// A text 8 times as long takes 8 times as long, not 64 times.
    #[test]
    fn a_word_of_megabytes_is_cut_in_the_time_of_its_bytes() {
        let seconds = |length: usize| {
            let word = vec![b'x'; length];
            let started = std::time::Instant::now();
            each(&word, |key| assert_eq!(key.range, 0..length));
            started.elapsed().as_secs_f64()
        };
        let fastest = |length| (0..9).map(|_| seconds(length)).fold(f64::MAX, f64::min);
        let ratio = fastest(32 << 20) / fastest(4 << 20);
        assert!(ratio < 40.0, "{ratio}");
    }

    #[test]
    fn bytes_that_are_no_text_are_between_words() {
        let mut found = Vec::new();
        let text = b"ab\xffcdef\xc3\xc3\xa9e\xe2\x82";
        each(text, |key| found.push(&text[key.range]));
        assert_eq!(found, [&b"ab"[..], b"cdef", b"\xc3\xa9e"]);
    }

    #[test]
    fn edges_are_where_words_start_and_end() {
        for text in ["ab cd", "é—é", "日a本", "a\u{301}b", "_x", "x", "añ日", "Привет, мир"]
        {
            let bytes = text.as_bytes();
            let mut inside = vec![false; bytes.len() + 1];
            each(bytes, |key| {
                if key.probes != CHAIN_PROBES {
                    inside[key.range.start + 1..key.range.end].fill(true);
                }
            });
            for (at, _) in text.char_indices() {
                assert_eq!(is_edge(bytes, at), !inside[at], "{text} at {at}");
            }
        }
    }

    #[test]
    fn ranges_of_the_tables_ascend() {
        for ranges in [&OTHERS[..], &SINGLES[..]] {
            assert!(ranges.iter().all(|(first, last)| first <= last));
            assert!(ranges.windows(2).all(|pair| pair[0].1 < pair[1].0));
        }
    }
}

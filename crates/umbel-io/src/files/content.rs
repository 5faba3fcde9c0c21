//! Inputs that are not lines of text in UTF-8, by their first bytes: filters, archives, tables in pages, text in other
//! encodings. Certain cases are errors that name the command to convert them, because their bytes would have nothing in
//! common with other files; likely cases are warnings.

use std::borrow::Cow;

use anyhow::{Result, bail};

use super::start;

/// The first bytes of formats; no line of text begins with any of these.
const MAGICS: [(&[u8], Archive); 5] = [
    (b"PK\x03\x04", Archive::Zip),
    // An archive without files.
    (b"PK\x05\x06", Archive::Zip),
    (b"7z\xbc\xaf\x27\x1c", Archive::SevenZip),
    (b"Rar!\x1a\x07", Archive::Rar),
    (b"SQLite format 3\0", Archive::Sqlite),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Archive {
    Zip,
    SevenZip,
    Rar,
    Tar,
    Parquet,
    Sqlite,
}

/// Refuses the input `name`, whose content, perhaps decompressed, starts with `start`, if that is clearly not text in UTF-8.
///
/// # Errors
/// Names the format and the command that helps, but not the input.
pub fn check(name: &str, start: &[u8], decompressed: bool) -> Result<()> {
    let start = &start[..start.len().min(start::BYTES)];
    // Of the commands, only tar decompresses.
    let path = shell(if decompressed { "-" } else { name });
    if let Some(format) = start::name_of(start) {
        bail!("is compressed twice, with {format} inside; decompress it once first");
    }
    if let Some(encoding) = marked(start) {
        bail!("is text in {encoding}; convert it: iconv -f {encoding} -t UTF-8{path}");
    }
    if let Some((what, remedy)) = own(start) {
        bail!("is {what}, not lines; {remedy}");
    }
    // Their lists of files are at the end, so they are read by name.
    let file = if path.is_empty() { " FILE" } else { &path };
    let (what, remedy) = match archive(start) {
        None => return Ok(()),
        Some(Archive::Zip) if is_office(start) => {
            ("a spreadsheet or document", "save its table as CSV in UTF-8 first".to_owned())
        }
        Some(Archive::Zip) => ("a zip archive", format!("read its files: unzip -p{file}")),
        Some(Archive::SevenZip) => ("a 7z archive", format!("read its files: 7z x -so{file}")),
        Some(Archive::Rar) => ("a RAR archive", format!("read its files: unrar p -inul{file}")),
        Some(Archive::Tar) => {
            let path = shell(name);
            let file = if path.is_empty() { "" } else { "f" };
            ("a tar archive", format!("read its files: tar -xO{file}{path}"))
        }
        Some(Archive::Parquet) => (
            "a Parquet file",
            "write its rows as CSV first, or read its filters with umbel parquet".to_owned(),
        ),
        Some(Archive::Sqlite) => {
            ("an SQLite database", "write a table as CSV first: sqlite3 -csv".to_owned())
        }
    };
    bail!("is {what}, not lines; {remedy}")
}

/// Describes what an input that starts with `start` probably is, if not lines, and what to do.
pub fn doubt(start: &[u8]) -> Option<&'static str> {
    // ASCII in UTF-16 has a NUL in every other byte.
    let pairs = start.chunks_exact(2).take(32);
    let half = |half: usize| pairs.clone().all(|pair| pair[half] == 0 && pair[1 - half] != 0);
    if start.len() >= 8 && (half(0) || half(1)) {
        return Some(
            "seems to be UTF-16, so its lines match none in other files; convert it: iconv -f UTF-16 -t UTF-8",
        );
    }
    let one_line = !start.contains(&b'\n') && !start.contains(&0);
    (one_line && start.trim_ascii_end().contains(&b'\r')).then_some(
        "has carriage returns and no line feed, so it is one line; convert it: tr '\\r' '\\n'",
    )
}

/// The type of one of umbel's own files, and how it is used. All begin with `\x89UM`, three letters and CR LF (FORMAT.md).
fn own(start: &[u8]) -> Option<(&'static str, &'static str)> {
    let kind = start.strip_prefix(b"\x89UM")?.first_chunk::<5>()?.strip_suffix(b"\r\n")?;
    Some(match kind {
        b"BEL" | b"PAK" => (
            "an umbel filter",
            "umbel filter merge combines filters, and umbel filter query FILTER looks up lines",
        ),
        b"DLT" => ("an umbel delta", "umbel filter patch FILTER applies it"),
        b"IDX" => ("an umbel index", "umbel find searches it"),
        _ => ("an umbel file", "name a file of lines"),
    })
}

fn archive(start: &[u8]) -> Option<Archive> {
    if let Some((_, archive)) = MAGICS.iter().find(|(magic, _)| start.starts_with(magic)) {
        return Some(*archive);
    }
    // The header of its first page follows, in Thrift's compact protocol: a field of type i32.
    if start.starts_with(b"PAR1\x15") {
        return Some(Archive::Parquet);
    }
    is_tar(start).then_some(Archive::Tar)
}

/// Whether a zip archive begins with a file as Excel, other writers of its format, or LibreOffice do.
fn is_office(zip: &[u8]) -> bool {
    let firsts = "[Content_Types].xml _rels/ docProps/ xl/ mimetypeapplication/vnd.oasis";
    let mut firsts = firsts.split(' ');
    zip.get(30..).is_some_and(|name| firsts.any(|first| name.starts_with(first.as_bytes())))
}

/// Whether it starts with the header of a file in a tar archive (POSIX.1-1988, ustar, and GNU's): its checksum is the sum of
/// its bytes, in octal digits; the checksum's own bytes count as blanks.
fn is_tar(start: &[u8]) -> bool {
    let Some(header) = start.get(..512) else { return false };
    let digits = |byte: &&u8| (b'0'..=b'7').contains(byte);
    let sum = header[148..156].trim_ascii_start().iter().take_while(digits);
    let sum = sum.fold(0, |sum, digit| sum * 8 + u32::from(digit - b'0'));
    let sum_of = |bytes: &[u8]| bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>();
    header[257..].starts_with(b"ustar")
        && sum == sum_of(&header[..148]) + 8 * u32::from(b' ') + sum_of(&header[156..])
}

/// The encoding of text with a byte order mark other than UTF-8's. Certain if letters of that encoding follow, with
/// some ASCII among them, such as blanks and line ends.
fn marked(start: &[u8]) -> Option<&'static str> {
    let is_text = |mut letters: &mut dyn Iterator<Item = Option<char>>| {
        let mut ascii = false;
        let odd = |letter: char| letter.is_control() && !"\t\n\r\x0c".contains(letter);
        let fine = Iterator::all(&mut letters, |letter| {
            ascii |= letter.is_some_and(|letter| letter.is_ascii());
            letter.is_some_and(|letter| !odd(letter))
        });
        fine && ascii
    };
    let wide = |word: fn([u8; 4]) -> u32, from: &[u8]| {
        let words = from.as_chunks::<4>().0.iter();
        is_text(&mut words.map(|bytes| char::from_u32(word(*bytes))))
    };
    let narrow = |unit: fn([u8; 2]) -> u16, from: &[u8]| {
        let units: Vec<u16> = from.as_chunks::<2>().0.iter().map(|bytes| unit(*bytes)).collect();
        // The last letter may be cut off.
        let cut = units.len() - usize::from(matches!(units.last(), Some(0xd800..0xdc00)));
        is_text(&mut char::decode_utf16(units[..cut].iter().copied()).map(Result::ok))
    };
    match start {
        [0xff, 0xfe, 0, 0, rest @ ..] if wide(u32::from_le_bytes, rest) => Some("UTF-32"),
        [0, 0, 0xfe, 0xff, rest @ ..] if wide(u32::from_be_bytes, rest) => Some("UTF-32"),
        [0xff, 0xfe, rest @ ..] if narrow(u16::from_le_bytes, rest) => Some("UTF-16"),
        [0xfe, 0xff, rest @ ..] if narrow(u16::from_be_bytes, rest) => Some("UTF-16"),
        _ => None,
    }
}

/// A path as an argument of a command, with a blank in front; nothing for standard input.
fn shell(name: &str) -> Cow<'static, str> {
    let plain = |letter: char| letter.is_alphanumeric() || "/._-+,=@%:".contains(letter);
    match name {
        "standard input" | "-" => "".into(),
        name if name.chars().all(plain) => format!(" {name}").into(),
        name => format!(" '{}'", name.replace('\'', r"'\''")).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(start: &[u8]) -> Option<String> {
        check("a b", start, false).err().map(|error| error.to_string())
    }

    #[test]
    fn certain_contents_are_refused() {
        let (utf16, utf32) = ("a\r\nbü𝄞\n".encode_utf16(), "aü𝄞\n".chars().map(u32::from));
        let with = |mark: &[u8], units: Vec<u8>| [mark, &units].concat();
        for (start, words) in [
            (
                with(b"\xff\xfe", utf16.clone().flat_map(u16::to_le_bytes).collect()),
                "UTF-16 -t UTF-8 'a b'",
            ),
            (with(b"\xfe\xff", utf16.flat_map(u16::to_be_bytes).collect()), "is text in UTF-16"),
            (
                with(b"\xff\xfe\0\0", utf32.clone().flat_map(u32::to_le_bytes).collect()),
                "iconv -f UTF-32",
            ),
            (
                with(b"\0\0\xfe\xff", utf32.flat_map(u32::to_be_bytes).collect()),
                "is text in UTF-32",
            ),
            (b"Rar!\x1a\x07\x01\0".to_vec(), "unrar p -inul 'a b'"),
            ([&b"PK\x03\x04"[..], &[0; 26], b"xl/workbook.xml"].concat(), "save its table as CSV"),
            (b"SQLite format 3\0\x10".to_vec(), "sqlite3 -csv"),
            (b"\x89UMDLT\r\n\x01".to_vec(), "umbel filter patch"),
            (b"\x89UMSUM\r\n".to_vec(), "an umbel file"),
        ] {
            let message = refused(&start).unwrap_or_default();
            assert!(message.contains(words), "{start:?}: {message:?}");
        }
    }

    #[test]
    fn lines_of_any_bytes_are_not() {
        let texts = ["", "PK\n", "PAR1\n", "BZh9\n", "7z\n", "ustar\n", "\u{feff}a\n"];
        let bytes = [
            &b"\x89UMBEL\n"[..],
            // A mark, and then no text in that encoding: a broken pair, a control character, no ASCII.
            b"\xff\xfe",
            b"\xff\xfea\0\0\xdcb\0",
            b"\xff\xfe\x01\0a\0",
            b"\xff\xfeabcdef\n\n",
            b"\xfe\xff\n",
            b"\xff\xfe\0\0\xff\xff\xff\xff",
        ];
        for start in texts.map(str::as_bytes).iter().chain(&bytes) {
            assert_eq!(refused(start), None, "{start:?}");
        }
        let mut block = vec![0; 512];
        block[257..262].copy_from_slice(b"ustar");
        assert_eq!(refused(&block), None, "another checksum");
        let sum = b"ustar".iter().map(|byte| u32::from(*byte)).sum::<u32>() + 8 * 32;
        block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        assert!(refused(&block).unwrap().ends_with("tar -xOf 'a b'"));
    }

    #[test]
    fn likely_contents_are_told() {
        assert!(doubt(b"a\0\n\0b\0\n\0").unwrap().contains("UTF-16"));
        assert!(doubt(b"a\rb\r").unwrap().contains("tr "));
        for start in [&b""[..], b"a\r", b"a\r\nb", b"a\0\0\0b\0\0\0", b"a\rb\n"] {
            assert_eq!(doubt(start), None, "{start:?}");
        }
    }
}

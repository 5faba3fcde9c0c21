//! The form of a line: a URL of fixed length under a domain reserved for documentation and tests (RFC 2606).
//!
//! ```text
//! https://  host  /section/  words, cut to length  -  id as 13 letters and digits
//! 8         11–20  3–10      what is left          1  13                    = 66 bytes
//! ```
//! The last 13 bytes alone make lines distinct, and they are random-looking, so two lines of one file often share a long
//! beginning, as the URLs of a crawl do.

use crate::permutation::mix;

/// Bytes of a line, without its end.
pub const LINE_BYTES: usize = 66;

/// Base-32 digits that hold 64 bits.
const ID_DIGITS: usize = 13;

const DIGITS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

const HOSTS: &str = "example.com example.net example.org www.example.com www.example.org blog.example.net news.example.org \
    shop.example.com docs.example.net img.example.com cdn.example.net m.example.org forum.example.org \
    wiki.example.com archive.example.org mail.example.net garden.example harbour.example old-mill.example \
    tidewater.example northgate.example kettle.example library.example observatory.example bakery.test \
    orchard.test signal-box.test weather.test api.ferry.test maps.ferry.test museum.test static.museum.test";

const SECTIONS: &str = "/a/ /p/ /tag/ /blog/ /news/ /item/ /photo/ /2023/ /2024/ /2025/ /topic/ /author/ /video/ /shop/ /thread/ \
    /archive/";

const WORDS: &str = "early-frost-on-the-river-path-and-a-short-guide-to-copper-kettles-what-we-learned-from-nine-winters-of-\
    open-data-small-boats-large-maps-how-to-mend-a-woollen-coat-before-the-market-opens-notes-on-quiet-engines-the-lamp-\
    keeper-writes-again-seven-bridges-one-afternoon-recipes-for-rye-and-plum-a-field-of-solar-clocks-reading-room-hours-\
    change-in-march-letters-from-the-north-line-why-the-old-signal-box-stays-green-paint-salt-and-other-repairs-tickets-\
    for-the-lantern-walk-go-on-sale-counting-swifts-over-the-mill-pond-a-better-way-to-stack-firewood-lost-and-found-at-\
    the-ferry-pier-tide-tables-for-beginners-";

/// Turns ids into lines.
#[derive(Clone, Debug)]
pub struct UrlWriter {
    seed: u64,
    hosts: Vec<&'static str>,
    sections: Vec<&'static str>,
    /// The words twice over: a slice of a line's length may begin at any of them.
    words: Vec<u8>,
    /// Where words begin in the first copy.
    starts: Vec<u16>,
    line: [u8; LINE_BYTES + 1],
}

impl UrlWriter {
    /// Lines under `seed`: another seed gives other lines for every id.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let starts = (0_u16..)
            .zip(WORDS.bytes())
            .scan(b'-', |before, (at, byte)| Some((std::mem::replace(before, byte) == b'-', at)))
            .filter_map(|(begins, at)| begins.then_some(at))
            .collect();
        let mut line = [b'\n'; LINE_BYTES + 1];
        line[..8].copy_from_slice(b"https://");
        let (hosts, sections) = (HOSTS.split(' ').collect(), SECTIONS.split(' ').collect());
        Self { seed: mix(seed), hosts, sections, words: WORDS.repeat(2).into_bytes(), starts, line }
    }

    /// The line of `id` with its end, [`LINE_BYTES`] + 1 bytes; different ids give different lines.
    pub fn line(&mut self, id: u64) -> &[u8] {
        // One to one under a given seed: both steps are bijections of 64 bits.
        let code = mix(id ^ self.seed);
        let looks = mix(code);

        let mut at = 8;
        at = self.put(at, self.hosts[looks as usize % self.hosts.len()].as_bytes());
        at = self.put(at, self.sections[(looks >> 8) as usize % self.sections.len()].as_bytes());
        let from = usize::from(self.starts[(looks >> 16) as usize % self.starts.len()]);
        let tail = LINE_BYTES - ID_DIGITS - 1;
        self.line[at..tail].copy_from_slice(&self.words[from..from + (tail - at)]);
        self.line[tail] = b'-';
        for (place, digit) in self.line[tail + 1..LINE_BYTES].iter_mut().enumerate() {
            *digit = DIGITS[(code >> (5 * place)) as usize % DIGITS.len()];
        }
        &self.line
    }

    fn put(&mut self, at: usize, text: &[u8]) -> usize {
        self.line[at..at + text.len()].copy_from_slice(text);
        at + text.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_urls_of_one_length() {
        let mut urls = UrlWriter::new(1);
        for id in (0..50_000).chain([u64::MAX - 1, u64::MAX]) {
            let line = urls.line(id);
            assert_eq!(line.len(), LINE_BYTES + 1);
            let (text, end) = line.split_at(LINE_BYTES);
            assert_eq!(end, b"\n");
            let text = std::str::from_utf8(text).unwrap();
            let (host, path) = text.strip_prefix("https://").unwrap().split_once('/').unwrap();
            assert!(HOSTS.split(' ').any(|known| known == host), "{host}");
            let is_plain = |byte: u8| b"/-".contains(&byte) || byte.is_ascii_alphanumeric();
            assert!(path.bytes().all(is_plain), "{path}");
        }
    }

    #[test]
    fn only_reserved_domains() {
        let reserved = [".example.com", ".example.net", ".example.org", ".example", ".test"];
        for host in HOSTS.split(' ') {
            let below = format!(".{host}");
            assert!(reserved.iter().any(|name| below.ends_with(name)), "{host}");
        }
    }

    #[test]
    fn the_last_13_bytes_hold_the_id() {
        let mut urls = UrlWriter::new(9);
        for id in [0, 1, 31, 32, u64::MAX] {
            let line = urls.line(id).to_vec();
            let digits = line[LINE_BYTES - ID_DIGITS..LINE_BYTES].iter().rev();
            let values = digits.map(|digit| DIGITS.iter().position(|known| known == digit));
            let code = values.fold(0_u128, |code, value| code << 5 | value.unwrap() as u128);
            assert_eq!(code, u128::from(mix(id ^ urls.seed)));
        }
    }

    #[test]
    fn room_for_the_longest_host_and_section() {
        let longest = |names: &str| names.split(' ').map(str::len).max().unwrap();
        assert!(8 + longest(HOSTS) + longest(SECTIONS) < LINE_BYTES - ID_DIGITS - 1);
        assert!(WORDS.len() > LINE_BYTES && WORDS.ends_with('-') && !WORDS.contains("--"));
    }
}

//! The files of a group: three short texts, and masked lists.
//!
//! ```text
//! umbel group secret 1           umbel group card 1      umbel group share 1
//! secret 64 digits               member 64 digits        round 64 digits
//! round 64 digits                check 16 digits         member 64 digits
//! filter 64 digits                                       own 64 digits
//! member 64 digits, each                                 dropped 64 digits 64 digits, each
//! shared                                                 check 16 digits
//! dropped 64 digits, each
//! check 16 digits
//!
//! masked list:  "umbmask1", cards u64, header_length u64, the member's card, all cards, the filter's header,
//!               8 bytes per bit of the payload, 32 bytes, SHA-256 of all before
//! ```

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{self, BufReader, Read, Write};

use sha2::{Digest, Sha256};
use umbel::format::{self, Reader};
use x25519_dalek::{PublicKey, StaticSecret};
use zeroize::{Zeroize, Zeroizing};

use super::{GroupError, Round};

pub(crate) const MAGIC: &[u8; 8] = b"umbmask1";
const MASKED: GroupError = GroupError::Damaged { expected: "masked list of a group" };
/// The most cards of a file that is believed, and the most bytes of a header (FORMAT.md, section 2).
const MOST_CARDS: u64 = 1 << 20;
const MOST_HEADER: u64 = 1 << 17;

/// A member as others see it: the public key of its secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Card(pub(super) [u8; 32]);

/// A member with its secret, and what that was used for: once. The memory of the secret is cleared when it is dropped.
pub struct Member {
    pub(super) secret: StaticSecret,
    pub(super) used: Option<Used>,
}

impl std::fmt::Debug for Member {
    /// Without the secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Member").field(&self.card()).finish_non_exhaustive()
    }
}

/// What a secret was used for.
#[derive(Debug)]
pub(super) struct Used {
    pub(super) round: [u8; 32],
    pub(super) filter: [u8; 32],
    pub(super) cards: BTreeSet<Card>,
    /// The members that dropped out, once there was a share.
    pub(super) dropped: Option<BTreeSet<Card>>,
}

/// What a member reveals, so that the masks of a round cancel.
#[derive(Clone, PartialEq, Eq)]
pub struct Share {
    pub(super) round: [u8; 32],
    pub(super) member: Card,
    pub(super) own: [u8; 32],
    pub(super) pairs: Vec<(Card, [u8; 32])>,
}

impl std::fmt::Debug for Share {
    /// Without the keys.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Share").field(&self.member).finish_non_exhaustive()
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.own.zeroize();
        self.pairs.iter_mut().for_each(|(_, key)| key.zeroize());
    }
}

/// A text with a title, lines of a name and values, and a checksum.
struct Text(String);

impl Text {
    fn new(title: &str) -> Self {
        Self(format!("{title}\n"))
    }

    fn line(&mut self, name: &str, values: &[&[u8; 32]]) {
        self.0.push_str(name);
        for value in values {
            self.0.push(' ');
            value.iter().for_each(|byte| write!(self.0, "{byte:02x}").expect("a string"));
        }
        self.0.push('\n');
    }

    fn check(text: &str) -> String {
        let sum = Sha256::digest(text);
        let digits: String = sum[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        format!("check {digits}\n")
    }

    fn finish(self) -> String {
        let check = Self::check(&self.0);
        self.0 + &check
    }

    /// The lines of a text with this title: names, each with its values.
    fn parse<'t>(text: &'t str, title: &'static str) -> Result<Lines<'t>, GroupError> {
        let damaged = || GroupError::Damaged { expected: title };
        let at = text.rfind("check ").ok_or_else(damaged)?;
        let (body, check) = text.split_at(at);
        // Whoever mails a card may lose its last line end.
        if Self::check(body).trim_end() != check.trim_end() {
            return Err(damaged());
        }
        let rest = body.strip_prefix(title).and_then(|rest| rest.strip_prefix(" 1\n"));
        let lines = rest.ok_or_else(damaged)?.lines().map(|line| {
            let mut words = line.split(' ');
            let name = words.next().unwrap_or_default();
            words.map(digits).collect::<Option<_>>().map(|values| (name, values))
        });
        let lines = lines.collect::<Option<Vec<_>>>().ok_or_else(damaged)?;
        Ok(Lines { lines, next: 0, title })
    }
}

/// 64 hexadecimal digits.
fn digits(word: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if word.len() != 64 || !word.is_ascii() {
        return None;
    }
    for (i, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&word[2 * i..2 * i + 2], 16).ok()?;
    }
    Some(bytes)
}

struct Lines<'t> {
    lines: Vec<(&'t str, Vec<[u8; 32]>)>,
    next: usize,
    title: &'static str,
}

impl Lines<'_> {
    fn damaged(&self) -> GroupError {
        GroupError::Damaged { expected: self.title }
    }

    /// The values of the next line, if it has this name and as many values.
    fn optional<const N: usize>(&mut self, name: &str) -> Option<[[u8; 32]; N]> {
        let (own, values) = self.lines.get(self.next)?;
        let values = (*own == name).then(|| values[..].try_into().ok())??;
        self.next += 1;
        Some(values)
    }

    fn one(&mut self, name: &str) -> Result<[u8; 32], GroupError> {
        self.optional::<1>(name).map(|[value]| value).ok_or_else(|| self.damaged())
    }

    fn cards(&mut self, name: &str) -> BTreeSet<Card> {
        std::iter::from_fn(|| self.optional::<1>(name).map(|[card]| Card(card))).collect()
    }

    fn end(&self) -> Result<(), GroupError> {
        if self.next == self.lines.len() { Ok(()) } else { Err(self.damaged()) }
    }
}

pub(crate) const SECRET: &str = "umbel group secret";
pub(crate) const CARD: &str = "umbel group card";
pub(crate) const SHARE: &str = "umbel group share";

impl Card {
    /// Returns the text of its file.
    pub fn to_text(&self) -> String {
        let mut text = Text::new(&format!("{CARD} 1"));
        text.line("member", &[&self.0]);
        text.finish()
    }

    /// Reads the text of its file.
    ///
    /// # Errors
    /// [`GroupError::Damaged`].
    pub fn from_text(text: &str) -> Result<Self, GroupError> {
        let mut lines = Text::parse(text, CARD)?;
        let card = Self(lines.one("member")?);
        lines.end()?;
        Ok(card)
    }
}

impl Member {
    /// Makes a new member, with a secret from the system.
    ///
    /// # Errors
    /// [`GroupError::Random`].
    pub fn new() -> Result<Self, GroupError> {
        let mut secret = Zeroizing::new([0; 32]);
        getrandom::fill(&mut *secret)?;
        Ok(Self { secret: StaticSecret::from(*secret), used: None })
    }

    /// Returns its card, for the others.
    pub fn card(&self) -> Card {
        Card(PublicKey::from(&self.secret).to_bytes())
    }

    /// Returns the text of the file of its secret.
    pub fn to_text(&self) -> String {
        let mut text = Text::new(&format!("{SECRET} 1"));
        text.line("secret", &[self.secret.as_bytes()]);
        if let Some(Used { round, filter, cards, dropped }) = &self.used {
            text.line("round", &[round]);
            text.line("filter", &[filter]);
            cards.iter().for_each(|card| text.line("member", &[&card.0]));
            if let Some(dropped) = dropped {
                text.line("shared", &[]);
                dropped.iter().for_each(|card| text.line("dropped", &[&card.0]));
            }
        }
        text.finish()
    }

    /// Reads the text of the file of a secret.
    ///
    /// # Errors
    /// [`GroupError::Damaged`].
    pub fn from_text(text: &str) -> Result<Self, GroupError> {
        let mut lines = Text::parse(text, SECRET)?;
        let secret = StaticSecret::from(*Zeroizing::new(lines.one("secret")?));
        let used = match lines.optional::<1>("round") {
            None => None,
            Some([round]) => {
                let filter = lines.one("filter")?;
                let cards = lines.cards("member");
                let shared = lines.optional::<0>("shared");
                let dropped = shared.map(|_| lines.cards("dropped"));
                Some(Used { round, filter, cards, dropped })
            }
        };
        lines.end()?;
        Ok(Self { secret, used })
    }
}

impl Share {
    /// Returns the text of its file.
    pub fn to_text(&self) -> String {
        let mut text = Text::new(&format!("{SHARE} 1"));
        text.line("round", &[&self.round]);
        text.line("member", &[&self.member.0]);
        text.line("own", &[&self.own]);
        self.pairs.iter().for_each(|(card, key)| text.line("dropped", &[&card.0, key]));
        text.finish()
    }

    /// Reads the text of its file.
    ///
    /// # Errors
    /// [`GroupError::Damaged`].
    pub fn from_text(text: &str) -> Result<Self, GroupError> {
        let mut lines = Text::parse(text, SHARE)?;
        let (round, member) = (lines.one("round")?, Card(lines.one("member")?));
        let own = lines.one("own")?;
        let pair = || lines.optional::<2>("dropped").map(|[card, key]| (Card(card), key));
        let pairs = std::iter::from_fn(pair).collect();
        lines.end()?;
        Ok(Self { round, member, own, pairs })
    }
}

/// Writes a masked list.
pub(super) struct Masked<'a> {
    out: &'a mut dyn Write,
    sum: Sha256,
}

impl<'a> Masked<'a> {
    pub(super) fn write(
        out: &'a mut dyn Write,
        round: &Round,
        member: &Card,
    ) -> Result<Self, GroupError> {
        let mut masked = Self { out, sum: Sha256::new() };
        masked.put(MAGIC)?;
        masked.put(&(round.cards.len() as u64).to_le_bytes())?;
        masked.put(&(round.header.len() as u64).to_le_bytes())?;
        masked.put(&member.0)?;
        round.cards.iter().try_for_each(|card| masked.put(&card.0))?;
        masked.put(&round.header)?;
        Ok(masked)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sum.update(bytes);
        self.out.write_all(bytes)
    }

    pub(super) fn words(&mut self, words: &[u64]) -> Result<(), GroupError> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        Ok(self.put(&bytes)?)
    }

    pub(super) fn finish(self) -> Result<(), GroupError> {
        let sum = self.sum.finalize();
        self.out.write_all(&sum)?;
        Ok(self.out.flush()?)
    }
}

/// Reads a masked list, front to back.
pub(super) struct Masks<'a> {
    source: BufReader<&'a mut dyn Read>,
    sum: Sha256,
    round: Round,
    member: Card,
}

impl<'a> Masks<'a> {
    pub(super) fn read(source: &'a mut dyn Read) -> Result<Self, GroupError> {
        let (mut source, mut sum) = (BufReader::with_capacity(1 << 16, source), Sha256::new());
        let mut take = |length: u64| {
            let mut bytes = Vec::new();
            source.by_ref().take(length).read_to_end(&mut bytes)?;
            sum.update(&bytes);
            if bytes.len() as u64 == length { Ok(bytes) } else { Err(MASKED) }
        };
        let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("8 bytes"));
        let start = take(24)?;
        let (cards, header) = (number(&start[8..16]), number(&start[16..]));
        if start[..8] != *MAGIC || cards > MOST_CARDS || header > MOST_HEADER {
            return Err(MASKED);
        }
        let keys = take(32 * (cards + 1))?;
        let mut keys = keys.as_chunks::<32>().0.iter().map(|key| Card(*key));
        let member = keys.next().ok_or(MASKED)?;
        let header = take(header)?;
        let length = format::length_of(&header)?;
        let round = Round::new(keys, Reader::new(&header[..], length)?.header())?;
        if round.cards.len() as u64 != cards || !round.cards.contains(&member) {
            return Err(MASKED);
        }
        Ok(Self { source, sum, round, member })
    }

    pub(super) fn round(&self) -> &Round {
        &self.round
    }

    pub(super) fn member(&self) -> &Card {
        &self.member
    }

    /// Adds its next words to `words`.
    pub(super) fn add(&mut self, words: &mut [u64], bytes: &mut Vec<u8>) -> Result<(), GroupError> {
        bytes.resize(8 * words.len(), 0);
        self.fill(bytes)?;
        self.sum.update(&bytes);
        for (word, own) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = word.wrapping_add(u64::from_le_bytes(*own));
        }
        Ok(())
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), GroupError> {
        self.source.read_exact(bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => MASKED,
            _ => error.into(),
        })
    }

    /// Checks that it is whole and unaltered, and that nothing follows.
    pub(super) fn finish(mut self) -> Result<(), GroupError> {
        let mut sum = [0; 32];
        self.fill(&mut sum)?;
        let whole = self.sum.finalize()[..] == sum && self.source.read(&mut [0])? == 0;
        if whole { Ok(()) } else { Err(MASKED) }
    }
}

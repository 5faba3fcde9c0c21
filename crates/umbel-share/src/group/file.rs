//! The files of a group: three short texts, and masked lists.
//!
//! ```text
//! umbel-group-secret-1 64 digits      umbel-group-card-1 64 digits check 16 digits
//! round 64 digits
//! filter 64 digits                    umbel-group-share-1 64 digits
//! member 64 digits, each              member 64 digits
//! shared                              own 64 digits
//! dropped 64 digits, each             dropped 64 digits 64 digits, each
//! check 16 digits                     check 16 digits
//!
//! masked list:  magic, 8 bytes; version u16; zeros, 6 bytes; cards u64; header_length u64; the member's card; all cards;
//!               the filter's header; 8 bytes per bit of the payload; 32 bytes; XXH3-64 of all before
//! ```

use std::collections::BTreeSet;
use std::hash::Hasher;
use std::io::{self, BufReader, Read, Write};

use twox_hash::XxHash3_64;
use umbel::format::{self, Reader};
use umbel::internals::{Text, Words};
use x25519_dalek::{PublicKey, StaticSecret};
use zeroize::{Zeroize, Zeroizing};

use super::{GroupError, Round};
use crate::whole::{CARD, GROUP_SECRET, MASKED, SHARE};

const VERSION: u16 = 1;
const DAMAGED: GroupError = GroupError::Damaged { expected: "masked list of a group" };
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

/// Reads a text of this sort by `values`, which take all of its words; `expected` is what people call it.
fn parsed<T>(
    text: &str,
    sort: &str,
    expected: &'static str,
    values: impl FnOnce(&mut Words<'_>) -> Option<T>,
) -> Result<T, GroupError> {
    let mut words = Words::parse(text, sort);
    let found = words.as_mut().and_then(values);
    let found = found.filter(|_| words.is_some_and(|mut words| words.is_end()));
    found.ok_or(GroupError::Damaged { expected })
}

/// The value after a name.
fn named(words: &mut Words<'_>, name: &str) -> Option<[u8; 32]> {
    if words.name(name) { words.bytes() } else { None }
}

/// The cards after each repetition of a name.
fn cards(words: &mut Words<'_>, name: &str) -> Option<BTreeSet<Card>> {
    let mut cards = BTreeSet::new();
    while words.name(name) {
        cards.insert(Card(words.bytes()?));
    }
    Some(cards)
}

impl Card {
    /// Returns the text of its file, without a line end after it.
    pub fn to_text(&self) -> String {
        Text::new(CARD, &[&self.0]).finish()
    }

    /// Reads the text of its file.
    ///
    /// # Errors
    /// [`GroupError::Damaged`].
    pub fn from_text(text: &str) -> Result<Self, GroupError> {
        parsed(text, CARD, "card of a group", |words| words.bytes().map(Self))
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

    /// Returns the text of the file of its secret, without a line end after it.
    pub fn to_text(&self) -> String {
        let mut text = Text::new(GROUP_SECRET, &[self.secret.as_bytes()]);
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
        parsed(text, GROUP_SECRET, "secret of a group", |words| {
            let secret = StaticSecret::from(*Zeroizing::new(words.bytes()?));
            let used = match words.name("round") {
                false => None,
                true => {
                    let (round, filter) = (words.bytes()?, named(words, "filter")?);
                    let members = cards(words, "member")?;
                    let dropped = match words.name("shared") {
                        true => Some(cards(words, "dropped")?),
                        false => None,
                    };
                    Some(Used { round, filter, cards: members, dropped })
                }
            };
            Some(Self { secret, used })
        })
    }
}

impl Share {
    /// Returns the text of its file, without a line end after it.
    pub fn to_text(&self) -> String {
        let mut text = Text::new(SHARE, &[&self.round]);
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
        parsed(text, SHARE, "share of a group", |words| {
            let (round, member) = (words.bytes()?, Card(named(words, "member")?));
            let mut share = Self { round, member, own: named(words, "own")?, pairs: Vec::new() };
            while words.name("dropped") {
                share.pairs.push((Card(words.bytes()?), words.bytes()?));
            }
            Some(share)
        })
    }
}

/// Writes a masked list.
pub(super) struct Masked<'a> {
    out: &'a mut dyn Write,
    sum: XxHash3_64,
}

impl<'a> Masked<'a> {
    pub(super) fn write(
        out: &'a mut dyn Write,
        round: &Round,
        member: &Card,
    ) -> Result<Self, GroupError> {
        let mut masked = Self { out, sum: XxHash3_64::new() };
        masked.put(&MASKED)?;
        masked.put(&VERSION.to_le_bytes())?;
        masked.put(&[0; 6])?;
        masked.put(&(round.cards.len() as u64).to_le_bytes())?;
        masked.put(&(round.header.len() as u64).to_le_bytes())?;
        masked.put(&member.0)?;
        round.cards.iter().try_for_each(|card| masked.put(&card.0))?;
        masked.put(&round.header)?;
        Ok(masked)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sum.write(bytes);
        self.out.write_all(bytes)
    }

    pub(super) fn words(&mut self, words: &[u64]) -> Result<(), GroupError> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        Ok(self.put(&bytes)?)
    }

    pub(super) fn finish(self) -> Result<(), GroupError> {
        self.out.write_all(&self.sum.finish().to_le_bytes())?;
        Ok(self.out.flush()?)
    }
}

/// Reads a masked list, front to back.
pub(super) struct Masks<'a> {
    source: BufReader<&'a mut dyn Read>,
    sum: XxHash3_64,
    round: Round,
    member: Card,
}

impl<'a> Masks<'a> {
    pub(super) fn read(source: &'a mut dyn Read) -> Result<Self, GroupError> {
        let (mut source, mut sum) = (BufReader::with_capacity(1 << 16, source), XxHash3_64::new());
        let mut take = |length: u64| {
            let mut bytes = Vec::new();
            source.by_ref().take(length).read_to_end(&mut bytes)?;
            sum.write(&bytes);
            if bytes.len() as u64 == length { Ok(bytes) } else { Err(DAMAGED) }
        };
        let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("8 bytes"));
        let start = take(32)?;
        let (cards, header) = (number(&start[16..24]), number(&start[24..]));
        let version = u16::from_le_bytes([start[8], start[9]]);
        if start[..8] == MASKED && version != VERSION {
            return Err(GroupError::Version { found: version });
        }
        let known = start[..8] == MASKED && start[10..16] == [0; 6];
        if !known || cards > MOST_CARDS || header > MOST_HEADER {
            return Err(DAMAGED);
        }
        let keys = take(32 * (cards + 1))?;
        let mut keys = keys.as_chunks::<32>().0.iter().map(|key| Card(*key));
        let member = keys.next().ok_or(DAMAGED)?;
        let header = take(header)?;
        let length = format::length_of(&header)?;
        let round = Round::new(keys, Reader::new(&header[..], length)?.header())?;
        if round.cards.len() as u64 != cards || !round.cards.contains(&member) {
            return Err(DAMAGED);
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
        self.sum.write(bytes);
        for (word, own) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = word.wrapping_add(u64::from_le_bytes(*own));
        }
        Ok(())
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), GroupError> {
        self.source.read_exact(bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => DAMAGED,
            _ => error.into(),
        })
    }

    /// Checks that it is whole and unaltered, and that nothing follows.
    pub(super) fn finish(mut self) -> Result<(), GroupError> {
        let mut sum = [0; 8];
        self.fill(&mut sum)?;
        let whole = self.sum.finish().to_le_bytes() == sum && self.source.read(&mut [0])? == 0;
        if whole { Ok(()) } else { Err(DAMAGED) }
    }
}

//! The list of a group, without anybody seeing a member's own list: the OR of filters by secure aggregation.
//!
//! Each member turns its filter into a vector of 64-bit words, one per bit: 0 for a clear bit, a random value other than 0
//! for a set one. It adds masks, modulo 2⁶⁴, and sends the result to a collector:
//!
//! ```text
//! y_i = v_i + PRG(b_i) + Σ_{j > i} PRG(s_ij) − Σ_{j < i} PRG(s_ij)
//! ```
//!
//! s_ij is known to the members i and j alone (X25519), so these masks cancel in the sum of all; b_i is known to i alone.
//! Then each member that is still there sends a [`Share`]: its b_i, and the s_id of every member d that dropped out. With
//! these the collector removes what is left, and sees Σ v_i: where it is not 0, the bit is set in some filter.
//!
//! - **One vector** is uniformly random for whoever lacks one of its masks, as far as ChaCha20 is. A member that is taken to
//!   have dropped out, and whose vector arrives late, is still covered by its b.
//! - **The sum** of several random values is as random as one, so it does not tell how many members have a bit; sums of
//!   plain bits would. A bit that two members or more have is lost if their values add up to 0: with a probability of 2⁻⁶⁴.
//! - **Whom it protects from**: a collector, or any others, who follow the protocol and read all they get, and who do not
//!   collude with all other members. Who alters cards or names different members as dropped to different members can
//!   see a vector; a member can spoil the result. The result is a filter like any other: see [`audit`](crate::audit).
//!
//! K. Bonawitz et al. 2017, "Practical Secure Aggregation for Privacy-Preserving Machine Learning", section 4, without its
//! secret sharing: a member that drops out after others have made their shares, and before its own, stops the round.
//! FORMAT.md, section 22, has every byte.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};

use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher};
use sha2::{Digest, Sha256};
use umbel::format::{self, Header, Reader};
use umbel::{FileError, Kind};
use x25519_dalek::PublicKey;

use crate::error::remedy;

mod file;

pub use file::{Card, Member, Share};

/// The fewest members whose lists are added: of two, each could subtract its own.
pub const LEAST: usize = 3;

/// The most bits of a filter: 8 bytes of ChaCha20 per bit, of which a key gives 256 GiB.
const MOST_BITS: u64 = (1 << 35) - CHECKS as u64;

/// Words of 0 at the end of each vector. If any mask is wrong or lacks, these are not 0 in the sum.
const CHECKS: usize = 4;

/// Words that are masked together.
const PIECE: usize = 1 << 13;

/// Why a list of a group cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GroupError {
    /// The file is none of its sort, or it is damaged.
    #[error("is no {expected}, or is damaged; copy it again")]
    Damaged {
        /// What it should be.
        expected: &'static str,
    },
    /// The file has a version that this release does not read.
    #[error("is a masked list of version {found}; this release reads version 1; {}", remedy(*found))]
    Version {
        /// Version in the file.
        found: u16,
    },
    /// There are too few members.
    #[error(
        "{found} members; a group has at least 3, since of two lists each member could subtract its own"
    )]
    Few {
        /// Members found.
        found: usize,
    },
    /// One's own card is not among those of the group.
    #[error("the card of this secret is not among those of the group; add it")]
    NotAMember,
    /// A card is not among those of the group, or is one's own.
    #[error("the card named as dropped out is not that of another member of the group")]
    NotDropped,
    /// A card is no key.
    #[error("a card has no valid key; ask its owner for another")]
    NoKey,
    /// Filters of this kind have no OR.
    #[error("a {0} filter; a group adds up blocked, classic or sliced filters")]
    Kind(Kind),
    /// The filter is too large.
    #[error("a filter of {0} bits; a group adds up filters of at most 2^35 - 4 bits")]
    TooLarge(u64),
    /// A secret was used before, for something else.
    #[error(
        "the secret was used for another filter or group, and a second use would reveal what the first one hid; join again with a new one"
    )]
    Used,
    /// A share was made before, with other members dropped out.
    #[error(
        "a share of this secret exists, with other members dropped out, and both together could reveal a list; let all join again"
    )]
    Shared,
    /// No filter was masked with this secret.
    #[error("no filter was masked with this secret; mask one first")]
    Unused,
    /// Two files are of different groups, filters or rounds.
    #[error(
        "is of another round than the first one: other members, or a filter with another plan or hash"
    )]
    OtherRound,
    /// Two files are of the same member.
    #[error("is of a member that another file is of too; name it once")]
    Twice,
    /// A masked list lacks its share, or a share its masked list.
    #[error("{masked} masked lists and {shares} shares, which must be of the same members")]
    Unmatched {
        /// Masked lists.
        masked: usize,
        /// Shares.
        shares: usize,
    },
    /// A share names other members as dropped out than those without a masked list.
    #[error(
        "a share names {named} members as dropped out, but {missing} have no masked list; let all make shares for the same ones"
    )]
    OtherDropped {
        /// Members named.
        named: usize,
        /// Members without a masked list.
        missing: usize,
    },
    /// The masks do not cancel.
    #[error("the masks do not cancel: a member used altered cards, or sent a wrong share")]
    Masks,
    /// The filter cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The system gives no random bytes.
    #[error("the system gives no random bytes: {0}")]
    Random(#[from] getrandom::Error),
}

/// A digest of parts, the first of which names its purpose. All others have fixed lengths.
fn digest(purpose: &str, parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new_with_prefix(purpose);
    parts.iter().for_each(|part| hash.update(part));
    hash.finalize().into()
}

/// What all members of one round agree on: who they are, and the header of their filters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round {
    /// In the order of their bytes.
    cards: BTreeSet<Card>,
    header: Vec<u8>,
    id: [u8; 32],
}

impl Round {
    /// Makes the round of members with these cards, and filters with this header.
    ///
    /// # Errors
    /// [`GroupError::Few`], [`GroupError::Kind`], [`GroupError::TooLarge`], and those of the header.
    pub fn new(cards: impl IntoIterator<Item = Card>, header: &Header) -> Result<Self, GroupError> {
        let cards: BTreeSet<Card> = cards.into_iter().collect();
        if cards.len() < LEAST {
            return Err(GroupError::Few { found: cards.len() });
        }
        match header.kind()? {
            Kind::Blocked | Kind::Classic | Kind::Sliced => {}
            kind => return Err(GroupError::Kind(kind)),
        }
        let bits = header.payload_length().saturating_mul(8);
        if bits > MOST_BITS {
            return Err(GroupError::TooLarge(bits));
        }
        let count = (cards.len() as u64).to_le_bytes();
        let keys: Vec<&[u8]> = cards.iter().map(|card| &card.0[..]).collect();
        let parts = [&[&count[..]], &keys[..], &[header.bytes()]].concat();
        let id = digest("umbel group round 1", &parts);
        Ok(Self { cards, header: header.bytes().to_vec(), id })
    }

    /// Returns its id, which members can compare: equal ids have equal cards and equal headers.
    pub fn id(&self) -> &[u8; 32] {
        &self.id
    }

    /// Returns the number of its members.
    pub fn members(&self) -> usize {
        self.cards.len()
    }

    /// Bytes of the payload of each filter.
    fn payload(&self) -> Result<u64, GroupError> {
        let length = format::length_of(&self.header)?;
        Ok(Reader::new(&self.header[..], length)?.header().payload_length())
    }
}

/// A mask: the words of a ChaCha20 stream under its own key.
struct Mask {
    stream: ChaCha20,
    adds: bool,
}

impl Mask {
    /// A key is used for one mask only, so the nonce is 0.
    fn new(key: [u8; 32], adds: bool) -> Self {
        Self { stream: ChaCha20::new(&key.into(), &[0; 12].into()), adds }
    }

    /// Adds the next words to `words`, or subtracts them.
    fn apply(&mut self, words: &mut [u64], bytes: &mut Vec<u8>) {
        bytes.clear();
        bytes.resize(8 * words.len(), 0);
        self.stream.apply_keystream(bytes);
        for (word, mask) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            let mask = u64::from_le_bytes(*mask);
            *word = if self.adds { word.wrapping_add(mask) } else { word.wrapping_sub(mask) };
        }
    }
}

impl Member {
    /// The key that this member shares with another one in a round.
    fn pair(&self, round: &[u8; 32], other: &Card) -> Result<[u8; 32], GroupError> {
        let shared = self.secret.diffie_hellman(&PublicKey::from(other.0));
        if !shared.was_contributory() {
            return Err(GroupError::NoKey);
        }
        let own = self.card();
        let (low, high) = if own < *other { (&own, other) } else { (other, &own) };
        Ok(digest("umbel group pair 1", &[shared.as_bytes(), round, &low.0, &high.0]))
    }

    /// The key of the mask that this member adds alone.
    fn own(&self, round: &[u8; 32]) -> [u8; 32] {
        digest("umbel group own 1", &[self.secret.as_bytes(), round])
    }

    /// Notes that the secret is used in a round for a filter with this payload. To be saved before the masked list leaves:
    /// of two lists under the same masks, the difference shows where they differ.
    ///
    /// # Errors
    /// [`GroupError::NotAMember`]; [`GroupError::Used`] if it was used for something else.
    pub fn enter(&mut self, round: &Round, payload: &[u8]) -> Result<(), GroupError> {
        if !round.cards.contains(&self.card()) {
            return Err(GroupError::NotAMember);
        }
        let used = file::Used {
            round: round.id,
            filter: digest("umbel group filter 1", &[payload]),
            cards: round.cards.clone(),
            dropped: None,
        };
        match &self.used {
            None => self.used = Some(used),
            Some(before) if (before.round, before.filter) == (used.round, used.filter) => {}
            Some(_) => return Err(GroupError::Used),
        }
        Ok(())
    }

    /// Writes the masked list of a filter: always the same bytes for the same secret, round and filter.
    ///
    /// Cost: 8 bytes per bit of the filter, and as many of ChaCha20 per member. Memory: a few hundred KiB.
    ///
    /// # Errors
    /// As [`enter`](Self::enter); [`GroupError::NoKey`]; those of `out`.
    pub fn mask(
        &mut self,
        round: &Round,
        payload: &[u8],
        mut out: impl Write,
    ) -> Result<(), GroupError> {
        self.enter(round, payload)?;
        self.write_masked(round, payload, &mut out)
    }

    fn write_masked(
        &self,
        round: &Round,
        payload: &[u8],
        out: &mut dyn Write,
    ) -> Result<(), GroupError> {
        let own = self.card();
        let mut masks = vec![Mask::new(self.own(&round.id), true)];
        for card in round.cards.iter().filter(|card| **card != own) {
            masks.push(Mask::new(self.pair(&round.id, card)?, own < *card));
        }
        let mut values =
            Mask::new(digest("umbel group values 1", &[self.secret.as_bytes(), &round.id]), true);
        let mut out = file::Masked::write(out, round, &own)?;
        let bits = payload.iter().flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1 == 1));
        let mut bits = bits.chain([false; CHECKS]);
        let (mut words, mut bytes) = (Vec::with_capacity(PIECE), Vec::new());
        let mut left = 8 * payload.len() + CHECKS;
        while left > 0 {
            words.clear();
            words.resize(left.min(PIECE), 0);
            values.apply(&mut words, &mut bytes);
            for (word, bit) in words.iter_mut().zip(&mut bits) {
                *word = if bit { (*word).max(1) } else { 0 };
            }
            masks.iter_mut().for_each(|mask| mask.apply(&mut words, &mut bytes));
            out.words(&words)?;
            left -= words.len();
        }
        out.finish()
    }

    /// Makes the share by which the collector removes this member's own mask, and those that it has in common with members
    /// that dropped out before they sent a masked list. To be saved before the share leaves.
    ///
    /// # Errors
    /// [`GroupError::Unused`]; [`GroupError::NotDropped`]; [`GroupError::Few`] if fewer than three members are left;
    /// [`GroupError::Shared`] if there was a share with other members dropped out.
    pub fn share(&mut self, dropped: &BTreeSet<Card>) -> Result<Share, GroupError> {
        let own = self.card();
        let Some(used) = &mut self.used else { return Err(GroupError::Unused) };
        if !dropped.is_subset(&used.cards) || dropped.contains(&own) {
            return Err(GroupError::NotDropped);
        }
        let found = used.cards.len() - dropped.len();
        if found < LEAST {
            return Err(GroupError::Few { found });
        }
        if used.dropped.as_ref().is_some_and(|before| before != dropped) {
            return Err(GroupError::Shared);
        }
        used.dropped = Some(dropped.clone());
        let round = used.round;
        let pairs = dropped.iter().map(|card| Ok((*card, self.pair(&round, card)?)));
        let pairs = pairs.collect::<Result<_, GroupError>>()?;
        Ok(Share { round, member: own, own: self.own(&round), pairs })
    }
}

/// Adds up the masked lists of a round, and writes the filter of all: the OR of the members' filters.
///
/// Each masked list is read once. Memory: the filter's, and 64 KiB per list. Cost: 8 bytes of ChaCha20 per bit, for each
/// share and for each pair of a share and a member that dropped out. Nothing is written before everything is checked.
///
/// # Errors
/// Every [`GroupError`] about shares, rounds and damage, with the index of the file that it is about, if there is one.
pub fn sum<R: Read>(
    mut masked: Vec<R>,
    shares: &[Share],
    mut out: impl Write,
) -> Result<(), (Option<usize>, GroupError)> {
    add_up(masked.iter_mut().map(|list| list as _).collect(), shares, &mut out)
}

fn add_up(
    masked: Vec<&mut dyn Read>,
    shares: &[Share],
    out: &mut dyn Write,
) -> Result<(), (Option<usize>, GroupError)> {
    let about = |index: usize| move |error| (Some(index), error);
    let count = masked.len();
    let mut lists = Vec::new();
    for (index, source) in masked.into_iter().enumerate() {
        let list = file::Masks::read(source).map_err(about(index))?;
        let first = lists.first().unwrap_or(&list);
        if first.round() != list.round() {
            return Err((Some(index), GroupError::OtherRound));
        }
        if lists.iter().any(|other: &file::Masks<'_>| other.member() == list.member()) {
            return Err((Some(index), GroupError::Twice));
        }
        lists.push(list);
    }
    let Some(first) = lists.first() else { return Err((None, GroupError::Few { found: 0 })) };
    let round = first.round().clone();
    let present: BTreeSet<Card> = lists.iter().map(|list| *list.member()).collect();
    let mut masks = masks_left(&round, &present, shares).map_err(|error| (None, error))?;
    let length = round.payload().map_err(about(0))?;
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    // The first list may declare 4 GiB and be short: bytes are used as the lists have them.
    let mut payload: Vec<u8> = Vec::new();
    let room = payload.try_reserve_exact(length);
    room.map_err(|_| (None, io::Error::from(io::ErrorKind::OutOfMemory).into()))?;
    let (mut words, mut bytes) = (Vec::with_capacity(PIECE), Vec::new());
    let (total, mut done) = (8 * length + CHECKS, 0);
    while done < total {
        words.clear();
        words.resize((total - done).min(PIECE), 0u64);
        for (index, list) in lists.iter_mut().enumerate() {
            list.add(&mut words, &mut bytes).map_err(about(index))?;
        }
        masks.iter_mut().for_each(|mask| mask.apply(&mut words, &mut bytes));
        for eight in words.chunks(8) {
            let byte = (0..).zip(eight).fold(0, |byte, (i, word)| byte | u8::from(*word != 0) << i);
            match payload.len() < length {
                true => payload.push(byte),
                false if byte != 0 => return Err((None, GroupError::Masks)),
                false => {}
            }
        }
        done += words.len();
    }
    debug_assert_eq!(count, lists.len());
    for (index, list) in lists.into_iter().enumerate() {
        list.finish().map_err(about(index))?;
    }
    let write = || {
        let header = Reader::new(&round.header[..], format::length_of(&round.header)?)?;
        Ok(format::write_file(out, header.header(), &payload)?)
    };
    write().map_err(|error| (None, error))
}

/// The masks that are left in the sum of the lists that are present, to be subtracted.
fn masks_left(
    round: &Round,
    present: &BTreeSet<Card>,
    shares: &[Share],
) -> Result<Vec<Mask>, GroupError> {
    let members: BTreeSet<Card> = shares.iter().map(|share| share.member).collect();
    if members.len() < shares.len() {
        return Err(GroupError::Twice);
    }
    if shares.iter().any(|share| share.round != round.id) {
        return Err(GroupError::OtherRound);
    }
    if members != *present {
        return Err(GroupError::Unmatched { masked: present.len(), shares: shares.len() });
    }
    let dropped: BTreeSet<&Card> = round.cards.difference(present).collect();
    let mut masks = Vec::new();
    for share in shares {
        if !share.pairs.iter().map(|(card, _)| card).eq(dropped.iter().copied()) {
            let (named, missing) = (share.pairs.len(), dropped.len());
            return Err(GroupError::OtherDropped { named, missing });
        }
        masks.push(Mask::new(share.own, false));
        let pairs = share.pairs.iter();
        // The member with the lower card has added it.
        masks.extend(pairs.map(|(card, key)| Mask::new(*key, share.member > *card)));
    }
    Ok(masks)
}

#[cfg(test)]
mod tests;

//! Summaries: caches learn from each other's filters which of them has a key (L. Fan, P. Cao, J. Almeida, A. Z.
//! Broder 2000, "Summary Cache", <https://doi.org/10.1109/90.851975>).
//!
//! Each cache has a [`Summary`] of what it holds, and [`Peers`] with the summaries of others. Before it fetches a key
//! from the source, it looks up in its own memory which peer may have it, and so rarely asks a peer in vain.
//!
//! Messages are bytes, which the caller sends. They may be lost, repeated or reordered. Each one names the cache, the
//! *epoch* (which start of the cache), the *sequence* number of the published filter, and its checksum; a delta also
//! names the checksum of the filter that it changes. A replica is always a filter that the peer published, byte for
//! byte.
//!
//! | message | when | bytes |
//! |---|---|---|
//! | delta | the threshold is reached | 101, and the changed bits near their entropy |
//! | full copy | the filter was replanned; a peer requests it | about as many as the filter |
//! | beat | now and then, by a timer | 88 |
//! | request | something is missing | 88 |
//!
//! ```
//! use std::time::Duration;
//! use umbel::KeyHasher;
//! use umbel_share::summary::{Address, Limits, Peers, Settings, Step, Summary};
//!
//! // On cache "a", which holds a thousand pages.
//! let mut summary = Summary::new("a", 1, 2_000, Settings::default(), KeyHasher::default())?;
//! let mut pages: Vec<String> = (0..1_000).map(|page| format!("/{page}")).collect();
//! pages.iter().for_each(|page| summary.insert(page));
//! summary.publish(|| &pages)?;
//!
//! // On cache "b", which starts later.
//! let mut peers = Peers::new(KeyHasher::default(), Limits::default());
//! peers.add("a");
//! let now = Duration::from_secs(5);
//! let Step::Missing(Some(request)) = peers.receive("a", &summary.beat(), now)?.step else { panic!() };
//! assert_eq!(peers.receive("a", &summary.answer(&request, Address::Verified)?, now)?.step, Step::Applied);
//! assert_eq!(peers.candidates("/7", now)[0].peer, "a");
//! assert!(peers.candidates("/elsewhere", now).is_empty());
//!
//! // At 1 % of 1,011 keys, the eleventh new page makes a message.
//! for page in 1_000..=1_010 {
//!     pages.push(format!("/{page}"));
//!     summary.insert(&pages[page]);
//!     assert_eq!(summary.publish(|| &pages)?.is_some(), page == 1_010);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//! Anyone who can send messages can send wrong ones. Give [`Summary`] and [`Peers`] the same [`GroupKey`]: messages
//! made without it are refused, and a replayed message changes nothing: a cache that is gone still looks silent.
//! Without a key, authenticate the connection. Forged messages do not silence a cache for good even then: its next
//! messages overcome them, like any loss. A full copy is far larger than its request, so it is sent only to a verified
//! [address](Address).

mod key;
mod message;
mod own;
mod peers;
pub mod stale;

pub use key::GroupKey;
pub use message::MAGIC;
pub use own::{Address, Settings, Summary};
pub use peers::{Candidate, Limits, Peers, Received, Status, Step};

/// The greatest epoch: nanoseconds of a clock in the year 2262. Part of the format.
pub const GREATEST_EPOCH: u64 = i64::MAX as u64;

/// The bits in the file of a blocked filter that this process wrote.
fn payload(file: &[u8]) -> &[u8] {
    let reader = umbel::internals::format::Reader::new(file, file.len() as u64);
    let reader = reader.expect("a filter's file in memory, written by this process");
    let start = reader.header().bytes().len();
    &file[start..start + reader.header().payload_length() as usize]
}

//! Longest prefixes: which listed network an address is in, which listed domain a host is under.
//!
//! A filter holds the prefixes of all lengths, under keys that include the length. A look-up queries one length after
//! the other, the longest first, and verifies passing prefixes in a hash table of the prefixes themselves. So the
//! answer is exact, and almost every look-up reads the table once. S. Dharmapurikar, P. Krishnamurthy, D. E. Taylor
//! 2006, "Longest prefix matching using Bloom filters", <https://doi.org/10.1109/TNET.2006.872576>.
//!
//! | type | for | answer |
//! |---|---|---|
//! | [`Prefixes`] | IPv4 or IPv6 addresses | exact, with a value |
//! | [`Suffixes`] | hosts, under the domains they are in | exact, with a value |
//! | [`PrefixFilter`] | both, in a filter alone, which is also a file | wrong at a known rate |
//! | `PrefixList` | any of these, by keys such as `text` reads from lines | exact or not |
//!
//! ```
//! use std::net::Ipv4Addr;
//! use umbel_net::prefixes::Prefixes;
//!
//! let list = [("10.0.0.0/8".parse()?, "ours"), ("10.9.0.0/16".parse()?, "guests")];
//! let list = Prefixes::new(list)?;
//! let (prefix, name) = list.longest(Ipv4Addr::new(10, 9, 8, 7)).unwrap();
//! assert_eq!((prefix.to_string().as_str(), *name), ("10.9.0.0/16", "guests"));
//! assert!(list.longest(Ipv4Addr::new(192, 0, 2, 1)).is_none());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How this differs from the paper
//! - **One filter, not one for each length.** In hardware each filter has its own memory, and all are read at the same
//!   time. In software a look-up reads them in turn. One blocked filter for all lengths has the same size, because the
//!   asymmetric sizes of section IV-B give each prefix the same bits, and it is a file like any other. If every
//!   length is queried, filters of rare lengths are small enough to stay in cache: then a look-up is 7 to 14 % faster
//!   with a filter per length. The next two points leave few queries, and next to no rare lengths.
//! - **Direct look-up** (section V-B) covers short lengths: an array over the first bits of the address has the best
//!   prefix up to that length, expanded, and the set of the longer lengths that exist below. Others are not queried. In
//!   a table of the Internet's routes this makes random look-ups 5 times as fast for IPv4, and 3 times for IPv6.
//! - **Guards.** The filter also holds the first 24 bits of each longer prefix, and for IPv6 also 32 and 40. Without
//!   such a guard, longer lengths are not queried: with a cheaper hash, IPv6 look-ups take a fifth to half the time.
//! - **Longest first.** A hit ends the look-up, whatever shorter prefixes there are. Binary search over lengths (M.
//!   Waldvogel and others 1997) needs fewer, but each of its markers sends the search to longer ones, so a wrongly
//!   passing one loses the answer, and every step must be verified in the table. A guard's error only costs time.
//!
//! `bench/record/2026-11-23-prefixes.md` has the figures.

mod address;
mod approximate;
mod exact;
mod lengths;
#[cfg(feature = "std")]
mod list;
mod network;
mod suffixes;
mod table;
#[cfg(feature = "text")]
pub mod text;

pub use address::{Address, ParsePrefixError, Prefix};
pub use approximate::{PrefixFilter, PrefixKeys};
pub use exact::Prefixes;
pub use lengths::Lengths;
#[cfg(feature = "std")]
pub use list::{ListBuilder, ListError, PrefixList};
pub use network::{Network, NetworkKey};
pub use suffixes::Suffixes;
pub use umbel::internals::format::Family;

/// The rate of the filters in front of tables: 7.5 bits per prefix. A look-up that queries three absent lengths then
/// reads the table in vain in 9 % of all cases.
const TABLE_FPP: f64 = 0.03;

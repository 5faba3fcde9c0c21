//! Cache digests: the siblings', and this proxy's own, which is rebuilt when it is fetched and the last one is older than the
//! period.

use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use anyhow::{Result, ensure};
use hyper::body::Bytes;
use serde_json::{Value, json};
use umbel_foreign::squid::Squid;
use umbel_foreign::{ForeignFilter, ForeignInsert, Format, Key, Parameters};

use crate::cache::Cache;

/// Squid does not use digests with a larger share of bits set.
const FULLEST: f64 = 0.65;
/// The fewest entries that a digest is planned for: in a few bytes, the four bits of an entry could exceed that share by chance.
const LEAST_CAPACITY: usize = 100;

/// A digest as it is sent.
#[derive(Clone)]
pub(crate) struct Digest {
    pub(crate) made: SystemTime,
    pub(crate) expires: SystemTime,
    pub(crate) file: Bytes,
    filter: Squid<Bytes>,
    /// From the receipt, which takes a pass over the bits.
    keys: f64,
    rate: f64,
}

impl Digest {
    /// Reads one that was made, and expires, at these times.
    pub(crate) fn read(made: SystemTime, expires: SystemTime, file: Bytes) -> Result<Self> {
        let filter = Squid::decode(Format::Squid, file.clone(), &Parameters::default())?;
        let receipt = filter.receipt();
        ensure!(receipt.fill <= FULLEST, "{:.0} % of its bits are set", 100.0 * receipt.fill);
        let (keys, rate) = (receipt.keys.value, receipt.fpp);
        Ok(Self { made, expires, file, filter, keys, rate })
    }

    pub(crate) fn has(&self, url: &str) -> bool {
        self.filter.contains(Key::from(url)).expect("a digest takes all texts")
    }

    /// Its figures.
    pub(crate) fn status(&self) -> Value {
        json!({
            "age_seconds": self.made.elapsed().unwrap_or_default().as_secs(),
            "bytes": self.file.len(),
            // Estimated from the bits, as is the share of absent URLs that pass.
            "keys": self.keys,
            "rate": self.rate,
        })
    }
}

/// Makes digests of a cache.
pub(crate) struct OwnDigest {
    pub(crate) bits_per_entry: u8,
    pub(crate) period: Duration,
    /// The digest that the last sibling got.
    pub(crate) last: Mutex<Option<Digest>>,
}

impl OwnDigest {
    /// Returns the digest that a sibling gets now. It has the objects that are still fresh when it expires, as in Squid.
    pub(crate) fn current(&self, cache: &Cache) -> Result<Digest> {
        let made = SystemTime::now();
        let mut last = self.last.lock().expect("no panic while it was held");
        if let Some(digest) = last.as_ref().filter(|digest| digest.expires > made) {
            return Ok(digest.clone());
        }
        let expires = made + self.period;
        let urls = cache.fresh_at(expires);
        let keys = Some(urls.len().max(LEAST_CAPACITY) as u64);
        let bits_per_key = Some(self.bits_per_entry.into());
        let parameters = Parameters { keys, bits_per_key, ..Parameters::default() };
        let mut filter = Squid::new(Format::Squid, &parameters)?;
        for url in &urls {
            filter.insert(Key::from(url.as_str()))?;
        }
        Ok(last.insert(Digest::read(made, expires, filter.encode()?.into())?).clone())
    }
}

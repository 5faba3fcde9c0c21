//! Values as RedisBloom saves them: each loads the other's snapshots.

use std::ffi::{CStr, c_int};

use umbel_foreign::redisbloom::{Link, RedisBloom};
use umbel_foreign::redisbloom_cuckoo::{Head, RedisBloomCuckoo};
use umbel_foreign::{Bytes, ForeignFilter, ForeignInsert};

use crate::lookup::Foreign;
use crate::server::{Fields, Rewrite, ServerType, Value};
use crate::settings;

/// A Bloom filter.
pub(crate) struct Bloom(pub(crate) RedisBloom);

/// A cuckoo filter.
pub(crate) struct Cuckoo(pub(crate) RedisBloomCuckoo);

static BLOOM: ServerType = ServerType::new();
static CUCKOO: ServerType = ServerType::new();

/// The last versions of snapshots without a field.
const BLOOM_WITHOUT_BITS: c_int = 0;
const BLOOM_WITHOUT_OPTIONS: c_int = 1;
const BLOOM_WITHOUT_GROWTH: c_int = 3;
const CUCKOO_WITHOUT_SIZES: c_int = 3;

impl Bloom {
    /// Wraps a filter. It then grows only after [`settings::fits`] allows it.
    pub(crate) fn new(mut filter: RedisBloom) -> Self {
        filter.set_limit(0);
        Self(filter)
    }

    /// Bytes as `BF.INFO` counts them: 32, 64 for each link, and the arrays.
    pub(crate) fn size(&self) -> u64 {
        let links = self.0.links();
        32 + links.iter().map(|link| 64 + link.bytes()).sum::<u64>()
    }
}

impl Cuckoo {
    /// As [`Bloom::new`].
    pub(crate) fn new(mut filter: RedisBloomCuckoo) -> Self {
        filter.set_limit(0);
        Self(filter)
    }

    /// Bytes as `CF.INFO` counts them: 40, 16 for each sub-filter, and the slots.
    pub(crate) fn size(&self) -> u64 {
        40 + self.0.arrays().map(|slots| 16 + slots.len() as u64).sum::<u64>()
    }
}

impl Foreign for Bloom {
    fn filter(&self) -> &impl ForeignFilter {
        &self.0
    }
}

impl Foreign for Cuckoo {
    fn filter(&self) -> &impl ForeignFilter {
        &self.0
    }
}

/// Copies a string of a snapshot.
fn array(fields: &mut Fields) -> Result<Bytes, String> {
    fields.string(|bytes| Bytes::copy_of(bytes, 0))?.map_err(|error| error.to_string())
}

impl Value for Bloom {
    const NAME: &'static CStr = c"MBbloom--";
    const VERSION: c_int = 4;

    fn server_type() -> &'static ServerType {
        &BLOOM
    }

    fn load(fields: &mut Fields, version: c_int) -> Result<Self, String> {
        if version <= BLOOM_WITHOUT_BITS {
            return Err(format!("a Bloom filter of version {version} is too old"));
        }
        let items = fields.unsigned()?;
        let count: u32 = fields.small("the number of links")?;
        let options =
            if version <= BLOOM_WITHOUT_OPTIONS { 0 } else { fields.small("the options")? };
        let growth =
            if version <= BLOOM_WITHOUT_GROWTH { 2 } else { fields.small("the growth")? };
        let mut links = Vec::new();
        for _ in 0..count {
            let entries = fields.unsigned()?;
            let error = fields.double()?;
            let hashes = fields.small("the number of hashes")?;
            let bits_per_entry = fields.double()?;
            let (bits, n2) = (fields.unsigned()?, fields.small("n2")?);
            let array = array(fields)?;
            let items = fields.unsigned()?;
            let link = Link { bits, items, error, bits_per_entry, hashes, entries, n2 };
            links.push((link, array));
        }
        let filter = RedisBloom::from_links(items, options, growth, links);
        filter.map(Self::new).map_err(|error| error.to_string())
    }

    fn save(&self, fields: &mut Fields) {
        let Self(filter) = self;
        fields.save_unsigned(filter.items());
        fields.save_unsigned(filter.links().len() as u64);
        fields.save_unsigned(filter.options().into());
        fields.save_unsigned(filter.growth().into());
        for (link, array) in filter.links().iter().zip(filter.arrays()) {
            fields.save_unsigned(link.entries);
            fields.save_double(link.error);
            fields.save_unsigned(link.hashes.into());
            fields.save_double(link.bits_per_entry);
            fields.save_unsigned(link.bits);
            fields.save_unsigned(link.n2.into());
            fields.save_string(array);
            fields.save_unsigned(link.items);
        }
    }

    fn rewrite(&self, rewrite: &Rewrite) {
        for (iterator, chunk) in self.0.chunks() {
            rewrite.chunk(c"BF.LOADCHUNK", iterator, &chunk);
        }
    }

    fn bytes(&self) -> u64 {
        self.size()
    }

    fn digest(&self, add: &mut dyn FnMut(&[u8])) {
        add(&self.0.header());
        self.0.arrays().for_each(add);
    }

    fn copy(&self) -> Option<Self> {
        self.0.to_owned().ok().map(Self::new)
    }
}

impl Value for Cuckoo {
    const NAME: &'static CStr = c"MBbloomCF";
    const VERSION: c_int = 4;

    fn server_type() -> &'static ServerType {
        &CUCKOO
    }

    fn load(fields: &mut Fields, version: c_int) -> Result<Self, String> {
        let (filters, buckets, items) =
            (fields.unsigned()?, fields.unsigned()?, fields.unsigned()?);
        let mut head = Head {
            items,
            buckets,
            deletes: 0,
            filters,
            bucket_size: settings::CF_BUCKET_SIZE.get() as u16,
            max_iterations: settings::CF_MAX_ITERATIONS.get() as u16,
            growth: settings::CF_EXPANSION_FACTOR.get() as u16,
        };
        if version > CUCKOO_WITHOUT_SIZES {
            head.deletes = fields.unsigned()?;
            head.bucket_size = fields.small("the size of a bucket")?;
            head.max_iterations = fields.small("the number of iterations")?;
            head.growth = fields.small("the growth")?;
        }
        let mut arrays = Vec::new();
        for _ in 0..filters {
            let buckets = fields.unsigned()?;
            let slots = array(fields)?;
            if buckets.checked_mul(head.bucket_size.into()) != Some(slots.len() as u64) {
                return Err(format!("{buckets} buckets have {} slots", slots.len()));
            }
            arrays.push(slots);
        }
        let filter = RedisBloomCuckoo::from_filters(head, arrays);
        filter.map(Self::new).map_err(|error| error.to_string())
    }

    fn save(&self, fields: &mut Fields) {
        let Head { items, buckets, deletes, filters, bucket_size, max_iterations, growth } =
            *self.0.head();
        let sizes = [bucket_size, max_iterations, growth].map(u64::from);
        for number in [filters, buckets, items, deletes].into_iter().chain(sizes) {
            fields.save_unsigned(number);
        }
        for slots in self.0.arrays() {
            fields.save_unsigned(slots.len() as u64 / u64::from(bucket_size));
            fields.save_string(slots);
        }
    }

    fn rewrite(&self, rewrite: &Rewrite) {
        for (iterator, chunk) in self.0.chunks() {
            rewrite.chunk(c"CF.LOADCHUNK", iterator, &chunk);
        }
    }

    fn bytes(&self) -> u64 {
        self.size()
    }

    fn digest(&self, add: &mut dyn FnMut(&[u8])) {
        add(&self.0.header());
        self.0.arrays().for_each(add);
    }

    fn copy(&self) -> Option<Self> {
        self.0.to_owned().ok().map(Self::new)
    }
}

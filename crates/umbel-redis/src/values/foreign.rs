//! Values as RedisBloom and valkey-bloom save them: each loads the other's snapshots.

use std::ffi::{CStr, c_int};
use std::io::{self, Write};

use umbel_foreign::redisbloom::{Link, Options, RedisBloom, SEEDED};
use umbel_foreign::redisbloom_cuckoo::{self as cuckoo, Head, RedisBloomCuckoo};
use umbel_foreign::valkey_bloom::{FIXED_SEED, Properties, ValkeyBloom};
use umbel_foreign::{Bytes, Error, ForeignFilter, ForeignInsert};

use crate::server::{Context, Fields, Mover, Rewrite, ServerType, Value};
use crate::settings::{self, MOST_EXPANSIONS, check_copy, check_size};

/// A filter of another module as a value.
pub(crate) struct Kept<F>(F);

/// A Bloom filter.
pub(crate) type Bloom = Kept<RedisBloom>;

/// A cuckoo filter.
pub(crate) type Cuckoo = Kept<RedisBloomCuckoo>;

/// A Bloom filter of valkey-bloom.
pub(crate) type Valkey = Kept<ValkeyBloom>;

/// The operations that the server needs on another module's filter.
pub(crate) trait Foreign: ForeignInsert + Sized + 'static {
    /// The name of the type.
    const TYPE: &'static CStr;
    /// The version of its snapshots.
    const VERSION: c_int;
    /// The newest version that is read.
    const NEWEST: c_int = Self::VERSION;
    /// Bytes as `BF.INFO` and `CF.INFO` count them: of the head, and per array in addition to its content.
    const HEAD: u64;
    const ARRAY_HEAD: u64;

    fn server_type() -> &'static ServerType;
    fn load(fields: &mut Fields, version: c_int, arrays: &mut Arrays<'_>) -> Result<Self, String>;
    fn save(&self, fields: &mut Fields);
    fn arrays(&self) -> impl Iterator<Item = &[u8]>;
    fn rewrite(&self, rewrite: &Rewrite);
    fn copy(&self) -> Result<Self, Error>;
    fn relocate(&mut self, to: &mut Mover);
}

impl<F: Foreign> Kept<F> {
    /// Wraps a filter. It then grows only after [`check_size`] allows it.
    pub(crate) fn new(mut filter: F) -> Self {
        filter.set_limit(0);
        Self(filter)
    }

    pub(crate) fn filter(&self) -> &F {
        &self.0
    }

    pub(crate) fn filter_mut(&mut self) -> &mut F {
        &mut self.0
    }

    /// Returns its bytes as its `INFO` command counts them.
    pub(crate) fn size(&self) -> u64 {
        F::HEAD + self.0.arrays().map(|array| F::ARRAY_HEAD + array.len() as u64).sum::<u64>()
    }
}

/// The arrays of a filter in a snapshot, as they are read.
pub(crate) struct Arrays<'c> {
    context: &'c Context,
    count: i64,
    bytes: u64,
}

impl Arrays<'_> {
    /// Takes the next one from the server without a copy: a filter that fits with RedisBloom fits here.
    fn next(&mut self, fields: &mut Fields) -> Result<Bytes, String> {
        // A filter's overhead per array may be larger than the array.
        self.count += 1;
        if self.count > MOST_EXPANSIONS {
            return Err(format!("more than {MOST_EXPANSIONS} filters in one"));
        }
        let array = fields.string()?;
        self.bytes += array.len() as u64;
        // The server has this memory already.
        check_size(self.context, self.bytes, 0)?;
        Ok(array.into())
    }
}

impl<F: Foreign> Value for Kept<F> {
    const NAME: &'static CStr = F::TYPE;
    const VERSION: c_int = F::VERSION;
    const NEWEST: c_int = F::NEWEST;

    fn server_type() -> &'static ServerType {
        F::server_type()
    }

    fn load(fields: &mut Fields, version: c_int, context: &Context) -> Result<Self, String> {
        F::load(fields, version, &mut Arrays { context, count: 0, bytes: 0 }).map(Self::new)
    }

    fn save(&self, fields: &mut Fields) {
        self.0.save(fields);
    }

    fn rewrite(&self, rewrite: &Rewrite) {
        self.0.rewrite(rewrite);
    }

    fn bytes(&self) -> u64 {
        self.size()
    }

    fn digest(&self, add: &mut dyn FnMut(&[u8])) {
        self.0.write_to(&mut Each(add)).expect("it takes all");
    }

    fn copy(&self, context: &Context) -> Option<Self> {
        check_copy(context, self.size())?;
        self.0.copy().ok().map(Self::new)
    }

    fn relocate(&mut self, to: &mut Mover) {
        if settings::BLOOM_DEFRAG_ENABLED.is_on() {
            self.0.relocate(to);
        }
    }
}

/// Calls a function with everything written.
struct Each<'a>(&'a mut dyn FnMut(&[u8]));

impl Write for Each<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (self.0)(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The last versions of snapshots without a field.
const BLOOM_WITHOUT_BITS: c_int = 0;
const BLOOM_WITHOUT_OPTIONS: c_int = 1;
const BLOOM_WITHOUT_GROWTH: c_int = 3;
const CUCKOO_WITHOUT_SIZES: c_int = 3;
/// Later versions have a seed at the end. Only RedisBloom's development version writes them, and it also reads this
/// one. So filters are saved in this version, which every RedisBloom reads. A filter's seed, if any, is also at the
/// end, flagged by the same field as in headers of chunks. RedisBloom cannot load those.
const WITHOUT_SEED: c_int = 4;

/// The methods that are the same for all filters.
macro_rules! alike {
    () => {
        fn server_type() -> &'static ServerType {
            static TYPE: ServerType = ServerType::new();
            &TYPE
        }

        fn arrays(&self) -> impl Iterator<Item = &[u8]> {
            self.arrays()
        }

        fn copy(&self) -> Result<Self, Error> {
            self.to_owned()
        }

        fn relocate(&mut self, to: &mut Mover) {
            self.relocate(to);
        }
    };
}

impl Foreign for RedisBloom {
    const TYPE: &'static CStr = c"MBbloom--";
    const VERSION: c_int = WITHOUT_SEED;
    const NEWEST: c_int = WITHOUT_SEED + 1;
    const HEAD: u64 = 32;
    const ARRAY_HEAD: u64 = 64;

    alike!();

    fn load(fields: &mut Fields, version: c_int, arrays: &mut Arrays<'_>) -> Result<Self, String> {
        if version <= BLOOM_WITHOUT_BITS {
            return Err(format!("a Bloom filter of version {version} is too old"));
        }
        let items = fields.unsigned()?;
        let count: u32 = fields.small("the number of links")?;
        let options: u32 =
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
            let array = arrays.next(fields)?;
            let items = fields.unsigned()?;
            let link = Link { bits, items, error, bits_per_entry, hashes, entries, n2 };
            links.push((link, array));
        }
        let is_seeded = version > WITHOUT_SEED || options & SEEDED != 0;
        let seed = is_seeded.then(|| fields.unsigned()).transpose()?;
        let rule = Options { options: options & !SEEDED, growth, seed };
        Self::from_links(items, rule, links).map_err(|error| error.to_string())
    }

    fn save(&self, fields: &mut Fields) {
        fields.save_unsigned(self.items());
        fields.save_unsigned(self.links().len() as u64);
        let seeded = if self.seed().is_some() { SEEDED } else { 0 };
        fields.save_unsigned((self.options() | seeded).into());
        fields.save_unsigned(self.growth().into());
        for (link, array) in self.links().iter().zip(self.arrays()) {
            fields.save_unsigned(link.entries);
            fields.save_double(link.error);
            fields.save_unsigned(link.hashes.into());
            fields.save_double(link.bits_per_entry);
            fields.save_unsigned(link.bits);
            fields.save_unsigned(link.n2.into());
            fields.save_string(array);
            fields.save_unsigned(link.items);
        }
        if let Some(seed) = self.seed() {
            fields.save_unsigned(seed);
        }
    }

    fn rewrite(&self, rewrite: &Rewrite) {
        self.chunks().for_each(|(at, chunk)| rewrite.chunk(c"BF.LOADCHUNK", at, &chunk));
    }
}

impl Foreign for RedisBloomCuckoo {
    const TYPE: &'static CStr = c"MBbloomCF";
    const VERSION: c_int = WITHOUT_SEED;
    const NEWEST: c_int = WITHOUT_SEED + 1;
    const HEAD: u64 = 40;
    const ARRAY_HEAD: u64 = 16;

    alike!();

    fn load(fields: &mut Fields, version: c_int, arrays: &mut Arrays<'_>) -> Result<Self, String> {
        let (filters, buckets, items) =
            (fields.unsigned()?, fields.unsigned()?, fields.unsigned()?);
        let is_seeded = version > WITHOUT_SEED || filters & cuckoo::SEEDED != 0;
        let mut head = Head {
            items,
            buckets,
            deletes: 0,
            filters: filters & !cuckoo::SEEDED,
            bucket_size: settings::CF_BUCKET_SIZE.get() as u16,
            max_iterations: settings::CF_MAX_ITERATIONS.get() as u16,
            growth: settings::CF_EXPANSION_FACTOR.get() as u16,
            seed: None,
        };
        if version > CUCKOO_WITHOUT_SIZES {
            head.deletes = fields.unsigned()?;
            head.bucket_size = fields.small("the size of a bucket")?;
            head.max_iterations = fields.small("the number of iterations")?;
            head.growth = fields.small("the growth")?;
        }
        let mut slots = Vec::new();
        for _ in 0..head.filters {
            let buckets = fields.unsigned()?;
            let array = arrays.next(fields)?;
            if buckets.checked_mul(head.bucket_size.into()) != Some(array.len() as u64) {
                return Err(format!("{buckets} buckets have {} slots", array.len()));
            }
            slots.push(array);
        }
        head.seed = is_seeded.then(|| fields.unsigned()).transpose()?;
        Self::from_filters(head, slots).map_err(|error| error.to_string())
    }

    fn save(&self, fields: &mut Fields) {
        let Head { items, buckets, deletes, filters, bucket_size, max_iterations, growth, seed } =
            *self.head();
        let sizes = [bucket_size, max_iterations, growth].map(u64::from);
        let filters = filters | if seed.is_some() { cuckoo::SEEDED } else { 0 };
        for number in [filters, buckets, items, deletes].into_iter().chain(sizes) {
            fields.save_unsigned(number);
        }
        for slots in self.arrays() {
            fields.save_unsigned(slots.len() as u64 / u64::from(bucket_size));
            fields.save_string(slots);
        }
        if let Some(seed) = seed {
            fields.save_unsigned(seed);
        }
    }

    fn rewrite(&self, rewrite: &Rewrite) {
        self.chunks().for_each(|(at, chunk)| rewrite.chunk(c"CF.LOADCHUNK", at, &chunk));
    }
}

impl Foreign for ValkeyBloom {
    const TYPE: &'static CStr = c"bloomfltr";
    const VERSION: c_int = 1;
    const HEAD: u64 = 32;
    const ARRAY_HEAD: u64 = 64;

    alike!();

    /// Version 1 only, as written by valkey-bloom 1.0.
    fn load(fields: &mut Fields, version: c_int, arrays: &mut Arrays<'_>) -> Result<Self, String> {
        if version < Self::VERSION {
            return Err(format!("a filter of valkey-bloom before 1.0, version {version}"));
        }
        let count = fields.unsigned()?;
        let expansion = fields.small("the expansion")?;
        let (rate, tightening) = (fields.double()?, fields.double()?);
        // It follows from the seed.
        let is_seed_random = fields.unsigned()? == 1;
        let mut links = Vec::new();
        for number in 0..count {
            let capacity = fields.unsigned()?;
            // All but the last are full.
            let items = if number + 1 == count { fields.unsigned()? } else { capacity };
            links.push((arrays.next(fields)?, items, capacity));
        }
        // The seed is in the arrays.
        let properties = Properties { expansion, rate, tightening, seed: FIXED_SEED };
        let filter = Self::from_links(properties, links).map_err(|error| error.to_string())?;
        match filter.properties().is_seed_random() == is_seed_random {
            true => Ok(filter),
            false => Err("its seed is not the one that it declares".to_owned()),
        }
    }

    fn save(&self, fields: &mut Fields) {
        let Properties { expansion, rate, tightening, .. } = *self.properties();
        let count = self.links().len();
        fields.save_unsigned(count as u64);
        fields.save_unsigned(expansion.into());
        fields.save_double(rate);
        fields.save_double(tightening);
        fields.save_unsigned(self.properties().is_seed_random().into());
        for (number, (link, array)) in self.links_with_heads().enumerate() {
            fields.save_unsigned(link.capacity);
            if number + 1 == count {
                fields.save_unsigned(link.items);
            }
            fields.save_string(array);
        }
    }

    fn rewrite(&self, rewrite: &Rewrite) {
        rewrite.whole(c"BF.LOAD", &self.encode().expect("a vector takes all"));
    }
}

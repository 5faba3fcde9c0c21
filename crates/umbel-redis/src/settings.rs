//! The configuration: RedisBloom's settings under its names, and a size limit per filter.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use crate::secrets;
use crate::server::{Context, Refused, Registration, Setting};

/// The largest capacity of a new filter.
pub(crate) const MOST_CAPACITY: i64 = 1 << 30;
/// The largest factor by which a filter grows.
pub(crate) const MOST_EXPANSION: i64 = 32_768;
/// The largest error rate of a new Bloom filter; larger ones are reduced to it.
pub(crate) const MOST_ERROR: f64 = 0.25;
pub(crate) const MOST_BUCKET_SIZE: i64 = 255;
pub(crate) const MOST_ITERATIONS: i64 = 65_535;
const MOST_EXPANSIONS: i64 = 65_536;

/// An integer setting.
pub(crate) struct Number {
    value: AtomicI64,
    name: &'static str,
    range: fn() -> (i64, i64),
}

impl Number {
    const fn new(value: i64, name: &'static str, range: fn() -> (i64, i64)) -> Self {
        Self { value: AtomicI64::new(value), name, range }
    }

    pub(crate) fn get(&self) -> i64 {
        self.value.load(Ordering::Relaxed)
    }

    fn set(&self, text: &str) -> Result<(), String> {
        let Self { value, name, range } = self;
        let number: i64 = text.parse().map_err(|_| format!("Invalid value for `{name}`"))?;
        let (least, most) = range();
        if !(least..=most).contains(&number) {
            return Err(format!("Value for `{name}` must be in the range [{least}, {most}]"));
        }
        value.store(number, Ordering::Relaxed);
        Ok(())
    }
}

static BF_ERROR_RATE: AtomicU64 = AtomicU64::new(0.01f64.to_bits());
pub(crate) static BF_INITIAL_SIZE: Number =
    Number::new(100, "bf-initial-size", || (1, MOST_CAPACITY));
pub(crate) static BF_EXPANSION_FACTOR: Number =
    Number::new(2, "bf-expansion-factor", || (0, MOST_EXPANSION));
pub(crate) static CF_BUCKET_SIZE: Number =
    Number::new(2, "cf-bucket-size", || (1, MOST_BUCKET_SIZE));
static CF_INITIAL_SIZE: Number =
    Number::new(1024, "cf-initial-size", || (2 * CF_BUCKET_SIZE.get(), MOST_CAPACITY));
pub(crate) static CF_MAX_ITERATIONS: Number =
    Number::new(20, "cf-max-iterations", || (1, MOST_ITERATIONS));
pub(crate) static CF_EXPANSION_FACTOR: Number =
    Number::new(1, "cf-expansion-factor", || (0, MOST_EXPANSION));
pub(crate) static CF_MAX_EXPANSIONS: Number =
    Number::new(32, "cf-max-expansions", || (1, MOST_EXPANSIONS));
/// The most bytes of a filter; 0 if only the server's memory limits it.
static OBJECT_LIMIT: AtomicI64 = AtomicI64::new(0);

/// Returns the error rate of filters that are created by adding to them.
pub(crate) fn bf_error_rate() -> f64 {
    f64::from_bits(BF_ERROR_RATE.load(Ordering::Relaxed))
}

/// Returns the capacity of cuckoo filters that are created by adding to them: at least two buckets.
pub(crate) fn cf_initial_size() -> i64 {
    CF_INITIAL_SIZE.get().max(2 * CF_BUCKET_SIZE.get())
}

fn set_error_rate(text: &str) -> Result<(), String> {
    let name = "bf-error-rate";
    let rate: f64 = text.parse().map_err(|_| format!("Invalid value for `{name}`"))?;
    if rate.is_nan() {
        return Err(format!("Invalid value for `{name}`"));
    }
    if !(rate > 0.0 && rate < 1.0) {
        return Err(format!("Value for `{name}` must be in the range (0.000000, 1.000000)"));
    }
    BF_ERROR_RATE.store(rate.min(MOST_ERROR).to_bits(), Ordering::Relaxed);
    Ok(())
}

macro_rules! numbers {
    ($($number:ident $name:literal $default:literal;)*) => {
        [$(Setting::new($name, $default, |text| $number.set(text), || $number.get().to_string()),)*]
    };
}

static ERROR_RATE: Setting =
    Setting::new(c"bf-error-rate", c"0.01", set_error_rate, || bf_error_rate().to_string());
// The bucket size comes first, because the initial size is checked against it.
static NUMBERS: [Setting; 7] = numbers! {
    BF_INITIAL_SIZE c"bf-initial-size" c"100";
    BF_EXPANSION_FACTOR c"bf-expansion-factor" c"2";
    CF_BUCKET_SIZE c"cf-bucket-size" c"2";
    CF_INITIAL_SIZE c"cf-initial-size" c"1024";
    CF_MAX_ITERATIONS c"cf-max-iterations" c"20";
    CF_EXPANSION_FACTOR c"cf-expansion-factor" c"1";
    CF_MAX_EXPANSIONS c"cf-max-expansions" c"32";
};

/// Registers all settings, loads those in the server's configuration, then the arguments of `loadmodule`: pairs of name and
/// value.
pub(crate) fn register(module: &Registration, arguments: &[String]) -> Result<(), Refused> {
    module.setting(&ERROR_RATE)?;
    NUMBERS.iter().try_for_each(|setting| module.setting(setting))?;
    module.own_setting(&secrets::FILES)?;
    module.bytes_setting(c"object-limit", &OBJECT_LIMIT)?;
    module.load_settings()?;
    for pair in arguments.chunks(2) {
        if let Err(what) = argument(pair) {
            module.warn(&format!("loadmodule: {what}"));
            return Err(Refused);
        }
    }
    Ok(())
}

fn argument(pair: &[String]) -> Result<(), String> {
    let [name, value] = pair else { return Err(format!("{} has no value", pair[0])) };
    match &name.to_ascii_lowercase()[..] {
        "error_rate" | "bf-error-rate" => set_error_rate(value),
        "initial_size" | "bf-initial-size" => BF_INITIAL_SIZE.set(value),
        "cf_max_expansions" | "cf-max-expansions" => CF_MAX_EXPANSIONS.set(value),
        _ => Err(format!(
            "{name} is unknown; expected bf-error-rate, bf-initial-size or cf-max-expansions"
        )),
    }
}

/// Filters up to this size are never refused, unless `object-limit` is set.
const ALWAYS: u64 = 1 << 20;

/// Returns whether a filter may have `bytes` bytes, `more` of them new.
///
/// The limits are `object-limit`, and `maxmemory` or else the machine's memory. Without them, a filter that is too large
/// would be created, because its pages are used only when touched, and would end the server later. Commands of the primary
/// are never refused.
pub(crate) fn fits(context: &Context, bytes: u64, more: u64) -> bool {
    let limit = u64::try_from(OBJECT_LIMIT.load(Ordering::Relaxed)).unwrap_or(0);
    if (bytes <= ALWAYS && limit == 0) || context.must_obey() {
        return true;
    }
    if limit > 0 && bytes > limit {
        return false;
    }
    context.memory_info(|memory| {
        let most = memory.number(c"maxmemory");
        if most == 0 {
            let machine = memory.number(c"total_system_memory");
            return machine == 0 || bytes <= machine;
        }
        // If the server evicts keys, it can make room.
        let used = match memory.is(c"maxmemory_policy", b"noeviction") {
            true => memory.number(c"used_memory"),
            false => bytes - more,
        };
        used.saturating_add(more) <= most
    })
}

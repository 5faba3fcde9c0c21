//! The configuration: RedisBloom's settings under its names, and how large a filter may be.

use std::ffi::CStr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use umbel_foreign::valkey_bloom::USUAL_TIGHTENING;

use crate::secrets;
use crate::server::api::CONFIG_PROTECTED;
use crate::server::{Context, Refused, Registration, Setting};

/// The largest capacity of a new filter.
pub(crate) const MOST_CAPACITY: i64 = 1 << 30;
/// The largest factor by which a filter grows.
pub(crate) const MOST_EXPANSION: i64 = 32_768;
/// The largest error rate of a new Bloom filter; larger ones are reduced to it.
pub(crate) const MOST_ERROR: f64 = 0.25;
pub(crate) const MOST_BUCKET_SIZE: i64 = 255;
pub(crate) const MOST_ITERATIONS: i64 = 65_535;
/// The most filters in one; `umbel-foreign` has the same limit for chains.
pub(crate) const MOST_EXPANSIONS: i64 = 65_536;

pub(crate) static BF_ERROR_RATE: Rate = Rate::new(c"bf-error-rate", 0.01, MOST_ERROR);
pub(crate) static BF_INITIAL_SIZE: Number =
    Number::new(c"bf-initial-size", 100, || (1, MOST_CAPACITY));
pub(crate) static BF_EXPANSION_FACTOR: Number =
    Number::new(c"bf-expansion-factor", 2, || (0, MOST_EXPANSION));
pub(crate) static CF_BUCKET_SIZE: Number =
    Number::new(c"cf-bucket-size", 2, || (1, MOST_BUCKET_SIZE));
static CF_INITIAL_SIZE: Number =
    Number::new(c"cf-initial-size", 1024, || (2 * CF_BUCKET_SIZE.get(), MOST_CAPACITY));
pub(crate) static CF_MAX_ITERATIONS: Number =
    Number::new(c"cf-max-iterations", 20, || (1, MOST_ITERATIONS));
pub(crate) static CF_EXPANSION_FACTOR: Number =
    Number::new(c"cf-expansion-factor", 1, || (0, MOST_EXPANSION));
pub(crate) static CF_MAX_EXPANSIONS: Number =
    Number::new(c"cf-max-expansions", 32, || (1, MOST_EXPANSIONS));

/// RedisBloom's settings. The bucket size comes before the initial size, which is checked against it.
static REDISBLOOM: [&dyn Setting; 8] = [
    &BF_ERROR_RATE,
    &BF_INITIAL_SIZE,
    &BF_EXPANSION_FACTOR,
    &CF_BUCKET_SIZE,
    &CF_INITIAL_SIZE,
    &CF_MAX_ITERATIONS,
    &CF_EXPANSION_FACTOR,
    &CF_MAX_EXPANSIONS,
];

/// RedisBloom's names for three of them as arguments of `loadmodule`.
const OLD_NAMES: [(&str, &str); 3] = [
    ("error_rate", "bf-error-rate"),
    ("initial_size", "bf-initial-size"),
    ("cf_max_expansions", "cf-max-expansions"),
];

/// The most bytes of a filter; 0, the default, for no limit, as in the systems that it replaces and in their tests.
static OBJECT_LIMIT: Number = Number::new(c"object-limit", 0, || (0, i64::MAX));

pub(crate) static BLOOM_TIGHTENING_RATIO: Rate =
    Rate::new(c"bloom-tightening-ratio", USUAL_TIGHTENING, 1.0);
pub(crate) static BLOOM_USE_RANDOM_SEED: Switch = Switch::new(c"bloom-use-random-seed");
pub(crate) static BLOOM_DEFRAG_ENABLED: Switch = Switch::new(c"bloom-defrag-enabled");
static BLOOM_CAPACITY: Alias = Alias::new(c"bloom-capacity", &BF_INITIAL_SIZE);
static BLOOM_EXPANSION: Alias = Alias::new(c"bloom-expansion", &BF_EXPANSION_FACTOR);
static BLOOM_FP_RATE: Alias = Alias::new(c"bloom-fp-rate", &BF_ERROR_RATE);
static BLOOM_MEMORY_USAGE_LIMIT: Alias = Alias::new(c"bloom-memory-usage-limit", &OBJECT_LIMIT);

/// valkey-bloom's settings, so a server configured for it starts. Aliases come after their targets.
static VALKEY_BLOOM: [&dyn Setting; 7] = [
    &BLOOM_CAPACITY,
    &BLOOM_EXPANSION,
    &BLOOM_FP_RATE,
    &BLOOM_MEMORY_USAGE_LIMIT,
    &BLOOM_TIGHTENING_RATIO,
    &BLOOM_USE_RANDOM_SEED,
    &BLOOM_DEFRAG_ENABLED,
];

/// A whole number in a range.
pub(crate) struct Number {
    name: &'static CStr,
    value: AtomicI64,
    range: fn() -> (i64, i64),
}

impl Number {
    const fn new(name: &'static CStr, default: i64, range: fn() -> (i64, i64)) -> Self {
        Self { name, value: AtomicI64::new(default), range }
    }

    pub(crate) fn get(&self) -> i64 {
        self.value.load(Ordering::Relaxed)
    }
}

impl Setting for Number {
    fn name(&self) -> &'static CStr {
        self.name
    }

    fn text(&self) -> String {
        self.get().to_string()
    }

    fn set(&self, text: &str) -> Result<(), String> {
        let number: i64 = text.parse().map_err(|_| invalid(self.name))?;
        let (least, most) = (self.range)();
        if !(least..=most).contains(&number) {
            return Err(outside(self.name, &format!("[{least}, {most}]")));
        }
        self.value.store(number, Ordering::Relaxed);
        Ok(())
    }
}

/// A number between 0 and 1.
pub(crate) struct Rate {
    name: &'static CStr,
    bits: AtomicU64,
    /// The maximum: larger values are reduced to it.
    most: f64,
}

impl Rate {
    const fn new(name: &'static CStr, default: f64, most: f64) -> Self {
        Self { name, bits: AtomicU64::new(default.to_bits()), most }
    }

    pub(crate) fn get(&self) -> f64 {
        f64::from_bits(self.bits.load(Ordering::Relaxed))
    }
}

impl Setting for Rate {
    fn name(&self) -> &'static CStr {
        self.name
    }

    fn text(&self) -> String {
        self.get().to_string()
    }

    fn set(&self, text: &str) -> Result<(), String> {
        let rate: Option<f64> = text.parse().ok().filter(|rate: &f64| !rate.is_nan());
        let rate = rate.ok_or_else(|| invalid(self.name))?;
        if !(rate > 0.0 && rate < 1.0) {
            return Err(outside(self.name, "(0.000000, 1.000000)"));
        }
        self.bits.store(rate.min(self.most).to_bits(), Ordering::Relaxed);
        Ok(())
    }
}

/// Yes or no; yes by default.
pub(crate) struct Switch {
    name: &'static CStr,
    is_on: AtomicBool,
}

impl Switch {
    const fn new(name: &'static CStr) -> Self {
        Self { name, is_on: AtomicBool::new(true) }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }
}

impl Setting for Switch {
    fn name(&self) -> &'static CStr {
        self.name
    }

    fn text(&self) -> String {
        if self.is_on() { "yes" } else { "no" }.to_owned()
    }

    fn set(&self, text: &str) -> Result<(), String> {
        let is_on = match text.to_ascii_lowercase().as_str() {
            "yes" => true,
            "no" => false,
            _ => return Err(format!("{}: yes or no", invalid(self.name))),
        };
        self.is_on.store(is_on, Ordering::Relaxed);
        Ok(())
    }
}

/// Another name of a setting.
struct Alias {
    name: &'static CStr,
    setting: &'static dyn Setting,
    default: OnceLock<String>,
}

/// Whether the settings in the server's configuration have been loaded.
static IS_LOADED: AtomicBool = AtomicBool::new(false);

impl Alias {
    const fn new(name: &'static CStr, setting: &'static dyn Setting) -> Self {
        Self { name, setting, default: OnceLock::new() }
    }
}

impl Setting for Alias {
    fn name(&self) -> &'static CStr {
        self.name
    }

    fn text(&self) -> String {
        let text = self.setting.text();
        self.default.get_or_init(|| text.clone());
        text
    }

    fn set(&self, text: &str) -> Result<(), String> {
        // A setting missing from the configuration gets its default, which is not meant for the aliased setting.
        let is_loaded = IS_LOADED.load(Ordering::Relaxed);
        let is_default = |text| self.default.get().is_some_and(|default| default == text);
        if !is_loaded && is_default(text) {
            return Ok(());
        }
        let before = self.setting.text();
        self.setting.set(text)?;
        // CONFIG REWRITE writes both names, and somebody may have edited one of them since.
        if !is_loaded && !is_default(&before) && self.setting.text() != before {
            let name = self.setting.name().to_string_lossy();
            return Err(format!(
                "`{name}`, the same setting, is {before}: remove one of the lines"
            ));
        }
        Ok(())
    }
}

fn invalid(name: &CStr) -> String {
    format!("Invalid value for `{}`", name.to_string_lossy())
}

fn outside(name: &CStr, range: &str) -> String {
    format!("Value for `{}` must be in the range {range}", name.to_string_lossy())
}

/// Returns the capacity of cuckoo filters that are created by adding to them: at least two buckets.
pub(crate) fn cf_initial_size() -> i64 {
    CF_INITIAL_SIZE.get().max(2 * CF_BUCKET_SIZE.get())
}

/// Registers all settings and loads those in the server's configuration. The arguments of `loadmodule`, pairs of name
/// and value, are the defaults: otherwise they would undo what `CONFIG REWRITE` has saved.
pub(crate) fn register(module: &Registration, arguments: &[String]) -> Result<(), Refused> {
    for pair in arguments.chunks(2) {
        if let Err(what) = argument(pair) {
            module.context.warn(&format!("loadmodule: {what}"));
            return Err(Refused);
        }
    }
    REDISBLOOM.iter().try_for_each(|setting| module.setting(*setting))?;
    // It names files.
    module.named(&secrets::FILES, CONFIG_PROTECTED)?;
    module.bytes_setting(OBJECT_LIMIT.name, &OBJECT_LIMIT.value)?;
    VALKEY_BLOOM.iter().try_for_each(|setting| module.named(*setting, 0))?;
    module.load_settings()?;
    IS_LOADED.store(true, Ordering::Relaxed);
    Ok(())
}

fn argument(pair: &[String]) -> Result<(), String> {
    let [name, value] = pair else { return Err(format!("{} has no value", pair[0])) };
    let mut wanted = name.to_ascii_lowercase();
    if let Some((_, new)) = OLD_NAMES.iter().find(|(old, _)| *old == wanted) {
        wanted = (*new).to_owned();
    }
    let setting = REDISBLOOM.iter().find(|setting| setting.name().to_bytes() == wanted.as_bytes());
    let unknown = || format!("{name} is no argument; most settings are lines of the configuration");
    setting.ok_or_else(unknown)?.set(value)
}

/// Returns the most bytes of a filter; the largest number without a limit.
pub(crate) fn object_limit() -> u64 {
    match OBJECT_LIMIT.get().unsigned_abs() {
        0 => u64::MAX,
        limit => limit,
    }
}

/// Filters up to this size are refused only by `object-limit`, as long as there is memory at all: for commands that
/// add, the server does not check this.
const ALWAYS: u64 = 1 << 20;

/// Returns `None`, and logs why, if a value of `bytes` bytes may not be copied.
pub(crate) fn check_copy(context: &Context, bytes: u64) -> Option<()> {
    let refused = |why| context.warn(&format!("umbel: COPY is refused: {why}"));
    check_size(context, bytes, bytes).map_err(refused).ok()
}

/// Returns the reason if a filter may not have `bytes` bytes, `more` of which the server does not have yet.
///
/// Without limits, a filter that is too large would be created, because its pages are used only when touched: it would
/// evict all other keys, or end the server later. Writes from the primary or a file of the server are never refused.
pub(crate) fn check_size(context: &Context, bytes: u64, more: u64) -> Result<(), String> {
    if context.must_obey() {
        return Ok(());
    }
    let too_large = |why: String| Err(format!("it needs {bytes} bytes, and {why}"));
    let limit = object_limit();
    if bytes > limit {
        return too_large(format!("bf.object-limit, which CONFIG SET raises, is {limit}"));
    }
    if bytes <= ALWAYS && (more == 0 || !context.is_out_of_memory()) {
        return Ok(());
    }
    context.memory_info(|memory| {
        let mut most = memory.number(c"maxmemory");
        if most > 0 && !memory.is(c"maxmemory_policy", b"noeviction") {
            // It can make room, but not by evicting most of its data.
            return match most / 2 {
                half if bytes > half => too_large(format!(
                    "while the server evicts keys, a filter has at most half of maxmemory, {half}"
                )),
                _ => Ok(()),
            };
        }
        if most == 0 {
            most = memory.number(c"total_system_memory");
        }
        let used = memory.number(c"used_memory");
        match most > 0 && used.saturating_add(more) > most {
            true => too_large(format!("{} are left", most.saturating_sub(used))),
            false => Ok(()),
        }
    })
}

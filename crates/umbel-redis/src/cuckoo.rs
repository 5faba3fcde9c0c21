//! The commands `CF.*`: syntax, answers and errors of RedisBloom over its cuckoo filters.

use umbel_foreign::redisbloom_cuckoo::RedisBloomCuckoo as Filter;
use umbel_foreign::{Error, ForeignFilter, ForeignInsert, Format, Parameters};

use crate::bloom::is_word;
use crate::lookup::{EXISTS, MEXISTS, NOT_FOUND, check_not_umbel, exists, look, mexists, seed};
use crate::server::{
    Access::{Delete, Insert, Read, Update},
    Answer, Argument, CommandSpec, Context, Found, Refusal, exported, no_memory, spec,
};
use crate::settings::{
    self, MOST_BUCKET_SIZE, MOST_CAPACITY, MOST_EXPANSION, MOST_ITERATIONS, check_size,
};
use crate::values::Cuckoo;

/// All commands.
pub(crate) const COMMANDS: [CommandSpec; 14] = [
    spec(c"cf.reserve", exported!(reserve), -3, Insert, c"Creates a cuckoo filter").fast(),
    spec(c"cf.add", exported!(add::<false>), 3, Insert, c"Adds an item; creates the filter"),
    spec(c"cf.addnx", exported!(add::<true>), 3, Insert, c"Adds an item unless it is there"),
    spec(c"cf.insert", exported!(insert::<false>), -4, Insert, c"Adds items, with options"),
    spec(c"cf.insertnx", exported!(insert::<true>), -4, Insert, c"Adds items that are not there"),
    spec(c"cf.exists", exported!(exists::<Filter, Filter>), 3, Read, EXISTS),
    spec(c"cf.mexists", exported!(mexists::<Filter, Filter>), -3, Read, MEXISTS),
    spec(c"cf.count", exported!(count), 3, Read, c"How often an item may be there"),
    spec(c"cf.del", exported!(del), 3, Delete, c"Removes an item once"),
    spec(c"cf.compact", exported!(compact), 2, Update, c"Frees unused sub-filters"),
    spec(c"cf.info", exported!(info), 2, Read, c"Describes a filter").fast().not_cached(),
    spec(c"cf.debug", exported!(debug), 2, Read, c"The same in one line").not_cached(),
    spec(c"cf.scandump", exported!(scandump), 3, Read, c"Dumps a filter in chunks").not_cached(),
    spec(c"cf.loadchunk", exported!(loadchunk), 4, Insert, c"Loads a chunk of a filter"),
];

const NO_GROWTH: &str = "ERR Insufficient memory";
const FULL: Refusal = Refusal::Words("Filter is full");

/// The parameters of a new filter.
struct Creation {
    capacity: i64,
    bucket_size: i64,
    max_iterations: i64,
    expansion: i64,
    /// The hash seed, if it is not RedisBloom's usual one.
    seed: Option<u64>,
}

impl Creation {
    /// Returns the configured defaults.
    fn usual() -> Self {
        Self {
            capacity: settings::cf_initial_size(),
            bucket_size: settings::CF_BUCKET_SIZE.get(),
            max_iterations: settings::CF_MAX_ITERATIONS.get(),
            expansion: settings::CF_EXPANSION_FACTOR.get(),
            seed: None,
        }
    }

    fn make(&self, context: &Context) -> Result<Box<Cuckoo>, Refusal> {
        let given = Parameters {
            keys: Some(self.capacity as u64),
            bucket_size: Some(self.bucket_size as u32),
            max_iterations: Some(self.max_iterations as u32),
            growth: Some(self.expansion as u32),
            ..Parameters::default()
        };
        let format = Format::RedisBloomCuckoo;
        let planned = Filter::plan(format, &given).map_err(no_memory)?;
        check_size(context, planned.bytes, planned.bytes).map_err(no_memory)?;
        let filter = Filter::new(format, &given).map_err(no_memory)?;
        let filter = match self.seed {
            Some(seed) => filter.with_seed(seed),
            None => filter,
        };
        Ok(Box::new(Cuckoo::new(filter)))
    }

    /// Creates the filter on replicas with the same parameters, whatever their configuration.
    fn replicate(&self, context: &Context, key: Argument<'_>) {
        let Self { capacity, bucket_size, max_iterations, expansion, seed } = self;
        let words = |word: &str, number: &i64| [word.to_owned(), number.to_string()];
        let mut arguments = vec![capacity.to_string()];
        arguments.extend(words("BUCKETSIZE", bucket_size));
        arguments.extend(words("MAXITERATIONS", max_iterations));
        arguments.extend(words("EXPANSION", expansion));
        if let Some(seed) = seed {
            arguments.extend(["SEED".to_owned(), seed.to_string()]);
        }
        context.replicate_as(c"CF.RESERVE", key, &arguments, &[]);
    }
}

/// Parses the number of an option and checks its range.
fn number(argument: Argument<'_>, least: i64, most: i64, name: &str) -> Result<i64, Refusal> {
    let number =
        argument.integer().ok_or_else(|| Refusal::Text(format!("Couldn't parse {name}")))?;
    if !(least..=most).contains(&number) {
        let range = format!("{name}: value must be in the range [{least}, {most}]");
        return Err(Refusal::Text(range));
    }
    Ok(number)
}

/// `CF.RESERVE key capacity [BUCKETSIZE n] [MAXITERATIONS n] [EXPANSION n] [SEED seed]`
fn reserve(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, key, capacity, options @ ..] = arguments else { return Err(Refusal::Arity) };
    if options.len() % 2 != 0 {
        return Err(Refusal::Arity);
    }
    let capacity = capacity.integer().ok_or(Refusal::Words("Bad capacity"))?;
    let mut creation = Creation { capacity, ..Creation::usual() };
    for option in options.chunks_exact(2) {
        let (name, value) = (option[0], option[1]);
        if name.is("BUCKETSIZE") {
            creation.bucket_size = number(value, 1, MOST_BUCKET_SIZE, "BUCKETSIZE")?;
        } else if name.is("MAXITERATIONS") {
            creation.max_iterations = number(value, 1, MOST_ITERATIONS, "MAXITERATIONS")?;
        } else if name.is("EXPANSION") {
            creation.expansion = number(value, 0, MOST_EXPANSION, "EXPANSION")?;
        }
        // Unknown words are ignored, as in RedisBloom.
    }
    creation.seed = seed(context, options)?;
    if !(2 * creation.bucket_size..=MOST_CAPACITY).contains(&capacity) {
        let range = format!("Capacity must be in the range [2 * BUCKETSIZE, {MOST_CAPACITY}]");
        return Err(Refusal::Text(range));
    }
    let mut opened = context.key_for_writing(*key);
    opened.check_missing::<Cuckoo, Cuckoo>("ERR item exists")?;
    opened.set(creation.make(context)?);
    drop(opened);
    creation.replicate(context, *key);
    context.notify(c"cuckoo.reserve", *key);
    context.reply_ok()
}

/// The result for an item.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Added,
    /// It may be present already.
    There,
    Full,
    NoMemory,
}

/// Adds an item. The filter grows if it fits, to a size that was not `refused` before.
fn add_item(
    context: &Context,
    filter: &mut Filter,
    item: &[u8],
    new: bool,
    refused: &mut Option<u64>,
) -> Outcome {
    loop {
        let added = if new { filter.add_new(item) } else { filter.add(item).map(|()| true) };
        return match added {
            Ok(true) => Outcome::Added,
            Ok(false) => Outcome::There,
            Err(Error::GrowthLimit { bytes, .. }) => {
                let more = bytes - filter.bytes();
                if *refused != Some(bytes) && check_size(context, bytes, more).is_ok() {
                    filter.set_limit(bytes);
                    continue;
                }
                *refused = Some(bytes);
                Outcome::NoMemory
            }
            Err(Error::OutOfMemory { .. }) => Outcome::NoMemory,
            Err(_) => Outcome::Full,
        };
    }
}

/// Adds items to the filter of a key. If there is none, creates it with `creation`.
fn add_to(
    context: &Context,
    key: Argument<'_>,
    items: &[Argument<'_>],
    new: bool,
    creation: Option<&Creation>,
) -> Result<Vec<Outcome>, Refusal> {
    let fill = |filter: &mut Filter| {
        let most = match context.must_obey() {
            true => u64::MAX,
            false => settings::CF_MAX_EXPANSIONS.get() as u64,
        };
        // RedisBloom checks this once per command and can exceed it within one.
        filter.set_most_filters(most);
        if filter.head().filters >= most {
            return Err(Refusal::Words("Maximum expansions reached"));
        }
        let mut refused = None;
        let add = |item: &Argument<'_>| add_item(context, filter, item.bytes(), new, &mut refused);
        Ok(items.iter().map(add).collect::<Vec<_>>())
    };
    let mut opened = context.key_for_writing(key);
    let (outcomes, made) = match opened.get::<Cuckoo>() {
        Found::Other => return Err(Refusal::WRONG_TYPE),
        Found::Value(cuckoo) => (fill(cuckoo.filter_mut())?, None),
        Found::Missing => {
            let creation = creation.ok_or(NOT_FOUND)?;
            let mut cuckoo = creation.make(context)?;
            let outcomes = fill(cuckoo.filter_mut())?;
            opened.set(cuckoo);
            (outcomes, Some(creation))
        }
    };
    drop(opened);
    if let Some(creation) = made {
        creation.replicate(context, key);
        context.notify(c"cuckoo.reserve", key);
    }
    // Only the added items: a replica or a restarted server has no limit, and would add the ones refused here.
    let added = items.iter().zip(&outcomes).filter(|(_, outcome)| **outcome == Outcome::Added);
    let added: Vec<Argument<'_>> = added.map(|(item, _)| *item).collect();
    if !added.is_empty() {
        context.replicate_as(c"CF.INSERT", key, &["ITEMS"], &added);
        context.notify(c"cuckoo.add", key);
    }
    Ok(outcomes)
}

/// `CF.ADD key item`, and `CF.ADDNX key item`, which adds it only if it is new.
fn add<const NEW: bool>(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, key, item] = arguments else { return Err(Refusal::Arity) };
    let outcomes = add_to(context, *key, &[*item], NEW, Some(&Creation::usual()))?;
    match outcomes[0] {
        Outcome::Added => context.reply_bool(true),
        Outcome::There => context.reply_bool(false),
        Outcome::Full => return Err(FULL),
        Outcome::NoMemory => return Err(Refusal::Words(NO_GROWTH)),
    }
    Ok(())
}

/// `CF.INSERT key [CAPACITY n] [NOCREATE] ITEMS item...`, and `CF.INSERTNX`, which adds only new ones.
fn insert<const NEW: bool>(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, key, options @ ..] = arguments else { return Err(Refusal::Arity) };
    let mut creation = Creation::usual();
    let mut nocreate = false;
    let mut options = options.iter();
    loop {
        let option = options.next().ok_or(Refusal::Arity)?;
        let is = |word| is_word(context, *option, word);
        if is("ITEMS") {
            break;
        } else if is("NOCREATE")
            || (matches!(option.bytes(), [b'n' | b'N', ..]) && context.must_obey())
        {
            nocreate = true;
        } else if is("CAPACITY") {
            let value = options.next().ok_or(Refusal::Arity)?;
            creation.capacity = value.integer().ok_or(Refusal::Words("Bad capacity"))?;
        } else {
            return Err(Refusal::Words("Unknown argument received"));
        }
    }
    let items = options.as_slice();
    if items.is_empty() {
        return Err(Refusal::Arity);
    }
    if !(2 * creation.bucket_size..=MOST_CAPACITY).contains(&creation.capacity) {
        let range = format!("Capacity must be in the range [cf-bucket-size * 2, {MOST_CAPACITY}]");
        return Err(Refusal::Text(range));
    }
    let creation = (!nocreate).then_some(&creation);
    let outcomes = add_to(context, *key, items, NEW, creation)?;
    context.reply_array(outcomes.len());
    let bools = context.is_resp3() && !NEW;
    for outcome in outcomes {
        match outcome {
            Outcome::NoMemory => context.reply_error(NO_GROWTH),
            outcome if bools => context.reply_bool(outcome == Outcome::Added),
            Outcome::Added => context.reply_integer(1),
            Outcome::There => context.reply_integer(0),
            Outcome::Full => context.reply_integer(-1),
        }
    }
    Ok(())
}

/// `CF.COUNT key item`
fn count(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, key, item] = arguments else { return Err(Refusal::Arity) };
    let mut opened = context.key(*key);
    check_not_umbel(&mut opened)?;
    context.reply_count(match opened.get::<Cuckoo>() {
        Found::Value(cuckoo) => cuckoo.filter().count(item.bytes()),
        Found::Missing | Found::Other => 0,
    });
    Ok(())
}

/// `CF.DEL key item`
fn del(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, key, item] = arguments else { return Err(Refusal::Arity) };
    let mut opened = context.key_for_writing(*key);
    let Found::Value(cuckoo) = opened.get::<Cuckoo>() else {
        return Err(Refusal::Words("Not found"));
    };
    let deleted = cuckoo.filter_mut().delete(item.bytes());
    drop(opened);
    if deleted {
        context.replicate();
        context.notify(c"cuckoo.del", *key);
    }
    context.reply_bool(deleted);
    Ok(())
}

/// `CF.COMPACT key`
fn compact(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, key] = arguments else { return Err(Refusal::Arity) };
    let mut opened = context.key_for_writing(*key);
    let Found::Value(cuckoo) = opened.get::<Cuckoo>() else {
        return Err(Refusal::Words("Cuckoo filter was not found"));
    };
    cuckoo.filter_mut().compact();
    context.done(opened, c"cuckoo.compact", *key)
}

/// `CF.INFO key`
fn info(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, key] = arguments else { return Err(Refusal::Arity) };
    look(context, *key, |cuckoo: &Cuckoo| {
        let head = cuckoo.filter().head();
        let fields = [
            (c"Size", cuckoo.size()),
            (c"Number of buckets", head.buckets),
            (c"Number of filters", head.filters),
            (c"Number of items inserted", head.items),
            (c"Number of items deleted", head.deletes),
            (c"Bucket size", head.bucket_size.into()),
            (c"Expansion rate", head.growth.into()),
            (c"Max iterations", head.max_iterations.into()),
        ];
        context.reply_map(fields.len());
        for (name, value) in fields {
            context.reply_name(name);
            context.reply_count(value);
        }
        Ok(())
    })
}

/// `CF.DEBUG key`
fn debug(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, key] = arguments else { return Err(Refusal::Arity) };
    look(context, *key, |cuckoo: &Cuckoo| {
        let filter = cuckoo.filter();
        let head = filter.head();
        let line = format!(
            "bktsize:{} buckets:{} items:{} deletes:{} filters:{} max_iterations:{} expansion:{}",
            head.bucket_size,
            head.buckets,
            head.items,
            head.deletes,
            head.filters,
            head.max_iterations,
            head.growth,
        );
        context.reply_bytes(line.as_bytes());
        Ok(())
    })
}

const BAD_POSITION: Refusal = Refusal::Words("Invalid position");

/// `CF.SCANDUMP key iterator`
fn scandump(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, key, iterator] = arguments else { return Err(Refusal::Arity) };
    let iterator = iterator.integer().filter(|iterator| *iterator >= 0).ok_or(BAD_POSITION)?;
    look(context, *key, |cuckoo: &Cuckoo| {
        let filter = cuckoo.filter();
        context.reply_array(2);
        let chunk = match iterator {
            _ if filter.head().items == 0 && (iterator > 0 || filter.head().seed.is_none()) => None,
            0 => {
                context.reply_integer(1);
                context.reply_bytes(&filter.header());
                return Ok(());
            }
            _ => filter.chunk(iterator as u64 - 1),
        };
        context.reply_integer(chunk.map_or(0, |chunk| iterator + chunk.len() as i64));
        match chunk {
            Some(chunk) => context.reply_bytes(chunk),
            None => context.reply_null(),
        }
        Ok(())
    })
}

/// `CF.LOADCHUNK key iterator data`
fn loadchunk(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, key, iterator, data] = arguments else { return Err(Refusal::Arity) };
    let iterator = iterator.integer().filter(|iterator| *iterator != 0).ok_or(BAD_POSITION)?;
    let data = data.bytes();
    let mut opened = context.key_for_writing(*key);
    match opened.get::<Cuckoo>() {
        Found::Other => return Err(Refusal::WRONG_TYPE),
        Found::Missing if iterator == 1 => {
            const NOT_CREATED: Refusal = Refusal::Words("Couldn't create filter!");
            let bytes = match Filter::from_header(data, 0) {
                Err(Error::GrowthLimit { bytes, .. }) => bytes,
                Err(Error::Length { .. }) => return Err(Refusal::Words("Invalid header")),
                _ => return Err(NOT_CREATED),
            };
            check_size(context, bytes, bytes).map_err(|_| NOT_CREATED)?;
            let filter = Filter::from_header(data, bytes).map_err(|_| NOT_CREATED)?;
            opened.set(Box::new(Cuckoo::new(filter)));
        }
        Found::Missing => return Err(NOT_FOUND),
        Found::Value(_) if iterator == 1 => return Err(Refusal::Words("ERR item exists")),
        Found::Value(cuckoo) => {
            let filter = cuckoo.filter_mut();
            let loaded = u64::try_from(iterator).is_ok_and(|i| filter.load(i, data).is_ok());
            if !loaded {
                return Err(Refusal::Words("Couldn't load chunk!"));
            }
        }
    }
    context.done(opened, c"cuckoo.loadchunk", *key)
}

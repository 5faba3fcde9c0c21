//! The commands `BF.*`: syntax, answers and errors of RedisBloom over its Bloom filters.

use std::fmt::Display;

use umbel_foreign::redisbloom::RedisBloom;
use umbel_foreign::{Error, ForeignFilter, ForeignInsert, Format, Parameters};

use crate::lookup::{NOT_FOUND, exists, look, mexists};
use crate::server::{
    Access, Answer, Argument, CommandSpec, Context, Found, NO_WORDS, Refusal, exported, no_memory,
    spec,
};
use crate::settings::{self, MOST_CAPACITY, MOST_ERROR, MOST_EXPANSION, check_size};
use crate::values::Bloom;

/// All of them.
pub(crate) const COMMANDS: [CommandSpec; 11] = [
    spec(c"bf.reserve", exported!(reserve), -4, Access::Insert, c"Creates a Bloom filter").fast(),
    spec(c"bf.add", exported!(add), 3, Access::Insert, c"Adds an item; creates the filter"),
    spec(c"bf.madd", exported!(madd), -3, Access::Insert, c"Adds items; creates the filter"),
    spec(c"bf.insert", exported!(insert), -4, Access::Insert, c"Adds items, with options"),
    spec(
        c"bf.exists",
        exported!(exists::<RedisBloom>),
        3,
        Access::Read,
        c"Whether an item may be there",
    ),
    spec(
        c"bf.mexists",
        exported!(mexists::<RedisBloom>),
        -3,
        Access::Read,
        c"Whether items may be there",
    ),
    spec(c"bf.card", exported!(card), 2, Access::Read, c"How many items were added").fast(),
    spec(c"bf.info", exported!(info), -2, Access::Read, c"What a filter is made of")
        .fast()
        .not_cached(),
    spec(c"bf.debug", exported!(debug), 2, Access::Read, c"The links of a filter").not_cached(),
    spec(c"bf.scandump", exported!(scandump), 3, Access::Read, c"A filter, chunk by chunk")
        .not_cached(),
    spec(c"bf.loadchunk", exported!(loadchunk), 4, Access::Insert, c"Takes a chunk of a filter"),
];

const FULL: &str = "ERR non scaling filter is full";
const NO_GROWTH: &str = "ERR problem inserting into filter";

/// The parameters of a new filter.
struct Creation {
    error: f64,
    capacity: i64,
    /// 0 if it does not grow.
    expansion: i64,
}

impl Creation {
    /// Returns the configured defaults.
    fn usual() -> Self {
        Self {
            error: settings::BF_ERROR_RATE.get(),
            capacity: settings::BF_INITIAL_SIZE.get(),
            expansion: settings::BF_EXPANSION_FACTOR.get(),
        }
    }

    fn make(&self, context: &Context) -> Result<Box<Bloom>, Refusal> {
        let given = Parameters {
            growth: Some(self.expansion as u32),
            ..Parameters::for_keys(self.capacity as u64, self.error)
        };
        let planned = RedisBloom::plan(Format::RedisBloom, &given).map_err(no_memory)?;
        check_size(context, planned.bytes, planned.bytes).map_err(no_memory)?;
        let filter = RedisBloom::new(Format::RedisBloom, &given).map_err(no_memory)?;
        Ok(Box::new(Bloom::new(filter)))
    }

    /// Creates the filter on replicas with the same parameters, whatever their configuration.
    fn replicate(&self, context: &Context, key: Argument<'_>) {
        let Self { error, capacity, expansion } = self;
        let mut arguments = vec![format!("{error:e}"), capacity.to_string()];
        match expansion {
            0 => arguments.push("NONSCALING".to_owned()),
            _ => arguments.extend(["EXPANSION".to_owned(), expansion.to_string()]),
        }
        context.replicate_as(c"BF.RESERVE", key, &arguments, &[]);
    }
}

/// Parses an error rate and caps it as RedisBloom does.
fn error_rate(argument: Argument<'_>, bad: &'static str) -> Result<f64, Refusal> {
    let rate = argument.number().ok_or(Refusal::Words(bad))?;
    if !(rate > 0.0 && rate < 1.0) {
        let words = "ERR error rate must be in the range (0.000000, 1.000000)";
        return Err(Refusal::Words(words));
    }
    Ok(rate.min(MOST_ERROR))
}

fn capacity(argument: Argument<'_>, bad: &'static str) -> Result<i64, Refusal> {
    let capacity = argument.integer().ok_or(Refusal::Words(bad))?;
    if !(1..=MOST_CAPACITY).contains(&capacity) {
        let range = format!("ERR capacity must be in the range [1, {MOST_CAPACITY}]");
        return Err(Refusal::Text(range));
    }
    Ok(capacity)
}

fn expansion(argument: Argument<'_>, bad: &'static str) -> Result<i64, Refusal> {
    let expansion = argument.integer().ok_or(Refusal::Words(bad))?;
    if !(0..=MOST_EXPANSION).contains(&expansion) {
        let range = format!("ERR expansion must be in the range [0, {MOST_EXPANSION}]");
        return Err(Refusal::Text(range));
    }
    Ok(expansion)
}

/// `BF.RESERVE key error capacity [EXPANSION n] [NONSCALING]`
fn reserve(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    if !(4..=7).contains(&arguments.len()) {
        return Err(Refusal::Arity);
    }
    let (key, options) = (arguments[1], &arguments[4..]);
    let error = error_rate(arguments[2], "ERR bad error rate")?;
    let capacity = capacity(arguments[3], "ERR bad capacity")?;
    let usual = settings::BF_EXPANSION_FACTOR.get();
    let mut creation = Creation { error, capacity, expansion: usual };
    let nonscaling = options.iter().any(|option| option.is("NONSCALING"));
    // Unknown words are ignored, as in RedisBloom.
    match options.iter().position(|option| option.is("EXPANSION")) {
        Some(at) => {
            let number = options.get(at + 1).ok_or(Refusal::Words("ERR no expansion"))?;
            creation.expansion = expansion(*number, "ERR bad expansion")?;
            if nonscaling && creation.expansion > 0 {
                return Err(Refusal::Words("Nonscaling filters cannot expand"));
            }
        }
        None if nonscaling => creation.expansion = 0,
        None => {}
    }
    let mut opened = context.key_for_writing(key);
    match opened.get::<Bloom>() {
        Found::Missing => {}
        Found::Other => return Err(Refusal::WRONG_TYPE),
        Found::Value(_) => return Err(Refusal::Words("ERR item exists")),
    }
    opened.set(creation.make(context)?);
    drop(opened);
    creation.replicate(context, key);
    context.notify(c"bloom.reserve", key);
    context.reply_ok()
}

/// The result for an item of a command.
type Outcome = Result<bool, &'static str>;

/// Adds items to a filter, which grows if it fits, until a fixed filter is full. Returns how many have an outcome.
fn fill(
    context: &Context,
    filter: &mut RedisBloom,
    items: &[&[u8]],
    outcomes: &mut [Outcome],
) -> usize {
    let mut done = 0;
    while done < items.len() {
        let grows = filter.grows();
        let mut stopped = None;
        filter.insert_each(&items[done..], |answer| {
            outcomes[done] = match answer {
                Ok(new) => Ok(new),
                Err(error @ Error::GrowthLimit { .. }) => {
                    stopped = Some(error);
                    return false;
                }
                Err(Error::Full { .. }) if !grows => Err(FULL),
                // An item that may be there already needs no room.
                Err(_) => Err(NO_GROWTH),
            };
            done += 1;
            outcomes[done - 1] != Err(FULL)
        });
        match stopped {
            Some(Error::GrowthLimit { bytes, .. }) => {
                match check_size(context, bytes, bytes - filter.bytes()) {
                    Ok(()) => filter.set_limit(bytes),
                    Err(_) => {
                        outcomes[done] = Err(NO_GROWTH);
                        done += 1;
                    }
                }
            }
            _ => break,
        }
    }
    done
}

/// Adds items to the filter of a key. If there is none, creates it with `creation`. Returns how many items have an outcome.
fn add_to(
    context: &Context,
    key: Argument<'_>,
    items: &[Argument<'_>],
    creation: Option<&Creation>,
    outcomes: &mut [Outcome],
) -> Result<usize, Refusal> {
    let bytes: Vec<&[u8]> = items.iter().map(|item| item.bytes()).collect();
    let mut opened = context.key_for_writing(key);
    let (done, made) = match opened.get::<Bloom>() {
        Found::Other => return Err(Refusal::WRONG_TYPE),
        Found::Value(bloom) => (fill(context, bloom.filter_mut(), &bytes, outcomes), None),
        Found::Missing => {
            let creation = creation.ok_or(NOT_FOUND)?;
            let mut bloom = creation.make(context)?;
            let done = fill(context, bloom.filter_mut(), &bytes, outcomes);
            opened.set(bloom);
            (done, Some(creation))
        }
    };
    drop(opened);
    if let Some(creation) = made {
        creation.replicate(context, key);
        context.notify(c"bloom.reserve", key);
    }
    // Only what was added: a replica or a restarted server has no limit, and would add what was refused here.
    let added = items.iter().zip(&*outcomes).filter(|(_, outcome)| **outcome == Ok(true));
    let added: Vec<Argument<'_>> = added.map(|(item, _)| *item).collect();
    if !added.is_empty() {
        context.replicate_as(c"BF.MADD", key, NO_WORDS, &added);
        context.notify(c"bloom.add", key);
    }
    Ok(done)
}

/// Adds items and replies for each.
fn add_all(
    context: &Context,
    key: Argument<'_>,
    items: &[Argument<'_>],
    creation: Option<&Creation>,
) -> Answer {
    let mut outcomes = vec![Ok(false); items.len()];
    let done = add_to(context, key, items, creation, &mut outcomes)?;
    context.reply_array(done);
    for outcome in &outcomes[..done] {
        match outcome {
            Ok(new) => context.reply_bool(*new),
            Err(words) => context.reply_error(words),
        }
    }
    Ok(())
}

/// `BF.ADD key item`
fn add(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, key, item] = arguments else { return Err(Refusal::Arity) };
    let mut outcome = [Ok(false)];
    add_to(context, *key, &[*item], Some(&Creation::usual()), &mut outcome)?;
    context.reply_bool(outcome[0].map_err(Refusal::Words)?);
    Ok(())
}

/// `BF.MADD key item...`
fn madd(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, key, items @ ..] = arguments else { return Err(Refusal::Arity) };
    if items.is_empty() {
        return Err(Refusal::Arity);
    }
    add_all(context, *key, items, Some(&Creation::usual()))
}

/// `BF.INSERT key [CAPACITY n] [ERROR e] [EXPANSION n] [NOCREATE] [NONSCALING] ITEMS item...`
fn insert(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, key, options @ ..] = arguments else { return Err(Refusal::Arity) };
    let mut creation = Creation::usual();
    let (mut nocreate, mut nonscaling) = (false, false);
    let mut options = options.iter();
    loop {
        // Without ITEMS, RedisBloom reports the number of arguments.
        let option = options.next().ok_or(Refusal::Arity)?;
        let mut value = || options.next().copied().ok_or(Refusal::Arity);
        if option.is("ITEMS") {
            break;
        } else if option.is("CAPACITY") {
            creation.capacity = capacity(value()?, "Bad capacity")?;
        } else if option.is("ERROR") {
            creation.error = error_rate(value()?, "Bad error rate")?;
        } else if option.is("EXPANSION") {
            creation.expansion = expansion(value()?, "Bad expansion")?;
        } else if option.is("NOCREATE") {
            nocreate = true;
        } else if option.is("NONSCALING") {
            nonscaling = true;
        } else {
            return Err(Refusal::Words("Unknown argument received"));
        }
    }
    let items = options.as_slice();
    if items.is_empty() {
        return Err(Refusal::Arity);
    }
    if nonscaling {
        creation.expansion = 0;
    }
    add_all(context, *key, items, (!nocreate).then_some(&creation))
}

/// `BF.CARD key`
fn card(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, key] = arguments else { return Err(Refusal::Arity) };
    let items = match context.key(*key).get::<Bloom>() {
        Found::Missing => 0,
        Found::Other => return Err(Refusal::WRONG_TYPE),
        Found::Value(bloom) => bloom.filter().items(),
    };
    context.reply_count(items);
    Ok(())
}

/// `BF.INFO key [CAPACITY | SIZE | FILTERS | ITEMS | EXPANSION]`
fn info(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let (key, field) = match arguments {
        [_, key] => (*key, None),
        [_, key, field] => (*key, Some(*field)),
        _ => return Err(Refusal::Arity),
    };
    look(context, key, |bloom: &Bloom| {
        let filter = bloom.filter();
        let growth = filter.grows().then_some(u64::from(filter.growth()));
        let fields = [
            ("CAPACITY", c"Capacity", Some(filter.capacity())),
            ("SIZE", c"Size", Some(bloom.size())),
            ("FILTERS", c"Number of filters", Some(filter.links().len() as u64)),
            ("ITEMS", c"Number of items inserted", Some(filter.items())),
            ("EXPANSION", c"Expansion rate", growth),
        ];
        let reply = |value: Option<u64>| match value {
            Some(value) => context.reply_count(value),
            None => context.reply_null(),
        };
        let Some(field) = field else {
            context.reply_map(fields.len());
            for (_, name, value) in fields {
                context.reply_name(name);
                reply(value);
            }
            return Ok(());
        };
        let found = fields.into_iter().find(|(word, ..)| field.is(word));
        let (_, name, value) = found.ok_or(Refusal::Words("Invalid information value"))?;
        if context.is_resp3() {
            context.reply_map(1);
            context.reply_name(name);
        } else {
            context.reply_array(1);
        }
        reply(value);
        Ok(())
    })
}

/// `BF.DEBUG key`
fn debug(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, key] = arguments else { return Err(Refusal::Arity) };
    look(context, *key, |bloom: &Bloom| {
        let filter = bloom.filter();
        context.reply_array(1 + filter.links().len());
        context.reply_bytes(format!("size:{}", filter.items()).as_bytes());
        for link in filter.links() {
            let width = if filter.options() & 4 != 0 { 64 } else { 32 };
            let line = format!(
                "bytes:{} bits:{} hashes:{} hashwidth:{width} capacity:{} size:{} ratio:{}",
                link.bytes(),
                if link.n2 > 0 { 1 << link.n2 } else { link.bits },
                link.hashes,
                link.entries,
                link.items,
                crate::shortest(link.error),
            );
            context.reply_bytes(line.as_bytes());
        }
        Ok(())
    })
}

/// `BF.SCANDUMP key iterator`
fn scandump(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, key, iterator] = arguments else { return Err(Refusal::Arity) };
    look(context, *key, |bloom: &Bloom| {
        let filter = bloom.filter();
        let iterator =
            iterator.integer().ok_or(Refusal::Words("Second argument must be numeric"))?;
        context.reply_array(2);
        if iterator == 0 {
            context.reply_integer(1);
            context.reply_bytes(&filter.header());
            return Ok(());
        }
        let offset = iterator.checked_sub(1).and_then(|offset| u64::try_from(offset).ok());
        match offset.and_then(|offset| filter.chunk(offset)) {
            Some(chunk) => {
                context.reply_integer(iterator + chunk.len() as i64);
                context.reply_bytes(chunk);
            }
            None => {
                context.reply_integer(0);
                context.reply_bytes(b"");
            }
        }
        Ok(())
    })
}

/// `BF.LOADCHUNK key iterator data`
fn loadchunk(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, key, iterator, data] = arguments else { return Err(Refusal::Arity) };
    const BAD_DATA: &str = "ERR received bad data";
    const BAD: Refusal = Refusal::Words(BAD_DATA);
    let iterator =
        iterator.integer().ok_or(Refusal::Words("ERR Second argument must be numeric"))?;
    let data = data.bytes();
    let mut opened = context.key_for_writing(*key);
    match opened.get::<Bloom>() {
        Found::Other => return Err(Refusal::WRONG_TYPE),
        Found::Missing if iterator == 1 => {
            // Check the size in the header before allocating.
            let bytes = match RedisBloom::from_header(data, 0) {
                Err(Error::GrowthLimit { bytes, .. }) => bytes,
                _ => return Err(BAD),
            };
            let too_large = |why: &dyn Display| Refusal::Text(format!("{BAD_DATA}: {why}"));
            check_size(context, bytes, bytes).map_err(|why| too_large(&why))?;
            let filter = RedisBloom::from_header(data, bytes).map_err(|why| too_large(&why))?;
            opened.set(Box::new(Bloom::new(filter)));
        }
        Found::Missing => return Err(NOT_FOUND),
        Found::Value(bloom) => {
            let iterator = u64::try_from(iterator).map_err(|_| BAD)?;
            if iterator < 1 + data.len() as u64 {
                return Err(BAD);
            }
            bloom.filter_mut().load(iterator, data).map_err(|error| match error {
                Error::Field { field: "iterator", .. } => {
                    Refusal::Words("ERR invalid offset - no link found")
                }
                Error::Length { .. } => {
                    Refusal::Words("ERR invalid chunk - Too big for current filter")
                }
                _ => BAD,
            })?;
        }
    }
    drop(opened);
    context.replicate();
    context.notify(c"bloom.loadchunk", *key);
    context.reply_ok()
}

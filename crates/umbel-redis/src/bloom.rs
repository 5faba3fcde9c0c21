//! The commands `BF.*`: syntax, answers and errors of RedisBloom over its Bloom filters and valkey-bloom's.
//! valkey-bloom has its own words for `BF.INSERT`, its own `BF.INFO`, and `BF.LOAD`.

use std::ffi::CStr;
use std::fmt::Display;

use umbel_foreign::redisbloom::RedisBloom;
use umbel_foreign::valkey_bloom::{FIXED_SEED, Properties, ScaledTo, ValkeyBloom};
use umbel_foreign::{Chain, Error, ForeignFilter, ForeignInsert, Format, Parameters, Rule};

use crate::lookup::{EXISTS, MEXISTS, NOT_FOUND, exists, look, mexists, seed};
use crate::server::{
    Access::{Insert, Read},
    Answer, Argument, CommandSpec, Context, Either, Found, NO_WORDS, Refusal, exported, no_memory,
    spec,
};
use crate::settings::{self, MOST_CAPACITY, MOST_ERROR, MOST_EXPANSION, check_size, object_limit};
use crate::values::{Bloom, Foreign, Kept, Valkey};

/// All commands.
pub(crate) const COMMANDS: [CommandSpec; 12] = [
    spec(c"bf.reserve", exported!(reserve), -4, Insert, c"Creates a Bloom filter").fast(),
    spec(c"bf.add", exported!(add), 3, Insert, c"Adds an item; creates the filter"),
    spec(c"bf.madd", exported!(madd), -3, Insert, c"Adds items; creates the filter"),
    spec(c"bf.insert", exported!(insert), -4, Insert, c"Adds items, with options"),
    spec(c"bf.exists", exported!(exists::<RedisBloom, ValkeyBloom>), 3, Read, EXISTS),
    spec(c"bf.mexists", exported!(mexists::<RedisBloom, ValkeyBloom>), -3, Read, MEXISTS),
    spec(c"bf.card", exported!(card), 2, Read, c"How many items were added").fast(),
    spec(c"bf.info", exported!(info), -2, Read, c"Describes a filter").fast().not_cached(),
    spec(c"bf.debug", exported!(debug), 2, Read, c"The links of a filter").not_cached(),
    spec(c"bf.scandump", exported!(scandump), 3, Read, c"Dumps a filter in chunks").not_cached(),
    spec(c"bf.loadchunk", exported!(loadchunk), 4, Insert, c"Loads a chunk of a filter"),
    spec(c"bf.load", exported!(load), 3, Insert, c"Loads a filter of valkey-bloom"),
];

const FULL: &str = "ERR non scaling filter is full";
const NO_GROWTH: &str = "ERR problem inserting into filter";

/// The parameters of a new filter.
struct Creation {
    error: f64,
    capacity: i64,
    /// 0 if it does not grow.
    expansion: i64,
    /// The hash seed, if it is not RedisBloom's usual one.
    seed: Option<u64>,
    /// For a filter of valkey-bloom: the tightening and the seed.
    valkey: Option<(f64, [u8; 32])>,
}

impl Creation {
    /// Returns the configured defaults.
    fn usual() -> Self {
        Self {
            error: settings::BF_ERROR_RATE.get(),
            capacity: settings::BF_INITIAL_SIZE.get(),
            expansion: settings::BF_EXPANSION_FACTOR.get(),
            seed: None,
            valkey: None,
        }
    }

    /// The properties of a filter of valkey-bloom.
    fn properties(&self) -> Option<Properties> {
        let (tightening, seed) = self.valkey?;
        let expansion = u32::try_from(self.expansion).unwrap_or(u32::MAX);
        Some(Properties { expansion, rate: self.error, tightening, seed })
    }

    fn make_valkey(
        &self,
        context: &Context,
        properties: Properties,
    ) -> Result<Box<Valkey>, Refusal> {
        let capacity = self.capacity as u64;
        // Only one link, regardless of the room.
        let first = Properties { expansion: 0, ..properties.clone() }.scaled(capacity, u64::MAX, 1);
        check_size(context, first.bytes, first.bytes).map_err(no_memory)?;
        let filter = ValkeyBloom::reserved(properties, capacity).map_err(no_memory)?;
        Ok(Box::new(Valkey::new(filter)))
    }

    fn make(&self, context: &Context) -> Result<Box<Bloom>, Refusal> {
        let given = Parameters {
            growth: Some(self.expansion as u32),
            ..Parameters::for_keys(self.capacity as u64, self.error)
        };
        let planned = RedisBloom::plan(Format::RedisBloom, &given).map_err(no_memory)?;
        check_size(context, planned.bytes, planned.bytes).map_err(no_memory)?;
        let filter = RedisBloom::new(Format::RedisBloom, &given).map_err(no_memory)?;
        let filter = match self.seed {
            Some(seed) => filter.with_seed(seed),
            None => filter,
        };
        Ok(Box::new(Bloom::new(filter)))
    }

    /// Creates the filter on replicas with the same parameters, whatever their configuration.
    fn replicate(&self, context: &Context, key: Argument<'_>) {
        let Self { error, capacity, expansion, seed: own, valkey } = self;
        let (error, capacity) = (format!("{error:e}").into_bytes(), capacity.to_string().into());
        let word = |word: &str| word.as_bytes().to_vec();
        let (command, mut arguments) = match valkey {
            None => (c"BF.RESERVE", vec![error, capacity]),
            Some((tightening, seed)) => {
                let mut arguments = vec![word("CAPACITY"), capacity, word("ERROR"), error];
                arguments.extend([word("TIGHTENING"), format!("{tightening:e}").into_bytes()]);
                arguments.extend([word("SEED"), seed.to_vec()]);
                (c"BF.INSERT", arguments)
            }
        };
        match expansion {
            0 => arguments.push(word("NONSCALING")),
            _ => arguments.extend([word("EXPANSION"), expansion.to_string().into()]),
        }
        if let Some(seed) = own {
            arguments.extend([word("SEED"), seed.to_string().into()]);
        }
        context.replicate_as(command, key, &arguments, &[]);
    }
}

/// Parses an error rate, before it is capped.
fn error_rate(argument: Argument<'_>, bad: &'static str) -> Result<f64, Refusal> {
    let rate = argument.number().ok_or(Refusal::Words(bad))?;
    if !(rate > 0.0 && rate < 1.0) {
        let words = "ERR error rate must be in the range (0.000000, 1.000000)";
        return Err(Refusal::Words(words));
    }
    Ok(rate)
}

/// Parses a whole number from `least` to `most`.
fn number(
    argument: Argument<'_>,
    bad: &'static str,
    what: &str,
    (least, most): (i64, i64),
) -> Result<i64, Refusal> {
    let number = argument.integer().ok_or(Refusal::Words(bad))?;
    if !(least..=most).contains(&number) {
        let range = format!("ERR {what} must be in the range [{least}, {most}]");
        return Err(Refusal::Text(range));
    }
    Ok(number)
}

fn capacity(argument: Argument<'_>, bad: &'static str, most: i64) -> Result<i64, Refusal> {
    number(argument, bad, "capacity", (1, most))
}

fn expansion(argument: Argument<'_>, bad: &'static str, most: i64) -> Result<i64, Refusal> {
    number(argument, bad, "expansion", (0, most))
}

/// `BF.RESERVE key error capacity [EXPANSION n] [NONSCALING] [SEED seed]`
fn reserve(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, key, error, size, options @ ..] = arguments else { return Err(Refusal::Arity) };
    let has_seed = options.iter().any(|option| option.is("SEED"));
    // EXPANSION with its number and NONSCALING, and two more words.
    if options.len() > if has_seed { 5 } else { 3 } {
        return Err(Refusal::Arity);
    }
    let error = error_rate(*error, "ERR bad error rate")?.min(MOST_ERROR);
    let capacity = capacity(*size, "ERR bad capacity", MOST_CAPACITY)?;
    let mut creation = Creation { error, capacity, ..Creation::usual() };
    // Unknown words are ignored, as in RedisBloom.
    let nonscaling = options.iter().any(|option| option.is("NONSCALING"));
    match options.iter().position(|option| option.is("EXPANSION")) {
        Some(at) => {
            let number = options.get(at + 1).ok_or(Refusal::Words("ERR no expansion"))?;
            creation.expansion = expansion(*number, "ERR bad expansion", MOST_EXPANSION)?;
            if nonscaling && creation.expansion > 0 {
                return Err(Refusal::Words("Nonscaling filters cannot expand"));
            }
        }
        None if nonscaling => creation.expansion = 0,
        None => {}
    }
    creation.seed = seed(context, options)?;
    let mut opened = context.key_for_writing(*key);
    opened.check_missing::<Bloom, Valkey>("ERR item exists")?;
    opened.set(creation.make(context)?);
    drop(opened);
    creation.replicate(context, *key);
    context.notify(c"bloom.reserve", *key);
    context.reply_ok()
}

/// The result for an item of a command.
type Outcome = Result<bool, &'static str>;

/// Adds items to a filter, which grows if it fits, until a fixed filter is full. Returns how many have an outcome.
fn fill<R: Rule>(
    context: &Context,
    filter: &mut Chain<R>,
    items: &[&[u8]],
    outcomes: &mut [Outcome],
) -> usize {
    let (mut done, mut refused) = (0, None);
    while done < items.len() {
        let grows = filter.grows();
        let mut stopped = None;
        filter.insert_each(&items[done..], |answer| {
            outcomes[done] = match answer {
                Ok(new) => Ok(new),
                Err(Error::GrowthLimit { bytes, .. }) if refused != Some(bytes) => {
                    stopped = Some(bytes);
                    return false;
                }
                Err(Error::Full { .. }) if !grows => Err(FULL),
                // An item that may be present already needs no room.
                Err(_) => Err(NO_GROWTH),
            };
            done += 1;
            outcomes[done - 1] != Err(FULL)
        });
        let Some(bytes) = stopped else { break };
        match check_size(context, bytes, bytes - filter.bytes()) {
            Ok(()) => filter.set_limit(bytes),
            // Not queried per item: the server needs as long for its free memory as for a hundred additions.
            Err(_) => refused = Some(bytes),
        }
    }
    done
}

/// A command that adds items.
struct Addition<'a> {
    key: Argument<'a>,
    items: &'a [Argument<'a>],
    /// The parameters if the filter is missing; `None` if it must exist.
    creation: Option<&'a Creation>,
    /// Whether the command does the same if the filter exists.
    can_be_repeated: bool,
}

/// Adds items, given as bytes, to the filter of a key. Returns how many items have an outcome.
fn add_to(
    context: &Context,
    addition: &Addition<'_>,
    bytes: &[&[u8]],
    outcomes: &mut [Outcome],
) -> Result<usize, Refusal> {
    let Addition { key, items, creation, can_be_repeated } = *addition;
    let mut opened = context.key_for_writing(key);
    let mut made = None;
    if let Either::Missing = opened.get_either::<Bloom, Valkey>() {
        let creation = creation.ok_or(NOT_FOUND)?;
        match creation.properties() {
            Some(properties) => opened.set(creation.make_valkey(context, properties)?),
            None => opened.set(creation.make(context)?),
        }
        made = Some(creation);
    }
    let done = match opened.get_either::<Bloom, Valkey>() {
        Either::First(bloom) => fill(context, bloom.filter_mut(), bytes, outcomes),
        Either::Second(bloom) => fill(context, bloom.filter_mut(), bytes, outcomes),
        Either::Missing | Either::Other => return Err(Refusal::WRONG_TYPE),
    };
    drop(opened);
    if let Some(creation) = made {
        creation.replicate(context, key);
        context.notify(c"bloom.reserve", key);
    }
    // Only the added items: a replica or a restarted server has no limit, and would add the ones refused here.
    let is_added = |outcome: &Outcome| *outcome == Ok(true);
    if !outcomes.iter().any(is_added) {
        return Ok(done);
    }
    if can_be_repeated && outcomes.iter().all(is_added) {
        // The server has this command already, and does not need a new one.
        context.replicate();
    } else {
        let added = items.iter().zip(&*outcomes).filter(|(_, outcome)| is_added(outcome));
        let added: Vec<Argument<'_>> = added.map(|(item, _)| *item).collect();
        context.replicate_as(c"BF.MADD", key, NO_WORDS, &added);
    }
    context.notify(c"bloom.add", key);
    Ok(done)
}

/// Adds items and replies for each.
fn add_all(context: &Context, addition: &Addition<'_>) -> Answer {
    let bytes: Vec<&[u8]> = addition.items.iter().map(|item| item.bytes()).collect();
    let mut outcomes = vec![Ok(false); bytes.len()];
    let done = add_to(context, addition, &bytes, &mut outcomes)?;
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
    let [_, key, items @ ..] = arguments else { return Err(Refusal::Arity) };
    let [item] = items else { return Err(Refusal::Arity) };
    let creation = Some(&Creation::usual());
    let addition = Addition { key: *key, items, creation, can_be_repeated: true };
    let mut outcome = [Ok(false)];
    add_to(context, &addition, &[item.bytes()], &mut outcome)?;
    context.reply_bool(outcome[0].map_err(Refusal::Words)?);
    Ok(())
}

/// `BF.MADD key item...`
fn madd(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, key, items @ ..] = arguments else { return Err(Refusal::Arity) };
    let creation = Some(&Creation::usual());
    add_all(context, &Addition { key: *key, items, creation, can_be_repeated: true })
}

/// Words of `BF.INSERT` that only valkey-bloom has. They make a filter of valkey-bloom.
const VALKEY_WORDS: [&str; 3] = ["TIGHTENING", "SEED", "VALIDATESCALETO"];

/// Whether an option of `BF.INSERT` or `CF.INSERT` is this word. RedisBloom looks at single letters, and passes options on to
/// append-only files and replicas as clients wrote them.
pub(crate) fn is_word(context: &Context, option: Argument<'_>, word: &str) -> bool {
    option.is(word) || taken_for(option) == word && context.must_obey()
}

fn taken_for(option: Argument<'_>) -> &'static str {
    let letter = |at: usize| option.bytes().get(at).map(u8::to_ascii_lowercase);
    match [0, 1, 2].map(letter) {
        [Some(b'i'), ..] => "ITEMS",
        [Some(b'c'), ..] => "CAPACITY",
        [Some(b'e'), Some(b'r'), _] => "ERROR",
        [Some(b'e'), ..] => "EXPANSION",
        [Some(b'n'), _, Some(b'c')] => "NOCREATE",
        [Some(b'n'), ..] => "NONSCALING",
        _ => "",
    }
}

/// `BF.INSERT key [CAPACITY n] [ERROR e] [EXPANSION n] [NOCREATE] [NONSCALING] ITEMS item...`, and with valkey-bloom's words
/// `[TIGHTENING t] [SEED seed] [VALIDATESCALETO n] [ITEMS item...]`
fn insert(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, key, options @ ..] = arguments else { return Err(Refusal::Arity) };
    let mut creation = Creation::usual();
    let (mut nocreate, mut nonscaling, mut scale_to) = (false, false, None);
    let is = |option: &Argument<'_>, word| is_word(context, *option, word);
    let mut words = options.iter().take_while(|option| !is(option, "ITEMS"));
    let is_valkey = words.any(|option| VALKEY_WORDS.iter().any(|word| option.is(word)));
    let (most_error, most_capacity, most_expansion) = match is_valkey {
        true => (1.0, i64::MAX, i64::from(u32::MAX)),
        false => (MOST_ERROR, MOST_CAPACITY, MOST_EXPANSION),
    };
    let (mut tightening, mut seed) = (settings::BLOOM_TIGHTENING_RATIO.get(), None);
    let mut options = options.iter();
    loop {
        let option = match options.next() {
            Some(option) => option,
            None if is_valkey => break,
            // RedisBloom reports the number of arguments.
            None => return Err(Refusal::Arity),
        };
        if is(option, "ITEMS") {
            if options.as_slice().is_empty() {
                return Err(Refusal::Arity);
            }
            break;
        }
        let mut value = || options.next().copied().ok_or(Refusal::Arity);
        if is(option, "CAPACITY") {
            creation.capacity = capacity(value()?, "Bad capacity", most_capacity)?;
        } else if is(option, "ERROR") {
            creation.error = error_rate(value()?, "Bad error rate")?.min(most_error);
        } else if is(option, "EXPANSION") {
            creation.expansion = expansion(value()?, "Bad expansion", most_expansion)?;
        } else if is(option, "NOCREATE") {
            nocreate = true;
        } else if is(option, "NONSCALING") {
            nonscaling = true;
        } else if option.is("TIGHTENING") {
            let given = value()?.number().ok_or(Refusal::Words("ERR bad tightening ratio"))?;
            if !(given > 0.0 && given < 1.0) {
                return Err(Refusal::Words("ERR (0 < tightening ratio range < 1)"));
            }
            tightening = given;
        } else if option.is("SEED") {
            let given = value()?.bytes().try_into();
            seed = Some(given.map_err(|_| Refusal::Words("ERR invalid seed"))?);
        } else if option.is("VALIDATESCALETO") {
            scale_to = Some(capacity(value()?, "Bad capacity", i64::MAX)?);
        } else {
            return Err(Refusal::Words("Unknown argument received"));
        }
    }
    if nonscaling {
        creation.expansion = 0;
    }
    if is_valkey {
        let usual_seed = || match settings::BLOOM_USE_RANDOM_SEED.is_on() {
            true => context.random(),
            false => FIXED_SEED,
        };
        creation.valkey = Some((tightening, seed.unwrap_or_else(usual_seed)));
    }
    if let (Some(wanted), Some(properties)) = (scale_to, creation.properties()) {
        scales(context, &properties, creation.capacity as u64, wanted as u64)?;
    }
    let (items, creation) = (options.as_slice(), (!nocreate).then_some(&creation));
    // With its options, the command is for a filter that does not exist yet.
    add_all(context, &Addition { key: *key, items, creation, can_be_repeated: false })
}

/// Returns an error if a filter of valkey-bloom cannot grow to this capacity.
fn scales(context: &Context, properties: &Properties, capacity: u64, wanted: u64) -> Answer {
    if properties.expansion == 0 {
        let words = "ERR cannot use NONSCALING and VALIDATESCALETO options together";
        return Err(Refusal::Words(words));
    }
    if context.must_obey() {
        return Ok(());
    }
    Err(Refusal::Words(match properties.scaled(capacity, object_limit(), wanted).end {
        ScaledTo::Wanted => return Ok(()),
        ScaledTo::Bytes => {
            "ERR provided VALIDATESCALETO causes bloom object to exceed memory limit"
        }
        ScaledTo::Rate => "ERR provided VALIDATESCALETO causes false positive to degrade to 0",
    }))
}

/// `BF.LOAD key data`
fn load(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, key, data] = arguments else { return Err(Refusal::Arity) };
    let data = data.bytes();
    let mut opened = context.key_for_writing(*key);
    opened.check_missing::<Bloom, Valkey>("BUSYKEY Target key name already exists.")?;
    let bytes = data.len() as u64;
    check_size(context, bytes, bytes).map_err(no_memory)?;
    let filter = loaded(data).map_err(|why| match why {
        Error::OutOfMemory { .. } => no_memory(why),
        _ => Refusal::Text(format!("ERR bloom object decoding failed: {why}")),
    })?;
    opened.set(Box::new(Valkey::new(filter)));
    context.done(opened, c"bloom.reserve", *key)
}

/// The filter in data of `BF.LOAD`. All links but the newest count as full: a snapshot has only the newest link's
/// count, and loading it must give the same filter.
fn loaded(data: &[u8]) -> Result<ValkeyBloom, Error> {
    let file = ValkeyBloom::decode(Format::ValkeyBloom, data, &Parameters::default())?;
    let newest = file.links().len() - 1;
    let links = file.links_with_heads().enumerate().map(|(number, (link, array))| {
        let items = if number == newest { link.items } else { link.capacity };
        let mut copy = Vec::new();
        let bytes = array.len() as u64;
        copy.try_reserve_exact(array.len()).map_err(|_| Error::OutOfMemory { bytes })?;
        copy.extend_from_slice(array);
        Ok((copy.into(), items, link.capacity))
    });
    let links = links.collect::<Result<_, Error>>()?;
    ValkeyBloom::from_links(file.properties().clone(), links)
}

/// `BF.CARD key`
fn card(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let [_, key] = arguments else { return Err(Refusal::Arity) };
    let items = match context.key(*key).get_either::<Bloom, Valkey>() {
        Either::Missing => 0,
        Either::Other => return Err(Refusal::WRONG_TYPE),
        Either::First(bloom) => bloom.filter().items(),
        Either::Second(bloom) => bloom.filter().items(),
    };
    context.reply_count(items);
    Ok(())
}

/// `BF.INFO key [CAPACITY | SIZE | FILTERS | ITEMS | EXPANSION]`, and for filters of valkey-bloom
/// `[ERROR | TIGHTENING | MAXSCALEDCAPACITY]`
fn info(context: &Context, arguments: &[Argument<'_>]) -> Answer {
    let (key, field) = match arguments {
        [_, key] => (*key, None),
        [_, key, field] => (*key, Some(*field)),
        _ => return Err(Refusal::Arity),
    };
    let (fields, is_valkey) = match context.key(key).get_either::<Bloom, Valkey>() {
        Either::Missing => return Err(NOT_FOUND),
        Either::Other => return Err(Refusal::WRONG_TYPE),
        Either::First(bloom) => {
            let filter = bloom.filter();
            (fields(bloom, filter.grows().then_some(filter.growth())), false)
        }
        Either::Second(bloom) => (fields_of_valkey(bloom), true),
    };
    let reply = |figure: &Figure| match figure {
        Figure::Count(count) => context.reply_count(*count),
        Figure::Number(number) => context.reply_number(*number),
        Figure::None => context.reply_null(),
    };
    let Some(field) = field else {
        match is_valkey {
            true => context.reply_array(2 * fields.len()),
            false => context.reply_map(fields.len()),
        }
        for (_, name, figure) in &fields {
            context.reply_name(name);
            reply(figure);
        }
        return Ok(());
    };
    let found = fields.iter().find(|(word, ..)| field.is(word));
    let (_, name, figure) = found.ok_or(Refusal::Words(match is_valkey {
        true => "ERR invalid information value",
        false => "Invalid information value",
    }))?;
    // valkey-bloom replies with the value alone.
    if !is_valkey && context.is_resp3() {
        context.reply_map(1);
        context.reply_name(name);
    } else if !is_valkey {
        context.reply_array(1);
    }
    reply(figure);
    Ok(())
}

/// A figure of a filter.
enum Figure {
    Count(u64),
    Number(f64),
    None,
}

/// A field of `BF.INFO`: the word that asks for it, its name, its value.
type Field = (&'static str, &'static CStr, Figure);

/// The fields that the filters of both systems have.
fn fields<R: Rule>(bloom: &Kept<Chain<R>>, growth: Option<u32>) -> Vec<Field>
where
    Chain<R>: Foreign,
{
    let filter = bloom.filter();
    let growth = growth.map_or(Figure::None, |growth| Figure::Count(growth.into()));
    vec![
        ("CAPACITY", c"Capacity", Figure::Count(filter.capacity())),
        ("SIZE", c"Size", Figure::Count(bloom.size())),
        ("FILTERS", c"Number of filters", Figure::Count(filter.links().len() as u64)),
        ("ITEMS", c"Number of items inserted", Figure::Count(filter.items())),
        ("EXPANSION", c"Expansion rate", growth),
    ]
}

fn fields_of_valkey(bloom: &Valkey) -> Vec<Field> {
    let filter = bloom.filter();
    let Properties { expansion, rate, tightening, .. } = *filter.properties();
    let mut fields = fields(bloom, Some(expansion).filter(|growth| *growth > 0));
    fields.insert(4, ("ERROR", c"Error rate", Figure::Number(rate)));
    if expansion > 0 {
        let most = filter.scaled(object_limit(), u64::MAX).capacity;
        fields.extend([
            ("TIGHTENING", c"Tightening ratio", Figure::Number(tightening)),
            ("MAXSCALEDCAPACITY", c"Max scaled capacity", Figure::Count(most)),
        ]);
    }
    fields
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
                umbel_numbers::six_digits(link.error),
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
        let chunk = offset.and_then(|offset| filter.chunk(offset));
        context.reply_integer(chunk.map_or(0, |chunk| iterator + chunk.len() as i64));
        context.reply_bytes(chunk.unwrap_or_default());
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
    context.done(opened, c"bloom.loadchunk", *key)
}

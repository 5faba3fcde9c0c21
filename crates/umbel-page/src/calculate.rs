//! The textbook's calculator: computes the missing ones of n, p, m and k of a classic filter.

use serde::Deserialize;
use serde_json::{Value, json};
use umbel::formulas::classic::{best_probes, bits_per_key, bits_per_key_with, fpp, fpp_limit};
use umbel_numbers::{Count, Fpp, Rate, Size, in_threes, number};

use crate::goal::{Bits, Keys, typed};
use crate::refused::Refused;

/// The values as typed; an empty text is a missing value.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Asked {
    #[serde(rename = "type")]
    _name: String,
    keys: String,
    fpp: String,
    memory: String,
    probes: String,
}

/// The most probes in calculations: a rate of 2^-1000.
const MOST_PROBES: u64 = 1000;
/// The largest number of keys or bits that a page represents exactly.
const LARGEST: f64 = (1u64 << 53) as f64;

/// The four figures. If the rate was not given, it follows from the other three.
struct Figures {
    keys: u64,
    fpp: f64,
    bits: u64,
    probes: u32,
}

pub(crate) fn answer(asked: &Asked) -> Result<Value, Refused> {
    let keys = typed::<Keys>("keys", &asked.keys)?.map(|keys| keys.0);
    let rate = typed::<Fpp>("fpp", &asked.fpp)?.map(|fpp| fpp.0);
    let bits = typed::<Bits>("memory", &asked.memory)?.map(|bits| bits.0);
    let probes = match asked.probes.trim() {
        "" => None,
        text => Some(
            number::<u32>(1..=MOST_PROBES)(text).map_err(|error| Refused::of("probes", error))?,
        ),
    };
    let Some(figures) = Figures::of(keys, rate, bits, probes)? else {
        return Ok(Value::Null);
    };
    let Figures { keys: n, fpp: p, bits: m, probes: k } = figures;
    let reached = fpp(n, m, k);
    let needed = rate.map(|rate| match probes {
        Some(probes) => bits_per_key_with(rate, probes),
        None => bits_per_key(rate),
    });
    Ok(json!({
        "keys": { "value": n, "text": Count(n).to_string(), "given": keys.is_some() },
        "fpp": { "value": p, "text": Rate(p).to_string(), "given": rate.is_some() },
        "memory": {
            "value": m, "text": Size(m.div_ceil(8)).to_string(), "bits": Count(m).to_string(), "given": bits.is_some(),
        },
        "probes": { "value": k, "text": k.to_string(), "given": probes.is_some() },
        "one_in": one_in(p),
        "bits_per_key": in_threes(&format!("{:.2}", m as f64 / n as f64)),
        "best_probes": format!("{:.2}", best_probes(n as f64, m as f64)),
        // If n, p and m are all given, the rate asked for may differ from the rate reached.
        "reached": { "text": Rate(reached).to_string(), "one_in": one_in(reached) },
        "enough": needed.is_none_or(|needed| m as f64 >= needed * n as f64 * (1.0 - 1e-9)),
        "needed": needed.map(|needed| Count((needed * n as f64).ceil() as u64).to_string()),
    }))
}

impl Figures {
    /// `None` if too few are given.
    fn of(
        keys: Option<u64>,
        rate: Option<f64>,
        bits: Option<u64>,
        probes: Option<u32>,
    ) -> Result<Option<Self>, Refused> {
        let best = |keys: u64, bits: u64| {
            best_probes(keys as f64, bits as f64).round().clamp(1.0, MOST_PROBES as f64) as u32
        };
        let per_key = |rate: f64| {
            probes.map_or_else(|| bits_per_key(rate), |probes| bits_per_key_with(rate, probes))
        };
        let (keys, bits) = match (keys, rate, bits) {
            (Some(keys), _, Some(bits)) => (keys, bits),
            (Some(keys), Some(rate), None) => {
                (keys, at_least_one("keys", (per_key(rate) * keys as f64).ceil())?)
            }
            (None, Some(rate), Some(bits)) => {
                (at_least_one("memory", (bits as f64 / per_key(rate)).floor())?, bits)
            }
            _ => return Ok(None),
        };
        let probes = probes.unwrap_or_else(|| best(keys, bits));
        let fpp = rate.unwrap_or_else(|| fpp_limit(keys, bits, probes));
        Ok(Some(Self { keys, fpp, bits, probes }))
    }
}

/// A computed number.
fn at_least_one(field: &'static str, number: f64) -> Result<u64, Refused> {
    match number {
        1.0..LARGEST => Ok(number as u64),
        number if number < 1.0 => Err(Refused::of(field, "that holds no key at this rate")),
        _ => Err(Refused::of(field, "that needs more bits than can be counted here")),
    }
}

/// A rate as "1 in N": 1 in 102.
pub(crate) fn one_in(rate: f64) -> Option<String> {
    let times = 1.0 / rate;
    match times {
        2.0..1e4 => Some(Count(times.round() as u64).to_string()),
        1e4..1e15 => {
            // Three digits are as precise as the rate.
            let scale = f64::powi(10.0, times.log10().floor() as i32 - 2);
            Some(Count(((times / scale).round() * scale) as u64).to_string())
        }
        _ => None,
    }
}

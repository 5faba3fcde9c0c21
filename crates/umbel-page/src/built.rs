//! Toys of kinds that are built once, from known lists: after each word they are rebuilt from all words so far.

use serde_json::{Value, json};
use umbel_numbers::{Rate, counted};
use umbel_report::words::{joined, quoted};

use crate::refused::Refused;
use crate::steps::{Op, Operation, Places, Toy};

/// Bits of a fingerprint: few enough to show repeats soon.
const FINGERPRINT: u32 = 4;
/// Placements tried before the words are called too many.
const TRIES: u64 = 100;
/// The most levels of a cascade; lists of a few words need no more than four.
const MOST_LEVELS: usize = 12;

/// A table of slots, three for each word, whose values give the word's fingerprint by XOR.
struct Table {
    slots: Vec<u64>,
    places: Places,
    fingerprints: Places,
}

impl Table {
    fn new(toy: &Toy, slots: u64, seed: u64) -> Result<Self, Refused> {
        let places = Places::hashed(slots / 3, 3, seed)?;
        let fingerprints = Places::hashed(1 << FINGERPRINT, 1, toy.seed + TRIES + 1)?;
        Ok(Self { slots: vec![0; slots as usize], places, fingerprints })
    }

    /// Its slots, one in each third.
    fn places(&self, word: &str) -> Vec<usize> {
        let third = self.slots.len() / 3;
        let places = self.places.of(word).into_iter().enumerate();
        places.map(|(number, place)| number * third + place as usize).collect()
    }

    fn fingerprint(&self, word: &str) -> u64 {
        self.fingerprints.of(word)[0]
    }

    fn xor(&self, places: &[usize]) -> u64 {
        places.iter().fold(0, |all, &place| all ^ self.slots[place])
    }

    /// Computes all slots: words with a slot of their own are set aside until none is left; then, from the last one
    /// back, that slot is set to give the word's fingerprint. Returns whether there always was such a word.
    fn build(&mut self, words: &[String]) -> bool {
        let mut left: Vec<_> = words.iter().map(|word| (word, self.places(word))).collect();
        let mut order = Vec::new();
        while !left.is_empty() {
            let alone = |place: usize| {
                left.iter().filter(|(_, places)| places.contains(&place)).count() == 1
            };
            let found = left.iter().enumerate().find_map(|(at, (_, places))| {
                Some((at, places.iter().copied().find(|&place| alone(place))?))
            });
            let Some((at, place)) = found else { return false };
            order.push((left.remove(at), place));
        }
        for ((word, places), place) in order.into_iter().rev() {
            self.slots[place] ^= self.xor(&places) ^ self.fingerprint(word);
        }
        true
    }
}

pub(crate) fn bloomier(toy: &Toy) -> Result<Value, Refused> {
    let slots = toy.bits.unwrap_or(18).next_multiple_of(3);
    let mut table = Table::new(toy, slots, toy.seed)?;
    let part = |table: &Table| json!({ "label": "", "cells": table.slots, "block": slots });
    let empty = part(&table);
    let fpp = 1.0 / f64::from(1u32 << FINGERPRINT);
    let mut words: Vec<String> = Vec::new();
    let mut steps = Vec::new();
    for Operation { op, word } in &toy.operations {
        let before = table.slots.clone();
        let mut found = None;
        match op {
            Op::Insert => {
                if !words.contains(word) {
                    words.push(word.clone());
                }
                let mut tries = (0..TRIES).map(|more| -> Result<Option<Table>, Refused> {
                    let mut table = Table::new(toy, slots, toy.seed + more)?;
                    Ok(table.build(&words).then_some(table))
                });
                let built = tries.find_map(Result::transpose).transpose()?;
                table = built.ok_or_else(|| {
                    let count = counted(words.len() as u64, "word");
                    Refused::of("operations", format!("{count} do not fit {slots} slots"))
                })?;
            }
            Op::Query => found = Some(table.xor(&table.places(word)) == table.fingerprint(word)),
            _ => {
                let text = "a Bloomier filter is built once; words cannot be removed";
                return Err(Refused::of("operations", text));
            }
        }
        let places = table.places(word);
        let (name, fingerprint) = (quoted(word), table.fingerprint(word));
        let listed = joined(&places.iter().map(usize::to_string).collect::<Vec<_>>());
        let values: Vec<_> = places.iter().map(|&place| table.slots[place].to_string()).collect();
        let sum = format!("{} = {}", values.join(" XOR "), table.xor(&places));
        let inserted = words.contains(word);
        let text = match found {
            None => format!(
                "Insert {name}: the table is built again from {}. Slots {listed} give its fingerprint by XOR: {sum}.",
                counted(words.len() as u64, "word")
            ),
            Some(true) if inserted => format!(
                "Look up {name}: slots {listed} give {sum}, its fingerprint. It may be in, and it was inserted."
            ),
            Some(true) => format!(
                "Look up {name}: slots {listed} give {sum}, by chance its fingerprint. It may be in, which is wrong."
            ),
            Some(false) => format!(
                "Look up {name}: slots {listed} give {sum}, and its fingerprint is {fingerprint}. It is certainly not in."
            ),
        };
        let probe = |&place: &usize| {
            let (changed, set) = (before[place] != table.slots[place], table.slots[place] > 0);
            json!({ "part": 0, "cell": place, "changed": changed, "set": set, "by": null })
        };
        let probes: Vec<Value> = places.iter().map(probe).collect();
        steps.push(json!({
            "op": op, "word": word, "text": text, "parts": [part(&table)], "probes": probes,
            "faded": [], "found": found, "inserted": inserted, "fpp": fpp,
        }));
    }
    Ok(json!({
        "title": format!("A Bloomier filter of {slots} slots of {FINGERPRINT} bits, three for each word"),
        "empty": [empty],
        "steps": steps,
        "text": format!(
            "The slots of a stranger give any of {} values, so it passes with a chance of {}, however many words are in.",
            1 << FINGERPRINT,
            Rate(fpp)
        ),
        "fpp": fpp,
    }))
}

/// A level: a classic filter of the words that the level before gets wrong; the first has the first list.
struct Level {
    places: Places,
    cells: Vec<bool>,
    words: Vec<String>,
}

impl Level {
    fn passes(&self, word: &str) -> bool {
        self.places.of(word).iter().all(|&cell| self.cells[cell as usize])
    }
}

/// The levels of two lists.
fn levels(toy: &Toy, lists: &[Vec<String>; 2]) -> Result<Vec<Level>, Refused> {
    let (bits, probes) = (toy.bits.unwrap_or(14), toy.probes.unwrap_or(2));
    let mut levels: Vec<Level> = Vec::new();
    loop {
        let number = levels.len();
        let words: Vec<String> = match number {
            0 => lists[0].clone(),
            // The words that the level before wrongly lets pass.
            _ => {
                let before = &levels[number - 1];
                let candidates = if number == 1 { &lists[1] } else { &levels[number - 2].words };
                candidates.iter().filter(|word| before.passes(word)).cloned().collect()
            }
        };
        if number > 0 && words.is_empty() {
            return Ok(levels);
        }
        if number == MOST_LEVELS {
            let text =
                format!("more than {MOST_LEVELS} levels: so many words do not fit {bits} bits");
            return Err(Refused::of("operations", text));
        }
        let own = if number == 0 { bits } else { bits / 2 };
        let places = Places::hashed(own, probes, toy.seed + number as u64)?;
        let mut cells = vec![false; own as usize];
        for word in &words {
            places.of(word).iter().for_each(|&cell| cells[cell as usize] = true);
        }
        levels.push(Level { places, cells, words });
    }
}

/// Whether a word is reported in the first list, and the levels queried: the first one that refuses it decides.
fn ask(levels: &[Level], word: &str) -> (bool, usize) {
    let passed = levels.iter().take_while(|level| level.passes(word)).count();
    (passed % 2 == 1, levels.len().min(passed + 1))
}

/// How often a word of neither list passes.
fn chance(levels: &[Level]) -> f64 {
    let (mut reached, mut passes) = (1.0, 0.0);
    for (number, level) in levels.iter().enumerate() {
        let fill =
            level.cells.iter().filter(|cell| **cell).count() as f64 / level.cells.len() as f64;
        let lets = fill.powi(level.places.probes() as i32);
        if number % 2 == 1 {
            passes += reached * (1.0 - lets);
        }
        reached *= lets;
    }
    if levels.len() % 2 == 1 { passes + reached } else { passes }
}

pub(crate) fn cascade(toy: &Toy) -> Result<Value, Refused> {
    let mut lists = [Vec::new(), Vec::new()];
    let parts = |levels: &[Level]| -> Vec<Value> {
        let part = |(number, level): (usize, &Level)| {
            let cells: Vec<u8> = level.cells.iter().map(|&cell| cell.into()).collect();
            let label = format!("Level {}", number + 1);
            json!({ "label": label, "cells": cells, "block": cells.len() })
        };
        levels.iter().enumerate().map(part).collect()
    };
    let mut now = levels(toy, &lists)?;
    let empty = parts(&now);
    let mut steps = Vec::new();
    for Operation { op, word } in &toy.operations {
        let name = quoted(word);
        let before = now;
        let add = match op {
            Op::Insert => Some(0),
            Op::Except => Some(1),
            Op::Query => None,
            _ => {
                let text = "a cascade is built once; words cannot be removed";
                return Err(Refused::of("operations", text));
            }
        };
        if let Some(list) = add {
            if lists[1 - list].contains(word) {
                return Err(Refused::of("operations", format!("{name} is on the other list")));
            }
            if !lists[list].contains(word) {
                lists[list].push(word.clone());
            }
        }
        now = levels(toy, &lists)?;
        let (found, asked) = ask(&now, word);
        let mut text = match op {
            Op::Insert => format!("{name} must pass."),
            Op::Except if asked == 1 => {
                format!("{name} must not pass. Level 1 refuses it already, so nothing is stored.")
            }
            Op::Except => format!("{name} must not pass."),
            _ => format!("Look up {name}:"),
        };
        if add.is_some() {
            for (number, level) in now.iter().enumerate() {
                let had = |word: &&String| {
                    before.get(number).is_some_and(|level| level.words.contains(word))
                };
                let new: Vec<_> =
                    level.words.iter().filter(|word| !had(word)).map(|word| quoted(word)).collect();
                let why = match number {
                    0 => String::new(),
                    _ => format!(", which level {number} lets pass"),
                };
                if !new.is_empty() {
                    text += &format!(" Level {} gets {}{why}.", number + 1, joined(&new));
                }
            }
        } else {
            for number in 1..=asked {
                let does = if now[number - 1].passes(word) { "lets it pass" } else { "refuses it" };
                let end = if number == asked { "." } else { "," };
                text += &format!(" level {number} {does}{end}");
            }
            let passes = if found { "It passes" } else { "It does not pass" };
            let listed = lists.iter().any(|list| list.contains(word));
            let why = match (listed, found) {
                (true, _) => ", which is right: words of the two lists are never wrong",
                (false, true) => ", which is wrong: it is on neither list",
                (false, false) => "",
            };
            text += &format!(" {passes}{why}.");
        }
        // The probes in the levels queried, or in the levels that have the word.
        let queried = now.iter().take(asked).enumerate();
        let probes = queried.flat_map(|(part, level)| {
            let mut cells = level.places.of(word);
            cells.sort_unstable();
            cells.dedup();
            let had = |cell: u64| before.get(part).is_some_and(|level| level.cells[cell as usize]);
            let probe = |cell: u64| {
                let set = level.cells[cell as usize];
                let places = |other: &&String| level.places.of(other).contains(&cell);
                let by = level.words.iter().find(places);
                json!({ "part": part, "cell": cell, "changed": set && !had(cell), "set": set, "by": by })
            };
            cells.into_iter().map(probe).collect::<Vec<_>>()
        });
        steps.push(json!({
            "op": op, "word": word, "text": text, "parts": parts(&now),
            "probes": probes.collect::<Value>(), "faded": [],
            "found": add.is_none().then_some(found), "inserted": lists[0].contains(word), "fpp": chance(&now),
        }));
    }
    let fpp = chance(&now);
    Ok(json!({
        "title": format!("A cascade of {}", counted(now.len() as u64, "level")),
        "empty": empty,
        "steps": steps,
        "text": format!(
            "Words of the two lists are never wrong. A word of neither passes with a chance of {}.",
            Rate(fpp)
        ),
        "fpp": fpp,
    }))
}

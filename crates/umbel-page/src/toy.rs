//! Filters so small that every cell can be followed. They are real ones: where a word falls is where the library sets cells
//! in an empty filter, and every state is read from the filter's own cells.

use anyhow::{Result, anyhow};
use serde_json::{Value, json};
use umbel::{AnyFilter, Capacity, Filter, Insert, KeyHasher, Kind, Plan, Variant, Window};
use umbel_numbers::{Rate, counted};
use umbel_report::advice::Inside;
use umbel_report::words::{Answer, Shown, Step, joined, quoted};

use crate::built;
use crate::refused::Refused;
use crate::steps::{Op, Operation, Places, Toy, set_by};

/// The most operations: each shows all cells.
const MOST_OPERATIONS: usize = 200;
/// The ticks that a toy's window remembers.
const SPAN: u64 = 2;

pub(crate) fn answer(toy: &Toy) -> Result<Value, Refused> {
    if toy.operations.len() > MOST_OPERATIONS {
        let text = format!("at most {MOST_OPERATIONS} steps; found {}", toy.operations.len());
        return Err(Refused::of("operations", text));
    }
    let kind: Kind = toy.kind.parse().map_err(|error| Refused::of("kind", error))?;
    match kind {
        Kind::Classic => classic(toy),
        // So few that all can be seen; a block has 512.
        Kind::Counting if toy.bits.is_some() => counters(toy),
        Kind::Blocked | Kind::Counting | Kind::Scalable | Kind::Stable | Kind::Window => {
            let model = Model::new(kind, toy).map_err(|error| Refused::of("blocks", error))?;
            Ok(model.told(toy)?)
        }
        Kind::Bloomier => built::bloomier(toy),
        Kind::Cascade => built::cascade(toy),
        _ => Err(Refused::of("kind", format!("there is no toy of kind {kind}"))),
    }
}

fn classic(toy: &Toy) -> Result<Value, Refused> {
    let (bits, probes) = (toy.bits.unwrap_or(14), toy.probes.unwrap_or(3));
    let places = Places::new(toy, bits, probes)?;
    let mut filter = Shown::new(bits);
    let mut steps = Vec::new();
    for Operation { op, word } in &toy.operations {
        let bits_of = places.of(word);
        let before = filter.ask(word, &bits_of);
        let (text, answer, found, changed) = match op {
            Op::Insert => {
                let step: Step = filter.insert(word, &bits_of);
                let text = step.sentences().join(" ");
                (text, filter.ask(word, &bits_of), None, step.new)
            }
            Op::Query => {
                let reasons = before.reasons(1);
                let reasons = reasons.iter().map(|reason| format!("{}. ", capital(reason)));
                let is = if before.found { "It" } else { "It is" };
                let (question, reasons) = (before.question(), reasons.collect::<String>());
                let text = format!("{question} {reasons}{is} {}", before.verdict());
                let found = Some(before.found);
                (text, before, found, Vec::new())
            }
            Op::Remove | Op::Advance | Op::Except => {
                let text = "a classic filter only inserts and answers; keys cannot be removed";
                return Err(Refused::of("operations", text));
            }
        };
        let fpp = filter.fpp(probes);
        let Answer { probes, inserted, .. } = answer;
        let probe = |(bit, by): &(u64, Option<String>)| json!({ "part": 0, "cell": bit, "changed": changed.contains(bit), "set": by.is_some(), "by": by });
        let probes: Vec<Value> = probes.iter().map(probe).collect();
        steps.push(json!({
            "op": op, "word": word, "text": text, "parts": [shown(&filter)], "probes": probes,
            "faded": [], "found": found, "inserted": inserted, "fpp": fpp,
        }));
    }
    let by = if toy.published { " (published by M. Ceglowski, 2004)" } else { "" };
    Ok(json!({
        "title": format!(
            "A classic filter of {}, {} per word{by}",
            counted(bits, "bit"),
            counted(probes.into(), "probe")
        ),
        "empty": [shown(&Shown::new(bits))],
        "steps": steps,
        "text": filter.chance(probes),
        "fpp": filter.fpp(probes),
    }))
}

/// A counter in place of each bit.
fn counters(toy: &Toy) -> Result<Value, Refused> {
    let (bits, probes) = (toy.bits.unwrap_or(14), toy.probes.unwrap_or(3));
    let places = Places::new(toy, bits, probes)?;
    let mut counts = vec![0u64; bits as usize];
    let mut setters: Vec<Option<String>> = vec![None; bits as usize];
    let mut words: Vec<&str> = Vec::new();
    let mut steps = Vec::new();
    let part = |counts: &[u64]| json!({ "label": "", "cells": counts, "block": bits });
    let fpp = |counts: &[u64]| {
        let used = counts.iter().filter(|count| **count > 0).count();
        (used as f64 / bits as f64).powi(probes as i32)
    };
    for Operation { op, word } in &toy.operations {
        let mut cells = places.of(word);
        cells.sort_unstable();
        cells.dedup();
        let there = cells.iter().all(|cell| counts[*cell as usize] > 0);
        let name = quoted(word);
        let listed: Vec<String> = cells.iter().map(u64::to_string).collect();
        let listed = joined(&listed);
        let (text, found, changed) = match op {
            Op::Insert => {
                for &cell in &cells {
                    counts[cell as usize] += 1;
                    setters[cell as usize].get_or_insert_with(|| word.clone());
                }
                words.push(word);
                (format!("Insert {name}: cells {listed} go up by one."), None, true)
            }
            Op::Remove if there => {
                for &cell in &cells {
                    counts[cell as usize] -= 1;
                    if counts[cell as usize] == 0 {
                        setters[cell as usize] = None;
                    }
                }
                if let Some(at) = words.iter().position(|other| other == word) {
                    words.remove(at);
                }
                (format!("Remove {name}: cells {listed} go down by one."), None, true)
            }
            Op::Remove => {
                let text = format!("Remove {name}: it is certainly not in, so nothing changes.");
                (text, None, false)
            }
            Op::Query => {
                let told = match (there, words.contains(&&word[..])) {
                    (true, true) => "none of its cells is 0. It may be in, and it was inserted.",
                    (true, false) => {
                        "none of its cells is 0. It may be in, which is wrong: other words raised all of them."
                    }
                    (false, _) => "at least one of its cells is 0. It is certainly not in.",
                };
                (format!("Look up {name}: {told}"), Some(there), false)
            }
            Op::Advance | Op::Except => {
                let text = "a counting filter has neither a clock nor a second list";
                return Err(Refused::of("operations", text));
            }
        };
        let probe = |&cell: &u64| {
            let (count, by) = (counts[cell as usize], &setters[cell as usize]);
            json!({ "part": 0, "cell": cell, "changed": changed, "set": count > 0, "by": by })
        };
        let probes: Vec<Value> = cells.iter().map(probe).collect();
        steps.push(json!({
            "op": op, "word": word, "text": text, "parts": [part(&counts)], "probes": probes,
            "faded": [], "found": found, "inserted": words.contains(&&word[..]), "fpp": fpp(&counts),
        }));
    }
    let used = counts.iter().filter(|count| **count > 0).count();
    Ok(json!({
        "title": format!("A counting filter of {}, {} per word", counted(bits, "counter"), counted(probes.into(), "probe")),
        "empty": [part(&vec![0; bits as usize])],
        "steps": steps,
        "text": format!(
            "{used} of {bits} counters are not 0, so a word that was not inserted passes with a chance of ({used}/{bits})^{probes} = {}.",
            Rate(fpp(&counts))
        ),
        "fpp": fpp(&counts),
    }))
}

fn capital(sentence: &str) -> String {
    let (first, rest) = sentence.split_at(1);
    first.to_uppercase() + rest
}

fn shown(filter: &Shown) -> Value {
    let cells: Vec<u8> = filter.bits().into_iter().map(u8::from).collect();
    json!({ "label": "", "cells": cells, "block": filter.len() })
}

/// A part, and a cell in it.
type Place = (usize, usize);

/// The cells of each part, and the part's name.
type State = Vec<(String, Vec<u64>)>;

/// A filter of another kind, with something that the filter alone does not know: which word set which cell.
struct Model {
    filter: AnyFilter,
    tick: u64,
    /// For each part and cell, the word that first set it, while the cell is in use.
    setters: Vec<Vec<Option<String>>>,
    words: Vec<String>,
}

impl Model {
    fn new(kind: Kind, toy: &Toy) -> Result<Self> {
        let hasher = KeyHasher::with_seed(toy.seed);
        let blocks = toy.blocks.unwrap_or(1);
        if !(1..=8).contains(&blocks) {
            return Err(anyhow!("1 to 8 blocks; found {blocks}"));
        }
        let bits = 512 * blocks;
        let probes = toy.probes.unwrap_or(4);
        let plan = match kind {
            Kind::Blocked => Plan::from_parts(kind, 1, 0.5, bits, probes)?,
            Kind::Counting => {
                let variant = Variant::Counting { counter_bits: 4 };
                Plan::from_parts(variant, 1, 0.5, 4 * bits, probes)?
            }
            // Links and generations for few words, to show changes soon.
            Kind::Scalable => Plan::for_keys(kind, 3, 0.1)?,
            Kind::Window => Plan::for_keys(Variant::Window { generations: 3 }, 6, 0.1)?,
            _ => Plan::for_keys(Kind::Stable, 20, 0.1)?,
        };
        let ticks = toy.operations.iter().any(|operation| operation.op == Op::Advance);
        let filter = match kind {
            Kind::Window if ticks => AnyFilter::Window(Window::by_time(&plan, hasher, SPAN)?),
            _ => AnyFilter::with_plan(&plan, hasher)?,
        };
        Ok(Self { filter, tick: 0, setters: Vec::new(), words: Vec::new() })
    }

    /// The cells of every part; the generations of a window are interleaved in its blocks.
    fn state(&self) -> State {
        let inside = Inside::of(&self.filter);
        let cells = |part: usize, blocks: usize| {
            let mut cells = Vec::new();
            inside.cells(part, 0..blocks, &mut |cell| cells.push(cell));
            cells
        };
        let parts = inside.blocks();
        if let Variant::Window { generations } = self.filter.plan().variant() {
            let (all, block) = (cells(0, parts[0]), inside.block_cells() as usize);
            let generation = |turn: usize| {
                let own = all.chunks(block).skip(turn).step_by(generations as usize);
                (format!("generation {}", turn + 1), own.flatten().copied().collect())
            };
            return (0..generations as usize).map(generation).collect();
        }
        let links = self.filter.receipt().parts;
        let label = |part: usize| match links.get(part) {
            Some(link) => {
                format!("link {}: {} of {} words", part + 1, link.keys, link.plan.keys())
            }
            None => String::new(),
        };
        let part = |(part, &blocks): (usize, &usize)| (label(part), cells(part, blocks));
        parts.iter().enumerate().map(part).collect()
    }

    /// The places of a word: parts and cells that it would set in an empty filter. It has places in each link and
    /// generation.
    fn places(&self, word: &str) -> Result<Vec<Place>> {
        let cells = set_by(&self.filter, word.as_bytes())?.into_iter();
        let cells = cells.map(|(part, cell)| (part, cell as usize));
        let Variant::Window { generations } = self.filter.plan().variant() else {
            return Ok(cells.collect());
        };
        // The blocks of its generations are interleaved.
        let (turns, block) =
            (generations as usize, Inside::of(&self.filter).block_cells() as usize);
        let in_turn = |(_, cell)| cell / block / turns * block + cell % block;
        let cells: Vec<usize> = cells.map(in_turn).collect();
        Ok((0..turns).flat_map(|part| cells.iter().map(move |cell| (part, *cell))).collect())
    }

    fn told(mut self, toy: &Toy) -> Result<Value> {
        let empty = parts_of(&self.state(), Inside::of(&self.filter).block_cells());
        let title = self.title();
        let steps =
            toy.operations.iter().map(|step| self.step(step)).collect::<Result<Vec<_>>>()?;
        let receipt = self.filter.receipt();
        let text = format!(
            "{:.2} % of the cells are in use, so a word that was not inserted passes with a chance of {}.",
            receipt.fill * 100.0,
            Rate(receipt.fpp)
        );
        Ok(json!({
            "title": title, "empty": empty, "steps": steps, "text": text, "fpp": receipt.fpp,
        }))
    }

    fn title(&self) -> String {
        let plan = self.filter.plan();
        let probes = counted(plan.probes().into(), "probe");
        let blocks = counted(self.filter.bytes() / 64, "block");
        let words = counted(plan.keys(), "word");
        match &self.filter {
            AnyFilter::Blocked(_) => {
                format!("A blocked filter of {blocks}, {probes} per word, all in one block")
            }
            AnyFilter::Counting(_) => {
                "A counting filter: a counter of 4 bits in place of each bit".to_owned()
            }
            AnyFilter::Scalable(_) => {
                format!("A scalable filter whose first link is for {words}")
            }
            AnyFilter::Window(filter) if filter.span().is_some() => {
                format!("A window over the last {SPAN} ticks")
            }
            AnyFilter::Window(_) => format!("A window over the last {words}"),
            _ => "A stable filter: each insertion lowers some cells, then sets those of the word"
                .to_owned(),
        }
    }

    /// Does one operation.
    fn step(&mut self, Operation { op, word }: &Operation) -> Result<Value> {
        let before = self.state();
        let mut found = None;
        let mut text = match op {
            Op::Insert => {
                let new = match &mut self.filter {
                    AnyFilter::Window(filter) if filter.span().is_some() => {
                        filter.insert_at(&word[..], self.tick)?
                    }
                    filter => filter.try_insert(&word[..])?,
                };
                let before = self.words.contains(word);
                self.words.push(word.clone());
                inserted_text(word, new, before)
            }
            Op::Remove => {
                let removed = self.filter.as_counting_mut()?.remove(&word[..]);
                if let Some(at) = self.words.iter().position(|other| other == word) {
                    self.words.remove(at);
                }
                let what = match removed {
                    true => "each of its counters is lowered by one",
                    false => "it is certainly not in, so nothing changes",
                };
                format!("Remove {}: {what}.", quoted(word))
            }
            Op::Query => {
                found = Some(self.filter.contains(&word[..]));
                String::new()
            }
            Op::Advance => {
                let AnyFilter::Window(filter) = &mut self.filter else {
                    return Err(anyhow!("only a window has a clock"));
                };
                self.tick += 1;
                filter.advance(self.tick)?;
                format!("The clock ticks: {}.", self.tick)
            }
            Op::Except => return Err(anyhow!("only a cascade has a second list")),
        };
        let after = self.state();
        let places = match op {
            Op::Advance => Vec::new(),
            _ => self.places(word)?,
        };
        let (changed, faded) = changes(&before, &after, &places);
        self.remember(&after, &changed, word);
        text += &self.consequences(*op, word, after.len() > before.len(), faded.len());
        let inserted = self.words.contains(word);
        if let Some(found) = found {
            text += &self.answer_text(word, found, &places, &after);
        }
        let probe = |&(part, cell): &Place| {
            let (changed, set) = (changed.contains(&(part, cell)), after[part].1[cell] > 0);
            let by = &self.setters[part][cell];
            json!({ "part": part, "cell": cell, "changed": changed, "set": set, "by": by })
        };
        let probes: Vec<Value> = places.iter().map(probe).collect();
        let faded: Vec<Value> =
            faded.iter().map(|(part, cell)| json!({ "part": part, "cell": cell })).collect();
        Ok(json!({
            "op": op, "word": word, "text": text,
            "parts": parts_of(&after, Inside::of(&self.filter).block_cells()),
            "probes": probes, "faded": faded, "found": found, "inserted": inserted,
            "fpp": self.filter.receipt().fpp,
        }))
    }

    /// Notes which word set each cell, and forgets cells no longer in use.
    fn remember(&mut self, after: &State, changed: &[Place], word: &str) {
        self.setters.resize_with(after.len(), Vec::new);
        for (part, (setters, (_, cells))) in self.setters.iter_mut().zip(after).enumerate() {
            setters.resize(cells.len(), None);
            for (number, (setter, cell)) in setters.iter_mut().zip(cells).enumerate() {
                if *cell == 0 {
                    *setter = None;
                } else if setter.is_none() && changed.contains(&(part, number)) {
                    *setter = Some(word.to_owned());
                }
            }
        }
    }

    /// The side effects of an operation on other words; `grown` if a link was added.
    fn consequences(&self, op: Op, word: &str, grown: bool, faded: usize) -> String {
        match (&self.filter, op) {
            (AnyFilter::Scalable(filter), Op::Insert) if grown => format!(
                " The last link was full, so a new one was added, for {} at a lower rate.",
                counted(filter.receipt().parts.last().map_or(0, |link| link.plan.keys()), "word")
            ),
            (AnyFilter::Stable(_), Op::Insert) => {
                format!(" {} were lowered first: old words fade.", counted(faded as u64, "cell"))
            }
            (AnyFilter::Window(_), Op::Insert) if faded > 0 => {
                " The newest generation is full: a new one begins, and the oldest one is forgotten."
                    .to_owned()
            }
            (AnyFilter::Window(_), Op::Advance) => match faded {
                0 => " A new generation begins; nothing is forgotten.".to_owned(),
                _ => " A new generation begins, and the oldest one is forgotten.".to_owned(),
            },
            (AnyFilter::Counting(filter), Op::Insert) => {
                format!(" The least of its counters is now {}.", filter.count(word))
            }
            _ => String::new(),
        }
    }

    fn answer_text(&self, word: &str, found: bool, places: &[Place], state: &State) -> String {
        let inserted = self.words.iter().any(|other| other == word);
        let clear = places.iter().filter(|(part, cell)| state[*part].1[*cell] == 0).count();
        let seen = match (&self.filter, clear) {
            (AnyFilter::Scalable(_), _) => "every link is asked".to_owned(),
            (AnyFilter::Window(_), _) => "every generation is asked".to_owned(),
            (_, 0) => "none of its cells is clear".to_owned(),
            (_, 1) => "one of its cells is clear".to_owned(),
            (_, clear) => format!("{clear} of its {} cells are clear", places.len()),
        };
        let verdict = match (found, inserted) {
            (true, true) => "It may be in, and it was inserted.",
            (true, false) => {
                "It may be in, which is wrong: it was never inserted, or it was removed. Other words set all its cells."
            }
            (false, true) => "It is not in: it was inserted, but the filter has forgotten it.",
            // The filter cannot know this, but the lesson does.
            (false, false) if self.filter.kind().capacity() == Capacity::Last => "It is not in.",
            (false, false) => "It is certainly not in.",
        };
        format!("Look up {}: {seen}. {verdict}", quoted(word))
    }
}

fn inserted_text(word: &str, new: bool, before: bool) -> String {
    let what = match (new, before) {
        (true, false) => "it was certainly new",
        (true, true) => "the filter has forgotten that it was inserted before",
        (false, _) => "the filter may have had it already",
    };
    format!("Insert {}: {what}.", quoted(word))
}

/// The cells that changed: the word's own, and others.
fn changes(before: &State, after: &State, places: &[Place]) -> (Vec<Place>, Vec<Place>) {
    let mut all = Vec::new();
    for (part, (_, cells)) in after.iter().enumerate() {
        for (number, &cell) in cells.iter().enumerate() {
            let old = before.get(part).map_or(0, |(_, cells)| cells[number]);
            if cell != old {
                all.push((part, number));
            }
        }
    }
    all.into_iter().partition(|place| places.contains(place))
}

fn parts_of(state: &State, block: u32) -> Vec<Value> {
    let parts = state.iter();
    parts.map(|(label, cells)| json!({ "label": label, "cells": cells, "block": block })).collect()
}

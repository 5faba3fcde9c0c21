//! `umbel show`: a filter so small that all its bits can be seen, filled and queried step by step.
//!
//! Positions come from umbel's own hash, as in any classic filter, or are given. Without words it shows the example of
//! M. Ceglowski, Using Bloom Filters (perl.com, 2004): apples at 3, 12 and 11, plums at 11, 1 and 8 of 14 bits; mango,
//! never inserted, has 8, 3 and 12 and passes.

use std::fmt::Write;

use anyhow::{Result, bail};
use serde_json::{Value, json};
use umbel::{Classic, KeyHasher, Kind, Plan};

use crate::Outcome;
use crate::args::{At, ShowArgs};
use crate::numbers::{Rate, counted};
use crate::output::{check_target, write_text};

/// The published example.
fn example() -> Vec<At> {
    let at = |word: &str, bits: [u64; 3]| At { word: word.to_owned(), bits: bits.to_vec() };
    vec![at("apples", [3, 12, 11]), at("plums", [11, 1, 8]), at("mango", [8, 3, 12])]
}

pub(crate) fn show(args: &ShowArgs) -> Result<Outcome> {
    check_target(&args.output)?;
    let usual = args.words.is_empty() && args.seed.is_none();
    let published = usual && (args.bits, args.probes) == (14, 3);
    let own = |words: &[String], usual: &[&str]| -> Vec<String> {
        match words {
            [] => usual.iter().map(|&word| word.to_owned()).collect(),
            words => words.to_vec(),
        }
    };
    let words = own(&args.words, &["apples", "plums"]);
    // Of own words the first one is looked up too, and must be found.
    let queries = match &args.query[..] {
        [] if !args.words.is_empty() => vec![words[0].clone(), "mango".to_owned()],
        queries => own(queries, &["apples", "mango", "kiwi"]),
    };
    let places = Places::new(args, if published { example() } else { Vec::new() })?;
    let mut filter = Shown::new(args.bits);
    let story = Story {
        published,
        steps: words.iter().map(|word| filter.insert(word, &places.of(word))).collect(),
        answers: queries.iter().map(|word| filter.ask(word, &places.of(word))).collect(),
        places,
        filter,
    };
    let text = if args.json { story.json() } else { story.text() };
    write_text(&args.output, |put| put(&text))?;
    Ok(Outcome::Done)
}

/// Where words fall.
struct Places {
    /// From --at, which overrides the example.
    given: Vec<At>,
    example: Vec<At>,
    hashed: Classic,
    seed: u64,
}

impl Places {
    fn new(args: &ShowArgs, example: Vec<At>) -> Result<Self> {
        let (bits, probes) = (args.bits, args.probes);
        for at in &args.at {
            let word = &at.word;
            if let Some(bit) = at.bits.iter().find(|bit| **bit >= bits) {
                bail!("--at {word}: there is no bit {bit}; the bits are 0 to {}", bits - 1);
            }
            if at.bits.len() != probes as usize {
                let found = counted(at.bits.len() as u64, "bit");
                bail!(
                    "--at {word}: found {found}, but each word has {probes} probes (see --probes)"
                );
            }
        }
        let seed = args.seed.unwrap_or(0);
        // Its rate is not what it is about: it is planned for one key.
        let plan = Plan::of(Kind::Classic, 1, 0.5, bits, probes)?;
        let hashed = Classic::with_plan(&plan, KeyHasher::with_seed(seed))?;
        Ok(Self { given: args.at.clone(), example, hashed, seed })
    }

    /// The bits of a word, in the order of its probes; several may be one.
    fn of(&self, word: &str) -> Vec<u64> {
        match self.given.iter().chain(&self.example).find(|at| at.word == word) {
            Some(at) => at.bits.clone(),
            None => self.hashed.positions(word).collect(),
        }
    }

    fn are_given(&self, word: &str) -> bool {
        self.given.iter().any(|at| at.word == word)
    }
}

/// A filter that knows who set its bits, as a real one does not.
struct Shown {
    setters: Vec<Option<String>>,
    words: Vec<String>,
}

/// A word inserted.
struct Step {
    word: String,
    probes: Vec<u64>,
    /// Bits that it set, and no word before it.
    new: Vec<u64>,
    /// The bits after it.
    bits: Vec<bool>,
}

/// What a query found.
struct Answer {
    word: String,
    /// Each probe's bit, and who set that bit.
    probes: Vec<(u64, Option<String>)>,
    found: bool,
    inserted: bool,
}

impl Shown {
    fn new(bits: u64) -> Self {
        Self { setters: vec![None; bits as usize], words: Vec::new() }
    }

    fn bits(&self) -> Vec<bool> {
        self.setters.iter().map(Option::is_some).collect()
    }

    fn insert(&mut self, word: &str, probes: &[u64]) -> Step {
        let mut new = Vec::new();
        for &bit in probes {
            let setter = &mut self.setters[bit as usize];
            if setter.is_none() {
                *setter = Some(word.to_owned());
                new.push(bit);
            }
        }
        self.words.push(word.to_owned());
        Step { word: word.to_owned(), probes: probes.to_vec(), new, bits: self.bits() }
    }

    fn ask(&self, word: &str, probes: &[u64]) -> Answer {
        let setter = |&bit: &u64| (bit, self.setters[bit as usize].clone());
        let probes: Vec<_> = probes.iter().map(setter).collect();
        let found = probes.iter().all(|(_, setter)| setter.is_some());
        let inserted = self.words.iter().any(|other| other == word);
        Answer { word: word.to_owned(), probes, found, inserted }
    }
}

/// Everything to print.
struct Story {
    published: bool,
    places: Places,
    filter: Shown,
    steps: Vec<Step>,
    answers: Vec<Answer>,
}

/// Bits of a row: 4 letters each, in 80 columns.
const ROW: usize = 18;

impl Story {
    fn text(&self) -> String {
        let mut text = String::new();
        let bits = self.filter.setters.len();
        let probes = self.places.hashed.plan().probes();
        let from = match self.published {
            true => "published by M. Ceglowski, 2004".to_owned(),
            false => format!("umbel's hash with seed {}", self.places.seed),
        };
        say(
            &mut text,
            &format!(
                "A Bloom filter of {bits} bits, {} per word ({from}).",
                counted(probes.into(), "probe")
            ),
        );
        text += "\nEmpty:\n";
        text += &drawn(&vec![false; bits], &[]);
        for step in &self.steps {
            text += "\n";
            self.tell_step(&mut text, step);
        }
        for answer in &self.answers {
            text += "\n";
            self.tell_answer(&mut text, answer);
        }
        let set = self.filter.bits().into_iter().filter(|set| *set).count();
        let rate = Rate((set as f64 / bits as f64).powi(probes as i32));
        text += "\n";
        let words = format!(
            "{set} of {bits} bits {} set, so a word that was not inserted passes with a chance of \
             ({set}/{bits})^{probes} = {rate}. More bits per word make that rare: see umbel plan --table.",
            if set == 1 { "is" } else { "are" }
        );
        say(&mut text, &words);
        text
    }

    fn tell_step(&self, text: &mut String, step: &Step) {
        let (word, are, given) =
            (quoted(&step.word), are_bits(&step.probes), self.given(&step.word));
        say(text, &format!("Insert {word}: {are}{given}."));
        let old = different(step.probes.iter().filter(|bit| !step.new.contains(bit)));
        match &old[..] {
            [] => {}
            [one] => say(text, &format!("Bit {one} is already set and stays set.")),
            many => say(text, &format!("Bits {} are already set and stay set.", list(many))),
        }
        if step.new.is_empty() {
            say(text, "Nothing changes: the filter cannot know that the word is new.");
        }
        *text += &drawn(&step.bits, &step.probes);
    }

    fn tell_answer(&self, text: &mut String, answer: &Answer) {
        let bits: Vec<u64> = answer.probes.iter().map(|(bit, _)| *bit).collect();
        let (word, given) = (quoted(&answer.word), self.given(&answer.word));
        say(text, &format!("Look up {word}: {}{given}.", are_bits(&bits)));
        *text += &drawn(&self.filter.bits(), &bits);
        let width = self.filter.setters.len().to_string().len();
        for (bit, setter) in &answer.probes {
            *text += &match setter {
                Some(setter) => {
                    format!("  bit {bit:>width$} is set, first by {}\n", quoted(setter))
                }
                None => format!("  bit {bit:>width$} is clear: no word set it\n"),
            };
        }
        say(text, &answer.verdict());
    }

    fn given(&self, word: &str) -> &'static str {
        match self.places.are_given(word) {
            true => " (as given by --at)",
            false => "",
        }
    }

    fn json(&self) -> String {
        let mut text = String::new();
        let mut line = |value: Value| {
            let _ = writeln!(text, "{value}");
        };
        let string = |bits: &[bool]| -> String {
            bits.iter().map(|set| if *set { '1' } else { '0' }).collect()
        };
        line(json!({
            "type": "filter", "bits": self.filter.setters.len(), "probes": self.places.hashed.plan().probes(),
            "seed": self.places.seed, "published": self.published,
        }));
        for step in &self.steps {
            line(json!({
                "type": "insert", "word": step.word, "probes": step.probes, "new": step.new,
                "given": self.places.are_given(&step.word), "after": string(&step.bits),
            }));
        }
        for answer in &self.answers {
            let probes = answer.probes.iter();
            let probes: Vec<_> = probes
                .map(|(bit, setter)| json!({"bit": bit, "set": setter.is_some(), "by": setter}))
                .collect();
            line(json!({
                "type": "query", "word": answer.word, "probes": probes, "found": answer.found,
                "given": self.places.are_given(&answer.word), "inserted": answer.inserted,
            }));
        }
        text
    }
}

impl Answer {
    fn verdict(&self) -> String {
        match (self.found, self.inserted) {
            (true, true) => {
                "=> may be in: all its bits are set. It was inserted, and is never missed."
                    .to_owned()
            }
            (true, false) => {
                let mut names: Vec<String> = Vec::new();
                for name in self.probes.iter().filter_map(|probe| probe.1.as_deref()).map(quoted) {
                    if !names.contains(&name) {
                        names.push(name);
                    }
                }
                format!(
                    "=> may be in, which is wrong: it was never inserted, but {} set all its bits. \
                     This is a false positive, the only error there is.",
                    joined(&names)
                )
            }
            (false, _) => {
                "=> certainly not in: had it been inserted, none of its bits would be clear."
                    .to_owned()
            }
        }
    }
}

/// Adds words in lines of at most 80 letters.
fn say(text: &mut String, words: &str) {
    const COLUMNS: usize = 80;
    let mut column = 0;
    for word in words.split(' ') {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > COLUMNS {
            text.push('\n');
            column = 0;
        } else if column > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
    }
    text.push('\n');
}

/// The numbers of the bits, the bits, and marks under those of the probes.
fn drawn(bits: &[bool], probes: &[u64]) -> String {
    let mut text = String::new();
    for (row, chunk) in bits.chunks(ROW).enumerate() {
        let numbers = row * ROW..row * ROW + chunk.len();
        let (mut top, mut middle, mut marks) = (String::new(), String::new(), String::new());
        for (number, set) in numbers.zip(chunk) {
            let _ = write!(top, "{number:>4}");
            let _ = write!(middle, "{:>4}", if *set { '1' } else { '.' });
            let _ =
                write!(marks, "{:>4}", if probes.contains(&(number as u64)) { '^' } else { ' ' });
        }
        let _ = write!(text, "  bit {top}\n      {middle}\n");
        if !marks.trim().is_empty() {
            let _ = writeln!(text, "      {}", marks.trim_end());
        }
    }
    text
}

/// A word as it may be printed, the middle of a long one left out.
fn quoted(word: &str) -> String {
    const MOST: usize = 18;
    let letters: Vec<char> = word.escape_debug().collect();
    match letters.len() {
        0 => "the empty word".to_owned(),
        count if count > MOST => {
            let end = |letters: &[char]| letters.iter().collect::<String>();
            format!("{}…{}", end(&letters[..MOST - 7]), end(&letters[count - 6..]))
        }
        _ => letters.into_iter().collect(),
    }
}

fn different<'a>(bits: impl Iterator<Item = &'a u64>) -> Vec<u64> {
    let mut bits: Vec<u64> = bits.copied().collect();
    bits.sort_unstable();
    bits.dedup();
    bits
}

/// Which bits the probes of a word are.
fn are_bits(probes: &[u64]) -> String {
    match probes {
        [bit] => format!("its probe is bit {bit}"),
        bits => format!("its probes are bits {}", list(bits)),
    }
}

fn list(bits: &[u64]) -> String {
    joined(&bits.iter().map(u64::to_string).collect::<Vec<_>>())
}

/// a, b and c.
fn joined(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_as_typed() {
        let at = |text: &str| text.parse::<At>().map(|at| (at.word, at.bits));
        assert_eq!(at("apples=3,12,11"), Ok(("apples".to_owned(), vec![3, 12, 11])));
        assert_eq!(at("a=b=0"), Ok(("a=b".to_owned(), vec![0])));
        for wrong in ["apples", "apples=", "apples=x", "apples=1,,2", "apples=-1"] {
            assert!(at(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_published_example() {
        let mut filter = Shown::new(14);
        let [apples, plums, mango]: [At; 3] = example().try_into().unwrap();
        assert_eq!(filter.insert(&apples.word, &apples.bits).new, [3, 12, 11]);
        assert_eq!(filter.insert(&plums.word, &plums.bits).new, [1, 8], "11 was set");
        let answer = filter.ask(&mango.word, &mango.bits);
        assert!(answer.found && !answer.inserted);
        let setters: Vec<_> =
            answer.probes.iter().map(|probe| probe.1.as_deref().unwrap()).collect();
        assert_eq!(setters, ["plums", "apples", "apples"]);
    }

    #[test]
    fn words_of_any_kind_fit() {
        assert_eq!(quoted(""), "the empty word");
        assert_eq!(quoted("a\nb"), "a\\nb");
        assert_eq!(quoted(&"x".repeat(100)).chars().count(), 18);
    }
}

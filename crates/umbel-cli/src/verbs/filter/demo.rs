//! `umbel filter demo`: a filter so small that all its bits can be seen, filled and queried step by step.
//!
//! Positions come from umbel's own hash, as in any classic filter, or are given. Without words it shows the example of
//! M. Ceglowski, Using Bloom Filters (perl.com, 2004): apples at 3, 12 and 11, plums at 11, 1 and 8 of 14 bits; mango,
//! never inserted, has 8, 3 and 12 and passes.

use clap::Args;
use std::fmt::Write;

use anyhow::{Result, bail};
use serde_json::{Value, json};
use umbel::{Classic, Filter, KeyHasher, Kind, Plan};
use umbel_report::words::{Answer, At, Shown, Step, example};

use crate::Outcome;
use crate::args::OutputArgs;
use crate::output::{check_target, write_text};
use crate::report::wrapped;
use crate::target::FileType;
use crate::verb::Verb;
use umbel_numbers::counted;

/// Show step by step how a Bloom filter works
///
/// Inserts words into a filter small enough to show all its bits. For each query it shows which bits the probes read and which word
/// set them, and so why the query passes or not. Without words it shows the example of M. Ceglowski, Using Bloom Filters
/// (perl.com, 2004): apples and plums in 14 bits, and mango, which was never inserted but passes. Other words get the bits that
/// umbel's hash selects, or the bits of --at.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Words to insert
    #[arg(value_name = "WORD")]
    pub(crate) words: Vec<String>,
    /// Words to look up, separated by commas, e.g. mango,kiwi; may be repeated
    #[arg(long, value_name = "WORD,…", value_delimiter = ',')]
    pub(crate) query: Vec<String>,
    /// Bits of the filter, 2 to 64
    #[arg(long, value_name = "M", default_value_t = 14, value_parser = umbel_numbers::number::<u64>(2..=64))]
    pub(crate) bits: u64,
    /// Probes per word, 1 to 16: the bits that each word sets and each query reads
    #[arg(long, value_name = "K", default_value_t = 3, value_parser = umbel_numbers::number::<u32>(1..=16))]
    pub(crate) probes: u32,
    /// Bits of a word, instead of those that the hash selects, e.g. apples=3,12,11; once per word
    #[arg(long, value_name = "WORD=BIT,…")]
    pub(crate) at: Vec<At>,
    /// Seed of the hash; another seed selects other bits [default: 0]
    #[arg(long, value_name = "N", value_parser = umbel_numbers::number::<u64>(0..=u64::MAX))]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Print reports, plans and receipts as JSON, one object per line
    #[arg(long, help_heading = "Messages")]
    pub(crate) json: bool,
}

impl Verb for DemoArgs {
    const NAME: &str = "filter demo";
    const HELP: &str = "
also tutorial, how it works
umbel filter demo   apples and plums in 14 bits
umbel filter demo apples plums --query mango   words of your own
0 done
";
    const RUN: fn(&Self) -> Result<Outcome> = demo;
}

pub(crate) fn demo(args: &DemoArgs) -> Result<Outcome> {
    check_target(args.output.file(), FileType::Text, args.output.replace.force)?;
    let usual = args.words.is_empty() && args.seed.is_none();
    let published = usual && (args.bits, args.probes) == (14, 3);
    let own = |words: &[String], usual: &[&str]| -> Vec<String> {
        match words {
            [] => usual.iter().map(|&word| word.to_owned()).collect(),
            words => words.to_vec(),
        }
    };
    let words = own(&args.words, &["apples", "plums"]);
    // With the user's own words, the first one is looked up too, and must be found.
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
    write_text(args.output.file(), |put| put(&text))?;
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
    fn new(args: &DemoArgs, example: Vec<At>) -> Result<Self> {
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
        // The rate does not matter: it is planned for one key.
        let plan = Plan::from_parts(Kind::Classic, 1, 0.5, bits, probes)?;
        let hashed = Classic::with_plan(&plan, KeyHasher::with_seed(seed))?;
        Ok(Self { given: args.at.clone(), example, hashed, seed })
    }

    /// The bits of a word, in the order of its probes; several may be one.
    fn of(&self, word: &str) -> Vec<u64> {
        match self.given.iter().chain(&self.example).find(|at| at.word == word) {
            Some(at) => at.bits.clone(),
            None => {
                let hash = self.hashed.hasher().hash(word);
                self.hashed.positions(hash).expect("a classic filter has bits")
            }
        }
    }

    fn are_given(&self, word: &str) -> bool {
        self.given.iter().any(|at| at.word == word)
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
        let bits = self.filter.len();
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
        text += "\n";
        let chance = self.filter.chance(probes);
        say(
            &mut text,
            &format!("{chance} More bits per word make that rare: see umbel filter plan --table."),
        );
        text
    }

    fn tell_step(&self, text: &mut String, step: &Step) {
        for sentence in step.sentences(self.given(&step.word)) {
            say(text, &sentence);
        }
        *text += &drawn(&step.bits, &step.probes);
    }

    fn tell_answer(&self, text: &mut String, answer: &Answer) {
        say(text, &answer.question(self.given(&answer.word)));
        let bits: Vec<u64> = answer.probes.iter().map(|(bit, _)| *bit).collect();
        *text += &drawn(&self.filter.bits(), &bits);
        for reason in answer.reasons(self.filter.len()) {
            *text += &format!("  {reason}\n");
        }
        say(text, &format!("=> {}", answer.verdict()));
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
            "type": "filter", "bits": self.filter.len(), "probes": self.places.hashed.plan().probes(),
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

/// Adds words in lines of at most 80 letters.
fn say(text: &mut String, words: &str) {
    *text += &wrapped(words, "", 80);
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

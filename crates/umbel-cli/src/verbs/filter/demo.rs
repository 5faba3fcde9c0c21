//! `umbel filter demo`: a filter so small that all its bits can be seen, filled and queried step by step.
//!
//! Positions come from umbel's own hash, as in any classic filter. Without words it shows the example of
//! M. Ceglowski, Using Bloom Filters (perl.com, 2004): apples at 3, 12 and 11, plums at 11, 1 and 8 of 14 bits; mango,
//! never inserted, has 8, 3 and 12 and passes.

use umbel::{Classic, Filter, KeyHasher, Kind, Plan};
use umbel_numbers::counted;
use umbel_report::words::{Shown, example};

use crate::args::OutputArgs;
use crate::output::{check_target, write_text};
use crate::report::wrapped;
use crate::target::FileType;
use crate::verbs::prelude::*;

/// Show step by step how a Bloom filter works
///
/// Inserts words into a filter small enough to show all its bits. For each query it shows which bits the probes read and which word
/// set them, and so why the query passes or not. Without words it shows the example of M. Ceglowski, Using Bloom Filters
/// (perl.com, 2004): apples and plums in 14 bits, and mango, which was never inserted but passes. Other words get the bits that
/// umbel's hash selects.
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
    #[command(flatten)]
    pub(crate) output: OutputArgs,
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
    let published = args.words.is_empty() && (args.bits, args.probes) == (14, 3);
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
    // The rate does not matter: it is planned for one key.
    let plan = Plan::from_parts(Kind::Classic, 1, 0.5, args.bits, args.probes)?;
    let hashed = Classic::with_plan(&plan, KeyHasher::default())?;
    let example = if published { example() } else { Vec::new() };
    // The bits of a word, in the order of its probes; several may be one.
    let places = |word: &str| match example.iter().find(|at| at.word == word) {
        Some(at) => at.bits.clone(),
        None => hashed.positions(hashed.hasher().hash(word)).expect("a classic filter has bits"),
    };
    let from = if published { "published by M. Ceglowski, 2004" } else { "umbel's hash" };
    let (bits, probes) = (args.bits, counted(args.probes.into(), "probe"));
    let mut text = String::new();
    say(&mut text, &format!("A Bloom filter of {bits} bits, {probes} per word ({from})."));
    let mut filter = Shown::new(bits);
    text += &format!("\nEmpty:\n{}", drawn(&filter.bits(), &[]));
    for word in &words {
        text += "\n";
        let step = filter.insert(word, &places(word));
        step.sentences().iter().for_each(|sentence| say(&mut text, sentence));
        text += &drawn(&step.bits, &step.probes);
    }
    for word in &queries {
        text += "\n";
        let answer = filter.ask(word, &places(word));
        say(&mut text, &answer.question());
        let bits: Vec<u64> = answer.probes.iter().map(|(bit, _)| *bit).collect();
        text += &drawn(&filter.bits(), &bits);
        answer.reasons(filter.len()).iter().for_each(|reason| text += &format!("  {reason}\n"));
        say(&mut text, &format!("=> {}", answer.verdict()));
    }
    text += "\n";
    let chance = filter.chance(args.probes);
    say(
        &mut text,
        &format!("{chance} More bits per word make that rare: see umbel filter plan --table."),
    );
    write_text(args.output.file(), |put| put(&text))?;
    Ok(Outcome::Done)
}

/// Bits of a row: 4 letters each, in 80 columns.
const ROW: usize = 18;

/// Adds words in lines of at most 80 letters.
fn say(text: &mut String, words: &str) {
    *text += &wrapped(words, "", 80);
}

/// The numbers of the bits, the bits, and marks under those of the probes.
fn drawn(bits: &[bool], probes: &[u64]) -> String {
    let mut text = String::new();
    for (row, chunk) in bits.chunks(ROW).enumerate() {
        let (mut top, mut middle, mut marks) = (String::new(), String::new(), String::new());
        for (number, set) in (row * ROW..).zip(chunk) {
            top += &format!("{number:>4}");
            middle += if *set { "   1" } else { "   ." };
            marks += if probes.contains(&(number as u64)) { "   ^" } else { "    " };
        }
        text += &format!("  bit {top}\n      {middle}\n");
        if !marks.trim().is_empty() {
            text += &format!("      {}\n", marks.trim_end());
        }
    }
    text
}

//! `umbel filter plan`: which kind of filter to choose for a goal, and what each would cost.

mod ship;
mod table;

use serde_json::json;
use umbel_numbers::{Fpp, KeyCount, Nanoseconds, Size, Span};
use umbel_report::advice::{Advice, Costs, Goal, Verdict, advise};
use umbel_report::plan as report;

use crate::args::OutputArgs;
use crate::output::{check_target, write_text};
use crate::pictures::{self, Saved};
use crate::target::FileType;
use crate::verbs::prelude::*;

/// Rank the kinds of filters for a goal, with the size, rate and speed of each
///
/// Give two of --keys, --fpp and a size (--memory, --ship or both); with all three, the sizes are limits. Lists kinds that fit, the
/// best first, then the others with the reason why they do not. A scalable filter is shown as it is before it grows, with the rate
/// that it keeps however much it grows. With --lookup, the advice may be to use no filter at all.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// Keys to hold, e.g. 5e9 or 5G (with --grows at first, with --ages the last)
    #[arg(long, value_name = "N")]
    pub(crate) keys: Option<KeyCount>,
    /// False positive rate: the share of absent keys that pass, e.g. 0.01 or 1%
    #[arg(long, value_name = "P")]
    pub(crate) fpp: Option<Fpp>,
    /// Most memory for the filter, e.g. 4GiB
    #[arg(short, long, value_name = "SIZE")]
    pub(crate) memory: Option<Size>,
    /// Largest size of the filter's file when sent; without SIZE, rank by bits sent
    ///
    /// Without SIZE, lists filters planned for the bits sent when packed.
    #[arg(long, value_name = "SIZE", num_args = 0..=1)]
    pub(crate) ship: Option<Option<Size>>,
    /// Print the formulas too, with the numbers in them
    #[arg(long)]
    pub(crate) explain: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Keys are removed again
    #[arg(long, help_heading = "Use of the filter")]
    pub(crate) deletes: bool,
    /// An unknown number of keys beyond --keys may be added
    #[arg(long, help_heading = "Use of the filter")]
    pub(crate) grows: bool,
    /// All keys are known in advance
    #[arg(long, help_heading = "Use of the filter")]
    pub(crate) known: bool,
    /// Only the last --keys keys matter; older ones are forgotten
    #[arg(long, help_heading = "Use of the filter")]
    pub(crate) ages: bool,
    /// Number of other known keys that must never pass, such as an allow list
    #[arg(long, value_name = "N", requires = "known", help_heading = "Use of the filter")]
    pub(crate) except: Option<KeyCount>,
    #[command(flatten)]
    pub(crate) costs: CostArgs,
    #[command(flatten)]
    pub(crate) tables: TableArgs,
    /// Draw five SVG pictures into DIR
    ///
    /// Rate by probes, by keys and by fill, its exponent, and bits per key by rate.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Pictures")]
    pub(crate) plot: Option<PathBuf>,
    /// Print reports, plans and receipts as JSON, one object per line
    #[arg(long, help_heading = "Messages")]
    pub(crate) json: bool,
}

impl Verb for PlanArgs {
    const NAME: &str = "filter plan";
    const HELP: &str = "
also calculate, calc, size, estimate, bench, capacity
for --k, hashes, hash-functions: the number of probes follows from the rate; umbel filter plan --table --probes 4..4 shows the rates with four, and --ship filters with fewer
umbel filter plan --keys 5G --fpp 1%   kinds of filters for 5 billion keys at 1 %
umbel filter plan --keys 5G --memory 4GiB   the rate in 4 GiB
umbel filter plan --keys 5G --fpp 1% --ship   filters by the bits sent
umbel filter plan --keys 1M --fpp 1% --plot pictures   with pictures
umbel filter plan --table   rates by bits and probes per key
0 a kind fits, or a table was printed
1 no kind fits
";
    const RUN: fn(&Self) -> Result<Outcome> = plan;
}

/// What look-ups cost, with the filter and without it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Cost of look-ups")]
pub(crate) struct CostArgs {
    /// Time of the look-up that the filter saves, e.g. 100us or 5ms [unit: ns]
    #[arg(long, value_name = "TIME")]
    pub(crate) lookup: Option<Nanoseconds>,
    /// Time that a false positive costs [default: as --lookup]
    #[arg(hide_short_help = true)]
    #[arg(long, value_name = "TIME", requires = "lookup")]
    pub(crate) false_answer: Option<Nanoseconds>,
    /// Share of look-ups whose key is absent, from 0 to 1
    #[arg(long, value_name = "SHARE", default_value = "0.5", requires = "lookup")]
    #[arg(value_parser = umbel_numbers::share)]
    pub(crate) absent: f64,
}

/// Tables that need no goal. What belongs to one conflicts itself with the goals that the table does: clap takes what an
/// argument requires as settled where that conflicts with another.
#[derive(Debug, Args)]
#[command(next_help_heading = "Tables")]
pub(crate) struct TableArgs {
    /// Print the textbook table: rates by bits and probes per key, and the best number of probes
    #[arg(long, conflicts_with_all = ["keys", "fpp", "memory", "plot", "sizes"])]
    pub(crate) table: bool,
    /// Rows of --table: bits per key, first to last
    #[arg(long, value_name = "FROM..TO", default_value = "2..9", hide_short_help = true)]
    #[arg(requires = "table", conflicts_with_all = ["keys", "fpp", "memory", "plot", "sizes"])]
    pub(crate) ratios: Span,
    /// Columns of --table: probes per key, first to last
    #[arg(long, value_name = "FROM..TO", default_value = "1..8", hide_short_help = true)]
    #[arg(requires = "table", conflicts_with_all = ["keys", "fpp", "memory", "plot", "sizes"])]
    pub(crate) probes: Span,
    /// Print a table of sizes: the fewest bits per key, and the memory for numbers of keys
    ///
    /// For rates of 0.1 to 1e-6 or --fpp, and for 1e3 to 1e9 keys or --keys.
    #[arg(long, conflicts_with_all = ["memory", "plot"])]
    pub(crate) sizes: bool,
    /// Rates of --sizes, e.g. 0.05,0.01
    #[arg(long, value_name = "P,…", value_delimiter = ',', hide_short_help = true)]
    #[arg(requires = "sizes", conflicts_with_all = ["fpp", "memory", "plot", "table"])]
    pub(crate) rates: Vec<Fpp>,
}

pub(crate) fn plan(args: &PlanArgs) -> Result<Outcome> {
    check_target(args.output.file(), FileType::Text, args.output.replace.force)?;
    for asked_for in [table::asked_for, ship::asked_for] {
        if let Some(text) = asked_for(args)? {
            write_text(args.output.file(), |put| put(&text))?;
            return Ok(Outcome::Done);
        }
    }
    let goal = goal(args);
    let advice = advise(&goal)?;
    let draw = |dir| pictures::of_plans(dir, args.output.replace.force, &report::plans(&advice));
    let pictures = args.plot.as_deref().map(draw).transpose()?;
    let text = match args.json {
        true => as_json(&goal, &advice, args.explain, pictures.as_deref().unwrap_or_default()),
        false => report::text(&goal, &advice, args.explain) + &drawn(pictures.as_deref()),
    };
    write_text(args.output.file(), |put| put(&text))?;
    Ok(match advice.verdict {
        Verdict::Nothing => Outcome::Nothing,
        _ => Outcome::Done,
    })
}

/// The pictures that were written, and what they show.
fn drawn(pictures: Option<&[Saved]>) -> String {
    match pictures {
        None => String::new(),
        Some([]) => "\nNo pictures: there is no plan to draw.\n".to_owned(),
        Some(pictures) => {
            let name = |picture: &Saved| picture.path.display().to_string();
            let width = pictures.iter().map(|picture| name(picture).chars().count()).max();
            let line = |picture: &Saved| {
                format!("  {:<1$}  {2}\n", name(picture), width.unwrap_or(0), picture.shows)
            };
            format!("\nPictures written:\n{}", pictures.iter().map(line).collect::<String>())
        }
    }
}

fn goal(args: &PlanArgs) -> Goal {
    let lookup = args.costs.lookup.map(|cost| cost.0);
    let mut goal = Goal::default();
    goal.keys = args.keys.map(|keys| keys.0);
    goal.fpp = args.fpp.map(|fpp| fpp.0);
    goal.memory = args.memory.map(|memory| memory.0);
    goal.ship = args.ship.flatten().map(|ship| ship.0);
    goal.deletes = args.deletes;
    goal.grows = args.grows;
    goal.known = args.known;
    goal.ages = args.ages;
    goal.except = args.except.map_or(0, |keys| keys.0);
    goal.costs = lookup.map(|lookup| {
        let mut costs = Costs::new(lookup, args.costs.absent);
        costs.false_answer = args.costs.false_answer.map_or(lookup, |cost| cost.0);
        costs
    });
    goal
}

/// A document a line; those of pictures are before the recommendation.
fn as_json(goal: &Goal, advice: &Advice, explain: bool, pictures: &[Saved]) -> String {
    let picture = |picture: &Saved| {
        let file = picture.path.display().to_string();
        json!({"type": "picture", "file": file, "shows": picture.shows})
    };
    let mut documents = report::documents(goal, advice, explain);
    documents.extend(pictures.iter().map(picture));
    documents.push(report::last_document(advice));
    documents.iter().map(|document| format!("{document}\n")).collect()
}

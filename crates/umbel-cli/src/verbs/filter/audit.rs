//! `umbel filter audit`: what the holder of a filter learns about its keys.

use std::str::FromStr;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use umbel::{Algorithm, AnyFilter, Capacity, Filter as _, KeyHash, Variant};
use umbel_numbers::{Count, Rate};
use umbel_report::compare::LINKED;
use umbel_report::receipt::estimate_within;
use umbel_sets::{Filter, Options};
use umbel_share::audit::{Cover, Expected, Hits, Listing, block_rates, posterior};

use crate::args::{
    ExplainArgs, ForeignArgs, FormatArgs, NamesArgs, OutputArgs, SecretArgs, TrustArgs, Work,
};
use crate::filters::{self, Keys};
use crate::lines::{self, RowsOf};
use crate::output::{check_target, only_print, refuse_in_place_of, write_text};
use crate::report::with_warnings;
use crate::standard::{self, is_standard};
use crate::target::FileType;
use crate::verbs::explain;
use crate::verbs::prelude::*;

/// Estimate what someone who has a filter can learn about its keys
///
/// Anyone who has a filter can test guesses. With --candidates, the audit looks guesses up: how many pass, how many of these are
/// false on average, how many are members (with a 95 % interval), and the probability that a guess that passes is a member. With
/// --universe, it computes how many keys a search of all possible ones would list, what share of them would be members, and how
/// long it would take on one core, from this filter's speed on this machine. It assumes that all keys of the filter are in that
/// universe.
///
/// The rate is computed from the filter's own bits. A keyed filter can be tested only with its secret.
#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    /// Filter to audit; - is standard input
    pub(crate) filter: PathBuf,
    /// File of guesses, one per line, each once; repeat for several; - is standard input
    #[arg(long, value_name = "LIST", value_hint = ValueHint::FilePath)]
    pub(crate) candidates: Vec<PathBuf>,
    /// Probability that a candidate is a member, before it is looked up [default: estimated from the hits]
    #[arg(long, value_name = "P", value_parser = umbel_numbers::share)]
    pub(crate) prior: Option<f64>,
    /// Number of possible keys, e.g. 5e6 for a list of words, or ipv4, or digits:10 for numbers of 10 digits
    #[arg(long, value_name = "SIZE")]
    pub(crate) universe: Option<Universe>,
    #[command(flatten)]
    pub(crate) secret: SecretArgs,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) work: Work,
    #[command(flatten)]
    pub(crate) explain: ExplainArgs,
}

impl Verb for AuditArgs {
    const NAME: &str = "filter audit";
    const HELP: &str = "
also privacy, leak
umbel filter audit seen.umbel --candidates urls.txt   which guesses it confirms
umbel filter audit seen.umbel --universe ipv4   what trying all addresses would list
0 done
";
    const RUN: fn(&Self) -> Result<Outcome> = audit;
}

/// How many keys are possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Universe(pub(crate) u64);

impl FromStr for Universe {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let size = match text.strip_prefix("digits:") {
            Some(digits) => digits.parse().ok().and_then(|digits| 10u64.checked_pow(digits)),
            None if text == "ipv4" => Some(1 << 32),
            None => umbel_numbers::whole(text),
        };
        size.filter(|&size| size > 0).map(Self).ok_or_else(|| {
            format!(
                "{text:?} is not a number of possible keys such as 5e6, ipv4, or digits:10 (up to digits:19)"
            )
        })
    }
}

pub(crate) fn audit(args: &AuditArgs) -> Result<Outcome> {
    if args.candidates.is_empty() && args.work.files_from.is_none() && args.universe.is_none() {
        bail!(
            "name guesses to look up with --candidates, or the number of possible keys with --universe, e.g. ipv4"
        );
    }
    let read = [Some(&args.filter), args.secret.secret_file.as_ref()];
    refuse_in_place_of(args.output.file(), &read)?;
    check_target(args.output.file(), FileType::Text, args.output.replace.force)?;
    if is_standard(&args.filter) && args.candidates.iter().any(|path| is_standard(path)) {
        bail!(
            "-: standard input can be read only once, and the filter is read from it; name a file of candidates"
        );
    }
    let options = lines::options(&args.work, &args.candidates)?;
    let secret = filters::secret(&args.secret)?;
    let (path, foreign) = (&args.filter, ForeignArgs::default());
    let file = filters::open_beside(path, &options, &args.trust)?;
    let findings = match filters::read(&file, path, secret.as_ref(), &foreign, &options) {
        Ok(filter) => {
            if args.explain.explain {
                return only_print(explain::has(&filter, args.work.voice.json));
            }
            tested(filter, args, &options)?
        }
        // Without its secret the audit sees what any other holder sees.
        Err(error) if filters::needs_secret(&error) => {
            let sealed = filters::without_secret(&file.file, path, &FormatArgs::default())?;
            Findings::new(filters::own(sealed, path, "filter audit")?.receipt())
        }
        Err(error) => return Err(error),
    };
    let text = match args.work.voice.json {
        true => findings.json(args).to_string() + "\n",
        false => findings.text(args),
    };
    write_text(args.output.file(), |put| put(&text))?;
    Ok(Outcome::Done)
}

/// What an audit finds.
struct Findings {
    receipt: umbel::Receipt,
    /// How the candidates were answered.
    hits: Option<Hits>,
    bits: Bits,
    search: Option<Search>,
    /// Whether guesses could be tested.
    tested: bool,
}

/// What the bits show beyond the answers, in the kinds whose bits are those of keys.
#[derive(Default)]
struct Bits {
    /// The candidates that alone explain a set bit, and the set bits that no candidate explains.
    certain: Option<(u64, u64)>,
    /// Of a holder of the candidates, and of one who tries the universe.
    of_candidates: Option<Expected>,
    of_universe: Option<Expected>,
    /// The lowest and the highest rate of a block.
    rates: Option<[f64; 2]>,
}

/// A search of all possible keys.
struct Search {
    universe: u64,
    listing: Listing,
    /// Seconds per look-up on one core.
    each: f64,
}

impl Search {
    fn seconds(&self) -> f64 {
        self.universe as f64 * self.each
    }
}

/// Tests guesses in a filter that answers.
fn tested(filter: Filter, args: &AuditArgs, options: &Options) -> Result<Findings> {
    let (mut options, names) = (options.clone(), NamesArgs::default());
    let keys = Keys::Asked(None, &args.candidates, &args.work);
    filters::check_keys(&filter, &args.filter, &mut options, &names, keys)?;
    let own = filters::own(filter, &args.filter, "filter audit")?;
    if own.kind().rows() {
        bail!(
            "{}: is a filter of rows, but umbel filter audit needs a filter of single keys",
            args.filter.display()
        );
    }
    let mut findings = Findings { tested: true, ..Findings::new(own.receipt()) };
    findings.bits.rates = block_rates(&own);
    findings.search = args.universe.map(|universe| {
        let keys = match findings.receipt.keys {
            keys if keys.value.is_finite() => keys.value,
            keys => keys.low,
        };
        let strangers = universe.0 as f64 - keys.min(universe.0 as f64);
        findings.bits.of_universe = Expected::of(&own, strangers);
        let listing = Listing::of(universe.0, keys, findings.receipt.fpp);
        Search { universe: universe.0, listing, each: seconds_per_lookup(&own) }
    });
    if !args.candidates.is_empty() || args.work.files_from.is_some() {
        look_up(&own, &mut findings, args, &options)?;
    }
    Ok(findings)
}

/// Looks up all candidates; where bits are those of keys, a second time, for those that alone explain a bit.
fn look_up(
    filter: &AnyFilter,
    findings: &mut Findings,
    args: &AuditArgs,
    options: &Options,
) -> Result<()> {
    let sources = lines::open(&args.candidates, &args.work, RowsOf::All, options)?;
    let inputs = umbel_sets::sources::rereadable(sources, options)?;
    let mut cover = Cover::new(filter);
    let beside = cover.as_ref().map_or(0, |_| Cover::bytes(filter));
    let mut add = |hashes: &[KeyHash]| cover.iter_mut().for_each(|cover| cover.add(hashes));
    let report = umbel_sets::hits(&inputs, filter, beside, &mut add, options)?;
    report.check_keyed(&options.resources.progress)?;
    let fpp = findings.receipt.fpp;
    let hits = Hits { candidates: report.lines, hits: report.found, fpp };
    if let Some(cover) = cover {
        let mut alone = 0;
        let mut count = |hashes: &[KeyHash]| {
            alone += hashes.iter().filter(|hash| cover.is_alone(**hash)).count() as u64;
        };
        umbel_sets::hits(&inputs, filter, beside, &mut count, options)?;
        findings.bits.certain = Some((alone, cover.unexplained()));
        let strangers = hits.candidates as f64 - hits.members().value;
        findings.bits.of_candidates = Expected::of(filter, strangers);
    }
    findings.hits = Some(hits);
    Ok(())
}

/// Seconds that a core of this machine takes to hash a key of ten digits and to look it up, in batches. What it takes to
/// think of the key is not included.
fn seconds_per_lookup(filter: &AnyFilter) -> f64 {
    /// As many as fit in the second level of the cache.
    const BATCH: u64 = 1 << 12;
    const LEAST: Duration = Duration::from_millis(50);
    let mut found = [false; BATCH as usize];
    let (mut spent, mut keys) = (Duration::ZERO, 0);
    // The fastest batch counts: others may have waited for other programs.
    let mut fastest = Duration::MAX;
    while spent < LEAST {
        let words: Vec<String> =
            (keys..keys + BATCH).map(|number| format!("{number:010}")).collect();
        let started = Instant::now();
        let hashes: Vec<KeyHash> = words.iter().map(|word| filter.hasher().hash(word)).collect();
        filter.contains_all(&hashes, &mut found);
        let elapsed = started.elapsed();
        fastest = fastest.min(elapsed);
        spent += elapsed;
        keys += BATCH;
    }
    fastest.as_secs_f64() / BATCH as f64
}

/// Whether the keys of a filter are hashed under a secret.
fn is_keyed(receipt: &umbel::Receipt) -> bool {
    receipt.scheme.algorithm == Algorithm::Sip13
}

impl Findings {
    fn new(receipt: umbel::Receipt) -> Self {
        Self { receipt, hits: None, bits: Bits::default(), search: None, tested: false }
    }

    fn prior(&self, args: &AuditArgs) -> Option<f64> {
        args.prior.or_else(|| self.hits.map(|hits| hits.share()))
    }

    fn text(&self, args: &AuditArgs) -> String {
        let Self { receipt, hits, bits, search, tested } = self;
        let mut text = format!("{}\n", standard::name(&args.filter));
        let mut row = |what: &str, value: String| text += &format!("  {what:<10} {value}\n");
        let who = match (is_keyed(receipt), tested) {
            (false, _) => "not keyed: anyone who has the file can test guesses",
            (_, true) => "keyed: anyone with the file and its secret can test guesses",
            (_, false) => "keyed: guesses can be tested only with its secret",
        };
        row("scheme", format!("{}, {who}", receipt.scheme));
        row("keys", estimate_within(&receipt.keys));
        row("rate now", format!("{}, from its own bits", Rate(receipt.fpp)));
        if !tested {
            row(
                "learned",
                format!(
                    "the number of keys, and how many it shares with a filter under the same secret; {LINKED}"
                ),
            );
            return text;
        }
        if let Some(hits) = hits {
            let (looked, passed) = (Count(hits.candidates), Count(hits.hits));
            row(
                "candidates",
                format!(
                    "{looked} looked up, {passed} pass, {:.1} of these false on average",
                    hits.expected_false()
                ),
            );
            row("members", format!("{} of the candidates", estimate_within(&hits.members())));
        }
        match bits.certain {
            Some((alone, 0)) => row(
                "certain",
                format!(
                    "{} of the candidates, if all keys are among them: each alone explains a set bit",
                    Count(alone)
                ),
            ),
            Some((_, unexplained)) => row(
                "certain",
                format!(
                    "none: no candidate explains {} of the {} set bits, so other keys are in the filter",
                    Count(unexplained),
                    Count(receipt.set_bits)
                ),
            ),
            None => {}
        }
        if let Some(Expected { deniable, .. }) = bits.of_candidates {
            let deniable = Rate(deniable);
            row(
                "deniable",
                format!("{deniable} of the members (γ): false candidates explain all their bits"),
            );
        }
        if let Some(prior) = self.prior(args) {
            let from = if args.prior.is_some() { "as given" } else { "the share of members" };
            row("prior", format!("{}, {from}", Rate(prior)));
            let after = Rate(posterior(prior, receipt.fpp));
            let by_block = self.posteriors(prior).map_or(String::new(), |[low, high]| {
                format!(" ({} to {} by its block)", Rate(low), Rate(high))
            });
            let absent = match receipt.plan.kind().capacity() == Capacity::Last {
                false => "0 if it does not",
                true => "unknown if it does not, since old keys are forgotten",
            };
            row("posterior", format!("{after} if a candidate passes{by_block}, {absent}"));
        }
        if let Some(search) = search {
            let Listing { members, listed } = search.listing;
            row(
                "universe",
                format!(
                    "{} possible keys: {} pass, {} of them members, a precision of {}",
                    Count(search.universe),
                    Count(listed.round() as u64),
                    Count(members.round() as u64),
                    Rate(search.listing.precision())
                ),
            );
            row(
                "cost",
                format!(
                    "{:.3} s to look them all up on one core, measured on this machine",
                    search.seconds()
                ),
            );
        }
        if let Some(Expected { certain, deniable }) = bits.of_universe {
            row(
                "by bits",
                format!(
                    "about {} of the members are certain after that, and {} deniable (γ)",
                    Rate(certain),
                    Rate(deniable)
                ),
            );
        }
        row("learned", self.learned());
        text
    }

    /// The posteriors of candidates that pass, in the block with the highest rate and in that with the lowest.
    fn posteriors(&self, prior: f64) -> Option<[f64; 2]> {
        self.bits.rates.map(|[low, high]| [posterior(prior, high), posterior(prior, low)])
    }

    /// What those who can test guesses learn beyond yes and no.
    fn learned(&self) -> String {
        let of_kind = match self.receipt.plan.variant() {
            Variant::Counting { .. } => "how often a guess was inserted, by its lowest counter; ",
            Variant::Scalable { .. } => "about when a guess came, by its link; ",
            Variant::Window { .. } => "about when a guess came last, by its generation; ",
            Variant::Stable { .. } => "which guesses came last, by the values of their cells; ",
            Variant::Bloomier { value_bits: 1.., .. } => "the value stored for a guess; ",
            _ => "",
        };
        match is_keyed(&self.receipt) {
            false => format!("{of_kind}with two versions, which guesses came or went"),
            true => format!("{of_kind}without the secret, {LINKED}"),
        }
    }

    fn json(&self, args: &AuditArgs) -> Value {
        let Self { receipt, hits, bits, search, tested } = self;
        let mut object = json!({
            "type": "audit",
            "file": args.filter.display().to_string(),
            "keyed": is_keyed(receipt),
            "tested": tested,
            "filter": umbel_report::Receipt::Own(receipt).json(),
        });
        if let Some(hits) = hits {
            let members = hits.members();
            object["candidates"] = json!(hits.candidates);
            object["hits"] = json!(hits.hits);
            object["false_hits"] = json!(hits.expected_false());
            object["members"] = json!(members.value);
            object["members_low"] = json!(members.low);
            object["members_high"] = json!(members.high);
        }
        if let Some(prior) = self.prior(args).filter(|_| *tested) {
            object["prior"] = json!(prior);
            object["posterior"] = json!(posterior(prior, receipt.fpp));
            object["forgets"] = json!(receipt.plan.kind().capacity() == Capacity::Last);
            if let Some([low, high]) = self.posteriors(prior) {
                object["posterior_low"] = json!(low);
                object["posterior_high"] = json!(high);
            }
        }
        if let Some((alone, unexplained)) = bits.certain {
            // If other keys are in the filter, no candidate is a member for certain.
            object["certain"] = json!(if unexplained == 0 { alone } else { 0 });
            object["unexplained_bits"] = json!(unexplained);
        }
        if let Some(Expected { deniable, .. }) = bits.of_candidates {
            object["deniable"] = json!(deniable);
        }
        if let Some(Expected { certain, deniable }) = bits.of_universe {
            object["listed_certain"] = json!(certain);
            object["listed_deniable"] = json!(deniable);
        }
        if let Some(search) = search {
            object["universe"] = json!(search.universe);
            object["listed"] = json!(search.listing.listed);
            object["listed_members"] = json!(search.listing.members);
            object["precision"] = json!(search.listing.precision());
            object["lookups_per_second"] = json!(1.0 / search.each);
            object["seconds"] = json!(search.seconds());
        }
        with_warnings(object)
    }
}

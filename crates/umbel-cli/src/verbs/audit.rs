//! `umbel audit`: what whoever holds a filter learns about its keys.

use std::io;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::{Value, json};
use umbel::{Algorithm, AnyFilter, KeyHash};
use umbel_sets::{Filter, Options, Query};
use umbel_share::audit::{Hits, Listing, posterior};

use super::explain;
use crate::Outcome;
use crate::args::{AuditArgs, ForeignArgs, FormatArgs};
use crate::lines::{self, Rows};
use crate::output::{check_target, print, refuse_in_place_of, write_text};
use crate::standard::is_standard;
use crate::target::Sort;
use crate::{filters, standard};
use umbel_numbers::{Count, Rate};
use umbel_report::receipt::estimate_within;

pub(crate) fn audit(args: &AuditArgs) -> Result<Outcome> {
    if args.candidates.is_empty() && args.work.files_from.is_none() && args.universe.is_none() {
        bail!(
            "name guesses to look up with --candidates, or the number of possible keys with --universe, e.g. ipv4"
        );
    }
    let read = [Some(&args.filter), args.secret.secret_file.as_ref()];
    refuse_in_place_of(args.output.file(), &read)?;
    check_target(args.output.file(), Sort::Text, args.output.replace.force)?;
    if is_standard(&args.filter) && args.candidates.iter().any(|path| is_standard(path)) {
        bail!(
            "-: standard input can be read only once, and the filter is read from it; name a file of candidates"
        );
    }
    let options = lines::options(&args.work)?;
    let secret = filters::secret(&args.secret)?;
    let (path, foreign) = (&args.filter, ForeignArgs::default());
    let file = filters::open_beside(path, &options, &args.trust)?;
    let findings = match filters::read(&file, path, secret.as_ref(), &foreign, &options) {
        Ok(filter) => {
            if args.work.explain {
                print(explain::has(&filter, args.work.voice.json))?;
                return Ok(Outcome::Done);
            }
            tested(filter, args, &options)?
        }
        // Without its secret the audit sees what any other holder sees.
        Err(error) if filters::needs_secret(&error) => {
            let sealed = filters::sealed(&file.file, path, &FormatArgs::default())?;
            Findings::new(filters::own(sealed, path, "audit")?.receipt())
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
    search: Option<Search>,
    /// Whether guesses could be tested.
    tested: bool,
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
    filters::check_keys(&filter, &args.filter, options, &Default::default())?;
    let own = filters::own(filter, &args.filter, "audit")?;
    if own.kind().rows() {
        bail!(
            "{}: is a filter of rows, which is queried by any of their fields, but umbel audit needs one of keys",
            args.filter.display()
        );
    }
    let receipt = own.receipt();
    let mut findings = Findings { tested: true, ..Findings::new(receipt) };
    findings.search = args.universe.map(|universe| {
        let keys = match findings.receipt.keys {
            keys if keys.value.is_finite() => keys.value,
            keys => keys.low,
        };
        let listing = Listing::of(universe.0, keys, findings.receipt.fpp);
        Search { universe: universe.0, listing, each: seconds_per_lookup(&own) }
    });
    if !args.candidates.is_empty() || args.work.files_from.is_some() {
        findings.hits = Some(look_up(&own.into(), args, options)?);
    }
    Ok(findings)
}

/// Looks up all candidates.
fn look_up(filter: &Filter, args: &AuditArgs, options: &Options) -> Result<Hits> {
    let sources = lines::open(&args.candidates, &args.work, Rows::OfAll, options)?;
    let mut nowhere = io::sink();
    let mut query = Query::new(filter, &[], false, &mut nowhere, options)?;
    super::answer::each_source(&mut query, sources, options)?;
    let fpp = query.fpp();
    let report = query.finish()?;
    Ok(Hits { candidates: report.lines, hits: report.found, fpp })
}

/// Seconds that a core of this machine takes to hash a key of ten digits and to look it up, in batches. What it takes to
/// think of the key is not included.
fn seconds_per_lookup(filter: &AnyFilter) -> f64 {
    /// As many as fit in the second level of the cache.
    const BATCH: u64 = 1 << 12;
    const LEAST: Duration = Duration::from_millis(50);
    let mut found = [false; BATCH as usize];
    let (mut spent, mut keys) = (Duration::ZERO, 0);
    // Of the fastest batch: others may have waited for other programs.
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
        Self { receipt, hits: None, search: None, tested: false }
    }

    fn prior(&self, args: &AuditArgs) -> Option<f64> {
        args.prior.or_else(|| self.hits.map(|hits| hits.share()))
    }

    fn text(&self, args: &AuditArgs) -> String {
        let Self { receipt, hits, search, tested } = self;
        let mut text = format!("{}\n", standard::name(&args.filter));
        let mut row = |what: &str, value: String| text += &format!("  {what:<10} {value}\n");
        let who = match (is_keyed(receipt), tested) {
            (false, _) => "not keyed: whoever has the file can test guesses",
            (_, true) => "keyed: whoever has the file and its secret can test guesses",
            (_, false) => "keyed: nobody can test guesses without its secret",
        };
        row("scheme", format!("{}, {who}", receipt.scheme));
        row("keys", estimate_within(&receipt.keys));
        row("rate now", format!("{}, from its own bits", Rate(receipt.fpp)));
        if !tested {
            let shown =
                "the number of keys, and how many a filter under the same key shares with it";
            row("learned", shown.to_owned());
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
        if let Some(prior) = self.prior(args) {
            let from = if args.prior.is_some() { "as given" } else { "the share of members" };
            row("prior", format!("{}, {from}", Rate(prior)));
            let after = Rate(posterior(prior, receipt.fpp));
            row("posterior", format!("{after} if a candidate passes, 0 if it does not"));
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
                    "{:.3} s to look all up on one core, measured on this machine",
                    search.seconds()
                ),
            );
        }
        text
    }

    fn json(&self, args: &AuditArgs) -> Value {
        let Self { receipt, hits, search, tested } = self;
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
        }
        if let Some(search) = search {
            object["universe"] = json!(search.universe);
            object["listed"] = json!(search.listing.listed);
            object["listed_members"] = json!(search.listing.members);
            object["precision"] = json!(search.listing.precision());
            object["lookups_per_second"] = json!(1.0 / search.each);
            object["seconds"] = json!(search.seconds());
        }
        object
    }
}

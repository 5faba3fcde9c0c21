//! Figures in the tables of the documents, from formulas and records.
//!
//! A table between `<!-- figures from column N` and `<!-- end -->` has a line in that comment for each of its rows. It says where the
//! figures from that column on come from, in order: as many as there are replace the numbers of the row, in the digits that these
//! have. `UPDATE_DOCS=1 cargo test -p umbel-cli --test all figures::` writes what the test compares. A line has sources between ` + `:
//!
//! - `FILE / HEADING / ROW / CELLS`: of a file of bench/record, in the first row below the heading that begins so, cells of a table or
//!   words of a text, counted from 0 or with - from the end. `{a,b}` stands for several rows, and `all` takes all that begin so;
//! - `seconds`, `cpu`, `peak` (MiB), `over` (÷ another one, in the same round): of commands over whole files, `JOB / COMMAND…`;
//! - `growth` (ns per line) and `steady` (÷ that of 10 million lines): of a command over files of many sizes;
//! - a formula of [`formula`] with its parameters.

use std::collections::BTreeMap;
use std::fs;

use serde::Deserialize;
use umbel::formulas::classic;
use umbel::{Kind, Plan};
use umbel_net::prefixes::{Family, Network, PrefixKeys};
use umbel_numbers::Count;
use umbel_report::advice::formulas;

use crate::console::{renew, root};
use crate::docs::pages;

fn record(name: &str) -> String {
    let path = root().join("bench/record").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A formula for a table, by its name.
fn formula(name: &str, given: &[f64]) -> Vec<f64> {
    let bits =
        |kind, keys: f64, fpp| Plan::for_keys(kind, keys as u64, fpp).unwrap().bits_per_key();
    match (name, given) {
        // Bits per prefix at 1 % and 0.1 %, for as many questions per look-up.
        ("prefixes", &[questions]) => {
            let mut keys = PrefixKeys::new(Family::Ip);
            (1..=questions as u8).for_each(|length| {
                let address = std::net::Ipv6Addr::UNSPECIFIED.into();
                keys.insert(Network::new(address, length).unwrap().key().as_ref());
            });
            [0.01, 0.001].map(|fpp| bits(Kind::Blocked, 1e6, keys.fpp_for(fpp))).to_vec()
        }
        // The exact rate over that of another form, for filters of so many bits with an eighth as many keys.
        ("exact÷textbook" | "exact÷limit", sizes) => {
            let is_limit = name.ends_with("limit");
            let form = if is_limit { classic::fpp_limit } else { classic::fpp_textbook };
            let sizes = sizes.iter().map(|&bits| (bits as u64 / 8, bits as u64, 6));
            sizes.map(|(n, m, k)| classic::fpp(n, m, k) / form(n, m, k)).collect()
        }
        // The rate in percent, and the bits sent per key.
        ("sent", &[bits_per_key, probes]) => vec![
            100.0 * formulas::fpp_limit_of(bits_per_key, probes as u32),
            formulas::sent_per_key(bits_per_key, probes),
        ],
        ("blocked÷classic", &[fpp, ref keys @ ..]) => {
            let over = |&keys| bits(Kind::Blocked, keys, fpp) / classic::bits_per_key(fpp);
            keys.iter().map(over).collect()
        }
        // Of 5·10⁹ lines, in 10⁹: those that another file shares, or whose filter in so many GiB lets them pass.
        ("gathered", &[shared, gib]) => {
            let plan = Plan::for_memory(Kind::Blocked, 5_000_000_000, (gib as u64) << 30).unwrap();
            vec![5.0 * (shared + (1.0 - shared) * plan.predicted_fpp().max(0.01))]
        }
        // Bits per key of a kind for so many keys, at each of the rates.
        (kind, &[keys, ref rates @ ..]) => {
            let kind: Kind = kind.parse().unwrap_or_else(|_| panic!("no formula {kind}"));
            rates.iter().map(|&fpp| bits(kind, keys, fpp)).collect()
        }
        _ => panic!("{name}: {given:?}"),
    }
}

/// A run of a command over whole files.
#[derive(Deserialize)]
struct Run {
    job: String,
    lines: u64,
    command: String,
    round: u32,
    wall_s: f64,
    user_s: f64,
    sys_s: f64,
    peak_kib: f64,
}

/// The runs of a command in a record.
fn runs(name: &str, is_wanted: impl Fn(&Run) -> bool) -> Vec<Run> {
    let text = record(name);
    let samples = text.lines().filter(|line| line.contains("\"type\": \"sample\""));
    let run = |line| serde_json::from_str(line).unwrap();
    let runs: Vec<Run> = samples.map(run).filter(is_wanted).collect();
    assert!(!runs.is_empty(), "{name} has no such runs");
    runs
}

fn median(numbers: impl IntoIterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.into_iter().collect();
    numbers.sort_by(f64::total_cmp);
    let half = numbers.len() / 2;
    if numbers.len() % 2 == 1 { numbers[half] } else { (numbers[half - 1] + numbers[half]) / 2.0 }
}

/// What was measured of commands over whole files.
fn whole(what: &str, job: &str, commands: &[&str]) -> Vec<f64> {
    let of = |command: &&str| {
        runs("files-20261202T140059Z.jsonl", |run| run.job == job && run.command == *command)
    };
    let each = |measured: fn(Vec<Run>) -> f64| {
        commands.iter().map(|command| measured(of(command))).collect()
    };
    match what {
        "seconds" => each(|runs| median(runs.iter().map(|run| run.wall_s))),
        "cpu" => each(|runs| median(runs.iter().map(|run| run.user_s + run.sys_s))),
        "peak" => each(|runs| runs.iter().map(|run| run.peak_kib / 1024.0).fold(0.0, f64::max)),
        _ => {
            let others = of(&commands[1]);
            let other = |run: &Run| others.iter().find(|other| other.round == run.round);
            let over = |run: &Run| Some(run.wall_s / other(run)?.wall_s);
            vec![median(of(&commands[0]).iter().filter_map(over))]
        }
    }
}

/// Nanoseconds per line, for each size that a command was tried with.
fn growth(command: &str) -> BTreeMap<u64, f64> {
    let mut sizes = BTreeMap::<u64, Vec<f64>>::new();
    for run in runs("files-20261122T175252Z.jsonl", |run| run.command == command) {
        sizes.entry(run.lines).or_default().push(run.wall_s * 1e9 / run.lines as f64);
    }
    sizes.into_iter().map(|(lines, times)| (lines, median(times))).collect()
}

/// The numbers in cells of a row of a record.
fn recorded(file: &str, heading: &str, row: &str, cells: &str) -> Vec<f64> {
    if let Some((before, rest)) = row.split_once('{') {
        let (list, after) = rest.split_once('}').expect("what stands for several rows ends");
        let rows = list.split(',').map(|one| format!("{before}{one}{after}"));
        return rows.flat_map(|row| recorded(file, heading, &row, cells)).collect();
    }
    let text = record(file);
    let plain = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let below = text.lines().map(plain).skip_while(|line| !line.starts_with(heading));
    let is_next = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let mut rows = below.filter(|line| line.strip_prefix(row).is_some_and(is_next)).peekable();
    assert!(rows.peek().is_some(), "{file}: no {row:?} below {heading:?}");
    let all = cells.strip_prefix("all ");
    let (most, cells) = all.map_or((1, cells), |cells| (usize::MAX, cells));
    let of_row = |row: String| -> Vec<f64> {
        let parts: Vec<_> = row.split(if row.starts_with('|') { '|' } else { ' ' }).collect();
        let part = |cell: &str| {
            let at: isize = cell.parse().unwrap();
            parts[if at < 0 { parts.len() - at.unsigned_abs() } else { at as usize }]
        };
        // Of a cell with a range, the first number; of a cell with several between slashes, all of them.
        let numbers = |cell| {
            let of = part(cell).split(" / ").filter_map(|text| number(text, 0));
            of.map(|(_, _, number)| number).collect::<Vec<_>>()
        };
        cells.split(' ').flat_map(numbers).collect()
    };
    rows.take(most).flat_map(of_row).collect()
}

/// The next number in a text at a place or behind it: where it begins and ends, and what it is.
fn number(text: &str, from: usize) -> Option<(usize, usize, f64)> {
    let start = from + text[from..].find(|c: char| c.is_ascii_digit())?;
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | 'e' | '-');
    let end = text[start..].find(|c| !is_part(c)).map_or(text.len(), |end| start + end);
    let end = start + text[start..end].trim_end_matches(|c: char| !c.is_ascii_digit()).len();
    Some((start, end, text[start..end].replace(',', "").parse().ok()?))
}

/// All figures of a line of a comment.
fn figures(line: &str) -> Vec<f64> {
    let of = |source: &str| {
        let parts: Vec<&str> = source.trim().split(" / ").collect();
        let (what, rest) = parts[0].split_once(' ').unwrap_or((parts[0], ""));
        match (what, &parts[..]) {
            ("seconds" | "cpu" | "peak" | "over", [_, of @ ..]) => whole(what, rest, of),
            ("growth", _) => growth(rest).into_values().collect(),
            ("steady", _) => {
                let times = growth(rest);
                [1_000_000, 200_000_000].map(|lines| times[&lines] / times[&10_000_000]).to_vec()
            }
            (_, &[file, heading, row, cells]) => recorded(file, heading, row, cells),
            _ => {
                let given = rest.split_whitespace().map(|number| number.parse().unwrap());
                formula(what, &given.collect::<Vec<_>>())
            }
        }
    };
    line.split(" + ").flat_map(of).collect()
}

/// A number in the digits of another one.
fn like(old: &str, new: f64) -> String {
    let (mantissa, power) = old.split_once('e').unwrap_or((old, ""));
    let decimals = mantissa.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    if !power.is_empty() {
        return format!("{new:.decimals$e}");
    }
    let text = format!("{new:.decimals$}");
    if !old.contains(',') && new < 10_000.0 {
        return text;
    }
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    format!("{}{rest}", Count(whole.parse().unwrap()))
}

/// A row with these figures, from a column on.
fn row(old: &str, column: usize, figures: &[f64]) -> String {
    let mut at = old.match_indices('|').nth(column - 1).expect("it has this column").0;
    let mut row = old[..at].to_owned();
    for figure in figures {
        let (start, end, _) = number(old, at).expect("a place for each figure");
        row += &old[at..start];
        row += &like(&old[start..end], *figure);
        at = end;
    }
    row + &old[at..]
}

/// A page with the figures of all its tables.
fn page(old: &str) -> String {
    let (mut new, mut lines) = (String::new(), old.lines());
    let mut put = |line: &str| new = std::mem::take(&mut new) + line + "\n";
    while let Some(line) = lines.next() {
        put(line);
        let Some(column) = line.strip_prefix("<!-- figures from column ") else { continue };
        let sources: Vec<&str> = lines.by_ref().take_while(|line| *line != "-->").collect();
        sources.iter().for_each(|source| put(source));
        put("-->");
        let (mut sources, mut is_body) = (sources.into_iter(), false);
        for line in lines.by_ref() {
            let source = if is_body && line.starts_with('|') { sources.next() } else { None };
            match source {
                Some(source) => put(&row(line, column.parse().unwrap(), &figures(source))),
                None => put(line),
            }
            is_body |= line.starts_with("|---");
            if line == "<!-- end -->" {
                break;
            }
        }
        assert_eq!(sources.next(), None, "a row is missing");
    }
    new
}

#[test]
fn figures_are_those_of_formulas_and_records() {
    let (mut tables, mut wrong) = (0, Vec::new());
    for path in pages() {
        let old = fs::read_to_string(&path).unwrap();
        let new = page(&old);
        tables += new.matches("<!-- figures from").count();
        renew(&path, &old, &new);
        let differ = old.lines().zip(new.lines()).filter(|(old, new)| old != new);
        let told = |(old, new)| format!("{}: {old}\nshould be {new}", path.display());
        wrong.extend(differ.map(told));
    }
    assert!(tables > 15, "{tables} tables: are they still found?");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every goal that the records of filters and kinds miss, of kinds at 1 %, is in the table of docs/performance.md, above those of other records.
#[test]
fn the_goals_that_are_missed_are_listed() {
    let missed = |name: &str, rate| {
        let text = record(name);
        text.lines().filter(|row| row.ends_with("| **not met** |") && row.contains(rate)).count()
    };
    let page = fs::read_to_string(root().join("docs/performance.md")).unwrap();
    let table = page.split("| goal | case | needed | found |").nth(1).unwrap();
    let table = table.split("| sbbf-rs ÷ umbel's").next().unwrap();
    let rows = table.lines().skip(2).filter_map(|row| row.split('|').nth(4));
    let listed: usize = rows.map(|found| found.split(',').count()).sum();
    let missed = missed("2026-12-02-filters.md", "") + missed("2026-12-02-kinds.md", " 1 % ");
    assert_eq!(listed, missed);
}

/// Rows and sentences with figures of the trial of summaries are copied.
#[test]
fn the_tables_of_summaries_are_those_of_their_record() {
    let record = record("2026-11-23-summary-cache.md");
    let page = fs::read_to_string(root().join("examples/proxy/README.md")).unwrap();
    let measured = page.split("## ").find(|section| section.starts_with("Measured")).unwrap();
    let is_copied = |line: &&str| line.starts_with('|') || line.starts_with("With ");
    let copied: Vec<_> = measured.lines().filter(is_copied).collect();
    assert!(copied.len() > 20);
    assert_eq!(copied.iter().find(|line| !record.lines().any(|row| row == **line)), None);
}

#[test]
fn rows_keep_their_digits() {
    let found = row("| a 5 | 1.50 | – | 2,000, 3e-4 | 7 |", 2, &[2.0, 12345.4, 1.23e-5]);
    assert_eq!(found, "| a 5 | 2.00 | – | 12,345, 1e-5 | 7 |");
}

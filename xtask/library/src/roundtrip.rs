//! `cargo x roundtrip`: exchanges filters with other systems, running here.
//!
//! Each system makes filters from given keys. umbel reads them, must make the same bytes from the same keys, inserts
//! more keys and writes them; the system reads the result and is queried. Every answer must equal umbel's. For Parquet,
//! readers that skip row groups by Bloom filters read files whose filters umbel wrote. `testdata/roundtrip.py` is the
//! other side; systems written in Rust run here.

use std::fs;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use datasketches::bloom::{BloomFilter, BloomFilterBuilder};
use serde::Deserialize;
use serde_json::{Value, json};
use umbel_foreign::parquet::extent;
use umbel_foreign::{Foreign, ForeignFilter, ForeignInsert, Format, Key, Parameters};

use xtask::python::Python;
use xtask::run::{run as run_command, target};

/// Java's systems come with the jars of PySpark: Guava, Spark, DataSketches, Hadoop, Hive, parquet-java.
const NEW: Python = Python {
    name: "roundtrip/python",
    packages: &[
        ("pyspark", "4.3.0"),
        ("pyarrow", "26.0.1"),
        ("pybloom-live", "4.0.0"),
        ("duckdb", "2.0.0"),
    ],
};
/// The last one with the older hash.
const OLD: Python =
    Python { name: "roundtrip/python-pybloom-3", packages: &[("pybloom-live", "3.1.0")] };

/// A filter to exchange.
struct Case {
    name: &'static str,
    format: Format,
    given: Parameters,
    keys: Keys,
    system: System,
}

/// Where a filter's system runs.
#[derive(Clone, Copy, PartialEq)]
enum System {
    /// In `testdata/roundtrip.py`.
    Outside,
    /// Here: the crate `datasketches`.
    DataSketches,
}

/// The keys, and their type.
#[derive(Clone, Copy, PartialEq)]
enum Keys {
    Text,
    /// Text as Java's chars.
    Utf16,
    I64,
}

impl Keys {
    fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Utf16 => "utf16",
            Self::I64 => "i64",
        }
    }

    /// Key `i`. No number fits 32 bits, so that Python's become Java's long.
    fn key(self, i: u64) -> Value {
        match self {
            Self::I64 => json!(i.wrapping_mul(0x9e37_79b9_7f4a_7c15) as i64 | 1 << 40),
            _ if i.is_multiple_of(3) => json!(format!("größe-{i}-😀")),
            _ => json!(format!("key-{i}")),
        }
    }

    fn all(self, numbers: Range<u64>) -> Vec<Value> {
        numbers.map(|i| self.key(i)).collect()
    }

    /// The bytes that the system hashes, if they are not the number itself.
    fn bytes(self, key: &Value) -> Vec<u8> {
        match (self, key.as_str()) {
            (Self::Utf16, Some(text)) => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            (_, text) => text.unwrap_or_default().into(),
        }
    }
}

/// A key as the crate `datasketches` must hash it to agree with Java, where text is not followed by a byte 0xff.
struct Raw<'a>(Keys, &'a Value);

impl Hash for Raw<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.1.as_i64() {
            Some(key) => state.write(&key.to_le_bytes()),
            None => state.write(&self.0.bytes(self.1)),
        }
    }
}

const MEMBERS: Range<u64> = 0..2000;
/// The keys that umbel inserts into the system's filter.
const ADDED: Range<u64> = 2000..2200;
const PROBES: Range<u64> = 10_000..12_000;

fn cases() -> Vec<Case> {
    let case =
        |name, format, given, keys| Case { name, format, given, keys, system: System::Outside };
    let crate_case = |name, given: Parameters, keys| {
        // It always counts the set bits.
        let given = given.with("counted");
        Case { system: System::DataSketches, ..case(name, Format::DataSketches, given, keys) }
    };
    let planned = |fpp| Parameters::for_keys(2500, fpp);
    let seeded = |seed, fpp| Parameters { seed: Some(seed), ..planned(fpp) };
    let sized = |bits| Parameters {
        keys: Some(2500),
        bits: Some(bits),
        seed: Some(0),
        ..Parameters::default()
    };
    let hadoop = Parameters { bits: Some(20_011), probes: Some(5), ..Parameters::default() };
    let hive = Parameters { keys: Some(2500), ..Parameters::default() };
    use Format::{
        DataSketches, Guava, Hadoop, Hive, ParquetBits, Pybloom3, Pybloom3Scalable, Pybloom4,
        Pybloom4Scalable, Spark,
    };
    use Keys::{I64, Text, Utf16};
    vec![
        case("guava-chars", Guava, planned(0.03), Utf16),
        case("guava-text", Guava, planned(0.1), Text),
        case("guava-long", Guava, planned(0.01), I64),
        case("spark-1-text", Spark, sized(15_000).with("v1"), Text),
        case("spark-1-long", Spark, sized(12_345).with("v1"), I64),
        case("spark-2-text", Spark, sized(15_000), Text),
        case("spark-2-long", Spark, Parameters { seed: Some(-7), ..sized(15_000) }, I64),
        case("datasketches-text", DataSketches, seeded(9001, 0.05), Text),
        case("datasketches-long", DataSketches, seeded(-3, 0.1), I64),
        crate_case("datasketches-rs-text", seeded(9001, 0.05), Text),
        crate_case("datasketches-rs-long", seeded(-3, 0.1), I64),
        case("hadoop", Hadoop, hadoop, Text),
        case("hive-text", Hive, hive.clone(), Text),
        case("hive-long", Hive, hive, I64),
        case("parquet-text", ParquetBits, planned(0.05), Text),
        case("parquet-long", ParquetBits, planned(0.05), I64),
        case("pybloom-4", Pybloom4, planned(0.05), Text),
        case("pybloom-4-scalable", Pybloom4Scalable, Parameters::for_keys(300, 0.05), Text),
        case("pybloom-3", Pybloom3, planned(0.05), Text),
        case("pybloom-3-scalable", Pybloom3Scalable, Parameters::for_keys(300, 0.05), Text),
    ]
}

impl Case {
    fn told(&self) -> Value {
        let given = &self.given;
        json!({
            "name": self.name, "format": self.format.name(), "keys": self.keys.name(),
            "n": given.keys, "fpp": given.fpp, "bits": given.bits, "probes": given.probes,
            "seed": given.seed, "version": if given.has("v1") { 1 } else { 2 },
        })
    }

    fn insert(&self, filter: &mut Foreign, numbers: Range<u64>) -> Result<()> {
        for key in self.keys.all(numbers) {
            match key.as_i64() {
                Some(key) => filter.insert(Key::I64(key))?,
                None => filter.insert(Key::Bytes(&self.keys.bytes(&key)))?,
            };
        }
        Ok(())
    }

    fn contains(&self, filter: &Foreign, numbers: Range<u64>) -> Result<Vec<bool>> {
        let keys = self.keys.all(numbers).into_iter();
        keys.map(|key| match key.as_i64() {
            Some(key) => Ok(filter.contains(Key::I64(key))?),
            None => Ok(filter.contains(Key::Bytes(&self.keys.bytes(&key)))?),
        })
        .collect()
    }

    /// Makes the filter of a system that runs here.
    fn make(&self, folder: &Path) -> Result<()> {
        let (keys, fpp) = self.given.keys.zip(self.given.fpp).context("no keys and fpp")?;
        let mut filter = BloomFilterBuilder::with_accuracy(keys, fpp)
            .seed(self.given.seed.context("no seed")? as u64)
            .build()?;
        for key in self.keys.all(MEMBERS) {
            filter.insert(Raw(self.keys, &key));
        }
        Ok(fs::write(folder.join(format!("{}.theirs", self.name)), filter.serialize())?)
    }

    /// The answers of a system that runs here for the filter that umbel wrote.
    fn ask(&self, folder: &Path) -> Result<Value> {
        let filter =
            BloomFilter::deserialize(&fs::read(folder.join(format!("{}.umbel", self.name)))?)?;
        let has = |numbers| -> Vec<bool> {
            let keys = self.keys.all(numbers).into_iter();
            keys.map(|key| filter.contains(&Raw(self.keys, &key))).collect()
        };
        Ok(json!({
            "version": "datasketches of Rust 0.6",
            "members": has(MEMBERS), "added": has(ADDED), "probes": has(PROBES),
        }))
    }

    /// Reads the system's filter, compares it with one made here, inserts more and writes it; returns what was written.
    fn take(&self, folder: &Path) -> Result<Foreign> {
        let theirs = fs::read(folder.join(format!("{}.theirs", self.name)))?;
        let mut ours = Foreign::new(self.format, &self.given)?;
        self.insert(&mut ours, MEMBERS)?;
        ours.finish()?;
        ensure!(ours.encode()? == theirs, "umbel makes other bytes of the same keys");
        let mut filter = Foreign::decode(self.format, &theirs[..])?.to_owned()?;
        ensure!(self.contains(&filter, MEMBERS)?.iter().all(|found| *found), "a key is missing");
        self.insert(&mut filter, ADDED)?;
        fs::write(folder.join(format!("{}.umbel", self.name)), filter.encode()?)?;
        Ok(filter)
    }

    /// Compares the system's answers; returns the line that reports it.
    fn compare(&self, filter: &Foreign, answers: &Value) -> Result<String> {
        let told = |name: &str| -> Result<Vec<bool>> {
            Ok(serde_json::from_value(answers[name].clone())?)
        };
        let [members, added, probes] = ["members", "added", "probes"].map(told);
        let (mut present, probes) = (members?, probes?);
        present.extend(added?);
        ensure!(present.len() == (ADDED.end - MEMBERS.start) as usize, "it told too little");
        let missing = present.iter().filter(|found| !**found).count();
        ensure!(missing == 0, "{missing} keys are missing in what umbel wrote");
        let ours = self.contains(filter, PROBES)?;
        ensure!(probes == ours, "other false positives than umbel");
        Ok(format!(
            "{:<20} {:<26} {:>7} {:>9} {:>8} of {}",
            self.name,
            answers["version"].as_str().unwrap_or("?"),
            filter.encode()?.len(),
            present.len(),
            probes.iter().filter(|found| **found).count(),
            probes.len()
        ))
    }
}

pub(crate) fn run() -> Result<()> {
    let java = Command::new("java").arg("-version").stderr(Stdio::null()).status();
    ensure!(
        java.is_ok_and(|status| status.success()),
        "java runs Guava, Spark and others and is not installed; get it as with `apt-get install default-jre-headless`"
    );
    let pythons = [NEW.command()?, OLD.command()?].map(|python| python.get_program().to_owned());
    let folder = target().join("roundtrip/files");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder)?;
    let cases = cases();
    let keys = |keys: Keys| json!({ "members": keys.all(MEMBERS), "added": keys.all(ADDED), "probes": keys.all(PROBES) });
    let outside = cases.iter().filter(|case| case.system == System::Outside);
    let told = json!({
        "cases": outside.map(Case::told).collect::<Vec<_>>(),
        "keys": { "text": keys(Keys::Text), "utf16": keys(Keys::Utf16), "i64": keys(Keys::I64) },
    });
    fs::write(folder.join("cases.json"), told.to_string())?;
    let other_side = |verb: &str| -> Result<()> {
        for python in &pythons {
            let mut command = Command::new(python);
            run_command(command.arg("testdata/roundtrip.py").arg(verb).arg(&folder))?;
        }
        Ok(())
    };
    other_side("make")?;
    let here: Vec<_> = cases.iter().filter(|case| case.system != System::Outside).collect();
    for case in &here {
        case.make(&folder).context(case.name)?;
    }
    let mut wrong = Vec::new();
    let mut filters = Vec::new();
    for case in &cases {
        filters.push(case.take(&folder).context(case.name)?);
    }
    let places = take_parquet(&folder).context("data.parquet")?;
    other_side("ask")?;

    let mut answers: Value = serde_json::from_slice(&fs::read(folder.join("answers.json"))?)?;
    for case in &here {
        answers[case.name] = case.ask(&folder).context(case.name)?;
    }
    println!(
        "{:<20} {:<26} {:>7} {:>9} {:>16}",
        "filter", "made and asked by", "bytes", "present", "wrongly present"
    );
    for (case, filter) in cases.iter().zip(&filters) {
        match case.compare(filter, &answers[case.name]) {
            Ok(line) => println!("{line}"),
            Err(error) => wrong.push(format!("{}: {error:#}", case.name)),
        }
    }
    println!(
        "\n{:<20} {:<26} {:>5} {:>12} {:>10}",
        "Parquet file", "read by", "keys", "groups read", "of groups"
    );
    for file in ["full", "half"] {
        for keys in [Keys::I64, Keys::Text] {
            for reader in ["duckdb", "parquet-java", "pyarrow"] {
                let name = format!("{file} {} {reader}", keys.name());
                match compare_parquet(&folder, &places, file, keys, &answers[&name]) {
                    Ok(line) => println!("{line}"),
                    Err(error) => wrong.push(format!("{name}: {error:#}")),
                }
            }
        }
    }
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n"));
    }
    println!("\nall answers are umbel's own");
    Ok(())
}

/// The position of a filter in data.parquet.
#[derive(Deserialize)]
struct Place {
    row_group: usize,
    column: String,
    rows: u64,
    offset: usize,
    length: usize,
}

impl Place {
    fn keys(&self) -> Keys {
        if self.column == "i64" { Keys::I64 } else { Keys::Text }
    }

    fn is_of(&self, keys: Keys) -> bool {
        self.column == keys.name()
    }

    fn filter<'a>(&self, file: &'a [u8]) -> Result<Foreign<&'a [u8]>> {
        Ok(Foreign::decode(Format::Parquet, &file[self.offset..][..self.length])?)
    }

    /// The filter that umbel makes from every `step`th row, as large as the one there.
    fn build(&self, file: &[u8], step: usize) -> Result<Vec<u8>> {
        let bits = 8 * extent(&file[self.offset..][..self.length])?.len() as u64;
        let given = Parameters { bits: Some(bits), ..Parameters::default() };
        let first = self.row_group as u64 * self.rows;
        let keys: Vec<_> = self.keys().all(first..first + self.rows);
        let bytes: Vec<_> = keys.iter().map(|key| self.keys().bytes(key)).collect();
        let key = |(key, bytes): (&Value, _)| key.as_i64().map_or(Key::Bytes(bytes), Key::I64);
        let chosen: Vec<_> =
            keys.iter().zip(bytes.iter().map(Vec::as_slice)).map(key).step_by(step).collect();
        Ok(Foreign::build(Format::Parquet, &given, chosen.into_iter())?.encode()?)
    }
}

/// Replaces pyarrow's filters by umbel's: in full.parquet from all rows, which gives the same bytes, in half.parquet
/// from every second row, so that readers show whose bits they read.
fn take_parquet(folder: &Path) -> Result<Vec<Place>> {
    let data = fs::read(folder.join("data.parquet"))?;
    let places: Vec<Place> = serde_json::from_slice(&fs::read(folder.join("places.json"))?)?;
    for (name, step) in [("full", 1), ("half", 2)] {
        let mut file = data.clone();
        for place in &places {
            let filter = place.build(&data, step)?;
            ensure!(
                filter.len() == place.length,
                "a filter of {} bytes for {}",
                filter.len(),
                place.length
            );
            file[place.offset..][..place.length].copy_from_slice(&filter);
        }
        ensure!(
            step > 1 || file == data,
            "umbel makes other filters than pyarrow of the same rows"
        );
        fs::write(folder.join(format!("{name}.parquet")), file)?;
    }
    Ok(places)
}

/// Compares the row groups that a reader reads with those that umbel names.
fn compare_parquet(
    folder: &Path,
    places: &[Place],
    name: &str,
    keys: Keys,
    answers: &Value,
) -> Result<String> {
    let file = fs::read(folder.join(format!("{name}.parquet")))?;
    let numbers: Vec<_> = MEMBERS.chain(PROBES).collect();
    let mut theirs: Vec<Vec<usize>> = Vec::new();
    let rows: Option<Vec<u64>> = serde_json::from_value(answers["rows"].clone()).unwrap_or(None);
    if rows.is_none() {
        theirs = serde_json::from_value(answers["row_groups"].clone())?;
    }
    let asked = rows.as_ref().map_or(theirs.len(), Vec::len);
    ensure!(asked > 0, "it told nothing");
    let step = numbers.len().div_ceil(asked);
    let mut read = 0;
    let chosen = numbers.iter().step_by(step);
    for (i, number) in chosen.enumerate() {
        let key = keys.key(*number);
        let bytes = keys.bytes(&key);
        if let Some(rows) = &rows {
            let expected = u64::from(MEMBERS.contains(number));
            ensure!(rows[i] == expected, "{} rows have {key}, not {expected}", rows[i]);
            continue;
        }
        let mut ours = Vec::new();
        for place in places.iter().filter(|place| place.is_of(keys)) {
            let key = key.as_i64().map_or(Key::Bytes(&bytes), Key::I64);
            if place.filter(&file)?.contains(key)? {
                ours.push(place.row_group);
            }
        }
        ensure!(theirs[i] == ours, "row groups {:?} for {key}, umbel names {ours:?}", theirs[i]);
        read += ours.len();
    }
    let groups = places.iter().filter(|place| place.is_of(keys)).count();
    let (read, all) = match rows {
        Some(_) => ("all rows".to_owned(), "-".to_owned()),
        None => (read.to_string(), (asked * groups).to_string()),
    };
    let version = answers["version"].as_str().unwrap_or("?");
    let file = format!("{name}, {}", keys.name());
    Ok(format!("{file:<20} {version:<26} {asked:>5} {read:>12} {all:>10}"))
}

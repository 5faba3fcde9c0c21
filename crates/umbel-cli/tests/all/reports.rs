//! `docs/reports.md` and its schema: what umbel prints as JSON is what they say.

use std::collections::BTreeSet;
use std::fs;

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::Value;

use crate::console::root;
use crate::util::{Folder, urls};

fn page() -> String {
    fs::read_to_string(root().join("docs/reports.md")).unwrap()
}

fn schema() -> Value {
    serde_json::from_slice(&fs::read(root().join("docs/reports.schema.json")).unwrap()).unwrap()
}

/// What checks documents by a schema.
struct Validator {
    schemas: Schemas,
    index: SchemaIndex,
}

impl Validator {
    fn new(schema: &Value) -> Self {
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        compiler.add_resource("schema.json", schema.clone()).unwrap();
        let index = compiler.compile("schema.json", &mut schemas).unwrap();
        Self { schemas, index }
    }

    fn check(&self, document: &Value) -> Result<(), String> {
        self.schemas.validate(document, self.index).map_err(|error| error.to_string())
    }
}

/// A folder with lines, rows, and a filter of each sort.
#[cfg(unix)]
fn with_filters() -> Folder {
    let folder = Folder::new();
    folder.write("a", urls(0..2000));
    folder.write("b", urls(1000..3000));
    folder.write("rows.csv", "id,v\n1,x\n2,y\n3\n");
    for (name, kind) in [("blocked", "blocked"), ("other", "blocked"), ("held", "counting")] {
        folder.umbel(&format!("build -o {name} --keys 3000 --kind {kind} a")).run().done();
    }
    folder.umbel("build -o grown --kind scalable --keys 100 a").run().done();
    folder.umbel("build -o rows --kind attributes --csv -k id -k v rows.csv --missing skip").run();
    folder.umbel("build -o guava --format guava --key-type utf16 a").run().done();
    folder.umbel("build -q -o full --keys 2 a").run().done();
    folder.umbel("build -q -o keyed --csv -k id --trim rows.csv").run().done();
    folder.write("key", "00112233445566778899aabbccddeeff\n");
    folder.umbel("build -q -o secret --secret-file key a").run().done();
    folder.umbel("key new --signing -o open.key").run().done();
    let readable = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    fs::set_permissions(folder.path("open.key"), readable).unwrap();
    folder.write("domains", "example.org\n");
    folder.umbel("build -q --prefixes domain -o under domains").run().done();
    let parquet = root().join("testdata/foreign/parquet/groups.parquet");
    folder.write("groups.parquet", fs::read(parquet).unwrap());
    folder
}

/// Runs that print every type of object, and those types.
const RUNS: &[(&str, &[&str])] = &[
    ("common a b", &["report"]),
    ("common a b --fpp 1%", &["report"]),
    ("except a b", &["report"]),
    ("diff a b -o out", &["report"]),
    ("dedup a b", &["report"]),
    ("join --fields -k 1 a b", &["report"]),
    ("join --full --fields -k 1 a b", &["report"]),
    ("unseen seen a", &["report"]),
    ("build -f -o new a", &["report"]),
    ("build -f -o new --format guava --key-type utf16 a", &["report"]),
    ("build -f -o new --kind cascade --except b a --keys 3000", &[]),
    ("add blocked b", &["report"]),
    ("remove held a", &["report"]),
    ("query blocked b", &["report"]),
    ("query --invert guava --key-type utf16 b", &["report"]),
    ("query guava b", &["report"]),
    ("info keyed", &["info"]),
    ("info under", &["info"]),
    ("query --prefixes domain under a", &["report"]),
    ("query --prefixes domain domains a", &["report"]),
    ("query --prefixes domain --explain domains a", &["plan"]),
    ("merge -f -o new blocked other", &["report"]),
    ("convert -f -o new held --to blocked", &["report"]),
    ("info blocked held grown rows guava full", &["info"]),
    ("overlap blocked other", &["compare"]),
    ("overlap blocked held", &["compare"]),
    ("key new -o fresh", &["key"]),
    ("sign --sign open.key blocked", &["warning"]),
    ("build --copies 3 a -o copies", &["report"]),
    ("query b --all copies.1.umbel copies.2.umbel", &["report"]),
    ("audit blocked --candidates b --universe ipv4", &["audit"]),
    ("audit secret --candidates b", &["audit"]),
    ("pack -f blocked -o packed", &["report"]),
    ("info packed", &["info"]),
    ("unpack -f packed -o new", &["report"]),
    ("delta -f blocked other -o delta", &["report"]),
    ("patch -f other delta -o new", &[]),
    ("plan --keys 1M --fpp 1% --ship", &["plan"]),
    ("common a b --explain", &["explain"]),
    ("dedup a --explain --fpp 1%", &["explain"]),
    ("diff a b --explain", &["explain"]),
    ("build -o none --explain a", &["plan"]),
    ("build -o none --explain --format guava --key-type utf16 a", &["plan"]),
    ("query blocked --explain a", &["plan"]),
    ("query guava --explain --key-type utf16 a", &["plan"]),
    ("plan --keys 5G --fpp 1%", &["plan", "advice"]),
    ("plan --keys 1M --fpp 1% --lookup 1ms --deletes", &["plan", "advice"]),
    ("plan --keys 1M --fpp 1e-7 --explain", &["plan", "advice"]),
    ("plan --keys 100M --memory 1MiB", &["plan", "advice"]),
    ("plan --keys 1M --fpp 1% --plot pictures", &["plan", "picture", "advice"]),
    ("info blocked --plot blocked.svg", &["info"]),
    ("plan --table", &["rate"]),
    ("plan --sizes", &["size"]),
    ("demo", &["filter", "insert", "query"]),
    ("parquet list groups.parquet", &["parquet_filter"]),
    (
        "parquet which groups.parquet -c id --keys-from ids",
        &["parquet_key", "parquet_row_groups", "report"],
    ),
    (
        "parquet add --again id name groups.parquet --always -o new.parquet",
        &["parquet_added", "parquet_edit"],
    ),
    ("parquet add user.host groups.parquet --explain", &["parquet_plan"]),
];

#[cfg(unix)]
#[test]
fn what_is_printed_as_json_follows_the_schema() {
    let schema = schema();
    let validator = Validator::new(&schema);
    let folder = with_filters();
    folder.write("ids", b"700\n-1\n");
    let mut all = BTreeSet::new();
    for (arguments, types) in RUNS {
        let run = folder.umbel(&format!("{arguments} --json")).run();
        let out = String::from_utf8(run.stdout).unwrap();
        let objects = out.lines().chain(run.stderr.lines()).filter(|line| line.starts_with('{'));
        let mut found = BTreeSet::new();
        for object in objects {
            let object: Value = serde_json::from_str(object).unwrap();
            let checked = validator.check(&object);
            assert!(checked.is_ok(), "{arguments}: {object}: {}", checked.unwrap_err());
            let name = object["type"].as_str().unwrap().to_owned();
            // A new field is described before it is printed.
            let known = &schema["$defs"][&name]["properties"];
            if !["info", "parquet_filter"].contains(&&*name) {
                for field in object.as_object().unwrap().keys() {
                    assert!(known.get(field).is_some(), "{arguments}: {name} has {field}");
                }
            }
            found.insert(name);
        }
        for name in *types {
            assert!(found.contains(*name), "{arguments}: no {name}: {out}{}", run.stderr);
        }
        all.extend(found);
    }
    let described = schema["oneOf"].as_array().unwrap().iter();
    let described: BTreeSet<_> = described
        .map(|one| one["$ref"].as_str().unwrap().rsplit('/').next().unwrap().to_owned())
        .collect();
    assert_eq!(all, described);
}

#[cfg(unix)]
#[test]
fn what_does_not_follow_the_schema_is_refused() {
    let schema = schema();
    let validator = Validator::new(&schema);
    let folder = with_filters();
    let report = folder.umbel("dedup --json a").run().stderr;
    let report: Value = serde_json::from_str(&report).unwrap();
    assert!(validator.check(&report).is_ok());
    for (field, wrong) in [("type", "raport".into()), ("lines", "2".into()), ("exact", 1.into())] {
        let mut broken = report.clone();
        broken[field] = wrong;
        assert!(validator.check(&broken).is_err(), "{field}");
    }
    let mut less = report;
    less.as_object_mut().unwrap().remove("passes");
    assert!(validator.check(&less).is_err());
}

#[test]
fn every_field_of_a_report_is_on_the_page() {
    let (page, schema) = (page(), schema());
    let defs = ["report", "receipt", "explain"];
    let fields = defs.map(|name| schema["$defs"][name]["properties"].as_object().unwrap().clone());
    for field in fields.iter().flat_map(|fields| fields.keys()) {
        assert!(page.contains(&format!("`{field}`")), "no {field} on the page");
    }
    let types = schema["oneOf"].as_array().unwrap().iter();
    for name in types.map(|one| one["$ref"].as_str().unwrap().rsplit('/').next().unwrap()) {
        assert!(page.contains(&format!("`{name}`")), "no {name} on the page");
    }
}

#[test]
fn the_least_memory_for_a_number_of_threads_is_that_of_the_page() {
    let page = page();
    let row = |name: &str| -> Vec<String> {
        let line = page.lines().find(|line| line.starts_with(name)).expect(name);
        line.split('|')
            .skip(2)
            .map(|cell| cell.trim().to_owned())
            .filter(|c| !c.is_empty())
            .collect()
    };
    let folder = Folder::new();
    folder.write("a", "1\n");
    let columns = row("| threads |").into_iter().zip(row("| least `--memory` |"));
    for (threads, least) in columns {
        let threads = threads.rsplit(' ').next().unwrap().to_owned();
        let least: u64 = least.trim_end_matches(" MiB").parse().unwrap();
        let run = |mib: u64| folder.umbel(&format!("dedup a -j {threads} -m {mib}MiB")).run();
        assert_eq!(run(least).text(), "1\n", "{threads}");
        run(least - 1).fails(&["a memory cap of", &format!("needs at least {least}MiB")]);
    }
}

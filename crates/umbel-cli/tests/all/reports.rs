//! `docs/reference.md` and the schema of reports: what umbel prints as JSON is what they say.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use boon::{Compiler, Schemas};
use serde_json::Value;

use crate::console::root;
use crate::util::{Folder, urls};

fn page() -> String {
    fs::read_to_string(root().join("docs/reference.md")).unwrap()
}

fn schema() -> Value {
    serde_json::from_slice(&fs::read(root().join("docs/reports.schema.json")).unwrap()).unwrap()
}

/// What checks documents by a schema.
fn validator(schema: &Value) -> impl Fn(&Value) -> Result<(), String> {
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.add_resource("schema.json", schema.clone()).unwrap();
    let index = compiler.compile("schema.json", &mut schemas).unwrap();
    move |document| schemas.validate(document, index).map_err(|error| error.to_string())
}

/// The fields of objects that a part of the schema describes, with what it says of each.
fn fields<'a>(schema: &'a Value, part: &'a Value) -> BTreeMap<&'a str, &'a Value> {
    let mut all = BTreeMap::new();
    if let Some(name) = part["$ref"].as_str() {
        all.extend(fields(schema, &schema["$defs"][name.rsplit('/').next().unwrap()]));
    }
    for several in ["oneOf", "allOf"] {
        let parts = part[several].as_array().into_iter().flatten();
        all.extend(parts.flat_map(|part| fields(schema, part)));
    }
    let own = part["properties"].as_object().into_iter().flatten();
    all.extend(own.map(|(name, part)| (&**name, part)));
    all
}

/// A field, however deep, that a part of the schema does not describe.
fn undescribed(schema: &Value, part: &Value, value: &Value) -> Option<String> {
    if let Some(items) = value.as_array() {
        return items.iter().find_map(|item| undescribed(schema, &part["items"], item));
    }
    let known = fields(schema, part);
    // Some objects have any fields, such as what other systems' files declare.
    let members = value.as_object().filter(|_| !known.is_empty())?;
    members.iter().find_map(|(name, value)| match known.get(&**name) {
        None => Some(name.clone()),
        Some(part) => undescribed(schema, part, value),
    })
}

/// A folder with lines, rows, a filter of each sort, and indexes.
#[cfg(unix)]
fn with_filters() -> Folder {
    let folder = Folder::new();
    folder.write("a", urls(0..2000));
    folder.write("b", urls(1000..3000));
    folder.write("rows.csv", "id,v\n1,x\n2,y\n3\n");
    for (name, kind) in [("blocked", "blocked"), ("other", "blocked"), ("held", "counting")] {
        folder.umbel(&format!("filter build -o {name} --keys 3000 --kind {kind} a")).run().done();
    }
    for kind in ["window", "stable", "coded", "bloomier", "scalable:1"] {
        folder.umbel(&format!("filter build -o {kind} --keys 3000 --kind {kind} a")).run().done();
    }
    folder.umbel("filter build -q -o stuck --keys 20 --kind counting a").run().done();
    folder.umbel("filter build -o grown --kind scalable --keys 100 a").run().done();
    folder
        .umbel("filter build -o rows --kind attributes --csv -k id -k v rows.csv --missing skip")
        .run();
    folder.umbel("filter build -q -o few --keys 2 --kind attributes --fields -k 1 a").run().done();
    folder.umbel("filter build -o guava --format guava --key-type utf16 a").run().done();
    folder.umbel("filter build -q -o full --keys 2 a").run().done();
    folder.umbel("filter build -q -o keyed --csv -k id --trim rows.csv").run().done();
    folder.write("key", "00112233445566778899aabbccddeeff\n");
    folder.umbel("filter build -q -o secret --secret-file key a").run().done();
    folder.umbel("filter key new --signing -o open.key").run().done();
    folder.umbel("filter build -o signed --sign open.key --list urls --serial 7 a").run().done();
    let readable = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    fs::set_permissions(folder.path("open.key"), readable).unwrap();
    folder.write("domains", "example.org\n");
    folder.umbel("filter build -q --prefixes domain -o under domains").run().done();
    fs::create_dir(folder.path("logs")).unwrap();
    for (name, id) in [("gone", 17), ("kept", 17), ("stale", 18)] {
        folder.write(&format!("logs/{name}"), format!("user_id={id} from {name}\n"));
    }
    folder.umbel("index -q -o words logs/kept rows.csv").run().done();
    folder.umbel("index -q -o old logs").run().done();
    folder.umbel("index -q --csv -k id -o values rows.csv --missing skip").run().done();
    fs::remove_file(folder.path("logs/gone")).unwrap();
    folder.append("logs/stale", "user_id=17 again\n");
    folder.write("logs/new", "user_id=17 from new\n");
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
    ("match domains a", &["report"]),
    ("match under a", &["report"]),
    ("index -o new.index logs rows.csv", &["report"]),
    ("index -f --csv -k id --missing skip -o new.index rows.csv", &["report"]),
    ("find words user_id=17", &["line", "report"]),
    ("find words user_id=17 from nowhere", &["line", "report"]),
    ("find --files words user_id=17", &["file", "report"]),
    ("find --count words user_id=17", &["file", "report"]),
    ("find --not-found words user_id=17 nowhere", &["not_found", "report"]),
    ("find -F words ser_id", &["line", "report"]),
    ("find logs user_id=17", &["line", "report"]),
    ("find old user_id=17", &["line", "report"]),
    ("find values 2", &["line", "report"]),
    ("find words nowhere", &["report"]),
    ("filter build -f -o new a", &["report"]),
    ("filter build -f -o new --format guava --key-type utf16 a", &["report"]),
    ("filter build -f -o new --sign open.key a", &["report"]),
    ("filter build -o cascade --kind cascade --except domains a", &["report"]),
    ("filter build -q -f -o new --keys 2 a", &["warning"]),
    ("filter add blocked b", &["report"]),
    ("filter remove held a", &["report"]),
    ("filter query blocked b", &["report"]),
    ("filter query --invert guava --key-type utf16 b", &["report"]),
    ("filter query guava b", &["report"]),
    ("filter info keyed", &["info"]),
    ("filter info under", &["info"]),
    ("filter info signed", &["info"]),
    ("filter info words values old", &["info"]),
    ("filter merge -f -o new blocked other", &["report"]),
    ("filter fold -f -o new blocked", &["report"]),
    ("filter convert -f -o new held --to blocked", &["report"]),
    ("filter info blocked held stuck grown rows few guava full", &["info"]),
    ("filter info window stable coded bloomier cascade scalable:1", &["info"]),
    ("filter overlap blocked other", &["compare"]),
    ("filter overlap blocked held", &["compare"]),
    ("filter key new -o fresh", &["key"]),
    ("filter key id key", &["key"]),
    ("filter sign open.key blocked", &["warning"]),
    ("filter verify open.key.pub signed", &["signature"]),
    ("filter build --copies 3 a -o copies", &["report"]),
    ("filter query b --all copies.1.umbel copies.2.umbel", &["report"]),
    ("filter audit blocked --candidates b --universe ipv4", &["audit"]),
    ("filter audit secret --candidates b", &["audit"]),
    ("filter audit secret --secret-file key --candidates b", &["audit"]),
    ("filter pack -f blocked -o packed", &["report"]),
    ("filter info packed", &["info"]),
    ("filter unpack -f packed -o new", &["report"]),
    ("filter delta -f blocked other -o delta", &["report"]),
    ("filter patch -f blocked delta -o new", &["report"]),
    ("filter plan --keys 1M --fpp 1% --ship", &["plan"]),
    ("common a b --explain", &["explain"]),
    ("dedup a --explain --fpp 1%", &["explain"]),
    ("diff a b --explain", &["explain"]),
    ("match --explain domains a", &["plan"]),
    ("match --explain under a", &["plan"]),
    ("filter build -o none --explain a", &["plan"]),
    ("filter build -o none --explain --sign open.key a", &["plan", "warning"]),
    ("filter build -o none --explain --format guava --key-type utf16 a", &["plan"]),
    ("filter query blocked --explain a", &["plan"]),
    ("filter query guava --explain --key-type utf16 a", &["plan"]),
    ("filter plan --keys 5G --fpp 1%", &["plan", "advice"]),
    ("filter plan --keys 1M --fpp 1% --lookup 1ms --deletes", &["plan", "advice"]),
    ("filter plan --keys 1M --fpp 1e-7 --explain", &["plan", "advice"]),
    ("filter plan --keys 100M --memory 1MiB", &["plan", "advice"]),
    ("filter plan --keys 1M --fpp 1% --plot pictures", &["plan", "picture", "advice"]),
    ("filter info blocked --plot blocked.svg", &["info"]),
    ("filter plan --table", &["rate"]),
    ("filter plan --sizes", &["size"]),
    ("parquet list groups.parquet", &["parquet_filter"]),
    (
        "parquet which groups.parquet -c id --keys-from ids",
        &["parquet_key", "parquet_row_groups", "report"],
    ),
    ("parquet which groups.parquet -c name --keys-from raw", &["parquet_key", "report"]),
    (
        "parquet add --again -c id -c name groups.parquet --always -o new.parquet",
        &["parquet_added", "parquet_edit"],
    ),
    ("parquet add -c user.host groups.parquet --explain", &["parquet_plan"]),
    ("parquet remove --all groups.parquet -o less.parquet", &["parquet_edit"]),
];

#[cfg(unix)]
#[test]
fn what_is_printed_as_json_follows_the_schema() {
    let schema = schema();
    let check = validator(&schema);
    let folder = with_filters();
    folder.write("ids", b"700\n-1\n");
    folder.write("raw", b"\xff\n");
    let mut all = BTreeSet::new();
    for (arguments, types) in RUNS {
        let run = folder.umbel(&format!("{arguments} --json")).run();
        let out = String::from_utf8(run.stdout).unwrap();
        let objects = out.lines().chain(run.stderr.lines()).filter(|line| line.starts_with('{'));
        let mut found = BTreeSet::new();
        for object in objects {
            let object: Value = serde_json::from_str(object).unwrap();
            let checked = check(&object);
            assert!(checked.is_ok(), "{arguments}: {object}: {}", checked.unwrap_err());
            let name = object["type"].as_str().unwrap().to_owned();
            // A new field is described before it is printed.
            let new = undescribed(&schema, &schema["$defs"][&name], &object);
            assert_eq!(new, None, "{arguments}: {object}");
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
    let check = validator(&schema);
    let folder = with_filters();
    let report = |arguments: &str| -> Value {
        let report = folder.umbel(&format!("{arguments} --json")).run().stderr;
        let report: Value = serde_json::from_str(&report).unwrap();
        assert!(check(&report).is_ok(), "{report}");
        report
    };
    let found = report("find words nowhere");
    let report = report("dedup a");
    for (field, wrong) in [("type", "raport".into()), ("lines", "2".into()), ("exact", 1.into())] {
        let mut broken = report.clone();
        broken[field] = wrong;
        assert!(check(&broken).is_err(), "{field}");
    }
    for (mut report, field) in [(report, "passes"), (found, "blocks_read")] {
        report.as_object_mut().unwrap().remove(field);
        assert!(check(&report).is_err(), "{field}");
    }
}

#[test]
fn every_field_of_a_report_is_on_the_page() {
    let (page, schema) = (page(), schema());
    for (name, part) in schema["$defs"].as_object().unwrap() {
        for field in fields(&schema, part).keys() {
            assert!(page.contains(&format!("`{field}`")), "no {field} of {name} on the page");
        }
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
        let cells = line.split('|').skip(2).map(str::trim);
        cells.filter(|cell| !cell.is_empty()).map(str::to_owned).collect()
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

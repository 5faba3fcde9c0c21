//! Pictures of plans and of filters: whole files with what they should show.

use roxmltree::Document;

use crate::console::root;
use crate::util::{Folder, here, urls};

const NAMES: [&str; 5] = ["rate-by-probes", "exponent", "rate-by-keys", "overfill", "bits-by-rate"];

/// The texts of an SVG that parses, each below the title inside of the picture.
fn texts(folder: &Folder, name: &str) -> Vec<String> {
    let svg = String::from_utf8(folder.read(name)).unwrap();
    let document = Document::parse(&svg).unwrap_or_else(|error| panic!("{name}: {error}"));
    let root = document.root_element();
    let size = |name: &str| root.attribute(name).unwrap().parse::<f64>().unwrap();
    let (width, height) = (size("width"), size("height"));
    let mut texts = Vec::new();
    for node in document.descendants().filter(|node| node.has_tag_name("text")) {
        let number = |name: &str| node.attribute(name).unwrap().parse::<f64>().unwrap();
        let (x, y) = (number("x"), number("y"));
        let text = node.text().unwrap_or_default().to_owned();
        assert!((0.0..width).contains(&x) && (0.0..height).contains(&y), "{name}: {text}");
        // DejaVu Sans, which is wide, has 0.6 of its size a letter on average.
        let long = 0.6 * number("font-size") * text.chars().count() as f64;
        if node.attribute("text-anchor") == Some("start") {
            assert!(x + long <= width, "{name}: {text:?} ends at {} of {width}", x + long);
        }
        texts.push(text);
    }
    texts
}

fn has(texts: &[String], expected: &[&str]) {
    for part in expected {
        assert!(texts.iter().any(|text| text.contains(part)), "no {part:?} in {texts:?}");
    }
}

#[test]
fn five_pictures_of_a_plan() {
    let folder = Folder::new();
    let table = folder.umbel("filter plan --keys 1e6 --fpp 0.01 --plot pictures").run().text();
    assert!(table.contains("blocked") && table.contains("1,000,000"), "the table stays");
    let (_, written) = table.split_once("\nPictures written:\n").expect("it says what it wrote");
    let written = written.lines().map(|line| line.split_whitespace().next().unwrap());
    let expected = NAMES.map(|name| here(&format!("pictures/{name}.svg")));
    assert!(written.eq(expected.iter().map(String::as_str)), "{table}");
    assert_eq!(folder.names(), ["pictures"]);
}

/// The pictures of the documents, made again by the commands of docs/pictures/README.md.
#[test]
fn pictures_of_the_documents_are_up_to_date() {
    let kept = root().join("docs/pictures");
    let folder = Folder::new();
    folder.umbel("filter plan --keys 1e6 --fpp 0.01 --plot .").run().text();
    let numbers: String = (1..=100_000).map(|number| format!("{number}\n")).collect();
    folder.umbel("filter build -q -o blocked.umbel --keys 1e5").stdin(numbers).run().done();
    folder.umbel("filter info blocked.umbel --plot blocked.svg").run().text();
    for name in NAMES.into_iter().chain(["blocked"]) {
        let file = format!("{name}.svg");
        let same = folder.read(&file) == std::fs::read(kept.join(&file)).unwrap();
        assert!(same, "docs/pictures/{file} is not what umbel draws");
    }
}

#[test]
fn any_goal_has_pictures() {
    for goal in [
        "--keys 1 --fpp 0.9",
        "--keys 50 --fpp 0.1",
        "--keys 1e6 --fpp 0.01",
        "--keys 5e9 --fpp 1e-6",
        "--keys 1e12 --fpp 1e-12",
        "--keys 1e6 --memory 1MiB",
        "--fpp 0.001 --memory 1GiB",
        "--keys 1000 --memory 64KiB",
    ] {
        let folder = Folder::new();
        folder.umbel(&format!("filter plan {goal} --plot .")).run().text();
        for name in NAMES {
            let texts = texts(&folder, &format!("{name}.svg"));
            assert!(texts.len() > 15, "{goal}: {texts:?}");
            assert!(
                !texts.iter().any(|text| text.contains("NaN") || text.contains("inf")),
                "{texts:?}"
            );
            let svg = String::from_utf8(folder.read(&format!("{name}.svg"))).unwrap();
            assert!(!svg.contains("NaN") && !svg.contains("inf,"), "{goal}: {name}");
        }
    }
}

#[test]
fn inside_of_filters() {
    let folder = Folder::new();
    folder.write("lines", urls(0..20_000));
    folder.write("others", urls(20_000..40_000));
    for (kind, expected) in [
        ("blocked", &["by chance", "bits set, of 512 in a block", "Fill along the file"][..]),
        ("classic", &["by chance"]),
        ("sliced", &["by chance"]),
        ("counting", &["by chance", "counters in use, of 512 in a block"]),
        ("scalable --keys 2000", &["by chance", "link 3"]),
        ("window --keys 5000", &["by chance", "Fill of each generation"]),
        ("stable --keys 2000", &["cells in use, of"]),
        ("coded", &["codes in use, of"]),
        ("bloomier", &["bits set, of 512"]),
        ("cascade --except others", &["level 1"]),
    ] {
        folder.umbel(&format!("filter build -q -f -o f --kind {kind} lines")).run().done();
        folder.umbel("filter info f --plot f.svg -f").run().text();
        let texts = texts(&folder, "f.svg");
        has(&texts, expected);
        has(&texts, &["blocks counted", "emptiest to fullest block", "mean fill", "all blocks: "]);
        assert_eq!(
            texts.iter().any(|text| text.contains("by chance")),
            expected[0] == "by chance" || kind.starts_with("cascade")
        );
    }
    folder.umbel("filter build -q -f -o empty --keys 5").stdin("").run().done();
    folder.umbel("filter info empty --plot empty.svg").run().text();
    has(&texts(&folder, "empty.svg"), &["1 block,"]);
}

/// A legend has what is drawn, and nothing else.
#[test]
fn legends_of_few_blocks() {
    let folder = Folder::new();
    folder.umbel("filter build -q -o small --keys 300").stdin(urls(0..300)).run().done();
    folder.umbel("filter info small --plot small.svg").run().text();
    let small = texts(&folder, "small.svg");
    has(&small, &["Fill of each block", "all blocks: "]);
    assert!(!small.iter().any(|text| text.contains("emptiest")), "{small:?}");
    folder.umbel("filter build -q -o w --kind window:3 --keys 10").stdin(urls(0..30)).run().done();
    folder.umbel("filter info w --plot w.svg").run().text();
    let window = texts(&folder, "w.svg");
    has(&window, &["Fill of each generation", "generation"]);
    assert!(!window.iter().any(|text| text.contains("emptiest")), "a block each: {window:?}");
    let run = folder.umbel("filter build -q -o full --keys 100").stdin(urls(0..3_000)).run();
    run.done();
    folder.umbel("filter info full --plot full.svg").run().text();
    has(&texts(&folder, "full.svg"), &["over-filled: planned for 100 keys at 0.0100"]);
}

/// The star of the plan lies on the curve of the plan's own size.
#[test]
fn the_star_is_on_the_plans_curve() {
    for goal in ["--keys 1e6 --fpp 0.01", "--keys 50 --fpp 0.1", "--keys 5e9 --fpp 1e-9"] {
        let folder = Folder::new();
        folder.umbel(&format!("filter plan {goal} --plot .")).run().text();
        let svg = String::from_utf8(folder.read("rate-by-keys.svg")).unwrap();
        let document = Document::parse(&svg).unwrap();
        let points = |node: roxmltree::Node<'_, '_>| -> Vec<(f64, f64)> {
            let points = node.attribute("points").unwrap().split(' ');
            let point = |text: &str| {
                let (x, y) = text.split_once(',').unwrap();
                (x.parse().unwrap(), y.parse().unwrap())
            };
            points.map(point).collect()
        };
        let stars = document.descendants().filter(|node| node.has_tag_name("polygon"));
        let stars: Vec<_> = stars.map(points).filter(|star| star.len() == 10).collect();
        // One in the picture, one in the legend, which is on the right.
        let star = stars.iter().min_by(|a, b| a[0].0.total_cmp(&b[0].0)).unwrap();
        let middle = |of: fn(&(f64, f64)) -> f64| star.iter().map(of).sum::<f64>() / 10.0;
        let (x, y) = (middle(|point| point.0), middle(|point| point.1));
        let curves = document.descendants().filter(|node| {
            node.has_tag_name("polyline") && node.attribute("stroke") == Some("#000000")
        });
        let curve = curves.map(points).max_by_key(Vec::len).unwrap();
        let (from, to) =
            curve.windows(2).map(|pair| (pair[0], pair[1])).find(|(_, to)| to.0 >= x).unwrap();
        let at = from.1 + (to.1 - from.1) * (x - from.0) / (to.0 - from.0);
        assert!((at - y).abs() < 2.0, "{goal}: the star is at {x}, {y}, the curve at {at}");
    }
}

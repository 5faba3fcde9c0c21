//! Pictures of plans and of filters: whole files with what they should show.

use roxmltree::Document;
use tiny_skia::Pixmap;

use crate::util::{Folder, urls};

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

/// A PNG that is no blank.
fn check_png(bytes: &[u8], (width, height): (u32, u32)) {
    assert_eq!(bytes[..8], *b"\x89PNG\r\n\x1a\n");
    let pixels = Pixmap::decode_png(bytes).unwrap();
    assert_eq!((pixels.width(), pixels.height()), (width, height));
    let drawn = pixels.pixels().iter().filter(|pixel| pixel.green() < 250).count();
    let all = pixels.pixels().len();
    assert!(drawn > all / 200 && drawn < all / 2, "{drawn} of {all} pixels");
}

#[test]
fn five_pictures_of_a_plan() {
    let folder = Folder::new();
    let table = folder.umbel("plan --keys 1e6 --fpp 0.01 --plot pictures").run().text();
    assert!(table.contains("blocked") && table.contains("1,000,000"), "the table stays");
    assert_eq!(folder.names(), ["pictures"]);
    let texts = NAMES.map(|name| texts(&folder, &format!("pictures/{name}.svg")));
    let [probes, exponent, keys, overfill, bits] = texts;
    has(
        &probes,
        &["probes a key, k", "m = 40 bits", "exact (Bose et al. 2008)", "limit", "n = 0.1 m"],
    );
    has(&exponent, &["g(p) =", "m/n = 9.62", "best k = ln 2 · m/n = 6.67"]);
    has(
        &keys,
        &["keys, n", "log2 m = 8: 32 B", "log2 m = 36: 8.00 GiB", "1,000,000 keys at 0.0100"],
    );
    has(
        &overfill,
        &["planned for 1,000,000 keys", "blocked, counting", "scalable", "promised: 0.0100"],
    );
    has(&bits, &["bits a key", "bloomier", "stable", "log2(1/p)", "ln(1/p) / (ln 2)²"]);
    for name in NAMES {
        assert!(folder.read(&format!("pictures/{name}.svg")).len() < 150_000, "{name}");
    }
}

#[test]
fn any_goal_has_pictures() {
    for goal in [
        "--keys 1 --fpp 0.9",
        "--keys 50 --fpp 0.1",
        "--keys 5e9 --fpp 1e-6",
        "--keys 1e12 --fpp 1e-12",
        "--keys 1e6 --memory 1MiB",
        "--fpp 0.001 --memory 1GiB",
        "--keys 1000 --memory 64KiB",
    ] {
        let folder = Folder::new();
        folder.umbel(&format!("plan {goal} --plot .")).run().text();
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
fn as_png_without_fonts_of_the_system() {
    let folder = Folder::new();
    let mut run = folder.umbel("plan --keys 1000 --fpp 0.1 --plot p --plot-format png");
    run.command.env("FONTCONFIG_FILE", "/dev/null");
    run.run().text();
    let svg = Folder::new();
    svg.umbel("plan --keys 1000 --fpp 0.1 --plot p").run().text();
    for name in NAMES {
        let text = String::from_utf8(svg.read(&format!("p/{name}.svg"))).unwrap();
        let document = Document::parse(&text).unwrap();
        let size = |name: &str| {
            document.root_element().attribute(name).unwrap().parse::<f64>().unwrap().ceil() as u32
        };
        let bytes = folder.read(&format!("p/{name}.png"));
        let pixels = Pixmap::decode_png(&bytes).unwrap();
        assert!(pixels.width().abs_diff(2 * size("width")) <= 2, "{name}");
        check_png(&bytes, (pixels.width(), 2 * size("height")));
    }
}

#[test]
fn existing_pictures_stay_unless_forced() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("p")).unwrap();
    folder.write("p/overfill.svg", "mine");
    folder
        .umbel("plan --keys 1000 --fpp 0.1 --plot p")
        .run()
        .fails(&["p/overfill.svg: already there; --force replaces it"]);
    assert_eq!(folder.read("p/overfill.svg"), b"mine");
    assert!(!folder.path("p/exponent.svg").exists(), "refused before any work");
    folder.umbel("plan --keys 1000 --fpp 0.1 --plot p --force").run().text();
    texts(&folder, "p/overfill.svg");
    folder.write("file", "");
    folder.umbel("plan --keys 1000 --fpp 0.1 --plot file").run().fails(&["file"]);
    folder.umbel("plan --keys 1000 --fpp 0.1 --plot-format png").run().fails(&["--plot"]);
    folder
        .umbel("plan --keys 1000 --fpp 0.1 --plot q --plot-format gif")
        .run()
        .fails(&["svg", "png"]);
}

#[test]
fn inside_of_filters() {
    let folder = Folder::new();
    folder.write("lines", urls(0..20_000));
    folder.write("others", urls(20_000..40_000));
    for (kind, expected) in [
        ("blocked", &["by chance", "bits set in a block of 512", "Fill along the file"][..]),
        ("classic", &["by chance"]),
        ("sliced", &["by chance"]),
        ("counting", &["by chance", "counters in a block of 512"]),
        ("scalable --keys 2000", &["by chance", "link 3"]),
        ("window --keys 5000", &["by chance"]),
        ("stable --keys 2000", &["cells in a block"]),
        ("coded", &["codes in a block"]),
        ("bloomier", &["bits set in a block"]),
        ("cascade --except others", &["level 1"]),
    ] {
        folder.umbel(&format!("build -q -f -o f --kind {kind} lines")).run().done();
        folder.umbel("info f --plot f.svg -f").run().text();
        let texts = texts(&folder, "f.svg");
        has(&texts, expected);
        has(&texts, &["blocks counted", "emptiest to fullest block", "mean fill"]);
        assert_eq!(
            texts.iter().any(|text| text.contains("by chance")),
            expected[0] == "by chance" || kind.starts_with("cascade")
        );
    }
    folder.umbel("info f --plot f.PNG").run().text();
    check_png(&folder.read("f.PNG"), (2000, 1040));
    folder.umbel("build -q -f -o empty --keys 5").stdin("").run().done();
    folder.umbel("info empty --plot empty.svg").run().text();
    has(&texts(&folder, "empty.svg"), &["1 block,"]);
}

#[test]
fn pictures_of_filters_go_where_they_can() {
    let folder = Folder::new();
    folder.umbel("build -q -o f").stdin("a\nb\n").run().done();
    folder.umbel("info f --plot f.gif").run().fails(&["f.gif", ".svg", ".png"]);
    folder.umbel("info f f --plot f.svg").run().fails(&["one filter"]);
    folder.umbel("info f --plot no/f.svg").run().fails(&["no/f.svg", "no folder"]);
    folder.umbel("info f --force").run().fails(&["--plot"]);
    folder.umbel("info missing --plot f.svg").run().fails(&["missing"]);
    folder.umbel("info f --plot f.svg").run().text();
    folder.write("f.svg", "mine");
    folder.umbel("info f --plot f.svg").run().fails(&["f.svg: already there"]);
    assert_eq!(folder.read("f.svg"), b"mine");
    let json = folder.umbel("info f --json --plot f.svg --force").run().text();
    assert_eq!(json.lines().count(), 1);
    assert_ne!(folder.read("f.svg"), b"mine");
    assert_eq!(folder.names(), ["f", "f.svg"]);
}

//! The content of an index of files, as rows and as a document.

use serde_json::{Value, json};
use umbel_find::index::About;
use umbel_numbers::{Count, Rate, Size, counted};

use crate::receipt::Row;

/// A share in percent, with one digit.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// Bits of the filter of a block, on average.
fn bits_per_block(about: &About) -> f64 {
    8.0 * about.filters as f64 / about.blocks.max(1) as f64
}

fn roots(about: &About) -> Vec<String> {
    about.roots.iter().map(|root| root.display().to_string()).collect()
}

/// The document of an index called `name`, as `umbel filter info --json` prints it.
pub fn json(about: &About, name: &str) -> Value {
    json!({
        "type": "info",
        "file": name,
        "kind": "index",
        "keys": if about.fields.is_empty() { "words" } else { "fields" },
        "fields": about.fields,
        "files": about.files,
        "blocks": about.blocks,
        "text": about.text,
        "bytes": about.bytes,
        "bits_per_block": bits_per_block(about),
        "fill": about.fill,
        "groups": about.groups,
        "roots": roots(about),
    })
}

/// The same as rows.
pub fn rows(about: &About) -> Vec<Row> {
    let keys = match &about.fields[..] {
        [] => "words of lines".to_owned(),
        [field] => format!("values of the field {field}"),
        fields => format!("values of the fields {}", fields.join(", ")),
    };
    let rate = match about.fields[..] {
        [_, ..] => format!("{} of a value", Rate(about.fill.powi(8))),
        [] => {
            let [long, short] = [12, 4].map(|probes| Rate(about.fill.powi(probes)));
            format!("{long} of a word of 12 letters or more, {short} of one of 4 to 7")
        }
    };
    let share = percent(about.bytes as f64 / about.text.max(1) as f64);
    let (bits, set) = (bits_per_block(about), percent(about.fill));
    let rows = [
        ("keys", keys),
        ("of", roots(about).join(", ")),
        ("files", Count(about.files).to_string()),
        ("text", format!("{} in {}", Size(about.text), counted(about.blocks, "block"))),
        ("size", format!("{}, {share} of the text", Size(about.bytes))),
        ("filters", format!("{} bits per block, {set} of them set", Count(bits.round() as u64))),
        ("false positives", format!("{rate}, per block")),
        ("looked up in", counted(about.groups, "group")),
    ];
    rows.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

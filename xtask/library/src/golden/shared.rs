//! The golden files of packed filters, deltas and signatures, made from those of filters, and messages of summaries.

use std::fs;
use std::io::{Cursor, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::json;
use umbel::{AnyFilter, Filter, KeyHasher, Kind, Plan};
use umbel_share::sign::{Label, SecretKey, Signer};
use umbel_share::summary::{Limits, Peers, Settings, Summary};
use umbel_share::{delta, pack};

/// Filters that need, with the deltas, each form of a frame, some of several frames, and with headers of every length.
const PACKED: [&str; 13] = [
    "attributes-chunks",
    "blocked-chunks",
    "blocked-empty",
    "blocked-k16",
    "blocked-k8",
    "bloomier-8",
    "caller-pairs",
    "cascade-list",
    "classic-odd",
    "coded-12",
    "counting-16",
    "described-scalable",
    "window-four",
];

/// The secret key of the signed files, a key of RFC 8032, section 7.1.
const SECRET: &str = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";

/// Writes them to `folder`; `golden` has the filters.
pub(super) fn write(golden: &Path, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    let put = |name: &str, bytes: &[u8]| super::write(&folder.join(name), bytes);
    let read = |name: &str| fs::read(golden.join(name)).with_context(|| name.to_owned());
    let (mut packed, mut deltas, mut signed) = (Vec::new(), Vec::new(), Vec::new());
    for name in PACKED {
        let (from, to) = (format!("{name}.umbel"), format!("{name}.packed"));
        put(&to, &pack(&read(&from)?)?)?;
        packed.push(json!({"file": to, "filter": format!("../golden/{from}")}));
    }
    put("sparse.umbel", &sparse()?)?;
    put("sparse.packed", &pack(&sparse()?)?)?;
    packed.push(json!({"file": "sparse.packed", "filter": "sparse.umbel"}));

    for (name, more) in [("blocked-k8", 10), ("counting-4", 300), ("scalable-one", 2_000)] {
        let base = read(&format!("{name}.umbel"))?;
        let result = with_more(&base, more)?;
        put(&format!("{name}-more.umbel"), &result)?;
        put(&format!("{name}-more.delta"), &delta_of(&base, &result)?)?;
        deltas.push(json!({
            "file": format!("{name}-more.delta"),
            "base": format!("../golden/{name}.umbel"),
            "result": format!("{name}-more.umbel"),
        }));
    }
    // Of several frames, and nothing in them.
    let (same, name) = ("../golden/blocked-chunks.umbel", "blocked-chunks-same.delta");
    let file = fs::read(folder.join(same))?;
    put(name, &delta_of(&file, &file)?)?;
    deltas.push(json!({"file": name, "base": same, "result": same}));

    let bytes: Vec<u8> = (0..32)
        .map(|at| u8::from_str_radix(&SECRET[2 * at..][..2], 16))
        .collect::<Result<_, _>>()?;
    let key = SecretKey::from_bytes(bytes.try_into().expect("32 bytes"));
    for (of, to, list, serial) in [
        ("../golden/classic-tiny.umbel", "classic-tiny-signed.umbel", "", 0),
        ("classic-odd.packed", "classic-odd-signed.packed", "block", 7),
        (
            "blocked-k8-more.delta",
            "blocked-k8-more-signed.delta",
            "Sperrliste für Österreich",
            u64::MAX,
        ),
    ] {
        let mut signer = Signer::new(Vec::new());
        signer.write_all(&fs::read(folder.join(of))?)?;
        put(to, &signer.finish(&key, &Label::new(list, serial)?)?)?;
        let public = key.public().to_string();
        signed.push(json!({
            "file": to, "of": of, "secret": SECRET, "public": public, "list": list, "serial": serial,
        }));
    }
    // A signature of the filter itself comes with it.
    let inner = fs::read(folder.join("classic-tiny-signed.umbel"))?;
    put("classic-tiny-signed-within.packed", &pack(&inner)?)?;
    packed.push(json!({
        "file": "classic-tiny-signed-within.packed",
        "filter": "classic-tiny-signed.umbel",
    }));

    let manifest = json!({
        "packed": packed,
        "deltas": deltas,
        "signed": signed,
        "messages": messages(folder)?,
    });
    put("manifest.json", format!("{}\n", serde_json::to_string_pretty(&manifest)?).as_bytes())
}

/// A message of each form, from one cache, and the filters that they make.
fn messages(folder: &Path) -> Result<Vec<serde_json::Value>> {
    let put = |name: &str, bytes: &[u8]| super::write(&folder.join(name), bytes);
    let name = "cache-1.example:3128";
    let settings = Settings { bits_per_key: 8.0, threshold: 0.05 };
    let mut sender = Summary::new(name, 7, 300, settings, KeyHasher::default())?;
    let mut receiver = Peers::new(KeyHasher::default(), Limits::default());
    receiver.add(name);
    let now = Duration::ZERO;
    let page = |number: u64| format!("/page/{number}");
    let nothing = Vec::<u64>::new;

    let request = receiver.request(name, now).context("a peer")?;
    (0..250).for_each(|number| sender.insert(page(number)));
    sender.publish(nothing)?;
    let full = sender.full();
    receiver.receive(name, &full, now)?;
    put("summary-full.umbel", &receiver.filter(name).context("a filter")?.to_bytes())?;
    for number in 0..10 {
        sender.remove(page(number));
        sender.insert(page(250 + number));
    }
    let beat = sender.beat();
    (260..263).for_each(|number| sender.insert(page(number)));
    let delta = sender.publish(nothing)?.context("13 of 253 keys are above 5 %")?;
    receiver.receive(name, &delta, now)?;
    put("summary-delta.umbel", &receiver.filter(name).context("a filter")?.to_bytes())?;

    let mut listed = Vec::new();
    for (form, bytes) in [("request", request), ("full", full), ("beat", beat), ("delta", delta)] {
        let file = format!("summary-{form}.message");
        put(&file, &bytes)?;
        let mut case = json!({"file": file, "form": form, "cache": name});
        if let "full" | "delta" = form {
            case["result"] = json!(format!("summary-{form}.umbel"));
        }
        if form == "delta" {
            case["base"] = json!("summary-full.umbel");
        }
        listed.push(case);
    }
    Ok(listed)
}

/// A filter planned for sending, whose frame is coded by set bits.
fn sparse() -> Result<Vec<u8>> {
    let plan = Plan::from_parts(Kind::Classic, 300, 0.0108, 300 * 92, 1)?;
    let keys: Vec<u64> = (0..300).collect();
    Ok(AnyFilter::build(&plan, &keys, KeyHasher::default())?.to_bytes())
}

fn pack(file: &[u8]) -> Result<Vec<u8>> {
    let mut packed = Vec::new();
    pack::Encoder::new(file, file.len() as u64)?.write(&mut packed)?;
    Ok(packed)
}

fn delta_of(base: &[u8], result: &[u8]) -> Result<Vec<u8>> {
    let file = |bytes| (Cursor::new(bytes), (bytes as &[u8]).len() as u64);
    let mut delta = Vec::new();
    delta::Encoder::new(file(base), file(result))?.write(&mut delta)?;
    Ok(delta)
}

fn with_more(base: &[u8], more: u64) -> Result<Vec<u8>> {
    let mut filter = AnyFilter::from_bytes(base)?;
    let keys: Vec<String> = (0..more).map(|n| format!("more {n}")).collect();
    filter.try_insert_all(&keys)?;
    Ok(filter.to_bytes())
}

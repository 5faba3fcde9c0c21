//! `umbel filter audit`: what `cases/audit.md` cannot show.

use serde_json::Value;

use crate::util::{Folder, lines};

const SECRET: &str = "00112233445566778899aabbccddeeff\n";

fn address(number: u32) -> String {
    std::net::Ipv4Addr::from(number.wrapping_mul(2_654_435_761)).to_string()
}

fn audit(folder: &Folder, arguments: &str) -> Value {
    let text = folder.umbel(&format!("filter audit --json {arguments}")).run().text();
    serde_json::from_str(&text).unwrap()
}

/// 1,000 of 65,536 candidates, of which the rate alone makes each that passes a member with a probability of 0.63: by the
/// bits four in five are members for certain. Three standard deviations of 1,000 are 0.04.
#[test]
fn members_of_a_small_universe_are_certain() {
    let folder = Folder::new();
    folder.write("all", lines((0..65_536).map(address)));
    folder.write("half", lines((0..30_000).map(address)));
    folder.write("list", lines((0..65_536).step_by(66).map(address)));
    folder.write_private("secret", SECRET);
    for build in ["", "--secret-file secret", "--kind counting", "--kind classic", "--kind sliced"]
    {
        folder.umbel(&format!("filter build -q -f -o f --keys 1000 {build} list")).run().done();
        let secret = if build.contains("secret") { build } else { "" };
        let found = audit(&folder, &format!("f {secret} --candidates all --universe 65536"));
        let number = |name: &str| found[name].as_f64().unwrap_or_else(|| panic!("{name}: {found}"));
        assert_eq!(found["unexplained_bits"], 0, "{found}");
        let certain = number("certain") / 993.0;
        assert!((certain - 0.79).abs() < 0.06, "{build}: {found}");
        assert!((certain - number("listed_certain")).abs() < 0.05, "{build}: {found}");
        assert!(number("deniable") < 0.1 && number("listed_deniable") < 0.1, "{found}");
        match build.contains("classic") || build.contains("sliced") {
            true => assert!(found["posterior_low"].is_null(), "{found}"),
            false => {
                let [low, high] = [number("posterior_low"), number("posterior_high")];
                let mean = number("posterior");
                assert!(low < 0.95 * mean && 1.1 * mean < high && high < 1.0, "{found}");
            }
        }
        let half = audit(&folder, &format!("f {secret} --candidates half"));
        assert_eq!(half["certain"], 0, "{half}");
        assert!(half["unexplained_bits"].as_u64().unwrap() > 1_000, "{half}");
        let text = folder.umbel(&format!("filter audit f {secret} --candidates half")).run().text();
        assert!(text.contains("certain    none: no candidate explains"), "{text}");
        // Read once only.
        let piped = folder.umbel(&format!("filter audit f {secret} --candidates - --json"));
        let piped = piped.stdin(folder.read("all")).run().text();
        let piped: Value = serde_json::from_str(&piped).unwrap();
        assert_eq!(piped["certain"], found["certain"]);
    }
}

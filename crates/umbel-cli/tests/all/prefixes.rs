//! `--prefixes` as a black box: addresses in listed networks, hosts under listed domains, exactly and by a filter.

use serde_json::{Value, json};

use crate::util::{Folder, gzip, least_memory};

const NETWORKS: &str = "\
# a list
10.0.0.0/8
10.9.1.2/16 ; bits after the prefix do not count
192.0.2.7
2001:DB8::/32\r

";
const ADDRESSES: &str =
    "10.9.8.7\n8.8.8.8\n::ffff:192.0.2.7\n2001:db8::1\n192.0.2.8\n10.1.0.0/16\n";
const DOMAINS: &str = "\
# another
*.Example.com
.ads.example.net.
bücher.example
127.0.0.1 localhost
0.0.0.0 tracker.example.org # as in a hosts file
";
const HOSTS: &str = "\
www.example.com
example.com
badexample.com
https://x.ADS.example.net:8443/path
example.net
someone@xn--bcher-kva.example
a.tracker.example.org
localhost
192.0.2.7
";

fn with_lists() -> Folder {
    let folder = Folder::new();
    folder.write("networks", NETWORKS);
    folder.write("addresses", ADDRESSES);
    folder.write("domains", DOMAINS);
    folder.write("hosts", HOSTS);
    folder
}

#[test]
fn block_lists_are_read_as_their_programs_read_them() {
    let folder = Folder::new();
    let list = "! Title: a list\n[Adblock Plus 2.0]\n||ads.example^\n||other.example^$third-party\n@@||good.example^\n\
        page.example##.banner\n0.0.0.0 evil tracker.example\n127.0.0.1 localhost\naddress=/dns.example/0.0.0.0\n";
    folder.write("list", list);
    let found = "x.ads.example\nevil\ntracker.example\ndns.example\n";
    let others = "other.example\npage.example\ngood.example\nlocalhost\n";
    folder.write("hosts", [found, others].concat());
    let run = folder.umbel("query --prefixes domain list hosts").run();
    let told = "umbel query: warning: list: 3 rules left out, which are not about whole domains\n";
    assert!(told.ends_with(run.stderr.split_once(": warning").unwrap().1), "{}", run.stderr);
    assert_eq!(run.text(), found);
    let run = folder.umbel("build -o f --prefixes domain list").run();
    assert!(run.stderr.contains("list: 3 rules left out"), "{}", run.stderr);
    run.done();
    assert_eq!(folder.umbel("query --prefixes domain f hosts").run().text(), found);
    folder.write("nets", "192.0.2.0/255.255.255.0\n");
    folder.write("ips", "192.0.2.9\n192.0.3.9\n");
    assert_eq!(folder.umbel("query --prefixes ip nets ips").run().text(), "192.0.2.9\n");
}

#[test]
fn addresses_in_listed_networks_are_printed_in_order() {
    let folder = with_lists();
    let found = "10.9.8.7\n::ffff:192.0.2.7\n2001:db8::1\n10.1.0.0/16\n";
    assert_eq!(folder.umbel("query --prefixes ip networks addresses").run().text(), found);
    let others = "8.8.8.8\n192.0.2.8\n";
    assert_eq!(folder.umbel("query --prefixes ip -v networks addresses").run().text(), others);
    let shown = "10.9.0.0/16\t10.9.8.7\n192.0.2.7/32\t::ffff:192.0.2.7\n2001:db8::/32\t2001:db8::1\n10.0.0.0/8\t10.1.0.0/16\n";
    let show = "query --prefixes ip --show-prefix networks addresses";
    assert_eq!(folder.umbel(show).run().text(), shown);
    assert_eq!(folder.umbel("query --prefixes ip --total networks addresses").run().text(), "4\n");
    folder.write("none", "8.8.8.8\n\n");
    folder.umbel("query --prefixes ip networks none").run().nothing();
}

#[test]
fn hosts_under_listed_domains_are_printed_in_order() {
    let folder = with_lists();
    let shown = "\
example.com\twww.example.com
example.com\texample.com
ads.example.net\thttps://x.ADS.example.net:8443/path
xn--bcher-kva.example\tsomeone@xn--bcher-kva.example
tracker.example.org\ta.tracker.example.org
";
    let show = "query --prefixes domain --show-prefix domains hosts";
    assert_eq!(folder.umbel(show).run().text(), shown);
    let others = "badexample.com\nexample.net\nlocalhost\n192.0.2.7\n";
    assert_eq!(folder.umbel("query --prefixes domain -v domains hosts").run().text(), others);
}

#[test]
fn lists_and_lines_come_from_pipes_and_compressed_files_and_as_records() {
    let folder = with_lists();
    let from_stdin = folder.umbel("query --prefixes ip networks").stdin("10.1.1.1\n9.9.9.9\n");
    assert_eq!(from_stdin.run().text(), "10.1.1.1\n");
    let list = folder.umbel("query --prefixes ip - addresses").stdin("8.0.0.0/8\n");
    assert_eq!(list.run().text(), "8.8.8.8\n");
    folder.write("list.gz", gzip(b"8.0.0.0/8\n"));
    assert_eq!(folder.umbel("query --prefixes ip list.gz addresses").run().text(), "8.8.8.8\n");
    folder.umbel("query --prefixes ip - -").run().fails(&["standard input", "only once"]);

    folder.write("t.csv", "id,ip\n1,10.9.1.1\n2,9.9.9.9\n3,\"2001:db8::5\"\n");
    let csv = "query --prefixes ip --csv -k ip networks t.csv";
    assert_eq!(folder.umbel(csv).run().text(), "id,ip\n1,10.9.1.1\n3,\"2001:db8::5\"\n");
    let shown = "prefix,id,ip\n10.9.0.0/16,1,10.9.1.1\n2001:db8::/32,3,\"2001:db8::5\"\n";
    assert_eq!(folder.umbel(&format!("{csv} --show-prefix")).run().text(), shown);
    folder.write("t.jsonl", "{\"host\":\"www.example.com\"}\r\n{\"host\":\"example.net\"}\n");
    let json = "query --prefixes domain --jsonl -k host --show-prefix domains t.jsonl";
    let shown = "{\"prefix\":\"example.com\",\"record\":{\"host\":\"www.example.com\"}}\r\n";
    assert_eq!(folder.umbel(json).run().text(), shown);
    let two = "query --prefixes ip --csv -k id -k ip networks t.csv";
    folder.umbel(two).run().fails(&["--prefixes", "several", "name one"]);
}

#[test]
fn a_filter_answers_like_its_list_and_says_how_often_not() {
    let folder = with_lists();
    for (of, list, lines) in [("ip", "networks", "addresses"), ("domain", "domains", "hosts")] {
        let ask = |list: &str, more: &str| {
            folder.umbel(&format!("query --prefixes {of} {list} {lines} {more}")).run()
        };
        let exact = ask(list, "--show-prefix").text();
        for kind in ["blocked", "classic", "counting", "scalable", "bloomier", "coded"] {
            folder
                .umbel(&format!("build -q -f --prefixes {of} -o f --fpp 1e-4 --kind {kind} {list}"))
                .run()
                .done();
            assert_eq!(ask("f", "--show-prefix").text(), exact, "{kind}");
        }
        let report = ask("f", "--json --total");
        let report: Value = serde_json::from_str(&report.stderr).unwrap();
        let chance = report["chance_extra"].as_f64().unwrap();
        assert!(report["exact"] == false && chance > 0.0 && chance < 1e-4, "{report}");
        let report: Value = serde_json::from_str(&ask(list, "--json --total").stderr).unwrap();
        assert!(report["exact"] == true && report["chance_extra"] == Value::Null, "{report}");
    }
}

#[test]
fn info_says_what_a_filter_is_for() {
    let folder = with_lists();
    folder.umbel("build -q --prefixes ip -o f networks").run().done();
    let text = folder.umbel("info f").run().text();
    for words in [
        "key type   ip-prefix\n",
        "lengths    ipv4 8 16 32, ipv6 32\n",
        "prefixes   for umbel query --prefixes ip: up to 3 questions per line, rate of a line now ",
    ] {
        assert!(text.contains(words), "{words:?} in {text}");
    }
    let object: Value = serde_json::from_str(&folder.umbel("info --json f").run().text()).unwrap();
    assert_eq!(object["prefix_questions"], json!(3));
    let each = object["fpp"].as_f64().unwrap();
    let joint = object["prefix_fpp"].as_f64().unwrap();
    assert!((joint / each - 3.0).abs() < 1e-3, "{joint} of {each}");
    // 1 % for a look-up, so a third of that for each of its questions.
    let planned = object["planned_fpp"].as_f64().unwrap();
    assert!((planned - 0.003_345).abs() < 1e-6, "{planned}");
}

#[test]
fn the_rate_of_a_filter_is_that_of_a_line() {
    let folder = Folder::new();
    let mut list = String::new();
    // Different networks of seven lengths in 2001::/16; the lines are in another one.
    for i in 0..20_000u32 {
        let length = [40, 48, 52, 56, 60, 64, 128][i as usize % 7];
        list.push_str(&format!("2001:{i:x}:{:x}00::/{length}\n", i & 0xff));
    }
    folder.write("list", list);
    let lines: String = (0..200_000u32)
        .map(|i| {
            format!("2a00:{:x}:{:x}:{:x}::1\n", i & 0xffff, i >> 3, i.wrapping_mul(40_503) & 0xffff)
        })
        .collect();
    folder.write("lines", lines);
    folder.umbel("build -q --prefixes ip --fpp 2% -o f list").run().done();
    let object: Value = serde_json::from_str(&folder.umbel("info --json f").run().text()).unwrap();
    let rate = object["prefix_fpp"].as_f64().unwrap();
    assert!(rate > 0.01 && rate <= 0.02, "{rate}");
    let found = folder.umbel("query -q --prefixes ip --total f lines").run().text();
    let found: u64 = found.trim().parse().unwrap();
    // No two lines share a network of 40 bits, so their questions all differ.
    let (least, most) = umbel::math::binomial_bounds(200_000, rate, 1e-9);
    assert!((least..=most).contains(&found), "{found} at {rate}");
}

#[test]
fn filters_merge_with_the_lengths_of_both() {
    let folder = Folder::new();
    folder.write("a", "10.0.0.0/8\n");
    folder.write("b", "192.0.2.0/24\n2001:db8::/32\n");
    folder.write("lines", "10.1.1.1\n192.0.2.9\n2001:db8::1\n11.1.1.1\n");
    for name in ["a", "b"] {
        let build = format!("build -q --prefixes ip --keys 100 -o {name}.umbel {name}");
        folder.umbel(&build).run().done();
    }
    folder
        .umbel("build -q --prefixes domain --keys 100 -o c.umbel -")
        .stdin("a.example\n")
        .run()
        .done();
    folder.umbel("build -q --keys 100 -o d.umbel lines").run().done();
    // Both have other rates for a question, so other sizes: planned alike, they merge.
    for name in ["a", "b"] {
        let build =
            format!("build -q -f --prefixes ip --keys 100 --size 1KiB -o {name}.umbel {name}");
        folder.umbel(&build).run().done();
    }
    folder.umbel("merge -q -o all.umbel a.umbel b.umbel").run().done();
    let found = folder.umbel("query --prefixes ip --show-prefix all.umbel lines").run().text();
    let all = "10.0.0.0/8\t10.1.1.1\n192.0.2.0/24\t192.0.2.9\n2001:db8::/32\t2001:db8::1\n";
    assert_eq!(found, all);
    let text = folder.umbel("info all.umbel").run().text();
    assert!(text.contains("lengths    ipv4 8 24, ipv6 32\n"), "{text}");
    folder
        .umbel("merge -q --intersect -o x a.umbel b.umbel")
        .run()
        .fails(&["--intersect", "query both"]);
    folder
        .umbel("merge -q -o x a.umbel c.umbel")
        .run()
        .fails(&["prefixes of IP addresses", "domains of hosts"]);
    folder
        .umbel("merge -q -o x a.umbel d.umbel")
        .run()
        .fails(&["prefixes of IP addresses", "whole lines"]);
}

#[test]
fn what_does_not_fit_is_refused_with_its_place() {
    let folder = with_lists();
    folder.write("bad", "10.0.0.0/8\n10.0.0.0/33\n");
    let words = ["bad, line 2: \"10.0.0.0/33\" is not an IP address or a network", "--bad skip"];
    folder.umbel("query --prefixes ip bad addresses").run().fails(&words);
    folder.umbel("build --prefixes ip -o f bad").run().fails(&words);
    assert!(!folder.names().contains(&"f".to_owned()));
    folder.write("lines", "11.1.1.1\nno address\n10.2.2.2\n");
    let bad = ["lines, line 2: \"no address\" is not an IP address"];
    folder.umbel("query --prefixes ip networks lines").run().fails(&bad);
    let report = folder.umbel("query --prefixes ip --bad skip --json networks lines").run();
    assert_eq!(report.stdout, b"10.2.2.2\n");
    let report: Value = serde_json::from_str(&report.stderr).unwrap();
    assert_eq!((&report["bad"], &report["lines"]), (&json!(1), &json!(2)));
    let address = ["networks, line 2: ", "is not the name of a host"];
    folder.umbel("query --prefixes domain networks hosts").run().fails(&address);

    folder.umbel("build -q --prefixes ip -o ip networks").run().done();
    folder.umbel("build -q -o text addresses").run().done();
    let other = ["ip: ", "prefixes of IP addresses", "whole lines", "--prefixes ip"];
    folder.umbel("query ip addresses").run().fails(&other);
    folder.umbel("add ip addresses").run().fails(&other);
    folder.umbel("unseen ip addresses").run().fails(&["prefixes of IP addresses"]);
    let lines = ["text: the filter holds lines, not prefixes of IP addresses", "--prefixes"];
    folder.umbel("query --prefixes ip text addresses").run().fails(&lines);
    let hosts = ["ip: the filter holds prefixes of IP addresses, not domains of hosts"];
    folder.umbel("query --prefixes domain ip hosts").run().fails(&hosts);
    for kind in ["cascade", "attributes"] {
        let build = format!("build --prefixes ip -o f --kind {kind} networks");
        folder.umbel(&build).run().fails(&["--prefixes", kind, "choose another kind"]);
    }
    for more in ["--ignore-case", "--trim", "--crlf", "--normalize url"] {
        let query = format!("query --prefixes ip {more} networks addresses");
        folder.umbel(&query).run().fails(&["cannot be used with"]);
    }
    folder.umbel("query --show-prefix ip addresses").run().fails(&["--prefixes"]);
    folder.umbel("query --prefixes ip gone addresses").run().fails(&["gone", "(os error 2)"]);
}

#[test]
fn a_list_beyond_the_memory_cap_is_refused_with_one_that_is_enough() {
    let folder = Folder::new();
    let list: String =
        (0..300_000u32).map(|i| format!("10.{}.{}.{}\n", i >> 16, i >> 8 & 255, i & 255)).collect();
    folder.write("list", list);
    folder.write("lines", "10.1.1.1\n11.1.1.1\n");
    let small = folder.umbel("query -j 1 --memory 16MiB --prefixes ip list lines").run();
    let message = small.fails(&["memory cap of 16MiB", "at least", "--memory"]);
    let least = least_memory(&message);
    let enough = format!("query -q -j 1 --memory {least} --prefixes ip list lines");
    let enough = folder.umbel(&enough).run();
    assert_eq!(enough.text(), "10.1.1.1\n");
    // A filter of the list fits.
    folder.umbel("build -q -j 1 --memory 16MiB --prefixes ip -o f list").run().done();
    let filter = folder.umbel("query -q -j 1 --memory 16MiB --prefixes ip f lines").run();
    assert_eq!(filter.text(), "10.1.1.1\n");
}

#[test]
fn the_plan_of_a_look_up_is_explained() {
    let folder = with_lists();
    let text = folder.umbel("query --explain --prefixes ip networks addresses").run().text();
    assert!(text.starts_with("list     4 different prefixes, "), "{text}");
    folder.umbel("build -q --prefixes ip -o f networks").run().done();
    let text = folder.umbel("query --explain --prefixes ip f addresses").run().text();
    assert!(text.contains("blocked"), "{text}");
    let build = folder.umbel("build --explain --prefixes ip -o g networks").run().text();
    assert!(build.contains("blocked") && !folder.names().contains(&"g".to_owned()), "{build}");
}

//! The program without Squid.

use crate::lab::{
    Folder, Origin, PUBLIC_ONLY, Proxy, content, free_port, has, program, request, wait,
};

const HIT: &str = "TCP_MEM_HIT/200 HIER_NONE 0";

/// The figure of a sibling.
fn figure(proxy: &Proxy, name: &str) -> u64 {
    proxy.status()["siblings"][0][name].as_u64().unwrap()
}

#[test]
fn it_stores_what_may_be_stored() {
    let (folder, origin) = (Folder::new("stores"), Origin::start());
    let proxy = program(&folder, "alone", free_port(), &[], &["--largest=100000"]);
    let status = |method: &str, target: &str, header: &str| {
        request(proxy.port, method, target, header).unwrap().status
    };

    let url = origin.url("/page");
    assert_eq!(status("GET", &url, "Cache-Control: only-if-cached\r\n"), 504);
    assert_eq!((proxy.get(&url), origin.count(&url)), (origin.line(), 1));
    assert_eq!((proxy.get(&url), origin.count(&url)), (HIT.to_owned(), 1));
    assert_eq!(status("GET", &url, "Cache-Control: max-age=9, only-if-cached\r\n"), 200);
    assert!(request(proxy.port, "HEAD", &url, "").unwrap().body.is_empty());
    assert_eq!(origin.count(&url), 1);
    proxy.fetch(&url, "Cache-Control: no-cache\r\n");
    assert_eq!(origin.count(&url), 2);
    assert_eq!(status("POST", &url, "Content-Length: 0\r\n"), 200);
    assert_eq!((proxy.get(&url), origin.count(&url)), (origin.line(), 4), "may be outdated");

    for path in ["/unstored", "/big"] {
        let url = origin.url(path);
        assert_eq!([(); 2].map(|()| proxy.get(&url)), [(); 2].map(|()| origin.line()));
    }

    let url = |host: &str| origin.url("/Spelled").replace("127.0.0.1", host);
    proxy.fetch(&url("LocalHost"), "");
    assert_eq!(proxy.get(&url("localhost.")), HIT);
    let digest = proxy.digest().unwrap();
    assert!(has(&digest, &url("localhost")) && !has(&digest, &url("LocalHost")));
}

#[test]
fn it_refuses_what_it_cannot_do() {
    let (folder, origin) = (Folder::new("refuses"), Origin::start());
    let proxy = program(&folder, "alone", free_port(), &[], &[]);
    let status =
        |method: &str, target: &str| request(proxy.port, method, target, "").unwrap().status;
    assert_eq!(status("CONNECT", "a.example:443"), 501);
    assert_eq!(status("GET", "https://a.example/"), 501);
    assert_eq!(status("GET", "/other"), 404);
    assert_eq!(status("GET", &format!("http://127.0.0.1:{}/", free_port())), 502);
    // It serves its own digest only.
    let digest = "/squid-internal-periodic/store_digest";
    assert_eq!(status("GET", &format!("http://127.0.0.1:{}{digest}", proxy.port)), 200);
    assert_eq!(proxy.get(&origin.url(digest)), origin.line());
}

/// Whatever leads to this machine or network: digits, another spelling, a name.
#[test]
fn it_does_not_fetch_from_its_own_network() {
    let (folder, origin) = (Folder::new("private"), Origin::start());
    let proxy = program(&folder, "alone", free_port(), &[], &[PUBLIC_ONLY]);
    let url = origin.url("/page");
    for host in ["127.0.0.1", "127.1", "2130706433", "localhost", "[::ffff:127.0.0.1]", "[::1]"] {
        let url = url.replace("127.0.0.1", host);
        let status = request(proxy.port, "GET", &url, "").unwrap().status;
        assert!(status == 403, "{url}: {status}");
    }
    assert_eq!(origin.count(&url), 0);
    for host in ["169.254.169.254", "10.0.0.1", "192.168.0.1"] {
        assert_eq!(request(proxy.port, "GET", &format!("http://{host}/"), "").unwrap().status, 403);
    }
}

/// Only the clients that are named are answered.
#[test]
fn it_serves_no_strangers() {
    let (folder, origin) = (Folder::new("strangers"), Origin::start());
    let clients = ["--client=192.0.2.1", "--client=127.0.0.1"];
    let proxy = program(&folder, "known", free_port(), &[], &clients);
    assert_eq!(proxy.get(&origin.url("/page")), origin.line());
    let strict = program(&folder, "strict", free_port(), &[], &["--client=192.0.2.1"]);
    assert!(request(strict.port, "GET", &origin.url("/other"), "").is_none());
    assert_eq!(origin.count(&origin.url("/other")), 0);
}

#[test]
fn it_does_without_siblings_that_fail() {
    let (folder, origin) = (Folder::new("fails"), Origin::start());
    let ports = [free_port(), free_port()];
    let other = program(&folder, "other", ports[1], &[], &["--digest-period=0.1"]);
    let proxy = program(&folder, "proxy", ports[0], &[ports[1]], &["--digest-gap=0.1"]);

    let urls = ["/1", "/2"].map(|path| origin.url(path));
    urls.iter().for_each(|url| other.fetch(url, ""));
    wait("the digest has both", 20, || {
        let keys = proxy.status()["siblings"][0]["digest"]["keys"].as_f64();
        (keys > Some(1.5)).then_some(())
    });
    assert_eq!(proxy.get(&urls[0]), format!("TCP_MISS/200 CD_SIBLING_HIT {}", ports[1]));
    drop(other);
    wait("the digest cannot be fetched", 20, || {
        (figure(&proxy, "failed_digests") > 0).then_some(())
    });
    assert_eq!(proxy.get(&urls[1]), origin.line(), "asked in vain");
    assert_eq!(["asked", "hits", "failures"].map(|name| figure(&proxy, name)), [2, 1, 1]);
    assert_eq!(["hits", "false_hits"].map(|name| figure(&proxy, name)), [1, 0]);
}

/// The origin serves a text under every path, also under that of a digest.
#[test]
fn it_does_without_a_digest_that_is_none() {
    let (folder, origin) = (Folder::new("none"), Origin::start());
    let proxy = program(&folder, "proxy", free_port(), &[origin.port], &[]);
    wait("the digest is refused", 20, || (figure(&proxy, "failed_digests") == 1).then_some(()));
    let url = origin.url("/page");
    assert_eq!(proxy.get(&url), origin.line());
    assert_eq!(content(&url), b"page");
}

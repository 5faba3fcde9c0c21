//! The program between two Squid servers: who asks whom, by the access logs of all three.
//!
//! A Squid fetches one digest per minute, and each again after five minutes. So the test takes a little over a minute,
//! and siblings still believe the digests of then when objects leave the caches.

use crate::lab::{Digest, Folder, Origin, Proxy, free_port, has, program, request, squid, wait};

/// Objects that each cache gets at first. The digests of the Squids are of 126 bytes: larger ones, another Squid may read
/// wrongly (bug 5510), unless they are sent as the program does it.
const OBJECTS: [usize; 3] = [200, 200, 1000];
const A: usize = 0;
const B: usize = 1;
const PROGRAM: usize = 2;

/// The three caches, the URLs that each was given, and its digests that siblings may have.
struct Caches {
    proxies: [Proxy; 3],
    given: [Vec<String>; 3],
    digests: [Vec<Digest>; 3],
}

impl Caches {
    /// Starts them, and gives each objects of its own.
    fn start(folder: &Folder, origin: &Origin) -> Self {
        let [a, b, c] = [(); 3].map(|()| free_port());
        let squids = [squid(folder, "squid-a", a, &[c, b]), squid(folder, "squid-b", b, &[c, a])];
        let given = [A, B, PROGRAM].map(|cache| {
            let paths = (0..OBJECTS[cache]).map(|i| format!("/of/{cache}/{i}"));
            paths.map(|path| origin.url(&path)).collect::<Vec<_>>()
        });
        for (squid, urls) in squids.iter().zip(&given) {
            urls.iter().for_each(|url| squid.fetch(url, "X-Alone: yes\r\n"));
            wait(&format!("{} has its objects in its digest", squid.name), 20, || {
                let digest = squid.digest()?;
                urls.iter().all(|url| has(&digest, url)).then_some(())
            });
        }
        // The program fetches digests when it starts, and then not again.
        let options = ["--digest-gap=3600", "--memory=1500000"];
        let program = program(folder, "program", c, &[a, b], &options);
        wait("the program has both digests", 20, || {
            let siblings = &program.status()["siblings"];
            [A, B].iter().all(|at| siblings[at]["digest"].is_object()).then_some(())
        });
        for url in &given[PROGRAM] {
            program.fetch(url, "Cache-Control: no-cache\r\n");
        }
        let [a, b] = squids;
        let mut caches = Self { proxies: [a, b, program], given, digests: Default::default() };
        caches.remember_digests();
        caches
    }

    /// Remembers what the caches now tell their siblings.
    fn remember_digests(&mut self) {
        for (proxy, digests) in self.proxies.iter().zip(&mut self.digests) {
            digests.push(proxy.digest().expect("a digest"));
        }
    }

    /// Something if both digests of a Squid's siblings are in a state.
    fn has_digests(&self, squid: usize, state: &str) -> Option<()> {
        let page = self.proxies[squid].page("/squid-internal-mgr/peer_select");
        (page.matches(&format!("{state}: yes")).count() == 2).then_some(())
    }

    /// Whether exactly the digests of these caches have a URL.
    fn only(&self, holders: &[usize], url: &str) -> bool {
        (0..3).all(|cache| {
            self.digests[cache].iter().all(|digest| has(digest, url) == holders.contains(&cache))
        })
    }

    /// Takes a URL of a cache that the digests of others do not have, not even by chance.
    fn take(&mut self, holder: usize) -> String {
        let at = self.given[holder].iter().rposition(|url| self.only(&[holder], url));
        self.given[holder].remove(at.expect("most are in no other digest"))
    }

    /// Makes up a URL that nobody has, although some digests have it by chance.
    fn invent(&self, origin: &Origin, asking: usize, holders: &[usize]) -> String {
        let urls = (0..100_000).map(|i| origin.url(&format!("/nobody/{asking}/{i}")));
        urls.into_iter().find(|url| self.only(holders, url)).expect("some are")
    }

    /// Has a cache asked for an object that it does not hold, though its digest says so: the origin sends it.
    fn disappoint(&self, origin: &Origin, asking: usize, holder: usize, url: &str) {
        let before = (origin.count(url), self.proxies[holder].lines(url).len());
        let line = self.proxies[asking].get(url);
        assert_eq!(line, origin.line(), "{url}");
        assert_eq!(origin.count(url), before.0 + 1, "{url}");
        let asked = self.proxies[holder].line(url, before.1);
        assert_eq!(asked, "TCP_MISS/504 HIER_NONE 0", "{url}");
    }
}

#[test]
fn each_cache_finds_objects_of_the_others_by_their_digests() {
    let folder = Folder::new("squid");
    let origin = Origin::start();
    let mut caches = Caches::start(&folder, &origin);
    let ports = caches.proxies.each_ref().map(|proxy| proxy.port);

    // A Squid fetches digests from its first miss on, once it has found that a sibling is there.
    for squid in [A, B] {
        let mut urls = (0..).map(|i| origin.url(&format!("/first/{squid}/{i}")));
        wait("a Squid needs two digests", 20, || {
            let line = caches.proxies[squid].get(&urls.next()?);
            assert_eq!(line, origin.line());
            caches.has_digests(squid, "needed")
        });
    }
    for squid in [A, B] {
        wait("a Squid has two digests", 90, || caches.has_digests(squid, "usable"));
    }
    caches.remember_digests();

    // Each is asked by both others, which then need no origin.
    let pairs = [(A, B), (B, A), (A, PROGRAM), (B, PROGRAM), (PROGRAM, A), (PROGRAM, B)];
    for (asking, holder) in pairs.repeat(5) {
        let url = caches.take(holder);
        let line = caches.proxies[asking].get(&url);
        assert_eq!(line, format!("TCP_MISS/200 CD_SIBLING_HIT {}", ports[holder]), "{url}");
        // Its first line is about when it got the object.
        let answered = caches.proxies[holder].line(&url, 1);
        let is_hit = ["TCP_HIT/200 ", "TCP_MEM_HIT/200 "].iter().any(|it| answered.starts_with(it));
        assert!(is_hit, "{answered}");
        assert_eq!(origin.count(&url), 1, "{url}");
        assert!(caches.proxies[3 - asking - holder].lines(&url).is_empty(), "{url}");
    }

    // Nobody is asked for what is in no digest.
    for asking in [A, B, PROGRAM] {
        let url = caches.invent(&origin, asking, &[]);
        let line = caches.proxies[asking].get(&url);
        assert_eq!(line, origin.line(), "{url}");
        for other in [A, B, PROGRAM].into_iter().filter(|other| *other != asking) {
            assert!(caches.proxies[other].lines(&url).is_empty(), "{url}");
        }
    }

    // False positives of the digests.
    for (asking, holder) in pairs {
        let url = caches.invent(&origin, asking, &[holder]);
        caches.disappoint(&origin, asking, holder, &url);
    }

    // Objects that left a cache since.
    let purged = caches.take(A);
    let answer = request(ports[A], "PURGE", &purged, "").expect("an answer");
    assert_eq!(answer.status, 200);
    // Squid logs it a moment later.
    caches.proxies[A].line(&purged, 1);
    caches.disappoint(&origin, PROGRAM, A, &purged);
    let evicted = caches.take(PROGRAM);
    for i in 0..8 {
        let url = origin.url(&format!("/big/{i}"));
        caches.proxies[PROGRAM].fetch(&url, "Cache-Control: no-cache\r\n");
    }
    caches.disappoint(&origin, B, PROGRAM, &evicted);

    // The program has counted this.
    let status = caches.proxies[PROGRAM].status();
    let figures = |at: usize| {
        ["asked", "hits", "false_hits", "failures"]
            .map(|name| status["siblings"][at][name].as_u64())
    };
    assert_eq!(figures(A), [7, 5, 2, 0].map(Some), "{status}");
    assert_eq!(figures(B), [6, 5, 1, 0].map(Some), "{status}");
    // By the Squids it was asked for ten objects, two false positives and one that had left.
    assert_eq!(status["requests"]["asked"], 13, "{status}");
    assert_eq!(status["requests"]["denied"], 3, "{status}");
    assert!(status["cache"]["evicted"].as_u64() > Some(900), "{status}");
}

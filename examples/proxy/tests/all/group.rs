//! Proxies that find pages in each other's caches: by ICP or by summaries, and while proxies and what is between them fail.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::lab::{Client, Folder, Origin, Proxy, free_port, program, request, wait};
use crate::traffic::{Trace, random};

const NAMES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];
/// What a request for a page that a peer does not have costs, with its answer: packets, and bytes without the address.
const IN_VAIN: [u64; 2] = [2, 155];
const BEAT: f64 = 0.2;
/// Two beats show what is missing, and five that a peer is gone; the rest is for a busy machine.
const HEALS_WITHIN: u64 = 10;

fn local(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

/// Proxies, each with its clients' requests.
struct Group {
    ports: Vec<u16>,
    options: Vec<Vec<String>>,
    running: Vec<Option<Proxy>>,
    traces: Vec<Trace>,
    origin: Origin,
    folder: Folder,
    weather: Arc<Weather>,
}

impl Group {
    /// Starts proxies that know each other, if they are not alone, with all between them through relays if links are to fail.
    fn start(name: &str, count: usize, options: &[&str], is_alone: bool, fails: bool) -> Self {
        let ports: Vec<_> = (0..count).map(|_| free_port()).collect();
        let weather = Arc::new(Weather::default());
        let mut all: Vec<Vec<String>> = Vec::new();
        for port in &ports {
            let fixed = [format!("--datagrams=127.0.0.1:{port}"), format!("--beat={BEAT}")];
            all.push(options.iter().map(|it| (*it).to_owned()).chain(fixed).collect());
        }
        for one in 0..count {
            for two in (0..one).filter(|_| !is_alone) {
                let mut seen = [ports[one], ports[two]];
                if fails {
                    let is_cut = (one, two) == (1, 0);
                    seen = between([local(ports[one]), local(ports[two])], &weather, is_cut);
                }
                for (at, peer, port) in [(two, one, seen[0]), (one, two, seen[1])] {
                    let address = local(port);
                    all[at].push(format!("--peer={},{address},{address}", NAMES[peer]));
                }
            }
        }
        let mut group = Self {
            ports,
            options: all,
            running: Vec::new(),
            traces: (0..count).map(Trace::new).collect(),
            origin: Origin::start(),
            folder: Folder::new(name),
            weather,
        };
        group.running = (0..count).map(|number| Some(group.launch(number))).collect();
        group
    }

    fn launch(&self, number: usize) -> Proxy {
        let name = NAMES[number];
        let options: Vec<_> = self.options[number].iter().map(String::as_str).collect();
        let options = [&options[..], &["--name", name]].concat();
        program(&self.folder, name, self.ports[number], &[], &options)
    }

    fn alive(&self) -> impl Iterator<Item = (usize, &Proxy)> {
        self.running.iter().enumerate().filter_map(|(number, it)| Some((number, it.as_ref()?)))
    }

    /// Sends requests to all proxies that run; each must be answered rightly.
    fn load(&mut self, requests: usize) {
        let (origin, ports) = (&self.origin, &self.ports);
        let proxies = self.running.iter().zip(&mut self.traces).zip(ports);
        thread::scope(|scope| {
            for ((_, trace), port) in proxies.filter(|((running, _), _)| running.is_some()) {
                scope.spawn(move || {
                    let mut client = Client::new(*port);
                    for path in trace.take(requests) {
                        assert!(client.get(&origin.url(&path)), "{path}");
                    }
                });
            }
        });
    }

    /// The sums of what the proxies that run have counted.
    fn counts(&self) -> Counts {
        let mut sums = Counts::default();
        for (_, proxy) in self.alive() {
            let status = proxy.status();
            let of = |name: &str| status["requests"][name].as_u64().unwrap();
            sums.requests += of("all") - of("asked");
            sums.local += of("hits") - (of("asked") - of("denied"));
            sums.remote += of("sibling_hits");
            let group = &status["group"];
            let of = |name: &str| group[name].as_u64().unwrap();
            sums.full_copies += of("full_copies");
            sums.messages += of("packets");
            sums.bytes += of("bytes");
            for peer in group["peers"].as_array().unwrap() {
                sums.false_hits += peer["false_hits"].as_u64().unwrap();
                sums.failures += peer["failures"].as_u64().unwrap();
            }
        }
        sums
    }

    /// Waits until each proxy that runs has of each other one the filter that is published there, byte for byte.
    fn heal(&self) {
        let filter = |proxy: &Proxy, whose: &str| {
            let path = format!("/umbel/filter{whose}");
            request(proxy.port, "GET", &path, "").filter(|it| it.status == 200).map(|it| it.body)
        };
        wait("all filters are those that are published", HEALS_WITHIN, || {
            let mut pairs = self.alive().flat_map(|one| self.alive().map(move |two| (one, two)));
            pairs
                .all(|((one, of), (two, at))| {
                    one == two || {
                        let published = filter(of, "").expect("a summary");
                        filter(at, &format!("?{}", NAMES[one])) == Some(published)
                    }
                })
                .then_some(())
        });
    }

    /// Waits until a proxy that is gone is silent for all others.
    fn forget(&self, gone: usize) {
        let silence = |proxy: &Proxy| {
            let status = proxy.status();
            let peers = status["group"]["peers"].as_array().unwrap();
            let peer = peers.iter().find(|peer| peer["name"] == NAMES[gone]).unwrap();
            peer["summary"]["silent"].as_f64().unwrap()
        };
        wait("it is forgotten", HEALS_WITHIN, || {
            self.alive().all(|(_, proxy)| silence(proxy) > 5.0 * BEAT).then_some(())
        });
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    requests: u64,
    local: u64,
    remote: u64,
    /// Datagrams and full copies, in packets.
    messages: u64,
    bytes: u64,
    false_hits: u64,
    failures: u64,
    full_copies: u64,
}

/// Lets all that is between two proxies pass, at the ports that are returned: the first is what the second takes for the first.
/// Unless the weather is bad.
fn between(proxies: [SocketAddr; 2], weather: &Arc<Weather>, may_be_cut: bool) -> [u16; 2] {
    let ends = [(); 2].map(|()| {
        let listener = TcpListener::bind(local(0)).unwrap();
        (UdpSocket::bind(listener.local_addr().unwrap()).unwrap(), listener)
    });
    let ports = ends.each_ref().map(|(_, listener)| listener.local_addr().unwrap().port());
    let sockets = ends.each_ref().map(|(socket, _)| socket.try_clone().unwrap());
    for ((number, (socket, listener)), to) in ends.into_iter().enumerate().zip(proxies) {
        // What the second proxy sends to the first arrives here, and leaves from where the first takes it for the second.
        let from = sockets[1 - number].try_clone().unwrap();
        let datagrams = Arc::clone(weather);
        thread::spawn(move || datagrams.carry_datagrams(&socket, &from, to, may_be_cut));
        let weather = Arc::clone(weather);
        thread::spawn(move || {
            for stream in listener.incoming().filter(|_| !weather.cuts(may_be_cut)) {
                let (Ok(here), Ok(there)) = (stream, TcpStream::connect(to)) else { continue };
                let back = (there.try_clone().unwrap(), here.try_clone().unwrap());
                for (from, to) in [(here, there), back] {
                    let weather = Arc::clone(&weather);
                    thread::spawn(move || weather.carry(from, to, may_be_cut));
                }
            }
        });
    }
    ports
}

/// How what is between proxies fails.
#[derive(Default)]
struct Weather {
    /// The link between the first two is cut.
    is_cut: AtomicBool,
    /// Of all datagrams, a fifth each is lost, sent twice, held back until after the next, or damaged.
    is_bad: AtomicBool,
}

impl Weather {
    fn cuts(&self, may_be_cut: bool) -> bool {
        may_be_cut && self.is_cut.load(SeqCst)
    }

    fn carry(&self, mut from: TcpStream, mut to: TcpStream, may_be_cut: bool) {
        let mut buffer = [0; 1 << 13];
        while let Ok(length @ 1..) = from.read(&mut buffer)
            && !self.cuts(may_be_cut)
            && to.write_all(&buffer[..length]).is_ok()
        {}
        let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
    }

    fn carry_datagrams(&self, at: &UdpSocket, from: &UdpSocket, to: SocketAddr, may_be_cut: bool) {
        let (mut buffer, mut state, mut late) = (vec![0; 1 << 16], 1, None);
        loop {
            // It reports that an earlier datagram found nobody.
            let Ok((length, _)) = at.recv_from(&mut buffer) else { continue };
            if self.cuts(may_be_cut) {
                continue;
            }
            let mut datagrams = vec![buffer[..length].to_vec()];
            match random(&mut state) % 5 {
                _ if !self.is_bad.load(SeqCst) => {}
                0 => datagrams.clear(),
                1 => datagrams.push(datagrams[0].clone()),
                2 => datagrams = late.replace(datagrams.remove(0)).into_iter().collect(),
                3 => datagrams[0][random(&mut state) as usize % length] ^= 1,
                _ => datagrams.extend(late.take()),
            }
            for datagram in datagrams {
                let _ = from.send_to(&datagram, to);
            }
        }
    }
}

/// How large a comparison is: proxies, bytes of each cache, requests to each that fill it, and those that are counted then.
struct Size(usize, u64, usize, usize);

/// Runs proxies with some options, and prints what they did.
fn compare(size: &Size, name: &str, is_alone: bool, options: &[&str]) -> Counts {
    let Size(count, memory, warm_up, requests) = *size;
    let memory = format!("--memory={memory}");
    let options = [&[&*memory], options].concat();
    let mut group = Group::start("compare", count, &options, is_alone, false);
    group.load(warm_up);
    let before = group.counts();
    group.load(requests);
    let mut run = group.counts();
    run.requests -= before.requests;
    run.local -= before.local;
    run.remote -= before.remote;
    run.false_hits -= before.false_hits;
    run.full_copies -= before.full_copies;
    run.messages = run.messages - before.messages + IN_VAIN[0] * run.false_hits;
    run.bytes = run.bytes - before.bytes + IN_VAIN[1] * run.false_hits;
    let per_request = |count: u64| count as f64 / run.requests as f64;
    println!(
        "| {name} | {:.2} % | {:.2} % | {:.2} % | {:.3} | {:.1} | {:.4} |",
        100.0 * per_request(run.local),
        100.0 * per_request(run.remote),
        100.0 * per_request(run.local + run.remote),
        per_request(run.messages),
        per_request(run.bytes),
        per_request(run.false_hits),
    );
    run
}

/// Compares what summaries cost and find with asking everyone.
fn trial(size: &Size, fewer_messages: f64, summaries: &[[f64; 2]]) {
    println!(
        "| strategy | hits, local | hits, remote | hits | messages per request | bytes per request | false hits per request |"
    );
    println!("|---|---|---|---|---|---|---|");
    let alone = compare(size, "no cooperation", true, &[]);
    let icp = compare(size, "ask everyone (ICP)", false, &["--icp"]);
    let hit_rate = |run: &Counts| (run.local + run.remote) as f64 / run.requests as f64;
    assert!(hit_rate(&icp) > hit_rate(&alone) + 0.03 && alone.remote == 0);
    for &[bits, threshold] in summaries {
        let name = format!("summaries, {bits} bits per key, {:.0} %", 100.0 * threshold);
        let options =
            [format!("--summary-bits={bits}"), format!("--summary-threshold={threshold}")];
        let run = compare(size, &name, false, &options.each_ref().map(String::as_str));
        assert_eq!(run.failures, 0, "{name}");
        if [bits, threshold] == [16.0, 0.01] {
            let fewer = icp.messages as f64 / run.messages as f64;
            assert!(fewer >= fewer_messages, "{fewer:.1} times fewer messages");
            assert!(hit_rate(&icp) - hit_rate(&run) <= 0.01, "1 % of all requests fewer are hits");
        }
        let most = if bits < 16.0 { 0.1 } else { 0.03 };
        assert!(run.false_hits as f64 <= most * run.requests as f64, "{run:?}");
    }
}

#[test]
fn summaries_cost_less_than_asking_and_find_as_much() {
    trial(&Size(4, 6 << 20, 5_000, 5_000), 10.0, &[[16.0, 0.01], [8.0, 0.1]]);
}

/// The goals are those of docs/summary-cache.md.
#[test]
#[ignore = "minutes"]
fn summaries_cost_less_than_asking_and_find_as_much_in_full_size() {
    let bits = [8.0, 16.0, 32.0];
    let all: Vec<_> =
        [0.01, 0.02, 0.05, 0.1].into_iter().flat_map(|it| bits.map(|bits| [bits, it])).collect();
    trial(&Size(8, 17 << 20, 20_000, 30_000), 25.0, &all);
}

/// No client notices anything, and after each failure every filter is again the published one.
#[test]
fn proxies_and_links_may_fail() {
    const REQUESTS: usize = 500;
    let key = std::env::temp_dir().join(format!("umbel-proxy-key-{}", std::process::id()));
    std::fs::write(&key, "000102030405060708090a0b0c0d0e0f\n").unwrap();
    let options = ["--memory=6000000", &format!("--key-file={}", key.display())];
    let mut group = Group::start("failures", 4, &options, false, true);
    group.load(REQUESTS);
    group.heal();

    // One is killed: soon nobody asks it.
    group.running[2] = None;
    group.load(REQUESTS);
    group.forget(2);
    let before = group.counts().failures;
    group.load(REQUESTS / 10);
    assert_eq!(group.counts().failures, before, "one that is gone is asked");

    // It starts again, empty, and fills.
    group.running[2] = Some(group.launch(2));
    group.heal();
    group.load(REQUESTS);
    group.heal();

    // A link is cut, and mended.
    let before = group.counts().failures;
    group.weather.is_cut.store(true, SeqCst);
    group.load(REQUESTS);
    group.weather.is_cut.store(false, SeqCst);
    assert!(group.counts().failures > before);
    group.heal();

    // Datagrams are lost, repeated, reordered and damaged.
    let before = group.counts().full_copies;
    group.weather.is_bad.store(true, SeqCst);
    group.load(REQUESTS);
    assert!(group.counts().full_copies > before, "lost datagrams were not noticed");
    group.weather.is_bad.store(false, SeqCst);
    group.heal();
    std::fs::remove_file(key).unwrap();
}

/// What others send than the peers, or peers without the key, changes nothing and gets no answer.
#[test]
fn strangers_are_not_heard() {
    let group = Group::start("strangers", 2, &["--icp"], false, false);
    let query = b"\x01\x02\x00\x23\x00\x00\x00\x07\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0http://a/b\0";
    let stranger = UdpSocket::bind(local(0)).unwrap();
    stranger.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    stranger.send_to(query, local(group.ports[0])).unwrap();
    assert!(stranger.recv_from(&mut [0; 64]).is_err());
    drop(group);

    let mut group = Group::start("keyless", 2, &["--memory=6000000"], false, false);
    let key = std::env::temp_dir().join(format!("umbel-proxy-own-key-{}", std::process::id()));
    std::fs::write(&key, "0f0e0d0c0b0a09080706050403020100\n").unwrap();
    group.running[1] = None;
    group.options[1].push(format!("--key-file={}", key.display()));
    group.running[1] = Some(group.launch(1));
    group.load(200);
    thread::sleep(Duration::from_secs_f64(3.0 * BEAT));
    let peer = |status: &Value| status["group"]["peers"][0]["summary"]["version"].is_null();
    let status = group.running[1].as_ref().unwrap().status();
    assert!(peer(&status), "a message without the key was believed: {status}");
    std::fs::remove_file(key).unwrap();
}

//! Addresses, hosts, and the lists of prefixes that they are looked up in, as text.
//!
//! Each function appends to `out` the key that a text names, as in [`PrefixKeys`](super::PrefixKeys): a network's
//! address and length, a domain's name in lower case and ASCII. For a blank text, it returns false and appends nothing.
//!
//! A line of a list of domains may be one of a hosts file, with several names; a rule of AdGuard or EasyList for a whole domain,
//! as `||ads.example^`; or one of dnsmasq, as `address=/ads.example/0.0.0.0`. Several names are appended with line feeds
//! between them. [`is_other_rule`] recognizes the other rules of such lists, which are read as blank.

use std::error::Error;
use std::net::{IpAddr, SocketAddr};

use url::Host;

use super::{Family, Network};

/// Why a text cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{text:?} is {why}; correct it, or leave it out")]
pub struct NoPrefix {
    text: String,
    why: &'static str,
}

const NO_NETWORK: &str = "not an IP address or a network such as 192.0.2.0/24";
const NO_HOST: &str = "not the name of a host or domain";
const ADDRESS: &str = "an address, but the list is of domains";
const SEVERAL: &str = "several names on a line, without an address in front as in a hosts file";

/// Reads one text.
pub type Read = fn(&[u8], &mut Vec<u8>) -> Result<bool, Box<dyn Error + Send + Sync>>;

/// Returns how the lines of a list are read.
pub fn of_list(family: Family) -> Read {
    match family {
        Family::Ip => |text, out| Ok(listed_network(text, out)?),
        Family::Domain => |text, out| Ok(listed_domain(text, out)?),
    }
}

/// Returns how looked-up texts are read: a blank one as an empty key, which is in no list.
pub fn looked_up(family: Family) -> Read {
    match family {
        Family::Ip => |text, out| Ok(network(text, out).map(|_| true)?),
        Family::Domain => |text, out| Ok(host(text, out).map(|_| true)?),
    }
}

/// Returns what a list is of: of networks if its first line that is neither blank nor a comment is one, or is no entry of any
/// list and begins as an address does, such as `10.1.2.3:22`; otherwise of domains; none if there is no such line. Lines end with
/// `end`.
pub fn family_of_list(list: &[u8], end: u8) -> Option<Family> {
    let domain = |line: &[u8]| listed_domain(line, &mut Vec::new());
    let list = list.strip_prefix("\u{feff}".as_bytes()).unwrap_or(list);
    list.split(|&byte| byte == end).find_map(|line| match listed_network(line, &mut Vec::new()) {
        Ok(false) => None,
        Err(_) if domain(line).is_ok() || !begins_as_address(line) => Some(Family::Domain),
        _ => Some(Family::Ip),
    })
}

/// Whether a text has two colons together, or digits and dots alone before another sign.
fn begins_as_address(text: &[u8]) -> bool {
    let text = text.trim_ascii().strip_prefix(b"[").unwrap_or(text.trim_ascii());
    let number = text.split(|byte| b"-,;/:".contains(byte)).next().unwrap_or_default();
    text.windows(2).any(|pair| pair == b"::")
        || text.first().is_some_and(u8::is_ascii_digit)
            && number.iter().all(|byte| byte.is_ascii_digit() || b".*".contains(byte))
}

/// Reads a line of a list of networks, perhaps with a comment after `#` or, as in Spamhaus's DROP, `;`.
///
/// # Errors
/// [`NoPrefix`] for anything else.
pub fn listed_network(text: &[u8], out: &mut Vec<u8>) -> Result<bool, NoPrefix> {
    read(text, b"#;", NO_NETWORK, out, push_network)
}

/// Reads an address, perhaps with a port as in `192.0.2.7:443` or `[2001:db8::1]:443` or a zone as in `fe80::1%eth0`, or a
/// network.
///
/// # Errors
/// [`NoPrefix`] for anything else.
pub fn network(text: &[u8], out: &mut Vec<u8>) -> Result<bool, NoPrefix> {
    read(text, b"", NO_NETWORK, out, |text, out| {
        push_network(text, out).or_else(|why| {
            let socket = text.parse::<SocketAddr>().map(|socket| socket.ip());
            push_network(&socket.ok().or(address(text)).ok_or(why)?.to_string(), out)
        })
    })
}

/// Reads a line of a list of domains, perhaps with a comment after `#`: a domain, perhaps after `*.` or a dot; a line
/// of a hosts file, without the machine's own names, such as `localhost`; or a rule for whole domains of AdGuard,
/// EasyList or dnsmasq. Several names have line feeds between them.
///
/// # Errors
/// [`NoPrefix`] for anything else.
pub fn listed_domain(text: &[u8], out: &mut Vec<u8>) -> Result<bool, NoPrefix> {
    if is_other_rule(text) {
        return Ok(false);
    }
    let start = out.len();
    read(text, b"#", NO_HOST, out, listed).inspect_err(|_| out.truncate(start))
}

/// Returns whether a line of a list of domains is a rule of AdGuard or EasyList for less than whole domains: it hides
/// parts of pages, makes an exception, or applies to some requests only.
pub fn is_other_rule(text: &[u8]) -> bool {
    let comment = text.windows(2).position(|two| two[0].is_ascii_whitespace() && two[1] == b'#');
    let text = text[..comment.unwrap_or(text.len())].trim_ascii();
    let hides = [&b"##"[..], b"#@#", b"#?#", b"#$#", b"#%#"];
    let begins = [&b"@@"[..], b"/", b"|http", b"-", b"&", b"?"];
    let (Some(first), true) = (text.first(), text.len() > 1) else { return false };
    if matches!(first, b'#' | b'!') {
        return false;
    }
    let has = |mark: &&[u8]| text.windows(mark.len()).any(|part| part == *mark);
    if begins.iter().any(|mark| text.starts_with(mark))
        || (text.contains(&b'#') && hides.iter().any(has))
    {
        return true;
    }
    if text.starts_with(b"server=") || text.starts_with(b"local=") {
        // With an address behind it, it says where to ask.
        return !text.ends_with(b"/");
    }
    match text.strip_prefix(b"||") {
        Some(rule) => whole_domain(rule).is_none(),
        None => text.contains(&b'^') || text.contains(&b'$'),
    }
}

/// The domain of a rule after `||`, if the rule is about the whole domain.
fn whole_domain(rule: &[u8]) -> Option<&[u8]> {
    let end = rule.iter().position(|&byte| byte == b'^')?;
    let (domain, rest) = (&rule[..end], &rule[end + 1..]);
    let all = matches!(rest, b"" | b"|" | b"$important" | b"$all" | b"$document");
    (all && !domain.iter().any(|byte| b"/*:".contains(byte))).then_some(domain)
}

/// Reads a host or an address: alone, in a URL, in the address of a mailbox, or before a port.
///
/// # Errors
/// [`NoPrefix`] for anything else.
pub fn host(text: &[u8], out: &mut Vec<u8>) -> Result<bool, NoPrefix> {
    read(text, b"", NO_HOST, out, |text, out| {
        if name(host_in(text), out).is_none() {
            // Of IPv6, without brackets.
            out.extend_from_slice(address(text).ok_or(NO_HOST)?.to_string().as_bytes());
        }
        Ok(true)
    })
}

/// Reads the text before a comment, if any. `no` is the error for text that is not UTF-8.
#[inline(always)]
fn read(
    text: &[u8],
    comments: &[u8],
    no: &'static str,
    out: &mut Vec<u8>,
    push: impl Fn(&str, &mut Vec<u8>) -> Result<bool, &'static str>,
) -> Result<bool, NoPrefix> {
    let flaw = |why| NoPrefix { text: shown(text), why };
    let line = str::from_utf8(text).map_err(|_| flaw(no))?;
    let end = text.iter().position(|byte| comments.contains(byte)).unwrap_or(text.len());
    let line = line[..end].trim();
    if line.is_empty() { Ok(false) } else { push(line, out).map_err(flaw) }
}

fn push_network(text: &str, out: &mut Vec<u8>) -> Result<bool, &'static str> {
    let with_length = with_length(text);
    let text = with_length.as_deref().unwrap_or(text);
    let network: Network = text.parse().map_err(|_| NO_NETWORK)?;
    out.extend_from_slice(network.key().as_ref());
    Ok(true)
}

/// A network of IPv4 with its length, if it is written with a mask: `192.0.2.0/255.255.255.0`, or with a blank between them.
fn with_length(text: &str) -> Option<String> {
    let (address, mask) = text.split_once(['/', ' ', '\t'])?;
    let mask: u32 = mask.trim().parse::<std::net::Ipv4Addr>().ok()?.into();
    // Zeros after ones, and nothing else. A host may have a mask of zeros in place of one of ones.
    let (ones, all) = (mask.leading_ones(), text.starts_with("0.0.0.0/"));
    let is_mask = ones + mask.trailing_zeros() >= 32 && (ones > 0 || all);
    is_mask.then(|| format!("{address}/{ones}"))
}

/// The start of a text, for a message.
fn shown(text: &[u8]) -> String {
    const MOST: usize = 80;
    String::from_utf8_lossy(text).trim().chars().take(MOST).collect()
}

/// Names that hosts files give the machine itself, and its networks.
const OWN: [&str; 11] = [
    "localhost",
    "localhost.localdomain",
    "localhost4",
    "localhost6",
    "local",
    "broadcasthost",
    "ip6-localhost",
    "ip6-loopback",
    "ip6-localnet",
    "ip6-mcastprefix",
    "loopback",
];

/// An entry of a list.
fn listed(text: &str, out: &mut Vec<u8>) -> Result<bool, &'static str> {
    if text.starts_with('!') || (text.starts_with('[') && text.ends_with(']')) {
        // Comments of EasyList, and its first line.
        return Ok(false);
    }
    if let Some(rule) = text.strip_prefix("||") {
        let domain = whole_domain(rule.as_bytes()).and_then(|domain| str::from_utf8(domain).ok());
        return push_domain(domain.ok_or(NO_HOST)?, out).map(|()| true);
    }
    if let Some((what, rule)) = text.split_once("=/")
        && matches!(what, "address" | "local" | "server")
    {
        let (domains, _) = rule.rsplit_once('/').ok_or(NO_HOST)?;
        return push_all(domains.split('/'), out);
    }
    let mut words = text.split_ascii_whitespace();
    let first = words.next().expect("it is not blank");
    let Some(second) = words.next() else { return push_domain(first, out).map(|()| true) };
    if !is_address(first) {
        return Err(SEVERAL);
    }
    let own = |host: &&str| {
        is_address(host)
            || host.starts_with("ip6-all")
            || OWN.iter().any(|own| host.eq_ignore_ascii_case(own))
    };
    push_all(std::iter::once(second).chain(words).filter(|host| !own(host)), out)
}

/// Appends several names; false for none.
fn push_all<'t>(
    names: impl Iterator<Item = &'t str>,
    out: &mut Vec<u8>,
) -> Result<bool, &'static str> {
    let start = out.len();
    for name in names {
        if out.len() > start {
            out.push(b'\n');
        }
        push_domain(name, out)?;
    }
    Ok(out.len() > start)
}

/// Appends a domain, perhaps after `*.` or a dot.
fn push_domain(domain: &str, out: &mut Vec<u8>) -> Result<(), &'static str> {
    let domain = domain.strip_prefix("*.").or(domain.strip_prefix('.')).unwrap_or(domain);
    if is_address(domain) {
        return Err(ADDRESS);
    }
    let start = out.len();
    name(domain, out).ok_or(NO_HOST)?;
    // Texts that the URL standard reads as an address, such as 127.1.
    let last = out[start..].rsplit(|&byte| byte == b'.').next();
    if last.is_some_and(|last| last.iter().all(u8::is_ascii_digit)) {
        out.truncate(start);
        return Err(ADDRESS);
    }
    Ok(())
}

fn is_address(text: &str) -> bool {
    address(text).is_some()
}

/// An address, perhaps with a zone, as in `fe80::1%lo0`.
fn address(text: &str) -> Option<IpAddr> {
    text.split('%').next()?.parse().ok()
}

/// The host in a URL, an address of mail, or before a port; else the text.
fn host_in(text: &str) -> &str {
    let text = match text.split_once("://") {
        Some((scheme, rest)) if !scheme.contains(['/', '?', '#', '\\']) => {
            rest.split(['/', '?', '#', '\\']).next().unwrap_or(rest)
        }
        _ => {
            let rest = text.strip_prefix("//").unwrap_or(text);
            let before = rest.split(['/', '?', '#']).next().unwrap_or(rest);
            // A path may follow, but also the box in an address of mail may have such signs.
            let is_box = rest == text && text.contains('@') && !before.contains(['@', '.']);
            if is_box { text } else { before }
        }
    };
    let host = text.rsplit_once('@').map_or(text, |(_, host)| host);
    match host.rsplit_once(':') {
        Some((name, port))
            if (name.ends_with(']') || !name.contains(':'))
                && port.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            name
        }
        _ => host,
    }
}

/// Appends the normal form of a name: lower case and ASCII by the URL standard (IDNA), without a dot at the end. `None` if it is
/// not a name, or not one that DNS can carry. An address of IPv4 keeps its digits: no listed domain ends with them.
fn name(text: &str, out: &mut Vec<u8>) -> Option<()> {
    /// The maximum bytes of a name that DNS can carry: 253 letters of 4 bytes, each written as `%` and two digits.
    /// Reading a host takes up to 32 bytes of memory per byte.
    const MOST: usize = 1 << 12;
    let text = text.strip_suffix('.').unwrap_or(text);
    if text.len() > MOST {
        return None;
    }
    let start = out.len();
    if is_plain(text) {
        out.extend(text.bytes().map(|byte| byte.to_ascii_lowercase()));
    } else {
        match Host::parse(text).ok()? {
            Host::Domain(name) => {
                out.extend_from_slice(name.strip_suffix('.').unwrap_or(&name).as_bytes());
            }
            Host::Ipv4(address) => out.extend_from_slice(address.to_string().as_bytes()),
            Host::Ipv6(address) => {
                out.extend_from_slice(address.to_string().as_bytes());
                return Some(());
            }
        }
    }
    if fits(&out[start..]) {
        return Some(());
    }
    out.truncate(start);
    None
}

/// Whether IDNA changes only the case of a name: this is so for most, which take a sixth of the others' time.
fn is_plain(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    // Labels that begin with xn-- are decoded and checked, and a number at the end makes an address.
    name.bytes().all(plain)
        && !last.starts_with(|first: char| first.is_ascii_digit())
        && !name.as_bytes().windows(4).any(|four| four.eq_ignore_ascii_case(b"xn--"))
}

/// Whether a name can be one of a host: labels of 1 to 63 letters, digits, hyphens and underscores, 253 bytes in all. The URL
/// standard allows other characters too, such as the `*` of a wildcard in the middle of a name.
fn fits(name: &[u8]) -> bool {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    name.len() <= 253
        && name.iter().all(plain)
        && name.split(|&byte| byte == b'.').all(|label| (1..=63).contains(&label.len()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Reads = fn(&[u8], &mut Vec<u8>) -> Result<bool, NoPrefix>;

    /// The key of a text.
    fn key(read: Reads, text: &str) -> Result<Option<Vec<u8>>, &'static str> {
        let mut out = b"before".to_vec();
        let read = read(text.as_bytes(), &mut out);
        let key = out.split_off(6);
        assert!(read.is_ok() || key.is_empty());
        read.map(|is_key| is_key.then_some(key)).map_err(|error| error.why)
    }

    #[test]
    fn lists_of_networks() {
        for (text, expected) in [
            ("192.0.2.0/24", Ok(Some("192.0.2.0/24"))),
            (" 192.0.2.7 # a comment\r", Ok(Some("192.0.2.7/32"))),
            ("1.10.16.0/20 ; SBL256894", Ok(Some("1.10.16.0/20"))),
            ("2001:DB8::/32", Ok(Some("2001:db8::/32"))),
            ("::ffff:192.0.2.7", Ok(Some("192.0.2.7/32"))),
            ("# all of it", Ok(None)),
            ("", Ok(None)),
            ("192.0.2.0/255.255.255.0", Ok(Some("192.0.2.0/24"))),
            ("10.0.0.0 255.0.0.0 # a mask", Ok(Some("10.0.0.0/8"))),
            ("10.0.0.0/255.0.255.0", Err(NO_NETWORK)),
            ("10.0.0.5 0.0.0.0", Err(NO_NETWORK)),
            ("0.0.0.0/0.0.0.0", Ok(Some("0.0.0.0/0"))),
            ("192.0.2.0/33", Err(NO_NETWORK)),
            ("192.0.2.1-192.0.2.9", Err(NO_NETWORK)),
            ("example.com", Err(NO_NETWORK)),
        ] {
            let of = |text: &str| text.parse::<Network>().unwrap().key().as_ref().to_vec();
            let expected = expected.map(|text| text.map(of));
            assert_eq!(key(listed_network, text), expected, "{text:?}");
        }
        assert!(key(network, "192.0.2.7 # a comment").is_err());
        for (text, plain) in [
            ("192.0.2.7:443", "192.0.2.7"),
            ("[2001:db8::1]:443", "2001:db8::1"),
            ("fe80::1%eth0", "fe80::1"),
        ] {
            assert_eq!(key(network, text), key(network, plain), "{text}");
            assert!(key(listed_network, text).is_err(), "{text}");
        }
    }

    #[test]
    fn lists_of_domains() {
        let long = format!("{}.example", "x".repeat(64));
        for (text, expected) in [
            ("Example.COM.", Ok(Some("example.com"))),
            ("*.example.com", Ok(Some("example.com"))),
            (".example.com # and all below", Ok(Some("example.com"))),
            ("bücher.example", Ok(Some("xn--bcher-kva.example"))),
            ("XN--bcher-kva.example", Ok(Some("xn--bcher-kva.example"))),
            ("_dmarc.example.com", Ok(Some("_dmarc.example.com"))),
            ("zip", Ok(Some("zip"))),
            ("ads.example # costs $5 or 4^", Ok(Some("ads.example"))),
            ("||ads.example^ ## tracker", Ok(Some("ads.example"))),
            ("0.0.0.0 ads.example.com", Ok(Some("ads.example.com"))),
            ("127.0.0.1\tlocalhost", Ok(None)),
            ("fe80::1%lo0 localhost", Ok(None)),
            ("0.0.0.0 0.0.0.0", Ok(None)),
            ("0.0.0.0 a.example  b.example # two", Ok(Some("a.example\nb.example"))),
            ("0.0.0.0 evil", Ok(Some("evil"))),
            ("::1 ip6-localhost ip6-loopback", Ok(None)),
            ("ff02::1 ip6-allnodes", Ok(None)),
            ("||Ads.example^", Ok(Some("ads.example"))),
            ("||ads.example^$important", Ok(Some("ads.example"))),
            ("||ads.example^$third-party", Ok(None)),
            ("||ads.example/banner", Ok(None)),
            ("||ads*.example^", Ok(None)),
            ("@@||good.example^", Ok(None)),
            ("example.com##.banner", Ok(None)),
            ("/banner[0-9]/", Ok(None)),
            ("-ad-banner.", Ok(None)),
            ("! Title: a list", Ok(None)),
            ("[Adblock Plus 2.0]", Ok(None)),
            ("address=/ads.example/track.example/0.0.0.0", Ok(Some("ads.example\ntrack.example"))),
            ("local=/ads.example/", Ok(Some("ads.example"))),
            ("server=/corp.example/10.0.0.53", Ok(None)),
            ("server=8.8.8.8", Ok(None)),
            ("address=/a..b/", Err(NO_HOST)),
            ("a.example b.example", Err(SEVERAL)),
            ("192.0.2.7", Err(ADDRESS)),
            ("127.1", Err(ADDRESS)),
            ("2001:db8::1", Err(ADDRESS)),
            ("a..example", Err(NO_HOST)),
            (".", Err(NO_HOST)),
            ("*", Err(NO_HOST)),
            ("a.*.example", Err(NO_HOST)),
            ("xn--a.example", Err(NO_HOST)),
            (&long, Err(NO_HOST)),
        ] {
            let expected =
                expected.map(|text: Option<&str>| text.map(|text| text.as_bytes().to_vec()));
            assert_eq!(key(listed_domain, text), expected, "{text:?}");
        }
    }

    #[test]
    fn hosts_come_alone_and_in_urls_and_mail_addresses() {
        for (text, expected) in [
            ("WWW.Example.com", "www.example.com"),
            ("https://user:x@www.example.com:8443/path?q#f", "www.example.com"),
            ("http://bücher.example", "xn--bcher-kva.example"),
            ("someone@mail.example.com", "mail.example.com"),
            ("example.com:443", "example.com"),
            ("http://192.0.2.7/", "192.0.2.7"),
            ("http://[2001:db8::1]/", "2001:db8::1"),
            ("example.com/path?q", "example.com"),
            ("//example.com/path", "example.com"),
            ("a/b@mail.example.com", "mail.example.com"),
            ("a@mail.example.com/path", "mail.example.com"),
            ("tube.example/@name", "tube.example"),
            ("//tube.example/@name", "tube.example"),
            ("good.example/?mail=a@evil.example", "good.example"),
            ("2001:DB8::1", "2001:db8::1"),
            ("fe80::1%eth0", "fe80::1"),
        ] {
            assert_eq!(key(host, text), Ok(Some(expected.as_bytes().to_vec())), "{text:?}");
        }
        for text in ["two words", "http://", "a..b", "@", "exa<mple"] {
            assert!(key(host, text).is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn the_short_way_gives_what_the_url_standard_does(name in "[a-zA-Z0-9_.-]{1,20}") {
            if is_plain(&name) && !name.ends_with('.') {
                let parsed = Host::parse(&name);
                let lower = name.to_ascii_lowercase();
                let short = super::name(&name, &mut Vec::new()).is_some();
                // The standard allows empty labels in the middle, which DNS does not.
                prop_assert_eq!(short, fits(lower.as_bytes()));
                prop_assert_eq!(parsed, Ok(Host::Domain(lower)));
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            for read in [listed_network as Reads, network, listed_domain, host] {
                let mut out = Vec::new();
                let read = read(&bytes, &mut out);
                prop_assert_eq!(matches!(read, Ok(true)), !out.is_empty());
            }
        }
    }
}

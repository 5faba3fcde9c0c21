//! URLs as Squid spells them.

use hyper::Uri;

/// Returns the URL that Squid hashes: the host in lower case and without a final dot, no port 80, no user, and `/` for an
/// empty path. Path and query stay as they are, byte for byte. `None` if it is not an absolute `http` URL, or its port is
/// invalid.
pub(crate) fn canonical(uri: &Uri) -> Option<Uri> {
    let host = uri.host()?;
    if uri.scheme_str() != Some("http") {
        return None;
    }
    let authority = uri.authority()?.as_str();
    let authority = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
    // A number above 65,535 is invalid, and not the usual port either.
    let port = match authority.strip_prefix(host)?.trim_start_matches(':') {
        "" => 80,
        port => port.parse::<u16>().ok()?,
    };
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let port = Some(port).filter(|port| *port != 80);
    let port = port.map(|port| format!(":{port}")).unwrap_or_default();
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    format!("http://{host}{port}{}{query}", uri.path()).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_spelled_as_squid_does() {
        for (given, squid) in [
            ("http://a.example", "http://a.example/"),
            ("http://A.Example.:80/B/../c", "http://a.example/B/../c"),
            ("HTTP://a.example:8080/%7eb?C=d&", "http://a.example:8080/%7eb?C=d&"),
            ("http://me:secret@a.example/", "http://a.example/"),
            ("http://a.example?q", "http://a.example/?q"),
            ("http://[::1]:81/", "http://[::1]:81/"),
            ("http://[::1]/", "http://[::1]/"),
            ("http://a.example:/", "http://a.example/"),
            ("http://a.example:080/", "http://a.example/"),
        ] {
            let uri = canonical(&given.parse().unwrap()).unwrap();
            assert_eq!(uri.to_string(), squid, "{given}");
        }
        let no_port = "http://a.example:65616/";
        for other in ["/path", "https://a.example/", "a.example:443", no_port] {
            assert_eq!(canonical(&other.parse().unwrap()), None, "{other}");
        }
    }
}

//! URLs as Squid spells them.

use hyper::Uri;

/// Returns the URL that Squid hashes: the host in lower case and without a final dot, no port 80, no user, and `/` for an
/// empty path. Path and query stay as they are, byte for byte. `None` if it is not an absolute `http` URL.
pub(crate) fn canonical(uri: &Uri) -> Option<Uri> {
    let host = uri.host()?.trim_end_matches('.').to_ascii_lowercase();
    if uri.scheme_str() != Some("http") {
        return None;
    }
    let port = uri.port_u16().filter(|port| *port != 80);
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
        ] {
            let uri = canonical(&given.parse().unwrap()).unwrap();
            assert_eq!(uri.to_string(), squid, "{given}");
        }
        for other in ["/path", "https://a.example/", "a.example:443"] {
            assert_eq!(canonical(&other.parse().unwrap()), None, "{other}");
        }
    }
}

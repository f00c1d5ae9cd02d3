//! The parts of an address.

use std::net::IpAddr;

/// Returns scheme and host of a url.
pub fn origin(url: &str) -> &str {
    let from = url.find("://").map_or(0, |at| at + 3);
    let end = url[from..]
        .find(['/', '?', '#'])
        .map_or(url.len(), |at| from + at);
    &url[..end]
}

/// Returns the host of a url with its port, for messages.
pub fn host(url: &str) -> &str {
    let origin = origin(url);
    origin.split_once("://").map_or(origin, |(_, host)| host)
}

/// Returns whether a host, with or without a port, is this machine.
pub fn is_loopback(host: &str) -> bool {
    let is_one = |name: &str| {
        let name = name.trim_start_matches('[').trim_end_matches(']');
        name == "localhost" || name.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
    };
    let without_port = host.rsplit_once(':').map(|(name, _)| name);
    is_one(host) || without_port.is_some_and(is_one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let cases = [
            ("https://hub.co/a/b", "https://hub.co"),
            ("http://[::1]:80?x", "http://[::1]:80"),
            ("hub.co/a", "hub.co"),
        ];
        for (url, expected) in cases {
            assert_eq!(origin(url), expected);
            assert_eq!(host(url), expected.split("://").last().unwrap_or_default());
        }
    }

    #[test]
    fn this_machine_has_several_names() {
        for (host, expected) in [
            ("localhost", true),
            ("127.0.0.1:8080", true),
            ("[::1]:8080", true),
            ("[::1]", true),
            ("::1", true),
            ("localhost.example", false),
            ("10.0.0.1:80", false),
        ] {
            assert_eq!(is_loopback(host), expected, "{host}");
        }
    }
}

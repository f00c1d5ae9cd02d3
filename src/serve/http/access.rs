//! Access to the server: checks of the host, the origin, the token and the rate, before a request
//! is read.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::extract::{Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    AUTHORIZATION, CACHE_CONTROL, HOST, ORIGIN, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use crate::event::lock;

use super::reply::HttpFailure;

/// Requests of one peer per second, on average; and as many that are refused.
const RATE_PER_S: f64 = 50.0;
/// Requests of one peer at once.
const BURST: f64 = 200.0;
/// Peers whose rate is remembered before those that are at rest are forgotten.
const MAX_PEERS: usize = 1024;

const ALLOWED_HEADERS: &str =
    "authorization, content-type, last-event-id, mcp-session-id, mcp-protocol-version";
const ALLOWED_METHODS: &str = "GET, POST, DELETE";

/// The rules of access.
#[derive(Debug)]
pub struct Access {
    /// Hash of the token, so that a comparison takes the same time wherever two differ.
    token: Option<blake3::Hash>,
    /// Names of this machine, besides its addresses and `localhost`.
    hosts: Vec<String>,
    /// Origins of other pages that may send requests.
    origins: Vec<String>,
    rates: Mutex<HashMap<Peer, Bucket>>,
}

/// The machine that sends requests, whatever program it says it is. Requests that are refused count
/// apart: a page or a program without the token takes nothing from those that have it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Peer {
    address: Option<IpAddr>,
    is_refused: bool,
}

impl Peer {
    fn new(address: Option<SocketAddr>) -> Self {
        Self {
            address: address.map(|address| network(address.ip().to_canonical())),
            is_refused: false,
        }
    }
}

/// Returns an address as a limit counts it: a machine has all addresses of its network of IPv6 (RFC
/// 4291, section 2.5.4).
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            [a, b, c, d, 0, 0, 0, 0].into()
        }
    }
}

/// Whether a request of a connection had what this server asks for.
#[derive(Debug, Clone, Default)]
pub struct Admission(Arc<AtomicBool>);

impl Admission {
    pub fn is_given(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn give(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The requests that a peer may send now.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    left: f64,
    since: Instant,
}

impl Access {
    pub fn new(token: Option<&str>, hosts: Vec<String>, origins: Vec<String>) -> Self {
        Self {
            token: token.map(|token| blake3::hash(token.as_bytes())),
            hosts,
            origins,
            rates: Mutex::default(),
        }
    }

    /// Returns the origin that the reply must allow, if it is that of another page.
    fn check(&self, request: &Request, peer: Peer) -> Result<Option<HeaderValue>, HttpFailure> {
        self.admit(request, peer).or_else(|refusal| {
            let is_refused = true;
            self.check_rate(Peer { is_refused, ..peer }, Instant::now())?;
            Err(refusal)
        })
    }

    fn admit(&self, request: &Request, peer: Peer) -> Result<Option<HeaderValue>, HttpFailure> {
        let host = host(request.uri(), request.headers())?;
        self.check_host(&host)?;
        let foreign = self.foreign_origin(request.headers(), &host)?;
        // browsers send no token with the question whether a request may be sent
        if request.method() == Method::OPTIONS {
            return Ok(foreign);
        }

        // browsers send it with requests without an `Origin` too, such as that of an image
        let site = request.headers().get("sec-fetch-site");
        if foreign.is_none() && site.is_some_and(|site| site == "cross-site") {
            return Err(cross_origin("another site"));
        }
        self.check_token(request.headers())?;
        if let Some(admission) = request.extensions().get::<Admission>() {
            admission.give();
        }
        self.check_rate(peer, Instant::now())?;
        Ok(foreign)
    }

    /// Checks the name that the client reached this server by. A page can point a name of its own
    /// to this machine (DNS rebinding), but not an address.
    fn check_host(&self, host: &Authority) -> Result<(), HttpFailure> {
        // RFC 3986, section 3.2.2: brackets surround an address of IPv6
        let name = host.host().trim_matches(['[', ']']);
        let is_known = name.parse::<IpAddr>().is_ok()
            || name.eq_ignore_ascii_case("localhost")
            || self
                .hosts
                .iter()
                .any(|known| known.eq_ignore_ascii_case(name));

        if is_known {
            return Ok(());
        }

        Err(HttpFailure::new(
            StatusCode::FORBIDDEN,
            "unknown_host",
            format!(
                "this server does not serve the host {name:?}: use its address, or start it with --host {name}"
            ),
        ))
    }

    /// Returns the origin of a page that is not of this server, but may send requests.
    fn foreign_origin(
        &self,
        headers: &HeaderMap,
        host: &Authority,
    ) -> Result<Option<HeaderValue>, HttpFailure> {
        let Some(origin) = headers.get(ORIGIN) else {
            return Ok(None);
        };

        let text = origin.to_str().unwrap_or_default();
        let authority = ["http://", "https://"]
            .iter()
            .find_map(|scheme| text.strip_prefix(scheme));

        if authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host.as_str())) {
            return Ok(None);
        }

        if self
            .origins
            .iter()
            .any(|known| known.eq_ignore_ascii_case(text))
        {
            return Ok(Some(origin.clone()));
        }

        Err(cross_origin(text))
    }

    fn check_token(&self, headers: &HeaderMap) -> Result<(), HttpFailure> {
        let Some(token) = self.token else {
            return Ok(());
        };

        let sent = headers
            .get(AUTHORIZATION)
            .and_then(|value| value.to_str().ok());

        let sent = sent.and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            // RFC 9110, section 11.1: the name of a scheme has no case
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });

        if sent.is_some_and(|sent| blake3::hash(sent.as_bytes()) == token) {
            return Ok(());
        }

        let error = if sent.is_some() {
            "the token is not that of this server"
        } else {
            "the request has no token"
        };

        Err(HttpFailure::new(
            StatusCode::UNAUTHORIZED,
            "invalid_api_key",
            format!(
                "{error}: send `Authorization: Bearer TOKEN`; `ragscope serve` prints it at its start"
            ),
        ))
    }

    fn check_rate(&self, peer: Peer, now: Instant) -> Result<(), HttpFailure> {
        let mut rates = lock(&self.rates);
        if rates.len() >= MAX_PEERS {
            rates.retain(|_, bucket| bucket.at(now) < BURST);
        }
        if rates.len() >= MAX_PEERS && !rates.contains_key(&peer) {
            return Err(too_many());
        }

        let full = Bucket {
            left: BURST,
            since: now,
        };
        let bucket = rates.entry(peer).or_insert(full);
        let left = bucket.at(now);
        if left < 1.0 {
            return Err(too_many());
        }
        *bucket = Bucket {
            left: left - 1.0,
            since: now,
        };
        Ok(())
    }
}

impl Bucket {
    /// Returns the number of requests that are left at a time.
    fn at(self, now: Instant) -> f64 {
        let elapsed = now.saturating_duration_since(self.since).as_secs_f64();
        (self.left + elapsed * RATE_PER_S).min(BURST)
    }
}

/// Checks a request before it is handled, and marks the reply.
pub async fn guard(State(access): State<Arc<Access>>, request: Request, next: Next) -> Response {
    let peer = request.extensions().get::<SocketAddr>().copied();
    let (mut response, foreign) = match access.check(&request, Peer::new(peer)) {
        Ok(foreign) if request.method() == Method::OPTIONS => (preflight(), foreign),
        Ok(foreign) => (next.run(request).await, foreign),
        Err(failure) => (failure.into_response(), None),
    };

    let headers = response.headers_mut();
    let mut set = |name: HeaderName, value: &'static str| {
        headers.insert(name, HeaderValue::from_static(value));
    };
    // without it, a browser may take text of a document for a page
    set(X_CONTENT_TYPE_OPTIONS, "nosniff");
    // a cache must not give one page the permission of another
    set(VARY, "origin");
    set(CACHE_CONTROL, "no-store");
    if let Some(origin) = foreign {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        // a page of another origin sees no other headers than the few that Fetch lists
        let exposed = HeaderValue::from_static("mcp-session-id, retry-after");
        headers.insert("access-control-expose-headers", exposed);
    }
    response
}

/// Returns the host that a request is for: the one of its target, where it names one (RFC 9112,
/// section 3.2.2).
fn host(uri: &Uri, headers: &HeaderMap) -> Result<Authority, HttpFailure> {
    let named = headers.get(HOST).and_then(|host| host.to_str().ok());
    uri.authority()
        .cloned()
        .or_else(|| named?.parse().ok())
        .ok_or_else(|| HttpFailure::invalid("the request names no host: send a `Host` header"))
}

fn cross_origin(from: &str) -> HttpFailure {
    HttpFailure::new(
        StatusCode::FORBIDDEN,
        "cross_origin",
        format!("pages of {from:?} may not use this server: start it with --origin to allow one"),
    )
}

fn too_many() -> HttpFailure {
    HttpFailure {
        retry_after: Some(Duration::from_secs(1)),
        ..HttpFailure::new(
            StatusCode::TOO_MANY_REQUESTS,
            "rate_limit_exceeded",
            format!("more than {RATE_PER_S} requests per second: send them one after the other"),
        )
    }
}

fn preflight() -> Response {
    let allowed = [
        (ACCESS_CONTROL_ALLOW_HEADERS, ALLOWED_HEADERS),
        (ACCESS_CONTROL_ALLOW_METHODS, ALLOWED_METHODS),
    ];
    (StatusCode::NO_CONTENT, allowed).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;
    use axum::http::header::USER_AGENT;

    const TOKEN: &str = "a-token-of-my-own-choice";

    fn check(path: &str, headers: &[(&str, &str)]) -> Result<bool, u16> {
        let access = Access::new(
            Some(TOKEN),
            vec!["notes.lan".to_owned()],
            vec!["http://chat.example:3000".to_owned()],
        );
        let mut request = Request::builder().uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::empty()).expect("a request");
        let checked = access.check(&request, Peer::default());
        checked
            .map(|foreign| foreign.is_some())
            .map_err(|failure| failure.status.as_u16())
    }

    #[test]
    fn hosts_origins_and_tokens_are_checked() {
        let bearer = ("authorization", "Bearer a-token-of-my-own-choice");
        let local = ("host", "127.0.0.1:7411");
        type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], Result<bool, u16>);
        let cases: [Case<'_>; 18] = [
            ("http://evil.example/v1/models", &[local, bearer], Err(403)),
            (
                "http://localhost:7411/v1/models",
                &[local, bearer],
                Ok(false),
            ),
            ("/v1/models", &[local, bearer], Ok(false)),
            ("/v1/models", &[("host", "localhost"), bearer], Ok(false)),
            ("/v1/models", &[("host", "[::1]:80"), bearer], Ok(false)),
            ("/v1/models", &[("host", "NOTES.lan:80"), bearer], Ok(false)),
            ("/v1/models", &[("host", "evil.example"), bearer], Err(403)),
            ("/v1/models", &[("host", "evil.example")], Err(403)),
            (
                "/v1/models",
                &[("host", "localhost.evil.example")],
                Err(403),
            ),
            ("/v1/models", &[], Err(400)),
            ("/v1/models", &[local], Err(401)),
            (
                "/v1/models",
                &[local, ("authorization", "Bearer x")],
                Err(401),
            ),
            ("/v1/models", &[local, ("authorization", TOKEN)], Err(401)),
            ("/mcp", &[local], Err(401)),
            (
                "/v1/models",
                &[local, bearer, ("origin", "http://127.0.0.1:7411")],
                Ok(false),
            ),
            (
                "/v1/models",
                &[local, bearer, ("origin", "http://127.0.0.1:9999")],
                Err(403),
            ),
            (
                "/v1/models",
                &[local, bearer, ("origin", "http://chat.example:3000")],
                Ok(true),
            ),
            (
                "/v1/models",
                &[local, bearer, ("sec-fetch-site", "cross-site")],
                Err(403),
            ),
        ];
        for (path, headers, expected) in cases {
            assert_eq!(check(path, headers), expected, "{path} {headers:?}");
        }
    }

    #[test]
    fn a_machine_has_a_rate_of_its_own() {
        let access = Access::new(None, Vec::new(), Vec::new());
        let peer = |address: &str| Peer::new(Some(address.parse().expect("an address")));
        let now = Instant::now();
        let sent = |address: &str, now| {
            let sent = (0..1000).take_while(|_| access.check_rate(peer(address), now).is_ok());
            sent.count()
        };
        assert_eq!(sent("10.0.0.1:80", now), BURST as usize);
        assert_eq!(sent("10.0.0.1:81", now), 0);
        assert_eq!(sent("[::ffff:10.0.0.1]:81", now), 0);
        assert!(access.check_rate(peer("10.0.0.2:80"), now).is_ok());
        let later = now + Duration::from_secs(1);
        assert_eq!(sent("10.0.0.1:80", later), RATE_PER_S as usize);

        // one network
        assert_eq!(sent("[2001:db8::1]:80", now), BURST as usize);
        assert_eq!(sent("[2001:db8::2]:80", now), 0);

        for number in 0..2 * MAX_PEERS {
            let address = format!("10.1.{}.{}:80", number / 256, number % 256);
            let _ = access.check_rate(peer(&address), later);
        }
        let known = access.rates.lock().expect("no panic").len();
        assert!(known <= MAX_PEERS, "{known}");
    }

    #[test]
    fn refused_requests_are_limited_and_take_nothing_from_others() {
        let access = Access::new(Some(TOKEN), Vec::new(), Vec::new());
        let peer = Peer::new(Some("10.0.0.1:80".parse().expect("an address")));
        let status = |agent: usize, token: &str| {
            let request = Request::builder()
                .uri("/v1/models")
                .header(HOST, "127.0.0.1")
                .header(USER_AGENT, agent)
                .header(AUTHORIZATION, format!("Bearer {token}"))
                .body(Body::empty())
                .expect("a request");
            let checked = access.check(&request, peer);
            checked.map_or_else(|failure| failure.status.as_u16(), |_| 200)
        };
        let refused: Vec<u16> = (0..1000).map(|agent| status(agent, "guess")).collect();
        assert_eq!(refused[0], 401);
        let unlimited = refused.iter().filter(|status| **status == 401).count();
        // some time passes meanwhile
        assert!(unlimited < 500, "{unlimited}");
        assert_eq!(status(0, TOKEN), 200);
    }
}

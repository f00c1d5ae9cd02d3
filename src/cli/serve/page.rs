//! The page: a front end of the same records, without anything from elsewhere.

use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};

/// Path, type and text of each file of the page.
const FILES: [(&str, &str, &str); 4] = [
    (
        "/",
        "text/html; charset=utf-8",
        include_str!("../../../assets/web/index.html"),
    ),
    (
        "/page.css",
        "text/css; charset=utf-8",
        include_str!("../../../assets/web/page.css"),
    ),
    (
        "/page.js",
        "text/javascript; charset=utf-8",
        include_str!("../../../assets/web/page.js"),
    ),
    (
        "/icon.svg",
        "image/svg+xml",
        include_str!("../../../assets/web/icon.svg"),
    ),
];

/// Returns each path of the page with its reply.
pub fn files() -> impl Iterator<Item = (&'static str, impl Fn() -> Response + Clone)> {
    FILES.into_iter().map(|(path, kind, text)| {
        let reply = move || {
            let mut response = text.into_response();
            let kind = HeaderValue::from_static(kind);
            response.headers_mut().insert(CONTENT_TYPE, kind);
            response
        };
        (path, reply)
    })
}

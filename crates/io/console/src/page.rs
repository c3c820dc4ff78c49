//! The page, embedded in the binary, and what a browser may do with it.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use axum::routing::get;

use crate::Source;

/// Scripts and styles come from this server and from nowhere else, nothing is inline, no string can become markup or
/// code, nothing may frame the page, and no form leaves it.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
     img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types 'none'";

struct Asset {
    path: &'static str,
    content_type: &'static str,
    body: &'static str,
}

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const IMAGE: &str = "image/svg+xml";

macro_rules! asset {
    ($file:literal, $content_type:expr) => {
        Asset {
            path: concat!("/", $file),
            content_type: $content_type,
            body: include_str!(concat!("../page/", $file)),
        }
    };
}

/// The files are kept apart for their readers; together they are the page. A browser fetches each as it is, so there
/// is nothing to build.
const ASSETS: &[Asset] = &[
    Asset {
        path: "/",
        ..asset!("index.html", HTML)
    },
    asset!("style.css", STYLE),
    asset!("logo.svg", IMAGE),
    asset!("theme.js", SCRIPT),
    asset!("app.js", SCRIPT),
    asset!("allocations.js", SCRIPT),
    asset!("client.js", SCRIPT),
    asset!("conditions.js", SCRIPT),
    asset!("denials.js", SCRIPT),
    asset!("details.js", SCRIPT),
    asset!("dom.js", SCRIPT),
    asset!("format.js", SCRIPT),
    asset!("ice.js", SCRIPT),
    asset!("ice-view.js", SCRIPT),
    asset!("layout.js", SCRIPT),
    asset!("picture.js", SCRIPT),
    asset!("plot.js", SCRIPT),
    asset!("problems.js", SCRIPT),
    asset!("rates.js", SCRIPT),
    asset!("status.js", SCRIPT),
    asset!("tabs.js", SCRIPT),
    asset!("tooltip.js", SCRIPT),
    asset!("traffic.js", SCRIPT),
    asset!("world.js", SCRIPT),
];

pub(crate) fn routes() -> Router<Arc<dyn Source>> {
    ASSETS.iter().fold(Router::new(), |router, asset| {
        router.route(asset.path, get(async || answer(asset)))
    })
}

fn answer(asset: &Asset) -> Response {
    let mut response = Response::new(Body::from(asset.body));
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static(asset.content_type),
    );
    response
}

/// Puts the restrictions on every answer, so that not even a JSON error can be made into a page.
pub(crate) async fn restrict(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        // A page of an older version must not ask the API of a newer one.
        (header::CACHE_CONTROL, "no-store"),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

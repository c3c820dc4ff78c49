//! The opening handshake of a WebSocket (RFC 6455 §4.2).

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, StatusCode, header};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::upgrade::OnUpgrade;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use super::answer;

/// A connection that is about to change its protocol, and the answer that makes it do so.
pub(super) struct Handshake {
    pub(super) upgrade: OnUpgrade,
    pub(super) answer: Response,
}

impl Handshake {
    pub(super) fn begin(request: &mut Request<Body>) -> Result<Handshake, Box<Response>> {
        let headers = request.headers();
        let bad = |why| Err(Box::new(answer::no_upgrade(StatusCode::BAD_REQUEST, why)));
        if !has_token(headers, header::CONNECTION, "upgrade")
            || !has_token(headers, header::UPGRADE, "websocket")
        {
            return bad(
                "a watch is a WebSocket: send `Connection: Upgrade` and `Upgrade: websocket`",
            );
        }
        if !has_token(headers, header::SEC_WEBSOCKET_VERSION, "13") {
            return bad("only version 13 of WebSocket is spoken here");
        }
        if is_foreign(request) {
            let why = "pages of other web sites may not watch: the Origin is not this host";
            return Err(Box::new(answer::no_upgrade(StatusCode::FORBIDDEN, why)));
        }
        let Some(key) = key(headers) else {
            return bad("the Sec-WebSocket-Key is missing or is not 16 bytes in base64");
        };
        let accept = derive_accept_key(key.as_bytes());
        let Ok(accept) = HeaderValue::from_str(&accept) else {
            return bad("the Sec-WebSocket-Key cannot be answered");
        };
        let Some(upgrade) = request.extensions_mut().remove::<OnUpgrade>() else {
            return bad("this connection cannot be upgraded; it takes HTTP/1.1");
        };
        let mut answer = answer::empty(StatusCode::SWITCHING_PROTOCOLS);
        let headers = answer.headers_mut();
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
        Ok(Handshake { upgrade, answer })
    }
}

/// Whether a comma list, which may be spread over several headers, has this word in any case.
fn has_token(headers: &HeaderMap, name: HeaderName, token: &str) -> bool {
    let lists = headers.get_all(name).into_iter();
    lists
        .filter_map(|value| value.to_str().ok())
        .flat_map(|list| list.split(','))
        .any(|word| word.trim().eq_ignore_ascii_case(token))
}

fn key(headers: &HeaderMap) -> Option<&str> {
    let key = headers.get(header::SEC_WEBSOCKET_KEY)?.to_str().ok()?;
    let bytes = STANDARD.decode(key).ok()?;
    (bytes.len() == 16).then_some(key)
}

/// Whether a browser sent this from a page of another site. Other programs send no `Origin`, or that of the server.
fn is_foreign(request: &Request<Body>) -> bool {
    let Some(origin) = request.headers().get(header::ORIGIN) else {
        return false;
    };
    let host = match request.uri().authority() {
        Some(authority) => Some(authority.as_str()),
        None => request
            .headers()
            .get(header::HOST)
            .and_then(|host| host.to_str().ok()),
    };
    match (origin.to_str().ok().and_then(origin_host), host) {
        (Some(origin), Some(host)) => !origin.eq_ignore_ascii_case(host),
        _ => true,
    }
}

/// Host and port of an origin. The Go clients append the query of the request to theirs.
fn origin_host(origin: &str) -> Option<&str> {
    let (_, rest) = origin.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    Some(authority.rsplit('@').next().unwrap_or(authority))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(headers: &[(&str, &str)]) -> Request<Body> {
        let mut builder = Request::get("/api/v1/configs").header("host", "127.0.0.1:13478");
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        builder.body(Body::empty()).expect("a request")
    }

    #[test]
    fn only_the_host_of_an_origin_counts() {
        for own in [
            "http://127.0.0.1:13478",
            "http://127.0.0.1:13478?node=node-a&watch=true",
            "https://127.0.0.1:13478/page#x",
        ] {
            assert!(!is_foreign(&request(&[("origin", own)])), "{own}");
        }
        assert!(!is_foreign(&request(&[])));
        for foreign in [
            "http://elsewhere.example.test",
            "http://127.0.0.1",
            "http://127.0.0.1:13478.example.test",
            "http://evil.test?http://127.0.0.1:13478",
            "http://127.0.0.1:13478@evil.test",
            "null",
            "",
        ] {
            assert!(is_foreign(&request(&[("origin", foreign)])), "{foreign}");
        }
    }

    #[test]
    fn words_of_lists_are_found_in_any_case_and_header() {
        let request = request(&[
            ("connection", "keep-alive, UPGRADE"),
            ("upgrade", "h2c"),
            ("upgrade", "WebSocket"),
        ]);
        let headers = request.headers();
        assert!(has_token(headers, header::CONNECTION, "upgrade"));
        assert!(has_token(headers, header::UPGRADE, "websocket"));
        assert!(!has_token(headers, header::UPGRADE, "web"));
    }

    #[test]
    fn a_key_is_sixteen_bytes() {
        let of = |value| key(request(&[("sec-websocket-key", value)]).headers()).is_some();
        assert!(of("Zml4dHVyZS1rZXktMDAwMA=="));
        assert!(!of("c2hvcnQ=") && !of("nonsense") && !of(""));
    }
}

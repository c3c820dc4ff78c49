//! Who may talk to the admin API.
//!
//! It listens on loopback and knows no passwords, so the one stranger that can reach it is a web page in a browser on
//! the same machine. A page that rebinds its own name to 127.0.0.1 still sends that name as `Host`; a page that posts
//! across sites says so in `Origin` and `Sec-Fetch-Site`.

use std::net::IpAddr;

use axum::extract::Request;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::Response;

use super::admin::refuse;

pub(super) async fn guard(request: Request, next: Next) -> Response {
    let Some(host) = host_of(&request) else {
        return refuse(
            StatusCode::FORBIDDEN,
            "the request names no host",
            "send a Host header",
        );
    };
    if !is_loopback(host) {
        return refuse(
            StatusCode::FORBIDDEN,
            "the admin API answers to loopback names only",
            "use http://127.0.0.1:8087 or http://localhost:8087; with `kubectl port-forward` that is where it appears",
        );
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD)
        && is_cross_site(request.headers(), host)
    {
        return refuse(
            StatusCode::FORBIDDEN,
            "requests that change something are not accepted from other web sites",
            "use curl, or a page of the same origin",
        );
    }
    next.run(request).await
}

/// The authority that the client asked for: in the request line, else in the header (RFC 9112 §3.2.2).
fn host_of(request: &Request) -> Option<&str> {
    match request.uri().authority() {
        Some(authority) => Some(authority.as_str()),
        None => request.headers().get(header::HOST)?.to_str().ok(),
    }
}

fn is_loopback(authority: &str) -> bool {
    let name = match authority.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    match name.parse::<IpAddr>() {
        Ok(ip) => ip.is_loopback(),
        // RFC 6761 §6.3 keeps `localhost` and what is below it for loopback.
        Err(_) => {
            let name = name.trim_end_matches('.').to_ascii_lowercase();
            name == "localhost" || name.ends_with(".localhost")
        }
    }
}

fn is_cross_site(headers: &HeaderMap, host: &str) -> bool {
    let other_origin = headers.get(header::ORIGIN).is_some_and(|origin| {
        let origin = origin
            .to_str()
            .ok()
            .and_then(|origin| origin.parse::<Uri>().ok());
        // An opaque origin (`null`) is as foreign as any.
        !origin.is_some_and(|origin| {
            origin
                .authority()
                .is_some_and(|authority| authority.as_str() == host)
        })
    });
    let other_site = headers
        .get("sec-fetch-site")
        .is_some_and(|site| !matches!(site.as_bytes(), b"same-origin" | b"none"));
    other_origin || other_site
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_names_and_addresses_are_known_with_and_without_port() {
        for host in [
            "localhost",
            "LOCALHOST:8087",
            "a.localhost:1",
            "127.0.0.1:8087",
            "127.9.9.9",
            "[::1]:8087",
            "[::1]",
        ] {
            assert!(is_loopback(host), "{host}");
        }
    }

    #[test]
    fn other_names_are_not_loopback_even_if_they_look_like_it() {
        for host in [
            "example.com",
            "localhost.example.com:8087",
            "127.0.0.1.example.com",
            "10.0.0.1:8087",
            "[fe80::1]",
            "",
            "[",
            "0.0.0.0",
            "notlocalhost",
        ] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}

//! Who may come in, asked before anything of a body is read.
//!
//! With a token, who shows it. Without one everybody on the network, but no web page: one that rebinds its name to this
//! host, or posts across sites, is a stranger to it.

use std::net::SocketAddr;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use stunner_http::Stranger;
use subtle::ConstantTimeEq;

use super::Whip;
use super::answer::Refusal;

type Client = ConnectInfo<SocketAddr>;

/// For offers and the end of sessions, and before [`settings`].
pub(super) async fn callers(
    State(whip): State<Whip>,
    request: Request,
    next: Next,
) -> Result<Response, Refusal> {
    let token = whip.settings().bearer_token;
    if token.is_empty() {
        known(&whip, &request)?;
    } else if !shows(request.headers(), &token) {
        return Err(Refusal {
            status: StatusCode::UNAUTHORIZED,
            error: "the request does not show the token".to_owned(),
            hint: "send `Authorization: Bearer TOKEN` with the value of BEARER_TOKEN".to_owned(),
        });
    }
    Ok(next.run(request).await)
}

/// `/config` shows credentials: where no token is set, only to this host, which is where a port-forward ends.
pub(super) async fn settings(
    State(whip): State<Whip>,
    ConnectInfo(client): Client,
    request: Request,
    next: Next,
) -> Result<Response, Refusal> {
    let is_local = client.ip().to_canonical().is_loopback();
    if !is_local && whip.settings().bearer_token.is_empty() {
        return Err(Refusal {
            status: StatusCode::FORBIDDEN,
            error: "without BEARER_TOKEN, /config answers to its own host only".to_owned(),
            hint: "set BEARER_TOKEN, or come by a port-forward".to_owned(),
        });
    }
    Ok(next.run(request).await)
}

fn shows(headers: &HeaderMap, token: &str) -> bool {
    let shown = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map_or("", |(_, token)| token.trim());
    bool::from(token.as_bytes().ct_eq(shown.as_bytes()))
}

fn known(whip: &Whip, request: &Request) -> Result<(), Refusal> {
    let host = request.headers().get(header::HOST);
    let host = host.and_then(|host| host.to_str().ok()).unwrap_or_default();
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let names = match is_inside(name) {
        true => whip.0.names.clone().and([name]),
        false => whip.0.names.clone(),
    };
    let error = match names.examine(request) {
        Ok(()) => return Ok(()),
        Err(Stranger::NoHost) => "the request names no host",
        Err(Stranger::OtherHost) => "the request asks for another host than this one",
        Err(Stranger::OtherSite) => "the request comes from a page of another site",
    };
    Err(Refusal {
        status: StatusCode::FORBIDDEN,
        error: error.to_owned(),
        hint: "set BEARER_TOKEN and show it, or call by an address".to_owned(),
    })
}

/// Names that only the network around can give, as that of a Service: no web page has one.
fn is_inside(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    !name.contains('.') || name.ends_with(".svc") || name.ends_with(".cluster.local")
}

//! Who may read what.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use futures_util::future::BoxFuture;

use super::answer;
use crate::id::ConfigId;

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    All,
    Namespace(String),
    One(ConfigId),
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scope::All => f.write_str("all configs"),
            Scope::Namespace(namespace) => write!(f, "all configs of namespace {namespace}"),
            Scope::One(id) => write!(f, "config {id}"),
        }
    }
}

/// What an [`Authorizer`] decides. The reasons are sent to the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Allowed,
    Denied(String),
    /// It cannot be decided now; the client may come again.
    Unavailable(String),
}

/// Decides who may read what.
pub trait Authorizer: Send + Sync {
    fn authorize<'a>(&'a self, token: &'a BearerToken, scope: &'a Scope) -> BoxFuture<'a, Verdict>;
}

/// The token that a client showed.
#[derive(Clone, PartialEq, Eq)]
pub struct BearerToken(String);

impl BearerToken {
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BearerToken(<SECRET>)")
    }
}

/// Whether clients have to show who they are.
#[derive(Clone, Default)]
pub enum Access {
    /// Everyone who reaches the port may read everything, as in the Go system.
    #[default]
    Open,
    Checked(Arc<dyn Authorizer>),
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Access::Open => "Open",
            Access::Checked(_) => "Checked",
        })
    }
}

impl Access {
    /// Lets a request pass, or says how to answer it instead.
    pub(super) async fn check(
        &self,
        headers: &HeaderMap,
        scope: &Scope,
        patience: Duration,
    ) -> Result<(), Box<Response>> {
        let Access::Checked(authorizer) = self else {
            return Ok(());
        };
        let Some(token) = bearer_token(headers) else {
            let why = "this port wants `Authorization: Bearer` with a ServiceAccount token";
            let mut answer = answer::error(StatusCode::UNAUTHORIZED, why);
            let challenge = header::HeaderValue::from_static("Bearer");
            answer
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, challenge);
            return Err(Box::new(answer));
        };
        let verdict = tokio::time::timeout(patience, authorizer.authorize(&token, scope)).await;
        let verdict = verdict.unwrap_or_else(|_| {
            Verdict::Unavailable("the token could not be checked in time".to_owned())
        });
        let (status, why) = match verdict {
            Verdict::Allowed => return Ok(()),
            Verdict::Denied(why) => (StatusCode::FORBIDDEN, why),
            Verdict::Unavailable(why) => (StatusCode::SERVICE_UNAVAILABLE, why),
        };
        tracing::info!(scope = super::SCOPE, "no access to {scope}: {why}");
        Err(Box::new(answer::error(status, &why)))
    }
}

/// The token of the one `Authorization` header (RFC 6750 §2.1); the name of the scheme may be in any case.
fn bearer_token(headers: &HeaderMap) -> Option<BearerToken> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (value, None) = (values.next()?.to_str().ok()?, values.next()) else {
        return None;
    };
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim();
    let fits = scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() && !token.contains(' ');
    fits.then(|| BearerToken(token.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_from_a_single_bearer_header_and_never_shown() {
        let token = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::AUTHORIZATION, value.parse().expect("a value"));
            }
            bearer_token(&headers)
        };
        for good in ["Bearer t0k", "bearer t0k", "BEARER  t0k "] {
            let token = token(&[good]).expect(good);
            assert_eq!(token.expose(), "t0k");
            assert!(!format!("{token:?}").contains("t0k"));
        }
        for bad in [
            &[][..],
            &["Bearer"],
            &["Bearer "],
            &["Basic dTpw"],
            &["t0k"],
            &["Bearer a b"],
            &["Bearer a", "Bearer b"],
        ] {
            assert_eq!(token(bad), None, "{bad:?}");
        }
    }
}

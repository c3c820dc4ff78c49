//! Who may ask for credentials: anybody, or those who show a bearer token (RFC 6750).

mod review;
mod token_file;

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;

pub use review::{Accounts, REVIEW_PATIENCE, Reviewer};
pub use token_file::{TokenFile, TokenFileError};

use super::Problem;

/// The ways to be let in; without any, everybody is.
#[derive(Debug, Default)]
pub struct Access {
    pub token_file: Option<TokenFile>,
    pub reviewer: Option<Reviewer>,
}

impl Access {
    pub fn is_checked(&self) -> bool {
        self.token_file.is_some() || self.reviewer.is_some()
    }

    pub(super) async fn check(&self, headers: &HeaderMap) -> Result<(), Problem> {
        if !self.is_checked() {
            return Ok(());
        }
        let token = bearer(headers).ok_or(Problem::NoToken)?;
        if let Some(tokens) = &self.token_file
            && tokens.holds(token).await
        {
            return Ok(());
        }
        match &self.reviewer {
            Some(reviewer) => reviewer.check(token).await,
            None => Err(Problem::BadToken),
        }
    }
}

/// The token of a request. The name of the scheme is case-insensitive (RFC 9110 §11.1).
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

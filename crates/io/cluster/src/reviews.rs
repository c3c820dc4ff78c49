//! Whose a token is: the API server says.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, TokenReviewStatus};
use kube::Client;
use kube::api::{Api, PostParams};
use sha2::{Digest, Sha256};
use stunner_api::NamespacedName;
use tokio::sync::Semaphore;

use crate::error::{Asked, ClusterError, TOKEN_REVIEWS};

/// How long a good answer holds: a caller that comes again and again does not load the API server.
const MEMORY: Duration = Duration::from_secs(60);
const MEMORY_SIZE: usize = 10_000;
/// After a restart every caller comes at once.
const REVIEWS_AT_ONCE: usize = 32;
const SERVICE_ACCOUNT: &str = "system:serviceaccount:";

/// What the API server says of a token that is good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenOwner {
    /// `None` for a person's.
    pub account: Option<NamespacedName>,
    /// Those of the audiences asked for that it is meant for. An API server that knows nothing of audiences names none;
    /// such a token could be meant for anybody.
    pub audiences: Vec<String>,
}

impl TokenOwner {
    pub fn is_meant_for(&self, audience: &str) -> bool {
        self.audiences.iter().any(|granted| granted == audience)
    }

    /// `None` where the token is not good.
    fn of(status: TokenReviewStatus) -> Option<TokenOwner> {
        if status.authenticated != Some(true) {
            return None;
        }
        let user = status.user.and_then(|user| user.username);
        let account = user
            .as_deref()
            .and_then(|user| user.strip_prefix(SERVICE_ACCOUNT))
            .and_then(|account| account.split_once(':'))
            .map(|(namespace, name)| NamespacedName::new(namespace, name));
        Some(TokenOwner {
            account,
            audiences: status.audiences.unwrap_or_default(),
        })
    }
}

/// Asks the API server about tokens, and remembers for a while whose the good ones are.
pub struct TokenReviews {
    client: Client,
    patience: Duration,
    reviews: Semaphore,
    /// By hashes of tokens and the audiences asked for.
    good: Mutex<HashMap<[u8; 32], (Instant, TokenOwner)>>,
}

impl TokenReviews {
    /// `patience` is how long an answer may take. An API server that gives none must not keep callers waiting for
    /// others.
    pub fn new(client: Client, patience: Duration) -> TokenReviews {
        TokenReviews {
            client,
            patience,
            reviews: Semaphore::new(REVIEWS_AT_ONCE),
            good: Mutex::default(),
        }
    }

    /// Whose it is; `None` for a token that is unknown, has expired, or is for none of these audiences. Without
    /// audiences it has to be for the API server's own.
    pub async fn review(
        &self,
        token: &str,
        audiences: &[String],
    ) -> Result<Option<TokenOwner>, ClusterError> {
        let key = fingerprint(token, audiences);
        let now = Instant::now();
        if let Some(owner) = self.remembered(&key, now) {
            return Ok(Some(owner));
        }
        let asked = tokio::time::timeout(self.patience, self.ask(token, audiences)).await;
        let status = asked.map_err(|_| ClusterError::Unreachable {
            what: "the API server".to_owned(),
            why: format!("no answer within {:?}", self.patience),
        })??;
        let owner = TokenOwner::of(status);
        if let Some(owner) = &owner {
            self.remember(key, now, owner.clone());
        }
        Ok(owner)
    }

    async fn ask(
        &self,
        token: &str,
        audiences: &[String],
    ) -> Result<TokenReviewStatus, ClusterError> {
        // Never closed, so there is always a permit to come.
        let _permit = self.reviews.acquire().await.ok();
        let review = TokenReview {
            spec: TokenReviewSpec {
                token: Some(token.to_owned()),
                audiences: (!audiences.is_empty()).then(|| audiences.to_vec()),
            },
            ..TokenReview::default()
        };
        let reviews: Api<TokenReview> = Api::all(self.client.clone());
        let answer = reviews.create(&PostParams::default(), &review).await;
        let answer = answer.map_err(|error| {
            let asked = Asked {
                verb: "create",
                resource: TOKEN_REVIEWS,
                namespace: None,
                name: None,
            };
            ClusterError::of_kube(&error, &asked)
        })?;
        Ok(answer.status.unwrap_or_default())
    }

    fn remembered(&self, key: &[u8; 32], now: Instant) -> Option<TokenOwner> {
        let good = self.good.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, owner) = good.get(key)?;
        is_fresh(*at, now).then(|| owner.clone())
    }

    fn remember(&self, key: [u8; 32], now: Instant, owner: TokenOwner) {
        let mut good = self.good.lock().unwrap_or_else(PoisonError::into_inner);
        if good.len() >= MEMORY_SIZE {
            good.retain(|_, (at, _)| is_fresh(*at, now));
        }
        if good.len() < MEMORY_SIZE {
            good.insert(key, (now, owner));
        }
    }
}

fn is_fresh(at: Instant, now: Instant) -> bool {
    now.saturating_duration_since(at) < MEMORY
}

fn fingerprint(token: &str, audiences: &[String]) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(token);
    for audience in audiences {
        // Neither tokens nor audiences have a zero byte.
        hash.update([0]);
        hash.update(audience);
    }
    hash.finalize().into()
}

impl fmt::Debug for TokenReviews {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenReviews")
            .field("patience", &self.patience)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::authentication::v1::UserInfo;

    use super::*;

    fn status(user: &str, authenticated: bool) -> TokenReviewStatus {
        TokenReviewStatus {
            authenticated: Some(authenticated),
            audiences: Some(vec!["turn".to_owned()]),
            user: Some(UserInfo {
                username: Some(user.to_owned()),
                ..UserInfo::default()
            }),
            error: None,
        }
    }

    #[test]
    fn a_token_belongs_to_a_service_account_a_person_or_nobody() {
        let app = TokenOwner::of(status("system:serviceaccount:shop:app", true)).expect("good");
        assert_eq!(app.account, Some(NamespacedName::new("shop", "app")));
        assert!(app.is_meant_for("turn") && !app.is_meant_for("api"));
        let person = TokenOwner::of(status("kubernetes-admin", true)).expect("good");
        assert_eq!(person.account, None);
        assert_eq!(
            TokenOwner::of(status("system:serviceaccount:shop:app", false)),
            None
        );
        assert_eq!(TokenOwner::of(TokenReviewStatus::default()), None);
    }

    #[test]
    fn what_is_remembered_holds_for_the_audiences_that_were_asked_for() {
        let audiences =
            |names: &[&str]| -> Vec<String> { names.iter().map(|&name| name.to_owned()).collect() };
        let one = fingerprint("token", &audiences(&["a"]));
        assert_eq!(one, fingerprint("token", &audiences(&["a"])));
        for (token, other) in [
            ("token", &[][..]),
            ("token", &["a", "b"]),
            ("token", &["b"]),
            ("tokena", &[]),
        ] {
            assert_ne!(one, fingerprint(token, &audiences(other)));
        }
    }
}

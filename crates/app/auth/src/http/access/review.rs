//! Tokens of ServiceAccounts: the API server says whose they are.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, TokenReviewStatus};
use kube::Client;
use kube::api::{Api, PostParams};
use sha2::{Digest, Sha256};
use stunner_api::NamespacedName;
use tokio::sync::Semaphore;

use crate::http::Problem;

/// How long a good answer holds: a caller that comes for every call does not load the API server.
const MEMORY: Duration = Duration::from_secs(60);
const MEMORY_SIZE: usize = 10_000;
const REVIEWS_AT_ONCE: usize = 32;
const PATIENCE: Duration = Duration::from_secs(5);
const SERVICE_ACCOUNT: &str = "system:serviceaccount:";

/// Which ServiceAccounts may ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Accounts {
    Any,
    These(BTreeSet<NamespacedName>),
}

/// Asks the API server about tokens.
pub struct Reviewer {
    client: Client,
    /// What a token must be for; empty for the API server's own audience.
    audiences: Vec<String>,
    accounts: Accounts,
    reviews: Semaphore,
    /// Hashes of tokens that were good, and when.
    good: Mutex<HashMap<[u8; 32], Instant>>,
}

impl Reviewer {
    pub fn new(client: Client, audiences: Vec<String>, accounts: Accounts) -> Reviewer {
        Reviewer {
            client,
            audiences,
            accounts,
            reviews: Semaphore::new(REVIEWS_AT_ONCE),
            good: Mutex::default(),
        }
    }

    pub(super) async fn check(&self, token: &str) -> Result<(), Problem> {
        let key: [u8; 32] = Sha256::digest(token).into();
        let now = Instant::now();
        if self.remembers(&key, now) {
            return Ok(());
        }
        let status = match tokio::time::timeout(PATIENCE, self.review(token)).await {
            Ok(Ok(status)) => status,
            Ok(Err(error)) => {
                tracing::warn!(scope = "auth", "cannot have a token checked: {error}");
                return Err(Problem::Unchecked);
            }
            Err(_) => {
                tracing::warn!(
                    scope = "auth",
                    "cannot have a token checked: the API server gave no answer in time"
                );
                return Err(Problem::Unchecked);
            }
        };
        judge(&status, &self.audiences, &self.accounts)?;
        self.remember(key, now);
        Ok(())
    }

    async fn review(&self, token: &str) -> Result<TokenReviewStatus, kube::Error> {
        // Never closed, so there is always a permit to come.
        let _permit = self.reviews.acquire().await.ok();
        let review = TokenReview {
            spec: TokenReviewSpec {
                token: Some(token.to_owned()),
                audiences: Some(self.audiences.clone()).filter(|audiences| !audiences.is_empty()),
            },
            ..TokenReview::default()
        };
        let reviews: Api<TokenReview> = Api::all(self.client.clone());
        let answer = reviews.create(&PostParams::default(), &review).await?;
        Ok(answer.status.unwrap_or_default())
    }

    fn remembers(&self, key: &[u8; 32], now: Instant) -> bool {
        let good = self.good.lock().unwrap_or_else(PoisonError::into_inner);
        let at = good.get(key);
        at.is_some_and(|at| now.saturating_duration_since(*at) < MEMORY)
    }

    fn remember(&self, key: [u8; 32], now: Instant) {
        let mut good = self.good.lock().unwrap_or_else(PoisonError::into_inner);
        if good.len() >= MEMORY_SIZE {
            good.retain(|_, at| now.saturating_duration_since(*at) < MEMORY);
        }
        if good.len() < MEMORY_SIZE {
            good.insert(key, now);
        }
    }
}

fn judge(
    status: &TokenReviewStatus,
    audiences: &[String],
    accounts: &Accounts,
) -> Result<(), Problem> {
    if status.authenticated != Some(true) {
        return Err(Problem::BadToken);
    }
    // An API server that knows nothing of audiences returns none; such a token could be meant for anybody.
    let granted = status.audiences.as_deref().unwrap_or_default();
    if !audiences.is_empty() && !audiences.iter().any(|wanted| granted.contains(wanted)) {
        return Err(Problem::BadToken);
    }
    let user = status.user.as_ref();
    let account = user
        .and_then(|user| user.username.as_deref()?.strip_prefix(SERVICE_ACCOUNT))
        .and_then(|account| account.split_once(':'))
        .map(|(namespace, name)| NamespacedName::new(namespace, name))
        .ok_or(Problem::BadToken)?;
    match accounts {
        Accounts::These(accounts) if !accounts.contains(&account) => Err(Problem::Account {
            account: account.to_string(),
        }),
        _ => Ok(()),
    }
}

impl fmt::Debug for Reviewer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reviewer")
            .field("audiences", &self.audiences)
            .field("accounts", &self.accounts)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::authentication::v1::UserInfo;

    use super::*;

    fn status(user: &str, audiences: &[&str]) -> TokenReviewStatus {
        let audiences = audiences.iter().map(|&audience| audience.to_owned());
        TokenReviewStatus {
            authenticated: Some(true),
            audiences: Some(audiences.collect()),
            user: Some(UserInfo {
                username: Some(user.to_owned()),
                ..UserInfo::default()
            }),
            error: None,
        }
    }

    const APP: &str = "system:serviceaccount:shop:app";

    #[test]
    fn any_service_account_may_ask_unless_some_are_named() {
        let app = status(APP, &["api"]);
        assert_eq!(judge(&app, &[], &Accounts::Any), Ok(()));
        let these = |name| Accounts::These([NamespacedName::new("shop", name)].into());
        assert_eq!(judge(&app, &[], &these("app")), Ok(()));
        let account = "shop/app".to_owned();
        assert_eq!(
            judge(&app, &[], &these("other")),
            Err(Problem::Account { account })
        );
    }

    #[test]
    fn a_token_must_be_for_an_audience_that_was_asked_for() {
        let wanted = ["turn".to_owned(), "ice".to_owned()];
        assert_eq!(
            judge(&status(APP, &["ice"]), &wanted, &Accounts::Any),
            Ok(())
        );
        for granted in [&[][..], &["api"]] {
            let answer = judge(&status(APP, granted), &wanted, &Accounts::Any);
            assert_eq!(answer, Err(Problem::BadToken), "{granted:?}");
        }
    }

    #[test]
    fn people_and_bad_tokens_are_refused() {
        let person = status("kubernetes-admin", &[]);
        assert_eq!(judge(&person, &[], &Accounts::Any), Err(Problem::BadToken));
        let mut bad = status(APP, &[]);
        bad.authenticated = Some(false);
        assert_eq!(judge(&bad, &[], &Accounts::Any), Err(Problem::BadToken));
    }
}

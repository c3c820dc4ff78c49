//! Whose a token is: the API server says.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, TokenReviewStatus};
use kube::Client;
use kube::api::{Api, PostParams};
use sha2::{Digest, Sha256};
use stunner_api::NamespacedName;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::error::{Asked, ClusterError, TOKEN_REVIEWS};

/// How long a good answer holds: a caller that comes again and again does not load the API server.
const GOOD_HOLDS: Duration = Duration::from_secs(60);
/// How long a bad answer holds: a stranger who repeats a token does not keep others from being reviewed, and a token that
/// becomes good is not refused for long.
const BAD_HOLDS: Duration = Duration::from_secs(5);
/// Of each kind: strangers with ever new tokens do not push out those whose tokens are good.
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

/// Asks the API server about tokens, and remembers for a while whose the good ones are, and for a moment which are bad.
pub struct TokenReviews {
    client: Client,
    patience: Duration,
    reviews: Semaphore,
    memory: Mutex<Memory>,
}

impl TokenReviews {
    /// `patience` is how long an answer may take. An API server that gives none must not keep callers waiting for
    /// others.
    pub fn new(client: Client, patience: Duration) -> TokenReviews {
        TokenReviews {
            client,
            patience,
            reviews: Semaphore::new(REVIEWS_AT_ONCE),
            memory: Mutex::default(),
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
        if let Some(owner) = self.memory().recall(&key, now) {
            return Ok(owner);
        }
        let asked = tokio::time::timeout(self.patience, self.ask(token, audiences)).await;
        let status = asked.map_err(|_| ClusterError::Unreachable {
            what: "the API server".to_owned(),
            why: format!("no answer within {:?}", self.patience),
        })??;
        let owner = TokenOwner::of(status);
        self.memory().keep(key, now, owner.clone());
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

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A hash of a token and the audiences asked for.
type Fingerprint = [u8; 32];

/// What the API server said lately. A failure to answer is no answer, and is not remembered.
#[derive(Default)]
struct Memory {
    good: HashMap<Fingerprint, (Instant, TokenOwner)>,
    bad: HashMap<Fingerprint, Instant>,
}

impl Memory {
    /// Whose the token is, `None` inside for a bad one; `None` where the API server has to be asked.
    fn recall(&self, key: &Fingerprint, now: Instant) -> Option<Option<TokenOwner>> {
        if let Some((at, owner)) = self.good.get(key)
            && is_within(GOOD_HOLDS, *at, now)
        {
            return Some(Some(owner.clone()));
        }
        let at = self.bad.get(key)?;
        is_within(BAD_HOLDS, *at, now).then_some(None)
    }

    /// `owner` is what was said of a token that was asked about at `now`.
    fn keep(&mut self, key: Fingerprint, now: Instant, owner: Option<TokenOwner>) {
        let Memory { good, bad } = self;
        match owner {
            Some(owner) => {
                bad.remove(&key);
                if good.len() >= MEMORY_SIZE {
                    good.retain(|_, (at, _)| is_within(GOOD_HOLDS, *at, now));
                }
                if good.len() < MEMORY_SIZE {
                    good.insert(key, (now, owner));
                }
            }
            None => {
                good.remove(&key);
                if bad.len() >= MEMORY_SIZE {
                    bad.retain(|_, at| is_within(BAD_HOLDS, *at, now));
                }
                if bad.len() < MEMORY_SIZE {
                    bad.insert(key, now);
                }
            }
        }
    }
}

fn is_within(time: Duration, at: Instant, now: Instant) -> bool {
    now.saturating_duration_since(at) < time
}

fn fingerprint(token: &str, audiences: &[String]) -> Fingerprint {
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

    fn key(number: usize) -> Fingerprint {
        fingerprint(&number.to_string(), &[])
    }

    #[test]
    fn a_good_answer_holds_for_a_minute_and_a_bad_one_for_seconds() {
        let owner = TokenOwner::of(status("system:serviceaccount:shop:app", true));
        let start = Instant::now();
        let mut memory = Memory::default();
        assert_eq!(memory.recall(&key(1), start), None);
        memory.keep(key(1), start, owner.clone());
        memory.keep(key(2), start, None);
        let after = |memory: &Memory, number, passed| memory.recall(&key(number), start + passed);
        let moment = Duration::from_millis(1);
        assert_eq!(after(&memory, 1, GOOD_HOLDS - moment), Some(owner.clone()));
        assert_eq!(after(&memory, 1, GOOD_HOLDS), None);
        assert_eq!(after(&memory, 2, BAD_HOLDS - moment), Some(None));
        assert_eq!(after(&memory, 2, BAD_HOLDS), None);
        // The later answer counts.
        memory.keep(key(2), start + moment, owner.clone());
        assert_eq!(after(&memory, 2, moment), Some(owner));
        memory.keep(key(1), start + moment, None);
        assert_eq!(after(&memory, 1, moment), Some(None));
    }

    #[test]
    fn bad_tokens_take_bounded_room_and_none_from_good_ones() {
        let start = Instant::now();
        let mut memory = Memory::default();
        for number in 0..=MEMORY_SIZE {
            memory.keep(key(number), start, None);
        }
        assert_eq!(memory.bad.len(), MEMORY_SIZE);
        assert_eq!(memory.recall(&key(MEMORY_SIZE), start), None);
        let owner = TokenOwner::of(status("system:serviceaccount:shop:app", true));
        memory.keep(key(MEMORY_SIZE), start, owner.clone());
        assert_eq!(memory.recall(&key(MEMORY_SIZE), start), Some(owner));
        // What has lapsed makes room.
        let later = start + BAD_HOLDS;
        memory.keep(key(MEMORY_SIZE + 1), later, None);
        assert_eq!(memory.bad.len(), 1);
        assert_eq!(memory.recall(&key(MEMORY_SIZE + 1), later), Some(None));
    }
}

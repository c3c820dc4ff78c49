//! Who may read which config over TLS: the API server says whose a token is.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, TokenReviewStatus};
use kube::Client;
use kube::api::{Api, PostParams};
use sha2::{Digest, Sha256};
use stunner_api::NamespacedName;
use stunner_api::names::cds;
use stunner_cds::server::{Authorizer, BearerToken, Scope, Verdict};
use tokio::sync::Semaphore;

use crate::cluster::Refusal;

/// How long a positive answer holds: a dataplane that reconnects again and again does not load the API server.
const MEMORY: Duration = Duration::from_secs(60);
const MEMORY_SIZE: usize = 10_000;
/// After a restart every dataplane comes at once.
const REVIEWS_AT_ONCE: usize = 32;
/// An API server that does not answer must not use up the reviews at once.
const PATIENCE: Duration = Duration::from_secs(10);
const SERVICE_ACCOUNT: &str = "system:serviceaccount:";

/// Asks the API server about tokens.
///
/// A dataplane's token has the audience of its Gateway and belongs to a ServiceAccount of the Gateway's namespace; it
/// gives that Gateway's config and no other. A reader's token has the audience of config discovery as such.
pub struct TokenReviewer {
    client: Client,
    readers: BTreeSet<NamespacedName>,
    reviews: Semaphore,
    /// Hashes of tokens and what they were shown for.
    allowed: Mutex<HashMap<[u8; 32], Instant>>,
}

impl TokenReviewer {
    pub fn new(client: Client, readers: BTreeSet<NamespacedName>) -> Self {
        TokenReviewer {
            client,
            readers,
            reviews: Semaphore::new(REVIEWS_AT_ONCE),
            allowed: Mutex::default(),
        }
    }

    async fn decide(&self, token: &BearerToken, scope: &Scope) -> Verdict {
        let key = fingerprint(token, scope);
        let now = Instant::now();
        if self.remembers(&key, now) {
            return Verdict::Allowed;
        }
        let unavailable = |why: String| Verdict::Unavailable(why);
        let Ok(_permit) = self.reviews.acquire().await else {
            return unavailable("the server is stopping".to_owned());
        };
        let review = TokenReview {
            spec: TokenReviewSpec {
                token: Some(token.expose().to_owned()),
                audiences: Some(audiences(scope)),
            },
            ..TokenReview::default()
        };
        let reviews: Api<TokenReview> = Api::all(self.client.clone());
        let params = PostParams::default();
        let answer = tokio::time::timeout(PATIENCE, reviews.create(&params, &review)).await;
        let answer = match answer {
            Ok(answer) => answer.map_err(|error| Refusal::of(&error)),
            Err(_) => Err(Refusal::Unreachable("no answer in time".to_owned())),
        };
        let status = match answer {
            Ok(review) => review.status.unwrap_or_default(),
            Err(refusal) => {
                tracing::warn!(
                    scope = "cds-server",
                    "cannot have a token checked: {refusal}"
                );
                return unavailable("tokens cannot be checked at the moment".to_owned());
            }
        };
        let verdict = judge(&status, scope, &self.readers);
        if verdict == Verdict::Allowed {
            self.remember(key, now);
        }
        verdict
    }

    fn remembers(&self, key: &[u8; 32], now: Instant) -> bool {
        let allowed = self.allowed.lock().unwrap_or_else(PoisonError::into_inner);
        let at = allowed.get(key);
        at.is_some_and(|at| now.saturating_duration_since(*at) < MEMORY)
    }

    fn remember(&self, key: [u8; 32], now: Instant) {
        let mut allowed = self.allowed.lock().unwrap_or_else(PoisonError::into_inner);
        if allowed.len() >= MEMORY_SIZE {
            allowed.retain(|_, at| now.saturating_duration_since(*at) < MEMORY);
        }
        if allowed.len() < MEMORY_SIZE {
            allowed.insert(key, now);
        }
    }
}

impl Authorizer for TokenReviewer {
    fn authorize<'a>(&'a self, token: &'a BearerToken, scope: &'a Scope) -> BoxFuture<'a, Verdict> {
        self.decide(token, scope).boxed()
    }
}

impl std::fmt::Debug for TokenReviewer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenReviewer")
            .field("readers", &self.readers)
            .finish_non_exhaustive()
    }
}

fn fingerprint(token: &BearerToken, scope: &Scope) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(token.expose());
    // No token has a zero byte.
    hash.update([0]);
    hash.update(scope.to_string());
    hash.finalize().into()
}

/// The audiences that are good for this.
fn audiences(scope: &Scope) -> Vec<String> {
    let reader = cds::READER_AUDIENCE.to_owned();
    match scope {
        Scope::One(id) => {
            let gateway = NamespacedName::new(&*id.namespace, &*id.name);
            vec![cds::gateway_audience(&gateway), reader]
        }
        Scope::All | Scope::Namespace(_) => vec![reader],
    }
}

fn judge(status: &TokenReviewStatus, scope: &Scope, readers: &BTreeSet<NamespacedName>) -> Verdict {
    let denied = |why: &str| Verdict::Denied(why.to_owned());
    if status.authenticated != Some(true) {
        return denied("the token is not valid here: it has expired, or is for another audience");
    }
    let user = status
        .user
        .as_ref()
        .and_then(|user| user.username.as_deref());
    let account = user
        .and_then(|user| user.strip_prefix(SERVICE_ACCOUNT))
        .and_then(|account| account.split_once(':'))
        .map(|(namespace, name)| NamespacedName::new(namespace, name));
    let Some(account) = account else {
        return denied("the token is not that of a ServiceAccount");
    };
    // An API server that knows nothing of audiences returns none; such a token could be meant for anybody.
    let granted = status.audiences.as_deref().unwrap_or_default();
    let has = |audience: &str| granted.iter().any(|granted| granted == audience);
    if has(cds::READER_AUDIENCE) && readers.contains(&account) {
        return Verdict::Allowed;
    }
    match scope {
        Scope::One(id) => {
            let gateway = NamespacedName::new(&*id.namespace, &*id.name);
            match has(&cds::gateway_audience(&gateway)) && account.namespace == id.namespace {
                true => Verdict::Allowed,
                false => denied("the token is for the config of another Gateway"),
            }
        }
        Scope::All | Scope::Namespace(_) => {
            denied("the ServiceAccount is not among those of --config-discovery-readers")
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::authentication::v1::UserInfo;
    use stunner_cds::ConfigId;

    use super::*;

    fn status(user: &str, audiences: &[&str]) -> TokenReviewStatus {
        TokenReviewStatus {
            authenticated: Some(true),
            audiences: Some(
                audiences
                    .iter()
                    .map(|&audience| audience.to_owned())
                    .collect(),
            ),
            user: Some(UserInfo {
                username: Some(user.to_owned()),
                ..UserInfo::default()
            }),
            error: None,
        }
    }

    fn one(namespace: &str, name: &str) -> Scope {
        Scope::One(ConfigId {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        })
    }

    fn allows(status: &TokenReviewStatus, scope: &Scope) -> bool {
        let readers = BTreeSet::from([NamespacedName::new("sys", "stunner-auth")]);
        judge(status, scope, &readers) == Verdict::Allowed
    }

    const GATEWAY: &str = "stunner.l7mp.io/config-discovery/ns/gw";
    const READER: &str = "stunner.l7mp.io/config-discovery";

    #[test]
    fn a_dataplane_gets_the_config_of_its_own_gateway_only() {
        let dataplane = status("system:serviceaccount:ns:default", &[GATEWAY]);
        assert!(allows(&dataplane, &one("ns", "gw")));
        for other in [
            one("ns", "other"),
            one("other", "gw"),
            Scope::All,
            Scope::Namespace("ns".into()),
        ] {
            assert!(!allows(&dataplane, &other), "{other}");
        }
    }

    #[test]
    fn an_account_of_another_namespace_does_not_get_it() {
        let stranger = status("system:serviceaccount:other:default", &[GATEWAY]);
        assert!(!allows(&stranger, &one("ns", "gw")));
    }

    #[test]
    fn named_readers_get_everything() {
        let reader = status("system:serviceaccount:sys:stunner-auth", &[READER]);
        for scope in [one("ns", "gw"), Scope::All, Scope::Namespace("ns".into())] {
            assert!(allows(&reader, &scope), "{scope}");
        }
        let other = status("system:serviceaccount:ns:stunner-auth", &[READER]);
        assert!(!allows(&other, &Scope::All) && !allows(&other, &one("ns", "gw")));
    }

    #[test]
    fn tokens_that_are_invalid_or_for_anybody_are_refused() {
        let mut invalid = status("system:serviceaccount:ns:default", &[GATEWAY]);
        invalid.authenticated = Some(false);
        assert!(!allows(&invalid, &one("ns", "gw")));
        let unaware = status("system:serviceaccount:ns:default", &[]);
        assert!(!allows(&unaware, &one("ns", "gw")));
        let person = status("kubernetes-admin", &[GATEWAY]);
        assert!(!allows(&person, &one("ns", "gw")));
    }

    #[test]
    fn every_scope_asks_for_the_audiences_that_are_good_for_it() {
        assert_eq!(audiences(&one("ns", "gw")), [GATEWAY, READER]);
        assert_eq!(audiences(&Scope::All), [READER]);
    }
}

//! Visitors with a token: what the API server thinks of it, and what was found out with it lately.
//!
//! Everything is done with the visitor's own token. The client for it knows the API server's address and certificate
//! authority, and nothing of the operator's own credentials.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::api::{Api, PostParams};
use kube::config::AuthInfo;
use kube::{Client, Config};
use serde_json::json;
use sha2::{Digest, Sha256};
use stunner_api::names;
use tokio::sync::Semaphore;

use super::ice::IceTests;
use super::live::Gathered;
use super::tunnel::Tunnels;
use crate::cluster::Refusal;

/// Visitors that are remembered, the latest.
const GUESTS: usize = 32;
/// Who has not been seen for this long has closed the page. The token and what was opened with it go too.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(300);
/// How often that is looked at.
const SWEPT_EVERY: Duration = Duration::from_secs(30);
/// How long the API server's word about a token holds.
const WORD_HOLDS: Duration = Duration::from_secs(30);
/// Of an API server that could not be asked. Shorter: it may answer by then.
const DOUBT_HOLDS: Duration = Duration::from_secs(2);
/// Tokens that are checked at a time, so that many bad ones do not become as many requests at once.
const CHECKS_AT_ONCE: usize = 8;
/// For the API server to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the API server says about a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Standing {
    /// It knows the visitor, who may see every Gateway or not.
    Known { sees_gateways: bool },
    /// It does not know the token; its words.
    Unknown(String),
    /// It could not be asked.
    Unclear(String),
}

/// A visitor with a token.
pub(super) struct Guest {
    pub(super) client: Client,
    standing: tokio::sync::Mutex<Option<(Instant, Standing)>>,
    checks: Arc<Semaphore>,
    /// What was gathered last.
    pub(super) gathered: tokio::sync::Mutex<Option<(Instant, Arc<Gathered>)>>,
    pub(super) tunnels: Tunnels,
    pub(super) ice_tests: IceTests,
    seen: Mutex<tokio::time::Instant>,
}

impl fmt::Debug for Guest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guest").finish_non_exhaustive()
    }
}

impl Guest {
    fn new(client: Client, checks: Arc<Semaphore>) -> Self {
        Guest {
            tunnels: Tunnels::new(client.clone()),
            client,
            standing: tokio::sync::Mutex::default(),
            checks,
            gathered: tokio::sync::Mutex::default(),
            ice_tests: IceTests::default(),
            seen: Mutex::new(tokio::time::Instant::now()),
        }
    }

    /// `namespaces` are those the operator looks at; empty means all.
    pub(super) async fn standing(&self, namespaces: &[String]) -> Standing {
        let mut known = self.standing.lock().await;
        if let Some((at, standing)) = &*known {
            let holds = match standing {
                Standing::Unclear(_) => DOUBT_HOLDS,
                Standing::Known { .. } | Standing::Unknown(_) => WORD_HOLDS,
            };
            if at.elapsed() < holds {
                return standing.clone();
            }
        }
        let check = async {
            let _permit = self.checks.acquire().await;
            sees_gateways(&self.client, namespaces).await
        };
        let standing = match tokio::time::timeout(PATIENCE, check).await {
            Ok(Ok(sees_gateways)) => Standing::Known { sees_gateways },
            Ok(Err(kube::Error::Api(status))) if status.code == 401 => {
                Standing::Unknown(status.message.clone())
            }
            // Whoever may not even ask what they may do is nobody.
            Ok(Err(kube::Error::Api(status))) if status.code == 403 => {
                Standing::Unknown(status.message.clone())
            }
            Ok(Err(error)) => Standing::Unclear(Refusal::of(&error).to_string()),
            Err(_) => Standing::Unclear("the API server did not answer in time".to_owned()),
        };
        *known = Some((Instant::now(), standing.clone()));
        standing
    }
}

/// Whether the visitor may list the Gateways that the operator looks at. A token that the API server does not know is
/// an error.
async fn sees_gateways(client: &Client, namespaces: &[String]) -> Result<bool, kube::Error> {
    let reviews: Api<SelfSubjectAccessReview> = Api::all(client.clone());
    let everywhere = [String::new()];
    let namespaces = match namespaces {
        [] => &everywhere[..],
        some => some,
    };
    for namespace in namespaces {
        let review = SelfSubjectAccessReview {
            spec: SelfSubjectAccessReviewSpec {
                resource_attributes: Some(ResourceAttributes {
                    verb: Some("list".to_owned()),
                    group: Some(names::GATEWAY_GROUP.to_owned()),
                    resource: Some("gateways".to_owned()),
                    namespace: Some(namespace.clone()),
                    ..ResourceAttributes::default()
                }),
                ..SelfSubjectAccessReviewSpec::default()
            },
            ..SelfSubjectAccessReview::default()
        };
        let review = reviews.create(&PostParams::default(), &review).await?;
        if !review.status.is_some_and(|status| status.allowed) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The latest visitors, by their tokens' hashes.
pub(super) struct Guests {
    config: Config,
    checks: Arc<Semaphore>,
    latest: Arc<Mutex<Latest>>,
}

type Latest = HashMap<[u8; 32], Arc<Guest>>;

impl fmt::Debug for Guests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guests").finish_non_exhaustive()
    }
}

impl Guests {
    /// Must be called within a tokio runtime.
    pub(super) fn new(config: &Config) -> Self {
        let latest = Arc::default();
        tokio::spawn(forget_those_who_left(Arc::downgrade(&latest)));
        Guests {
            config: without_credentials(config),
            checks: Arc::new(Semaphore::new(CHECKS_AT_ONCE)),
            latest,
        }
    }

    /// `None` for what cannot be a token.
    pub(super) fn guest(&self, token: &str) -> Option<Arc<Guest>> {
        let key: [u8; 32] = Sha256::digest(token).into();
        let mut guests = lock(&self.latest);
        if let Some(guest) = guests.get(&key) {
            *lock(&guest.seen) = tokio::time::Instant::now();
            return Some(Arc::clone(guest));
        }
        let mut config = self.config.clone();
        config.auth_info = bearer(token)?;
        let client = Client::try_from(config).ok()?;
        if guests.len() >= GUESTS {
            let oldest = guests.iter().min_by_key(|(_, guest)| *lock(&guest.seen));
            if let Some(oldest) = oldest.map(|(key, _)| *key) {
                guests.remove(&oldest);
            }
        }
        let guest = Arc::new(Guest::new(client, Arc::clone(&self.checks)));
        guests.insert(key, Arc::clone(&guest));
        Some(guest)
    }
}

async fn forget_those_who_left(latest: Weak<Mutex<Latest>>) {
    loop {
        tokio::time::sleep(SWEPT_EVERY).await;
        let Some(latest) = latest.upgrade() else {
            return;
        };
        lock(&latest).retain(|_, guest| lock(&guest.seen).elapsed() < FORGOTTEN_AFTER);
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The way to the API server, for somebody else.
fn without_credentials(config: &Config) -> Config {
    let mut config = config.clone();
    config.auth_info = AuthInfo::default();
    // A pod that does not answer is told from the API server's answer, not waited for.
    config.default_retry = false;
    config
}

/// `None` for what does not fit into a header.
fn bearer(token: &str) -> Option<AuthInfo> {
    let fits = |byte: u8| (0x21..=0x7e).contains(&byte);
    if token.is_empty() || !token.bytes().all(fits) {
        return None;
    }
    serde_json::from_value(json!({ "token": token })).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> Config {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut config = Config::new("https://127.0.0.1:1".parse().expect("a URL"));
        config.auth_info = serde_json::from_value(json!({
            "token": "the operator's own",
            "client-certificate": "/nowhere/own.crt",
            "client-key": "/nowhere/own.key",
            "as": "somebody",
        }))
        .expect("credentials");
        config
    }

    #[test]
    fn nothing_of_the_operators_credentials_is_lent_to_visitors() {
        let lent = without_credentials(&config());
        let text = serde_json::to_string(&lent.auth_info).expect("JSON");
        assert_eq!(text, "{}");
    }

    #[tokio::test]
    async fn a_token_has_one_client_and_the_oldest_make_room() {
        let guests = Guests::new(&config());
        let first = guests.guest("first").expect("a guest");
        assert!(Arc::ptr_eq(
            &first,
            &guests.guest("first").expect("a guest")
        ));
        for number in 0..GUESTS {
            guests.guest(&format!("other-{number}")).expect("a guest");
        }
        let again = guests.guest("first").expect("a guest");
        assert!(!Arc::ptr_eq(&first, &again));
        assert_eq!(lock(&guests.latest).len(), GUESTS);
    }

    #[tokio::test(start_paused = true)]
    async fn who_closed_the_page_is_forgotten_with_the_token() {
        let guests = Guests::new(&config());
        let left = Arc::downgrade(&guests.guest("left").expect("a guest"));
        let stays = Arc::downgrade(&guests.guest("stays").expect("a guest"));
        for _ in 0..10 {
            tokio::time::sleep(FORGOTTEN_AFTER / 5).await;
            guests.guest("stays").expect("a guest");
        }
        assert!(left.upgrade().is_none());
        assert!(stays.upgrade().is_some());
    }

    #[tokio::test]
    async fn what_is_no_token_makes_no_guest() {
        let guests = Guests::new(&config());
        for token in ["", "a b", "line\nbreak", "ümlaut"] {
            assert!(guests.guest(token).is_none(), "{token:?}");
        }
    }

    #[tokio::test]
    async fn an_api_server_that_cannot_be_reached_leaves_it_open() {
        let guests = Guests::new(&config());
        let guest = guests.guest("token").expect("a guest");
        let standing = guest.standing(&[]).await;
        assert!(matches!(standing, Standing::Unclear(_)), "{standing:?}");
    }
}

//! Who may read which config over TLS: the API server says whose a token is.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use kube::Client;
use stunner_api::NamespacedName;
use stunner_api::names::cds;
use stunner_cds::server::{Authorizer, BearerToken, Scope, Verdict};
use stunner_cluster::{TokenOwner, TokenReviews};

const PATIENCE: Duration = Duration::from_secs(10);

/// Asks the API server about tokens.
///
/// A dataplane's token has the audience of its Gateway and belongs to a ServiceAccount of the Gateway's namespace; it
/// gives that Gateway's config and no other. A reader's token has the audience of config discovery as such.
#[derive(Debug)]
pub struct TokenReviewer {
    reviews: TokenReviews,
    readers: BTreeSet<NamespacedName>,
}

impl TokenReviewer {
    pub fn new(client: Client, readers: BTreeSet<NamespacedName>) -> Self {
        TokenReviewer {
            reviews: TokenReviews::new(client, PATIENCE),
            readers,
        }
    }

    async fn decide(&self, token: &BearerToken, scope: &Scope) -> Verdict {
        let audiences = audiences(scope);
        match self.reviews.review(token.expose(), &audiences).await {
            Ok(owner) => judge(owner.as_ref(), scope, &self.readers),
            Err(error) => {
                tracing::warn!(scope = "cds-server", "cannot have a token checked: {error}");
                Verdict::Unavailable("tokens cannot be checked at the moment".to_owned())
            }
        }
    }
}

impl Authorizer for TokenReviewer {
    fn authorize<'a>(&'a self, token: &'a BearerToken, scope: &'a Scope) -> BoxFuture<'a, Verdict> {
        self.decide(token, scope).boxed()
    }
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

fn judge(owner: Option<&TokenOwner>, scope: &Scope, readers: &BTreeSet<NamespacedName>) -> Verdict {
    let denied = |why: &str| Verdict::Denied(why.to_owned());
    let Some(owner) = owner else {
        return denied("the token is not valid here: it has expired, or is for another audience");
    };
    let Some(account) = &owner.account else {
        return denied("the token is not that of a ServiceAccount");
    };
    if owner.is_meant_for(cds::READER_AUDIENCE) && readers.contains(account) {
        return Verdict::Allowed;
    }
    match scope {
        Scope::One(id) => {
            let gateway = NamespacedName::new(&*id.namespace, &*id.name);
            let own = owner.is_meant_for(&cds::gateway_audience(&gateway));
            match own && account.namespace == id.namespace {
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
    use stunner_cds::ConfigId;

    use super::*;

    fn owner(namespace: &str, name: &str, audiences: &[&str]) -> TokenOwner {
        TokenOwner {
            account: Some(NamespacedName::new(namespace, name)),
            audiences: audiences.iter().map(|&name| name.to_owned()).collect(),
        }
    }

    fn one(namespace: &str, name: &str) -> Scope {
        Scope::One(ConfigId {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        })
    }

    fn allows(owner: &TokenOwner, scope: &Scope) -> bool {
        let readers = BTreeSet::from([NamespacedName::new("sys", "stunner-auth")]);
        judge(Some(owner), scope, &readers) == Verdict::Allowed
    }

    const GATEWAY: &str = "stunner.l7mp.io/config-discovery/ns/gw";
    const READER: &str = "stunner.l7mp.io/config-discovery";

    #[test]
    fn a_dataplane_gets_the_config_of_its_own_gateway_only() {
        let dataplane = owner("ns", "default", &[GATEWAY]);
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
        let stranger = owner("other", "default", &[GATEWAY]);
        assert!(!allows(&stranger, &one("ns", "gw")));
    }

    #[test]
    fn named_readers_get_everything() {
        let reader = owner("sys", "stunner-auth", &[READER]);
        for scope in [one("ns", "gw"), Scope::All, Scope::Namespace("ns".into())] {
            assert!(allows(&reader, &scope), "{scope}");
        }
        let other = owner("ns", "stunner-auth", &[READER]);
        assert!(!allows(&other, &Scope::All) && !allows(&other, &one("ns", "gw")));
    }

    #[test]
    fn tokens_that_are_invalid_or_for_anybody_are_refused() {
        let invalid = judge(None, &one("ns", "gw"), &BTreeSet::new());
        assert!(matches!(invalid, Verdict::Denied(_)));
        let unaware = owner("ns", "default", &[]);
        assert!(!allows(&unaware, &one("ns", "gw")));
        let person = TokenOwner {
            account: None,
            ..owner("ns", "default", &[GATEWAY])
        };
        assert!(!allows(&person, &one("ns", "gw")));
    }

    #[test]
    fn every_scope_asks_for_the_audiences_that_are_good_for_it() {
        assert_eq!(audiences(&one("ns", "gw")), [GATEWAY, READER]);
        assert_eq!(audiences(&Scope::All), [READER]);
    }
}

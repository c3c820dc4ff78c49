//! Tokens of ServiceAccounts: which of them are good here.

use std::collections::BTreeSet;
use std::time::Duration;

use kube::Client;
use stunner_api::NamespacedName;
use stunner_cluster::{TokenOwner, TokenReviews};

use crate::http::Problem;

/// How long the API server may take to answer.
pub const REVIEW_PATIENCE: Duration = Duration::from_secs(5);

/// Which ServiceAccounts may ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Accounts {
    Any,
    These(BTreeSet<NamespacedName>),
}

/// Has tokens checked by the API server.
#[derive(Debug)]
pub struct Reviewer {
    reviews: TokenReviews,
    /// What a token must be for; empty for the API server's own audience.
    audiences: Vec<String>,
    accounts: Accounts,
}

impl Reviewer {
    pub fn new(client: Client, audiences: Vec<String>, accounts: Accounts) -> Reviewer {
        Reviewer {
            reviews: TokenReviews::new(client, REVIEW_PATIENCE),
            audiences,
            accounts,
        }
    }

    pub(super) async fn check(&self, token: &str) -> Result<(), Problem> {
        match self.reviews.review(token, &self.audiences).await {
            Ok(owner) => judge(owner.as_ref(), &self.audiences, &self.accounts),
            Err(error) => {
                let hint = error.hint().map(|hint| format!(" (hint: {hint})"));
                tracing::warn!(
                    scope = "auth",
                    "cannot have a token checked: {error}{}",
                    hint.unwrap_or_default()
                );
                Err(Problem::Unchecked)
            }
        }
    }
}

fn judge(
    owner: Option<&TokenOwner>,
    audiences: &[String],
    accounts: &Accounts,
) -> Result<(), Problem> {
    let owner = owner.ok_or(Problem::BadToken)?;
    if !audiences.is_empty() && !audiences.iter().any(|wanted| owner.is_meant_for(wanted)) {
        return Err(Problem::BadToken);
    }
    let account = owner.account.as_ref().ok_or(Problem::BadToken)?;
    match accounts {
        Accounts::These(accounts) if !accounts.contains(account) => Err(Problem::Account {
            account: account.to_string(),
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn app(audiences: &[&str]) -> TokenOwner {
        TokenOwner {
            account: Some(NamespacedName::new("shop", "app")),
            audiences: audiences.iter().map(|&name| name.to_owned()).collect(),
        }
    }

    #[test]
    fn any_service_account_may_ask_unless_some_are_named() {
        let app = app(&["api"]);
        assert_eq!(judge(Some(&app), &[], &Accounts::Any), Ok(()));
        let these = |name| Accounts::These([NamespacedName::new("shop", name)].into());
        assert_eq!(judge(Some(&app), &[], &these("app")), Ok(()));
        let account = "shop/app".to_owned();
        assert_eq!(
            judge(Some(&app), &[], &these("other")),
            Err(Problem::Account { account })
        );
    }

    #[test]
    fn a_token_must_be_for_an_audience_that_was_asked_for() {
        let wanted = ["turn".to_owned(), "ice".to_owned()];
        assert_eq!(judge(Some(&app(&["ice"])), &wanted, &Accounts::Any), Ok(()));
        for granted in [&[][..], &["api"]] {
            let answer = judge(Some(&app(granted)), &wanted, &Accounts::Any);
            assert_eq!(answer, Err(Problem::BadToken), "{granted:?}");
        }
    }

    #[test]
    fn people_and_bad_tokens_are_refused() {
        let person = TokenOwner {
            account: None,
            audiences: Vec::new(),
        };
        let answer = judge(Some(&person), &[], &Accounts::Any);
        assert_eq!(answer, Err(Problem::BadToken));
        assert_eq!(judge(None, &[], &Accounts::Any), Err(Problem::BadToken));
    }
}

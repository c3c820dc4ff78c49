//! Names with their passwords, for clients.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha1::Sha1;
use stunner_config::AuthMethod;

/// What a client shows to allocate. `Debug` hides the password.
#[derive(Clone, PartialEq, Eq)]
pub struct Credential {
    pub username: String,
    pub password: String,
}

impl Credential {
    /// The credential that a gateway with this authentication accepts: the fixed pair, or a freshly minted one for
    /// `user` that is good for `ttl` seconds. `None` where there is no TURN.
    pub fn of(auth: &AuthMethod, now_unix: u64, ttl: u64, user: &str) -> Option<Credential> {
        match auth {
            AuthMethod::Static { username, password } => Some(Credential {
                username: username.clone(),
                password: password.clone(),
            }),
            AuthMethod::Ephemeral { secret } => Some(mint(secret, now_unix, ttl, user)),
            AuthMethod::None => None,
        }
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credential")
            .field("username", &self.username)
            .finish_non_exhaustive()
    }
}

/// `EXPIRY:USER` and its password. An empty user gives `EXPIRY:`, as the auth service writes it.
pub fn mint(secret: &str, now_unix: u64, ttl: u64, user: &str) -> Credential {
    let expiry = expiry_of(now_unix, ttl);
    named(secret, format!("{expiry}:{user}"))
}

/// A bare `EXPIRY` and its password, for tools that stand for nobody in particular.
pub fn mint_bare(secret: &str, now_unix: u64, ttl: u64) -> Credential {
    named(secret, expiry_of(now_unix, ttl).to_string())
}

fn named(secret: &str, username: String) -> Credential {
    Credential {
        password: password(secret, &username),
        username,
    }
}

/// Servers read the expiry as a signed number, so it ends there.
fn expiry_of(now_unix: u64, ttl: u64) -> u64 {
    now_unix.saturating_add(ttl).min(i64::MAX.unsigned_abs())
}

/// The password of an ephemeral user name: base64 of HMAC-SHA1 over the whole name.
pub fn password(secret: &str, username: &str) -> String {
    let mut mac =
        Hmac::<Sha1>::new_from_slice(secret.as_bytes()).expect("HMAC takes a key of any length");
    mac.update(username.as_bytes());
    STANDARD.encode(mac.finalize().into_bytes())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{MAX_USERNAME, check_user, expiry, user_id};

    #[test]
    fn the_password_is_what_the_turn_rest_api_describes() {
        // Computed with: printf 1000:user | openssl dgst -sha1 -hmac my-secret -binary | base64
        assert_eq!(
            password("my-secret", "1000:user"),
            "taGuZ/GdNAt+NLRAO0i3qqwyGas="
        );
    }

    #[test]
    fn a_minted_name_says_until_when_and_for_whom() {
        let minted = mint("my-secret", 900, 100, "user");
        assert_eq!(minted.username, "1000:user");
        assert_eq!(minted.password, "taGuZ/GdNAt+NLRAO0i3qqwyGas=");
        assert_eq!(mint("s", 900, 100, "").username, "1000:");
        assert_eq!(mint_bare("s", 900, 100).username, "1000");
    }

    #[test]
    fn a_static_credential_is_the_same_for_everybody_and_none_is_none() {
        let fixed = AuthMethod::Static {
            username: "u".into(),
            password: "p".into(),
        };
        let issued = Credential::of(&fixed, 1, 2, "alice").expect("a credential");
        assert_eq!(
            (issued.username.as_str(), issued.password.as_str()),
            ("u", "p")
        );
        assert_eq!(Credential::of(&AuthMethod::None, 1, 2, "alice"), None);
    }

    #[test]
    fn passwords_do_not_show() {
        let text = format!("{:?}", mint("my-secret", 900, 100, "user"));
        assert!(!text.contains("taGuZ"), "{text}");
    }

    proptest! {
        #[test]
        fn what_is_minted_is_read_back(now in any::<u64>(), ttl in any::<u64>(), user in "[^:\\p{Cc}]{0,100}") {
            let minted = mint("s", now, ttl, &user);
            let expected = i64::try_from(now.saturating_add(ttl)).unwrap_or(i64::MAX);
            prop_assert_eq!(expiry(&minted.username), Some(expected));
            prop_assert_eq!(user_id(&minted.username), user.as_str());
        }

        #[test]
        fn an_accepted_user_fits_a_username(user in "\\PC{0,600}") {
            if check_user(&user).is_ok() {
                prop_assert!(mint("s", u64::MAX, u64::MAX, &user).username.len() <= MAX_USERNAME);
            }
        }
    }
}

//! Who a user name is, and which key proves it.

use std::fmt;
use std::sync::Arc;

use stunner_config::AuthMethod;
use stunner_credentials as rest;
use stunner_stun::{Key, PasswordAlgorithm, userhash};
use subtle::ConstantTimeEq as _;

use super::AuthFailure;
use super::settings::GUEST_GRACE;
use crate::Now;

/// A realm and how its users prove themselves. Immutable; a change of the configuration makes a new one, and live
/// allocations keep the one they were made with.
pub struct Credentials {
    realm: Arc<str>,
    method: AuthMethod,
    /// Longest time in seconds that an ephemeral user name may still have to live.
    max_ephemeral_lifetime: Option<u64>,
    /// For a guest's: the last second, in UNIX time, in which they make an allocation.
    guest_expires: Option<u64>,
}

impl Credentials {
    pub fn new(
        realm: impl Into<Arc<str>>,
        method: AuthMethod,
        max_ephemeral_lifetime: Option<u64>,
    ) -> Self {
        Credentials {
            realm: realm.into(),
            method,
            max_ephemeral_lifetime,
            guest_expires: None,
        }
    }

    /// One user for a limited time. A guest is challenged with the realm of the configuration, so there is none here.
    pub(super) fn of_guest(username: &str, password: &str, expires: u64) -> Self {
        let method = AuthMethod::Static {
            username: username.to_owned(),
            password: password.to_owned(),
        };
        Credentials {
            realm: "".into(),
            method,
            max_ephemeral_lifetime: None,
            guest_expires: Some(expires),
        }
    }

    pub(super) fn is_guests(&self) -> bool {
        self.guest_expires.is_some()
    }

    /// When an allocation ends at the latest, in monotonic milliseconds; `None` where nothing but its lifetime counts.
    pub(super) fn latest_end(&self, now: Now) -> Option<u64> {
        let last = self.guest_expires?.saturating_add(GUEST_GRACE);
        let left = last.saturating_sub(now.unix).saturating_mul(1000);
        Some(now.millis.saturating_add(left))
    }

    pub fn realm(&self) -> &Arc<str> {
        &self.realm
    }

    pub fn method(&self) -> &AuthMethod {
        &self.method
    }

    /// Whether anybody can authenticate at all.
    pub fn turn_is_on(&self) -> bool {
        !matches!(self.method, AuthMethod::None)
    }

    /// Whether a USERHASH can be traced back to a user name: only where the names are known beforehand.
    pub(super) fn knows_users(&self) -> bool {
        matches!(self.method, AuthMethod::Static { .. })
    }

    /// The user name behind a USERHASH (RFC 8489 §9.2.2).
    pub(super) fn username_of(&self, hash: &[u8; 32], realm: &str) -> Option<&str> {
        match &self.method {
            AuthMethod::Static { username, .. } => {
                let same = userhash(username, realm).ct_eq(hash);
                bool::from(same).then_some(username)
            }
            AuthMethod::Ephemeral { .. } | AuthMethod::None => None,
        }
    }

    /// Whether this user may start something new at this time.
    pub(super) fn check(&self, username: &str, unix: u64) -> Result<(), AuthFailure> {
        match &self.method {
            AuthMethod::Static { username: ours, .. } => {
                if !bool::from(ours.as_bytes().ct_eq(username.as_bytes())) {
                    return Err(AuthFailure::UnknownUser);
                }
                match self.guest_expires {
                    Some(expires) if expires < unix => Err(AuthFailure::Expired),
                    _ => Ok(()),
                }
            }
            AuthMethod::Ephemeral { .. } => {
                let expiry = rest::expiry(username).ok_or(AuthFailure::UnknownUser)?;
                let left = i128::from(expiry) - i128::from(unix);
                match self.max_ephemeral_lifetime {
                    _ if left < 0 => Err(AuthFailure::Expired),
                    Some(max) if left > i128::from(max) => Err(AuthFailure::LifetimeTooLong),
                    _ => Ok(()),
                }
            }
            AuthMethod::None => Err(AuthFailure::TurnOff),
        }
    }

    /// The long-term key of a user (RFC 8489 §9.2.2), whether or not the user may still start something new.
    pub(super) fn key(
        &self,
        username: &str,
        realm: &str,
        algorithm: PasswordAlgorithm,
    ) -> Option<Key> {
        let derived;
        let password = match &self.method {
            AuthMethod::Static { password, .. } => password,
            AuthMethod::Ephemeral { secret } => {
                derived = rest::password(secret, username);
                &derived
            }
            AuthMethod::None => return None,
        };
        Some(match algorithm {
            PasswordAlgorithm::Md5 => Key::md5(username, realm, password),
            PasswordAlgorithm::Sha256 => Key::sha256(username, realm, password),
        })
    }

    /// The user id that quotas and ownership go by: for the ephemeral form `time:id` the id, else the whole name.
    pub(super) fn user_id<'u>(&self, username: &'u str) -> &'u str {
        match self.method {
            AuthMethod::Ephemeral { .. } => rest::user_id(username),
            AuthMethod::Static { .. } | AuthMethod::None => username,
        }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("realm", &self.realm)
            .field("method", &self.method.as_str())
            .field("max_ephemeral_lifetime", &self.max_ephemeral_lifetime)
            .field("guest_expires", &self.guest_expires)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ephemeral(max: Option<u64>) -> Credentials {
        let secret = "my-secret".to_owned();
        Credentials::new("realm", AuthMethod::Ephemeral { secret }, max)
    }

    #[test]
    fn an_ephemeral_user_id_is_the_user_behind_the_time() {
        assert_eq!(ephemeral(None).user_id("1000:alice"), "alice");
    }

    #[test]
    fn a_static_user_id_is_the_whole_name() {
        let method = AuthMethod::Static {
            username: "1000:alice".into(),
            password: "p".into(),
        };
        assert_eq!(
            Credentials::new("r", method, None).user_id("1000:alice"),
            "1000:alice"
        );
    }

    #[test]
    fn an_ephemeral_name_lives_through_its_last_second() {
        let credentials = ephemeral(None);
        assert_eq!(credentials.check("1000:u", 1000), Ok(()));
        assert_eq!(credentials.check("1000:u", 1001), Err(AuthFailure::Expired));
        assert_eq!(credentials.check("u", 0), Err(AuthFailure::UnknownUser));
        assert_eq!(
            credentials.check("-5:u", 1000),
            Err(AuthFailure::Expired),
            "a negative time is long past"
        );
        let far = format!("{}:u", i64::MAX);
        assert_eq!(credentials.check(&far, 0), Ok(()));
    }

    #[test]
    fn a_name_that_lives_too_long_is_refused_where_there_is_a_limit() {
        let credentials = ephemeral(Some(60));
        assert_eq!(credentials.check("1060:u", 1000), Ok(()));
        assert_eq!(
            credentials.check("1061:u", 1000),
            Err(AuthFailure::LifetimeTooLong)
        );
    }

    #[test]
    fn an_allocation_ends_a_minute_after_its_guest_expires_at_the_latest() {
        let now = |unix| Now { millis: 500, unix };
        let guest = Credentials::of_guest("ann", "p", 1000);
        assert_eq!(guest.latest_end(now(940)), Some(500 + 120_000));
        assert_eq!(guest.latest_end(now(1000)), Some(500 + 60_000));
        assert_eq!(guest.latest_end(now(5000)), Some(500));
        assert_eq!(guest.check("ann", 1000), Ok(()));
        assert_eq!(guest.check("ann", 1001), Err(AuthFailure::Expired));
        assert_eq!(ephemeral(None).latest_end(now(1)), None);
    }

    #[test]
    fn secrets_do_not_show() {
        let text = format!("{:?}", ephemeral(None));
        assert!(!text.contains("my-secret"), "{text}");
        let text = format!("{:?}", Credentials::of_guest("ann", "my-password", 1));
        assert!(!text.contains("my-password"), "{text}");
    }
}

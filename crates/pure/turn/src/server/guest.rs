//! Guests: users for a short time and one purpose, whose sessions reach what is said here and nothing else.
//!
//! A guest is no user of the configuration. The listener's routes do not count for a guest's allocation, and the
//! guest's rules count for nobody else's.

use std::sync::Arc;

use stunner_config::admission::Admission;
use stunner_stun::userhash;
use subtle::{Choice, ConditionallySelectable as _, ConstantTimeEq as _};

use super::Credentials;

/// One guest.
#[derive(Debug, Clone)]
pub struct Guest {
    username: Arc<str>,
    credentials: Arc<Credentials>,
    admission: Arc<Admission>,
}

impl Guest {
    /// `expires` is the last second, in UNIX time, in which an allocation may be made.
    pub fn new(
        username: impl Into<Arc<str>>,
        password: &str,
        expires: u64,
        admission: Arc<Admission>,
    ) -> Self {
        let username = username.into();
        Guest {
            credentials: Arc::new(Credentials::of_guest(&username, password, expires)),
            username,
            admission,
        }
    }

    pub fn username(&self) -> &Arc<str> {
        &self.username
    }

    /// Which peers the guest may reach.
    pub fn admission(&self) -> &Arc<Admission> {
        &self.admission
    }

    pub(super) fn credentials(&self) -> &Arc<Credentials> {
        &self.credentials
    }
}

/// The guest of that name. Every name is compared, so that the time does not tell which one came close.
pub(super) fn by_name<'g>(guests: &'g [Guest], username: &str) -> Option<&'g Guest> {
    find(guests, |guest| {
        guest.username.as_bytes().ct_eq(username.as_bytes())
    })
}

/// The guest behind a USERHASH (RFC 8489 §9.2.2).
pub(super) fn by_hash<'g>(guests: &'g [Guest], hash: &[u8; 32], realm: &str) -> Option<&'g Guest> {
    find(guests, |guest| {
        userhash(&*guest.username, realm).ct_eq(hash)
    })
}

fn find(guests: &[Guest], is_meant: impl Fn(&Guest) -> Choice) -> Option<&Guest> {
    let mut found = u64::MAX;
    for (index, guest) in (0u64..).zip(guests) {
        found.conditional_assign(&index, is_meant(guest));
    }
    usize::try_from(found).ok().and_then(|at| guests.get(at))
}

#[cfg(test)]
mod tests {
    use stunner_config::admission::{OwnAddresses, RelayPorts};

    use super::*;

    fn guest(username: &str) -> Guest {
        let own = Arc::new(OwnAddresses::default());
        let none = Admission::compile(Vec::new(), own, Arc::new(RelayPorts::new()), false);
        Guest::new(username, "password", 1, Arc::new(none))
    }

    #[test]
    fn a_guest_is_found_by_the_whole_name_only() {
        let guests = [guest("ann"), guest("bob"), guest("bobby")];
        let found = |name| by_name(&guests, name).map(|guest| &**guest.username());
        assert_eq!(found("bob"), Some("bob"));
        assert_eq!(found("ann"), Some("ann"));
        assert_eq!(found("bo"), None);
        assert_eq!(found(""), None);
        assert!(by_name(&[], "bob").is_none());
    }

    #[test]
    fn a_guest_is_found_by_the_hash_of_name_and_realm() {
        let guests = [guest("ann"), guest("bob")];
        let found = by_hash(&guests, &userhash("ann", "realm"), "realm");
        assert_eq!(found.map(|guest| &**guest.username()), Some("ann"));
        assert!(by_hash(&guests, &userhash("ann", "other"), "realm").is_none());
    }
}

//! Stateless cookies: a MAC over the client's address (RFC 6347 §4.2.1).

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

pub(super) const COOKIE_LEN: usize = 16;

/// The key in use and the one before it, so that a change does not spoil handshakes under way.
pub(super) struct CookieKeys(Mutex<Keys>);

struct Keys {
    current: [u8; 32],
    previous: Option<[u8; 32]>,
}

impl fmt::Debug for CookieKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CookieKeys(<secret>)")
    }
}

impl CookieKeys {
    pub(super) fn new(key: [u8; 32]) -> Self {
        Self(Mutex::new(Keys {
            current: key,
            previous: None,
        }))
    }

    pub(super) fn rotate(&self, key: [u8; 32]) {
        let mut keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        keys.previous = Some(std::mem::replace(&mut keys.current, key));
    }

    pub(super) fn cookie(&self, client: SocketAddr) -> Option<[u8; COOKIE_LEN]> {
        let keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let tag = mac(&keys.current, client)?.finalize().into_bytes();
        tag.first_chunk().copied()
    }

    pub(super) fn verify(&self, client: SocketAddr, cookie: &[u8]) -> bool {
        if cookie.len() != COOKIE_LEN {
            return false;
        }
        let keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        [Some(&keys.current), keys.previous.as_ref()]
            .into_iter()
            .flatten()
            .filter_map(|key| mac(key, client))
            // Compares in constant time.
            .any(|mac| mac.verify_truncated_left(cookie).is_ok())
    }
}

fn mac(key: &[u8; 32], client: SocketAddr) -> Option<Hmac<Sha256>> {
    let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(key).ok()?;
    match client.ip() {
        IpAddr::V4(ip) => mac.update(&ip.octets()),
        IpAddr::V6(ip) => mac.update(&ip.octets()),
    }
    mac.update(&client.port().to_be_bytes());
    Some(mac)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addr(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_cookie_is_good_for_its_address_only() {
        let keys = CookieKeys::new([1; 32]);
        let cookie = keys.cookie(addr("192.0.2.1:1000")).unwrap();
        assert!(keys.verify(addr("192.0.2.1:1000"), &cookie));
        for other in ["192.0.2.1:1001", "192.0.2.2:1000", "[2001:db8::1]:1000"] {
            assert!(!keys.verify(addr(other), &cookie));
        }
        assert!(!keys.verify(addr("192.0.2.1:1000"), &cookie[..15]));
        assert!(!keys.verify(addr("192.0.2.1:1000"), &[]));
    }

    #[test]
    fn a_cookie_outlives_one_change_of_key_but_not_two() {
        let keys = CookieKeys::new([1; 32]);
        let client = addr("[2001:db8::1]:5");
        let cookie = keys.cookie(client).unwrap();
        keys.rotate([2; 32]);
        assert!(keys.verify(client, &cookie));
        assert_ne!(keys.cookie(client).unwrap(), cookie);
        keys.rotate([3; 32]);
        assert!(!keys.verify(client, &cookie));
    }
}

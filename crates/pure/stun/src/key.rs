//! Credentials as HMAC keys, and the hashes that make them (RFC 8489 §9.1.1, §9.2.2, §14.4).

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256};

/// A key for MESSAGE-INTEGRITY and MESSAGE-INTEGRITY-SHA256.
///
/// It holds the HMAC states after the key block has been mixed in, so that a check costs neither
/// the key derivation nor those two hash blocks. Share one `Key` per credential rather than copying it: it
/// takes a few hundred bytes.
#[derive(Clone)]
pub struct Key {
    sha1: Hmac<Sha1>,
    sha256: Hmac<Sha256>,
}

impl Key {
    /// Long-term key with the MD5 password algorithm, the only one before RFC 8489 (§18.5.1.1).
    pub fn md5(
        user: impl AsRef<[u8]>,
        realm: impl AsRef<[u8]>,
        password: impl AsRef<[u8]>,
    ) -> Self {
        Self::long_term::<Md5>(user.as_ref(), realm.as_ref(), password.as_ref())
    }

    /// Long-term key with the SHA-256 password algorithm (RFC 8489 §18.5.1.2).
    pub fn sha256(
        user: impl AsRef<[u8]>,
        realm: impl AsRef<[u8]>,
        password: impl AsRef<[u8]>,
    ) -> Self {
        Self::long_term::<Sha256>(user.as_ref(), realm.as_ref(), password.as_ref())
    }

    /// Short-term key: the password itself (RFC 8489 §9.1.1).
    pub fn short_term(password: impl AsRef<[u8]>) -> Self {
        Self::from_bytes(password.as_ref())
    }

    /// A key that was derived elsewhere.
    pub fn from_bytes(key: &[u8]) -> Self {
        // RFC 2104 defines HMAC for keys of every length, so neither of these can fail.
        Key {
            sha1: Hmac::new_from_slice(key).expect("HMAC takes a key of any length"),
            sha256: Hmac::new_from_slice(key).expect("HMAC takes a key of any length"),
        }
    }

    fn long_term<D: Digest>(user: &[u8], realm: &[u8], password: &[u8]) -> Self {
        let hash = D::new()
            .chain_update(user)
            .chain_update(b":")
            .chain_update(realm)
            .chain_update(b":")
            .chain_update(password)
            .finalize();
        Self::from_bytes(&hash)
    }

    /// HMAC-SHA1 over a message given in parts.
    pub(crate) fn mac_sha1(&self, parts: &[&[u8]]) -> [u8; 20] {
        let mut mac = self.sha1.clone();
        parts.iter().for_each(|part| mac.update(part));
        mac.finalize().into_bytes().into()
    }

    /// HMAC-SHA256 over a message given in parts.
    pub(crate) fn mac_sha256(&self, parts: &[&[u8]]) -> [u8; 32] {
        let mut mac = self.sha256.clone();
        parts.iter().for_each(|part| mac.update(part));
        mac.finalize().into_bytes().into()
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(***)")
    }
}

/// The USERHASH value: SHA-256 of `user ":" realm` (RFC 8489 §14.4).
pub fn userhash(user: impl AsRef<[u8]>, realm: impl AsRef<[u8]>) -> [u8; 32] {
    Sha256::new()
        .chain_update(user.as_ref())
        .chain_update(b":")
        .chain_update(realm.as_ref())
        .finalize()
        .into()
}

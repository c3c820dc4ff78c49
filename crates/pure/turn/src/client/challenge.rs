//! Long-term credentials, client side: what a 401 or 438 teaches and how a request is signed with it.

use stunner_stun::nonce::SecurityFeatures;
use stunner_stun::{Key, Message, MessageWriter, PasswordAlgorithm, attr, userhash};

use super::settings::{Credentials, Settings};

/// Everything a signed request needs, learnt from one challenge.
#[derive(Clone, Debug)]
pub(super) struct Challenge {
    pub(super) realm: Vec<u8>,
    nonce: Vec<u8>,
    /// PASSWORD-ALGORITHMS exactly as offered; RFC 8489 §9.2.3.2 wants it echoed.
    offered: Option<Vec<u8>>,
    algorithm: PasswordAlgorithm,
    /// The user's name, hidden as USERHASH when the server's nonce asks for it.
    user: User,
    pub(super) key: Key,
}

#[derive(Clone, Debug)]
enum User {
    Name(String),
    Hash([u8; 32]),
}

/// Why a challenge cannot be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unanswerable {
    NoCredentials,
    /// REALM or NONCE is missing or not text.
    Incomplete,
    /// RFC 8489 §9.2.5: the nonce promises PASSWORD-ALGORITHMS but someone removed it.
    BidDown,
    /// None of the offered algorithms is known.
    NoAlgorithm,
}

impl Challenge {
    /// Reads a 401 or 438. `previous` lets a stale nonce keep its key, and its realm if a terse
    /// server leaves REALM out of a 438.
    pub(super) fn read(
        message: &Message<'_>,
        settings: &Settings,
        previous: Option<&Challenge>,
    ) -> Result<Challenge, Unanswerable> {
        let Credentials::Static { username, password } = &settings.credentials else {
            return Err(Unanswerable::NoCredentials);
        };
        let nonce = message.get(attr::NONCE).ok_or(Unanswerable::Incomplete)?;
        let realm = message
            .get(attr::REALM)
            .or(previous.map(|challenge| challenge.realm.as_slice()))
            .ok_or(Unanswerable::Incomplete)?;
        let realm_text = std::str::from_utf8(realm).map_err(|_| Unanswerable::Incomplete)?;

        let features = SecurityFeatures::of(nonce).unwrap_or_default();
        let offered = message
            .get(attr::PASSWORD_ALGORITHMS)
            .filter(|_| settings.allow_sha256);
        let promised = features.contains(SecurityFeatures::PASSWORD_ALGORITHMS);
        let algorithm = match message
            .password_algorithms()
            .filter(|_| settings.allow_sha256)
        {
            // The server's order counts; what we do not know is skipped (RFC 8489 §14.11).
            Some(list) => list
                .map_while(Result::ok)
                .find_map(|entry| entry.algorithm())
                .ok_or(Unanswerable::NoAlgorithm)?,
            None if settings.allow_sha256 && promised => return Err(Unanswerable::BidDown),
            None => PasswordAlgorithm::Md5,
        };
        // RFC 8489 §9.2.3.2: the anonymity bit makes USERHASH mandatory; RFC 5389 clients know neither.
        let user =
            if settings.allow_sha256 && features.contains(SecurityFeatures::USERNAME_ANONYMITY) {
                User::Hash(userhash(username, realm_text))
            } else {
                User::Name(username.clone())
            };
        let key = match previous {
            Some(known) if known.realm == realm && known.algorithm == algorithm => {
                known.key.clone()
            }
            _ if algorithm == PasswordAlgorithm::Sha256 => {
                Key::sha256(username, realm_text, password)
            }
            _ => Key::md5(username, realm_text, password),
        };
        Ok(Challenge {
            realm: realm.to_vec(),
            nonce: nonce.to_vec(),
            offered: offered.map(<[u8]>::to_vec),
            algorithm,
            user,
            key,
        })
    }

    /// Adds the credential and the integrity attribute; only FINGERPRINT may follow.
    pub(super) fn sign(&self, writer: &mut MessageWriter<'_>) {
        match &self.user {
            User::Name(name) => writer.username(name),
            User::Hash(hash) => writer.userhash(hash),
        };
        writer
            .attribute(attr::REALM, &self.realm)
            .attribute(attr::NONCE, &self.nonce);
        match &self.offered {
            Some(offered) => {
                writer
                    .attribute(attr::PASSWORD_ALGORITHMS, offered)
                    .password_algorithm(self.algorithm);
                writer.integrity_sha256(&self.key);
            }
            None => {
                writer.integrity(&self.key);
            }
        }
    }

    /// Whether an answer to a request signed with this is authentic (RFC 8489 §9.2.5).
    pub(super) fn verifies(&self, message: &Message<'_>) -> bool {
        if message.has_integrity_sha256() {
            return message.verify_integrity_sha256(&self.key);
        }
        // A server may not fall back to SHA-1 once SHA-256 was agreed on.
        self.offered.is_none() && message.verify_integrity(&self.key)
    }
}

//! Long-term credentials: RFC 8489 §9.2.4.

use std::sync::Arc;

use stunner_stun::nonce::SecurityFeatures;
use stunner_stun::{Key, Message, PasswordAlgorithm, attr, error_code, userhash};
use subtle::ConstantTimeEq as _;

use super::allocation::Allocation;
use super::answer::{Asked, PASSWORD_ALGORITHMS, PASSWORD_ALGORITHMS_VALUE, Refusal, Signer};
use super::nonce::NONCE_LEN;
use super::{AuthFailure, Credentials, DropReason, Effect, FromClient, Server, guest};
use crate::{ClientPath, Now};

/// 401 with the phrase of RFC 5389: three characters less keep the challenge within its size.
const UNAUTHORIZED: Refusal = Refusal {
    code: error_code::UNAUTHENTICATED,
    reason: "Unauthorized",
};
const TURN_IS_OFF: Refusal = Refusal {
    code: error_code::BAD_REQUEST,
    reason: "TURN is off, STUN only",
};

/// A request whose sender is known.
#[derive(Debug)]
pub(super) struct Authenticated {
    pub signer: Signer,
    pub who: Who,
}

#[derive(Debug)]
pub(super) enum Who {
    /// The user of the allocation in question.
    Owner,
    /// A user of the policy in force, with the allocation's user id where there is an allocation.
    User(User),
    /// A user of the policy in force, but not the allocation's.
    Stranger,
}

/// Somebody who may start something new.
#[derive(Debug)]
pub(super) struct User {
    pub username: Arc<str>,
    pub realm: Arc<str>,
    pub credentials: Arc<Credentials>,
}

impl Who {
    /// A user in relation to the allocation in question. A guest and a user of the configuration are never the same,
    /// whatever their names.
    fn of(user: User, owner: Option<&Allocation>) -> Who {
        let is_owners = |owner: &Allocation| {
            user.credentials.is_guests() == owner.credentials.is_guests()
                && user.credentials.user_id(&user.username) == &*owner.user
        };
        match owner.is_none_or(is_owners) {
            true => Who::User(user),
            false => Who::Stranger,
        }
    }
}

impl User {
    pub(super) fn id(&self) -> Arc<str> {
        match self.credentials.user_id(&self.username) {
            id if id.len() == self.username.len() => self.username.clone(),
            id => id.into(),
        }
    }
}

/// Why a request is not served before anybody knows whose it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unauthenticated {
    /// No credentials yet: 401.
    Challenge,
    /// 401, 438 or 400.
    Failed(AuthFailure),
}

/// The name a request gives.
#[derive(Clone, Copy)]
enum Name<'m> {
    Plain(&'m str),
    Hash(&'m [u8; 32]),
}

/// Everything a request says about its sender.
struct Claim<'m> {
    name: Name<'m>,
    realm: &'m str,
    nonce: &'m str,
    algorithm: PasswordAlgorithm,
}

impl<'m> Claim<'m> {
    fn read(message: &Message<'m>) -> Result<Self, AuthFailure> {
        let incomplete = AuthFailure::Incomplete;
        let name = match (message.username(), message.userhash()) {
            (Some(name), _) => Name::Plain(name.map_err(|_| incomplete)?),
            (None, Some(hash)) => Name::Hash(hash.map_err(|_| incomplete)?),
            (None, None) => return Err(incomplete),
        };
        let realm = message.realm().and_then(Result::ok).ok_or(incomplete)?;
        let nonce = message.nonce().and_then(Result::ok).ok_or(incomplete)?;
        Ok(Claim {
            name,
            realm,
            nonce,
            algorithm: algorithm(message, nonce)?,
        })
    }
}

/// Which password algorithm the key is made with. RFC 8489 §9.2.4: a nonce that announced algorithms has to come back
/// with exactly those, or with none at all from a client that does not know them.
fn algorithm(message: &Message<'_>, nonce: &str) -> Result<PasswordAlgorithm, AuthFailure> {
    let chosen = message.password_algorithm();
    let offered = message.get(attr::PASSWORD_ALGORITHMS);
    let announced = SecurityFeatures::of(nonce.as_bytes())
        .is_some_and(|f| f.contains(SecurityFeatures::PASSWORD_ALGORITHMS));
    match (chosen, offered) {
        (None, None) => Ok(PasswordAlgorithm::Md5),
        (Some(Ok(entry)), offered) if !announced || is_our_offer(offered) => {
            entry.algorithm().ok_or(AuthFailure::BidDown)
        }
        (None, Some(_)) if !announced => Ok(PasswordAlgorithm::Md5),
        _ => Err(AuthFailure::BidDown),
    }
}

fn is_our_offer(offered: Option<&[u8]>) -> bool {
    offered == Some(PASSWORD_ALGORITHMS_VALUE.as_slice())
}

/// Checks integrity in the kind of attribute that the request has; SHA-256 where it has both (RFC 8489 §9.2.4).
fn verify(message: &Message<'_>, key: Key) -> Option<Signer> {
    let sha256 = message.has_integrity_sha256();
    let good = match sha256 {
        true => message.verify_integrity_sha256(&key),
        false => message.verify_integrity(&key),
    };
    good.then_some(Signer { key, sha256 })
}

impl Server {
    /// Finds out who sent a request. `owner` is the allocation that the request is about, where there is one.
    pub(super) fn authenticate(
        &self,
        now: Now,
        path: &ClientPath,
        message: &Message<'_>,
        owner: Option<&Allocation>,
    ) -> Result<Authenticated, Unauthenticated> {
        let failed = Unauthenticated::Failed;
        if owner.is_none() && !self.credentials_in_force(now).any(|c| c.turn_is_on()) {
            return Err(failed(AuthFailure::TurnOff));
        }
        if !message.has_integrity() && !message.has_integrity_sha256() {
            return Err(Unauthenticated::Challenge);
        }
        let claim = Claim::read(message).map_err(failed)?;
        let authenticated = match owner.and_then(|owner| prove_owner(message, &claim, owner)) {
            Some(signer) => Authenticated {
                signer,
                who: Who::Owner,
            },
            None => self
                .prove_user(now, message, &claim, owner)
                .map_err(failed)?,
        };
        // After integrity, as RFC 8489 §9.2.4 orders it: a wrong password is told at once, not after a fresh nonce.
        let client = path.tuple.client.ip();
        if !(self.shared.nonces).is_valid(claim.nonce.as_bytes(), client, now.millis) {
            return Err(failed(AuthFailure::StaleNonce));
        }
        Ok(authenticated)
    }

    /// The credentials that new allocations may use: the current ones, and for a time of grace those before.
    fn credentials_in_force(&self, now: Now) -> impl Iterator<Item = &Arc<Credentials>> {
        let auth = &self.policy.auth;
        let previous = auth.previous.as_ref();
        let graced = previous.filter(move |(_, until)| now.millis < *until);
        std::iter::once(&auth.current).chain(graced.map(|(credentials, _)| credentials))
    }

    fn prove_user(
        &self,
        now: Now,
        message: &Message<'_>,
        claim: &Claim<'_>,
        owner: Option<&Allocation>,
    ) -> Result<Authenticated, AuthFailure> {
        // A client keeps to the realm it was challenged with, which may be an older one on a live allocation; the key is
        // made with the realm that the client used.
        let realm = self
            .credentials_in_force(now)
            .map(|credentials| credentials.realm())
            .chain(owner.map(|owner| &owner.realm))
            .find(|realm| realm.as_bytes() == claim.realm.as_bytes())
            .ok_or(AuthFailure::WrongRealm)?;

        let mut failure = AuthFailure::UnknownUser;
        for credentials in self.credentials_in_force(now) {
            let username = match claim.name {
                Name::Plain(name) => Some(name),
                Name::Hash(hash) => credentials.username_of(hash, realm),
            };
            let Some(username) = username else { continue };
            if let Err(why) = credentials.check(username, now.unix) {
                // What the current credentials say counts, unless those before come closer.
                if failure == AuthFailure::UnknownUser {
                    failure = why;
                }
                continue;
            }
            let key = credentials.key(username, realm, claim.algorithm);
            let Some(signer) = key.and_then(|key| verify(message, key)) else {
                failure = AuthFailure::BadIntegrity;
                continue;
            };
            let user = User {
                username: username.into(),
                realm: realm.clone(),
                credentials: credentials.clone(),
            };
            let who = Who::of(user, owner);
            return Ok(Authenticated { signer, who });
        }
        match self.prove_guest(now, message, claim, realm) {
            None => Err(failure),
            Some(Err(why)) => Err(why),
            Some(Ok((signer, user))) => {
                let who = Who::of(user, owner);
                Ok(Authenticated { signer, who })
            }
        }
    }

    /// Whether a guest sent the request; `None` when there is no guest of that name. To ask after the users of the
    /// configuration costs them nothing, and gives nobody a way to take a user's place.
    fn prove_guest(
        &self,
        now: Now,
        message: &Message<'_>,
        claim: &Claim<'_>,
        realm: &Arc<str>,
    ) -> Option<Result<(Signer, User), AuthFailure>> {
        let guests = &self.policy.guests;
        let guest = match claim.name {
            Name::Plain(name) => guest::by_name(guests, name),
            Name::Hash(hash) => guest::by_hash(guests, hash, realm),
        }?;
        let credentials = guest.credentials();
        if let Err(why) = credentials.check(guest.username(), now.unix) {
            return Some(Err(why));
        }
        let key = credentials.key(guest.username(), realm, claim.algorithm);
        let Some(signer) = key.and_then(|key| verify(message, key)) else {
            return Some(Err(AuthFailure::BadIntegrity));
        };
        let user = User {
            username: guest.username().clone(),
            realm: realm.clone(),
            credentials: credentials.clone(),
        };
        Some(Ok((signer, user)))
    }

    /// Answers a request that nobody has authenticated, unless its source has had enough of such answers.
    pub(super) fn refuse_unauthenticated(
        &mut self,
        now: Now,
        asked: &Asked,
        challenge: ChallengeTerms,
        why: Unauthenticated,
    ) -> FromClient<'static> {
        if let Unauthenticated::Failed(failure) = why {
            self.stats.count_auth_failure(failure);
        }
        let source = asked.path.tuple.client.ip();
        if !(self.shared.unauthenticated).allow(source, now.millis) {
            return self.dropped(DropReason::RateLimited);
        }
        match why {
            Unauthenticated::Challenge => {
                self.stats.challenges += 1;
                self.challenge(now, asked, UNAUTHORIZED, &challenge);
            }
            Unauthenticated::Failed(AuthFailure::TurnOff) => self.refuse(asked, None, TURN_IS_OFF),
            Unauthenticated::Failed(AuthFailure::Incomplete) => {
                let why = "credentials are incomplete";
                self.refuse(asked, None, Refusal::bad_request(why));
            }
            Unauthenticated::Failed(AuthFailure::BidDown) => {
                let why = "password algorithms differ from the offer";
                self.refuse(asked, None, Refusal::bad_request(why));
            }
            Unauthenticated::Failed(AuthFailure::StaleNonce) => {
                let stale = Refusal::code(error_code::STALE_NONCE);
                self.challenge(now, asked, stale, &challenge);
            }
            Unauthenticated::Failed(_) => self.challenge(now, asked, UNAUTHORIZED, &challenge),
        }
        // A nonce that has grown old is everyday life, not a failed attempt.
        if let Unauthenticated::Failed(reason) = why
            && reason != AuthFailure::StaleNonce
        {
            let path = asked.path;
            self.effects.push_back(Effect::AuthFailed { path, reason });
        }
        FromClient::Handled
    }

    fn challenge(&mut self, now: Now, asked: &Asked, refusal: Refusal, terms: &ChallengeTerms) {
        let client = asked.path.tuple.client.ip();
        let nonce: [u8; NONCE_LEN] = (self.shared.nonces).make(terms.features, client, now.millis);
        self.refuse_with(asked, None, refusal, |writer| {
            writer
                .realm(&terms.realm)
                .attribute(attr::NONCE, &nonce)
                .password_algorithms(&PASSWORD_ALGORITHMS);
        });
    }

    /// What a challenge says: the terms of the allocation in question, else those in force.
    pub(super) fn challenge_terms(&self, now: Now, owner: Option<&Allocation>) -> ChallengeTerms {
        let in_force = || {
            let mut usable = self.credentials_in_force(now).filter(|c| c.turn_is_on());
            usable.next().unwrap_or(&self.policy.auth.current)
        };
        let (realm, credentials) = match owner {
            Some(owner) => (&owner.realm, &owner.credentials),
            None => (in_force().realm(), in_force()),
        };
        // RFC 8489 §9.2.4: clients that see the anonymity bit send USERHASH, which has to lead to a name.
        let features = match credentials.knows_users() {
            true => {
                SecurityFeatures::PASSWORD_ALGORITHMS.union(SecurityFeatures::USERNAME_ANONYMITY)
            }
            false => SecurityFeatures::PASSWORD_ALGORITHMS,
        };
        ChallengeTerms {
            realm: realm.clone(),
            features,
        }
    }
}

/// What a challenge tells a client.
#[derive(Debug, Clone)]
pub(super) struct ChallengeTerms {
    realm: Arc<str>,
    features: SecurityFeatures,
}

/// Whether the request is proved with what the allocation was made with. Neither expiry nor policy matter.
fn prove_owner(message: &Message<'_>, claim: &Claim<'_>, owner: &Allocation) -> Option<Signer> {
    if claim.realm != &*owner.realm {
        return None;
    }
    let is_name = match claim.name {
        Name::Plain(name) => bool::from(owner.username.as_bytes().ct_eq(name.as_bytes())),
        Name::Hash(hash) => bool::from(userhash(&*owner.username, &*owner.realm).ct_eq(hash)),
    };
    if !is_name {
        return None;
    }
    let key = owner
        .credentials
        .key(&owner.username, &owner.realm, claim.algorithm)?;
    verify(message, key)
}

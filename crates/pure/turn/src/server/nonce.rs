//! Nonces that need no memory of the clients they were given to.
//!
//! `obMatJos2` · four characters of security features · base64 of a 4-byte time and a 12-byte MAC: 35 characters. The MAC
//! covers the features (so that nobody can bid a client down by changing them), the time and the client's IP address.
//! It does not cover the port: RFC 8489 §9.2.4 asks for different nonces per address *and port*, but a NAT that
//! rebinds the port would then cost every client another round trip, and a nonce is good only together with a password.
//!
//! The MAC key changes every hour; each is derived from one master key that all shards share.

use std::fmt;
use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use stunner_stun::nonce::{PREFIX_LEN, SecurityFeatures};
use subtle::ConstantTimeEq as _;

use super::settings::NONCE_LIFETIME;

/// Characters of a nonce.
pub(super) const NONCE_LEN: usize = PREFIX_LEN + 22;
const MAC_LEN: usize = 12;
/// Seconds that one MAC key is used for.
const EPOCH: u64 = 3600;

type HmacSha256 = Hmac<Sha256>;

/// Makes and checks nonces. `Debug` shows no key.
pub(super) struct NonceMaker {
    master: HmacSha256,
}

impl NonceMaker {
    pub(super) fn new(master: [u8; 32]) -> Self {
        NonceMaker {
            master: HmacSha256::new_from_slice(&master).expect("HMAC takes a key of any length"),
        }
    }

    pub(super) fn make(
        &self,
        features: SecurityFeatures,
        client: IpAddr,
        millis: u64,
    ) -> [u8; NONCE_LEN] {
        let prefix = features.prefix();
        let seconds = (millis / 1000) as u32;
        let mut raw = [0; 4 + MAC_LEN];
        raw[..4].copy_from_slice(&seconds.to_be_bytes());
        raw[4..].copy_from_slice(&self.mac(&prefix, seconds, client));

        let mut nonce = [0; NONCE_LEN];
        nonce[..PREFIX_LEN].copy_from_slice(&prefix);
        // 16 bytes are 22 characters: the buffer fits exactly.
        let _ = STANDARD_NO_PAD.encode_slice(raw, &mut nonce[PREFIX_LEN..]);
        nonce
    }

    /// Whether we gave this nonce to this client address within the last hour.
    pub(super) fn is_valid(&self, nonce: &[u8], client: IpAddr, millis: u64) -> bool {
        let Ok(nonce) = <&[u8; NONCE_LEN]>::try_from(nonce) else {
            return false;
        };
        let (prefix, encoded) = nonce.split_at(PREFIX_LEN);
        let mut raw = [0; 18];
        let Ok(16) = STANDARD_NO_PAD.decode_slice(encoded, &mut raw) else {
            return false;
        };
        let seconds = u32::from_be_bytes([raw[0], raw[1], raw[2], raw[3]]);
        let age = (millis / 1000).checked_sub(u64::from(seconds));
        let expected = self.mac(prefix, seconds, client);
        let genuine = bool::from(expected.as_slice().ct_eq(&raw[4..4 + MAC_LEN]));
        // One second of slack: shards read their clocks at different moments.
        let fresh = match age {
            Some(age) => age < NONCE_LIFETIME,
            None => u64::from(seconds) <= millis / 1000 + 1,
        };
        genuine && fresh
    }

    /// A key for one purpose, from which the master key cannot be found.
    pub(super) fn derive(&self, purpose: &[u8], number: u64) -> [u8; 32] {
        let mut mac = self.master.clone();
        mac.update(purpose);
        mac.update(&number.to_be_bytes());
        mac.finalize().into_bytes().into()
    }

    fn mac(&self, prefix: &[u8], seconds: u32, client: IpAddr) -> [u8; MAC_LEN] {
        let epoch_key = self.derive(b"nonce epoch", u64::from(seconds) / EPOCH);
        let mut mac =
            HmacSha256::new_from_slice(&epoch_key).expect("HMAC takes a key of any length");
        mac.update(prefix);
        mac.update(&seconds.to_be_bytes());
        mac.update(&address_bits(client).to_be_bytes());
        let full: [u8; 32] = mac.finalize().into_bytes().into();
        let mut short = [0; MAC_LEN];
        short.copy_from_slice(&full[..MAC_LEN]);
        short
    }
}

impl fmt::Debug for NonceMaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NonceMaker(***)")
    }
}

/// An address as one number; IPv4 and its mapped form are the same client.
pub(super) fn address_bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEATURES: SecurityFeatures = SecurityFeatures::PASSWORD_ALGORITHMS;
    const HOUR: u64 = 3_600_000;

    fn client() -> IpAddr {
        "192.0.2.1".parse().unwrap()
    }

    #[test]
    fn a_nonce_is_35_characters_and_good_for_an_hour() {
        let maker = NonceMaker::new([1; 32]);
        for start in [0, 5_000, HOUR - 1, HOUR, 7 * HOUR + 12_000] {
            let nonce = maker.make(FEATURES, client(), start);
            assert_eq!(nonce.len(), 35);
            assert!(nonce.starts_with(b"obMatJos2"));
            assert!(maker.is_valid(&nonce, client(), start));
            let floor = start - start % 1000;
            assert!(maker.is_valid(&nonce, client(), floor + HOUR - 1));
            assert!(!maker.is_valid(&nonce, client(), floor + HOUR));
        }
    }

    #[test]
    fn a_nonce_belongs_to_one_client_address_in_either_spelling() {
        let maker = NonceMaker::new([1; 32]);
        let nonce = maker.make(FEATURES, client(), 0);
        assert!(maker.is_valid(&nonce, "::ffff:192.0.2.1".parse().unwrap(), 0));
        assert!(!maker.is_valid(&nonce, "192.0.2.2".parse().unwrap(), 0));
    }

    #[test]
    fn every_changed_character_makes_a_nonce_worthless() {
        let maker = NonceMaker::new([1; 32]);
        let nonce = maker.make(FEATURES, client(), 0);
        for at in 0..nonce.len() {
            let mut changed = nonce;
            changed[at] = if changed[at] == b'x' { b'y' } else { b'x' };
            assert!(!maker.is_valid(&changed, client(), 0), "character {at}");
        }
        assert!(!maker.is_valid(&nonce[..34], client(), 0));
        assert!(!maker.is_valid(b"", client(), 0));
    }

    #[test]
    fn another_key_makes_other_nonces() {
        let nonce = NonceMaker::new([1; 32]).make(FEATURES, client(), 0);
        assert!(!NonceMaker::new([2; 32]).is_valid(&nonce, client(), 0));
    }
}

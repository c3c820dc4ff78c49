//! The security features at the front of a nonce, which protect a client against being bid down
//! to weaker credentials (RFC 8489 §9.2, §18.1).

/// What every nonce of a server with security features begins with (RFC 8489 §9.2).
pub const COOKIE: &[u8; 9] = b"obMatJos2";
/// The cookie and four base64 characters of feature bits.
pub const PREFIX_LEN: usize = COOKIE.len() + 4;

/// 24 feature bits.
///
/// RFC 8489 contradicts itself on their order: §18.1 counts from the left, the sample of appendix B.1
/// from the right, and there are clients of both kinds. Few bits exist, so each is announced at both
/// ends and understood at either.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SecurityFeatures([u8; 3]);

impl SecurityFeatures {
    pub const NONE: SecurityFeatures = SecurityFeatures([0; 3]);
    /// Bit 0: PASSWORD-ALGORITHMS is in the challenge.
    pub const PASSWORD_ALGORITHMS: SecurityFeatures = SecurityFeatures([0x80, 0, 0x01]);
    /// Bit 1: USERHASH is understood.
    pub const USERNAME_ANONYMITY: SecurityFeatures = SecurityFeatures([0x40, 0, 0x02]);

    pub const fn union(self, other: SecurityFeatures) -> SecurityFeatures {
        let ([a, b, c], [d, e, f]) = (self.0, other.0);
        SecurityFeatures([a | d, b | e, c | f])
    }

    /// Whether a feature is announced, counted from either end.
    pub const fn contains(self, feature: SecurityFeatures) -> bool {
        let ([a, b, c], [d, e, f]) = (self.0, feature.0);
        (a & d) | (b & e) | (c & f) != 0
    }

    /// The first 13 characters of a nonce that announces these features.
    pub const fn prefix(self) -> [u8; PREFIX_LEN] {
        let [c0, c1, c2, c3, c4, c5, c6, c7, c8] = *COOKIE;
        let [f0, f1, f2, f3] = base64(self.0);
        [c0, c1, c2, c3, c4, c5, c6, c7, c8, f0, f1, f2, f3]
    }

    /// The features a nonce announces; `None` when it does not begin with the cookie and four
    /// base64 characters.
    pub fn of(nonce: &[u8]) -> Option<SecurityFeatures> {
        let encoded = nonce.strip_prefix(COOKIE)?.first_chunk::<4>()?;
        let mut bits = 0u32;
        for character in encoded {
            bits = bits << 6 | sextet(*character)?;
        }
        let [_, a, b, c] = bits.to_be_bytes();
        Some(SecurityFeatures([a, b, c]))
    }
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Base64 (RFC 4648 §4) of exactly three bytes, which needs no padding.
const fn base64(bytes: [u8; 3]) -> [u8; 4] {
    let [a, b, c] = bytes;
    [
        ALPHABET[(a >> 2) as usize],
        ALPHABET[((a & 0x03) << 4 | b >> 4) as usize],
        ALPHABET[((b & 0x0F) << 2 | c >> 6) as usize],
        ALPHABET[(c & 0x3F) as usize],
    ]
}

fn sextet(character: u8) -> Option<u32> {
    let value = match character {
        b'A'..=b'Z' => character - b'A',
        b'a'..=b'z' => character - b'a' + 26,
        b'0'..=b'9' => character - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc8489_18_1_features_are_announced_from_both_ends() {
        let both =
            SecurityFeatures::PASSWORD_ALGORITHMS.union(SecurityFeatures::USERNAME_ANONYMITY);
        assert_eq!(&SecurityFeatures::NONE.prefix(), b"obMatJos2AAAA");
        assert_eq!(
            &SecurityFeatures::PASSWORD_ALGORITHMS.prefix(),
            b"obMatJos2gAAB"
        );
        assert_eq!(
            &SecurityFeatures::USERNAME_ANONYMITY.prefix(),
            b"obMatJos2QAAC"
        );
        assert_eq!(&both.prefix(), b"obMatJos2wAAD");
    }

    #[test]
    fn rfc8489_b_1_the_sample_nonce_announces_username_anonymity() {
        let sample = SecurityFeatures::of(b"obMatJos2AAACf//499k954d6OL34oL9FSTvy64sA").unwrap();
        assert!(sample.contains(SecurityFeatures::USERNAME_ANONYMITY));
        assert!(!sample.contains(SecurityFeatures::PASSWORD_ALGORITHMS));
    }

    #[test]
    fn every_feature_set_survives_the_nonce() {
        for bit in 0..24 {
            let [_, a, b, c] = (1u32 << bit | 0x0012_3456).to_be_bytes();
            let features = SecurityFeatures([a, b, c]);
            assert_eq!(SecurityFeatures::of(&features.prefix()), Some(features));
        }
    }

    #[test]
    fn a_nonce_without_cookie_or_with_broken_base64_announces_nothing() {
        assert_eq!(SecurityFeatures::of(b""), None);
        assert_eq!(SecurityFeatures::of(b"obMatJos2"), None);
        assert_eq!(SecurityFeatures::of(b"obMatJos2AAA"), None);
        assert_eq!(SecurityFeatures::of(b"obMatJos2AA=A"), None);
        assert_eq!(SecurityFeatures::of(b"f//499k954d6OL34oL9FSTvy64sA"), None);
    }

    #[test]
    fn a_feature_is_found_at_either_end() {
        let anonymity = SecurityFeatures::USERNAME_ANONYMITY;
        for prefix in [b"obMatJos2QAAA", b"obMatJos2AAAC"] {
            assert!(SecurityFeatures::of(prefix).unwrap().contains(anonymity));
        }
        assert!(!SecurityFeatures::PASSWORD_ALGORITHMS.contains(anonymity));
    }
}

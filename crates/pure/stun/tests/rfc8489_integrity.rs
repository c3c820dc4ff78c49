//! MESSAGE-INTEGRITY, MESSAGE-INTEGRITY-SHA256 and FINGERPRINT: order, coverage, length
//! (RFC 8489 §14.5 to §14.7).

mod support;

use stunner_stun::{Class, Key, Message, MessageWriter, ParseError, WriteError, attr};
use support::{raw, tlv, write};

fn kinds(message: &Message<'_>) -> Vec<u16> {
    message.attributes().map(|a| a.kind).collect()
}

#[test]
fn rfc8489_14_5_what_follows_message_integrity_is_ignored() {
    let mac = [0; 20];
    let bytes = raw(&[
        tlv(attr::REALM, b"before"),
        tlv(attr::MESSAGE_INTEGRITY, &mac),
        tlv(attr::USERNAME, b"after"),
        tlv(attr::MESSAGE_INTEGRITY, &mac),
        tlv(attr::MESSAGE_INTEGRITY_SHA256, &[0; 32]),
        tlv(0x7FFF, b"after"),
        tlv(attr::FINGERPRINT, &[0; 4]),
    ]
    .concat());
    let message = Message::parse(&bytes).unwrap();
    assert_eq!(
        kinds(&message),
        [
            attr::REALM,
            attr::MESSAGE_INTEGRITY,
            attr::MESSAGE_INTEGRITY_SHA256,
            attr::FINGERPRINT
        ]
    );
    assert_eq!(message.username(), None);
    assert!(message.unknown_required(|k| k == attr::REALM).is_empty());
}

#[test]
fn rfc8489_14_6_only_fingerprint_counts_after_message_integrity_sha256() {
    let bytes = raw(&[
        tlv(attr::MESSAGE_INTEGRITY_SHA256, &[0; 32]),
        tlv(attr::MESSAGE_INTEGRITY, &[0; 20]),
        tlv(attr::REALM, b"after"),
        tlv(attr::FINGERPRINT, &[0; 4]),
    ]
    .concat());
    let message = Message::parse(&bytes).unwrap();
    let expected = [attr::MESSAGE_INTEGRITY_SHA256, attr::FINGERPRINT];
    assert_eq!(kinds(&message), expected);
    assert!(!message.has_integrity());
    assert!(message.has_integrity_sha256());
}

#[test]
fn rfc8489_14_5_each_mac_is_computed_as_if_the_message_ended_with_it() {
    let key = Key::md5("user", "realm", "password");
    let bytes = write(Class::Request, |w| {
        w.username("user")
            .integrity(&key)
            .integrity_sha256(&key)
            .fingerprint();
    })
    .unwrap();
    let message = Message::parse(&bytes).unwrap();
    assert!(message.verify_integrity(&key));
    assert!(message.verify_integrity_sha256(&key));
    assert_eq!(message.check_fingerprint(), Some(true));

    // The MACs do not cover what follows them: cut off, they still hold.
    let mut alone = bytes[..bytes.len() - 8 - 36].to_vec();
    let length = (alone.len() - 20) as u16;
    alone[2..4].copy_from_slice(&length.to_be_bytes());
    let message = Message::parse(&alone).unwrap();
    assert!(message.verify_integrity(&key));
    assert!(!message.verify_integrity_sha256(&key));
}

#[test]
fn rfc8489_14_5_a_mac_of_another_length_is_wrong() {
    let key = Key::short_term("password");
    for len in [0, 16, 19, 21, 32] {
        let bytes = raw(&tlv(attr::MESSAGE_INTEGRITY, &vec![0; len]));
        let message = Message::parse(&bytes).unwrap();
        assert!(message.has_integrity() && !message.verify_integrity(&key));
    }
}

#[test]
fn rfc8489_14_6_a_truncated_mac_counts_only_where_the_usage_allows_it() {
    let key = Key::short_term("password");
    for len in 0..=40 {
        let written = write(Class::Request, |w| {
            w.truncated_integrity_sha256(&key, len);
        });
        if !(16..=32).contains(&len) || len % 4 != 0 {
            let kind = attr::MESSAGE_INTEGRITY_SHA256;
            assert_eq!(written, Err(WriteError::Value(kind)));
            let bytes = raw(&tlv(kind, &vec![0; len]));
            let message = Message::parse(&bytes).unwrap();
            assert!(!message.verify_truncated_integrity_sha256(&key, 0));
            continue;
        }
        let bytes = written.unwrap();
        let message = Message::parse(&bytes).unwrap();
        assert!(message.verify_truncated_integrity_sha256(&key, 16));
        assert!(message.verify_truncated_integrity_sha256(&key, len));
        assert!(!message.verify_truncated_integrity_sha256(&key, len + 1));
        assert_eq!(message.verify_integrity_sha256(&key), len == 32);
    }
}

#[test]
fn rfc8489_14_7_fingerprint_is_the_last_attribute() {
    let bytes = raw(&[
        tlv(attr::FINGERPRINT, &[0; 4]),
        tlv(attr::SOFTWARE, b"after"),
    ]
    .concat());
    let error = ParseError::FingerprintNotLast(20);
    assert_eq!(Message::parse(&bytes).unwrap_err(), error);

    let bytes = raw(&tlv(attr::FINGERPRINT, &[0; 5]));
    let message = Message::parse(&bytes).unwrap();
    assert_eq!(message.check_fingerprint(), Some(false));
}

#[test]
fn rfc8489_14_5_the_writer_keeps_the_order() {
    let key = Key::short_term("password");
    let order = |kind| Err(WriteError::Order(kind));
    let realm_last = |w: &mut MessageWriter<'_>| _ = w.integrity(&key).realm("r");
    assert_eq!(write(Class::Request, realm_last), order(attr::REALM));
    let twice = |w: &mut MessageWriter<'_>| _ = w.integrity(&key).integrity(&key);
    assert_eq!(write(Class::Request, twice), order(attr::MESSAGE_INTEGRITY));
    let swapped = |w: &mut MessageWriter<'_>| _ = w.integrity_sha256(&key).integrity(&key);
    assert_eq!(
        write(Class::Request, swapped),
        order(attr::MESSAGE_INTEGRITY)
    );
    let after = |w: &mut MessageWriter<'_>| _ = w.fingerprint().integrity_sha256(&key);
    assert_eq!(
        write(Class::Request, after),
        order(attr::MESSAGE_INTEGRITY_SHA256)
    );
    let by_hand = |w: &mut MessageWriter<'_>| _ = w.attribute(attr::FINGERPRINT, &[0; 4]);
    assert_eq!(write(Class::Request, by_hand), order(attr::FINGERPRINT));
}

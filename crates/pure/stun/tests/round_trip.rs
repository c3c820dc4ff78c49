//! Properties of reader and writer together.

use std::net::{IpAddr, SocketAddr};

use proptest::prelude::*;
use stunner_stun::{
    Class, Family, Key, Message, MessageWriter, Method, TransactionId, attr, channel_data,
};

fn classes() -> impl Strategy<Value = Class> {
    prop::sample::select(vec![
        Class::Request,
        Class::Indication,
        Class::Success,
        Class::Error,
    ])
}

fn addresses() -> impl Strategy<Value = SocketAddr> {
    (any::<IpAddr>(), any::<u16>()).prop_map(SocketAddr::from)
}

/// Kinds that do not close a message.
fn kinds() -> impl Strategy<Value = u16> {
    any::<u16>().prop_filter("closing attributes have their own methods", |kind| {
        !matches!(
            *kind,
            attr::MESSAGE_INTEGRITY | attr::MESSAGE_INTEGRITY_SHA256 | attr::FINGERPRINT
        )
    })
}

proptest! {
    #[test]
    fn any_message_reads_as_written(
        class in classes(),
        method in 0u16..0x1000,
        id in any::<[u8; 12]>(),
        attributes in prop::collection::vec(
            (kinds(), prop::collection::vec(any::<u8>(), 0..50)), 0..10),
        sha1 in any::<bool>(),
        sha256 in prop::option::of(4usize..=8),
        fingerprint in any::<bool>(),
        key in prop::collection::vec(any::<u8>(), 0..100),
    ) {
        let key = Key::from_bytes(&key);
        let mut buffer = [0xAA; 1024];
        let id = TransactionId(id);
        let mut writer = MessageWriter::new(&mut buffer, class, Method(method), id);
        for (kind, value) in &attributes {
            writer.attribute(*kind, value);
        }
        if sha1 {
            writer.integrity(&key);
        }
        if let Some(words) = sha256 {
            writer.truncated_integrity_sha256(&key, words * 4);
        }
        if fingerprint {
            writer.fingerprint();
        }
        let len = writer.finish().unwrap();
        let message = Message::parse(&buffer[..len]).unwrap();

        prop_assert_eq!(message.class(), class);
        prop_assert_eq!(message.method(), Method(method));
        prop_assert_eq!(message.transaction_id(), id);
        let read: Vec<_> = message
            .attributes()
            .take(attributes.len())
            .map(|a| (a.kind, a.value.to_vec()))
            .collect();
        prop_assert_eq!(&read, &attributes);
        let closing = usize::from(sha1) + usize::from(sha256.is_some()) + usize::from(fingerprint);
        prop_assert_eq!(message.attributes().count(), attributes.len() + closing);
        for (kind, _) in &attributes {
            let first = attributes.iter().find(|(k, _)| k == kind).map(|(_, v)| v.as_slice());
            prop_assert_eq!(message.get(*kind), first);
        }
        prop_assert_eq!(message.verify_integrity(&key), sha1);
        let truncated = message.verify_truncated_integrity_sha256(&key, 16);
        prop_assert_eq!(truncated, sha256.is_some());
        prop_assert_eq!(message.check_fingerprint(), fingerprint.then_some(true));
        prop_assert!(!message.verify_integrity(&Key::from_bytes(b"another key")));
    }

    #[test]
    fn addresses_read_as_written(addr in addresses(), id in any::<[u8; 12]>()) {
        let mut buffer = [0; 80];
        let id = TransactionId(id);
        let mut writer = MessageWriter::new(&mut buffer, Class::Success, Method::ALLOCATE, id);
        writer
            .xor_address(attr::XOR_RELAYED_ADDRESS, addr)
            .address(attr::MAPPED_ADDRESS, addr)
            .requested_family(Family::of(&addr.ip()));
        let len = writer.finish().unwrap();
        let message = Message::parse(&buffer[..len]).unwrap();
        prop_assert_eq!(message.xor_address(attr::XOR_RELAYED_ADDRESS), Some(Ok(addr)));
        prop_assert_eq!(message.address(attr::MAPPED_ADDRESS), Some(Ok(addr)));
        prop_assert_eq!(message.requested_family(), Some(Ok(Family::of(&addr.ip()))));
    }

    #[test]
    fn texts_and_errors_read_as_written(text in "\\PC{0,127}", code in 300u16..700) {
        let mut buffer = [0; 4096];
        let id = TransactionId([1; 12]);
        let mut writer = MessageWriter::new(&mut buffer, Class::Error, Method::REFRESH, id);
        writer.error(code, &text).realm(&text).nonce(&text).software(&text);
        let len = writer.finish().unwrap();
        let message = Message::parse(&buffer[..len]).unwrap();
        let error = message.error().unwrap().unwrap();
        prop_assert_eq!(error.code, code);
        prop_assert!(!error.reason.is_empty());
        if !text.is_empty() {
            prop_assert_eq!(error.reason, &text);
        }
        prop_assert_eq!(message.realm(), Some(Ok(text.as_str())));
        prop_assert_eq!(message.nonce(), Some(Ok(text.as_str())));
        prop_assert_eq!(message.software(), Some(Ok(text.as_str())));
    }

    #[test]
    fn channel_data_reads_as_written(
        number in 0x4000u16..0x8000,
        payload in prop::collection::vec(any::<u8>(), 0..100),
        pad in any::<bool>(),
    ) {
        let mut bytes = channel_data::header(number, payload.len() as u16).to_vec();
        bytes.extend(&payload);
        if pad {
            bytes.resize(bytes.len() + channel_data::stream_padding(payload.len()), 0);
        }
        let read = channel_data::parse(&bytes).unwrap();
        prop_assert_eq!((read.number, read.payload), (number, payload.as_slice()));
    }

    /// Whatever arrives, every reader returns.
    #[test]
    fn no_input_panics(mut bytes in prop::collection::vec(any::<u8>(), 0..200), stun in any::<bool>()) {
        if stun && bytes.len() >= 20 {
            bytes.truncate(bytes.len() & !3);
            bytes[0] &= 0x3F;
            let length = (bytes.len() - 20) as u16;
            bytes[2..4].copy_from_slice(&length.to_be_bytes());
            bytes[4..8].copy_from_slice(&[0x21, 0x12, 0xA4, 0x42]);
        }
        let _ = channel_data::parse(&bytes);
        let _ = stunner_stun::framing::next_frame(&bytes);
        if let Ok(message) = Message::parse(&bytes) {
            let _ = format!("{message:?}");
            let _ = (message.error(), message.icmp(), message.username());
            let _ = message.verify_integrity(&Key::short_term("x"));
            let _ = message.check_fingerprint();
            let _ = message.unknown_required(|_| false);
        }
    }
}

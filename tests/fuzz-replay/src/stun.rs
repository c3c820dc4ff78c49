//! Target `stun_message`: one datagram through the codec and back.

use stunner_stun::{
    Attribute, Key, Message, MessageWriter, UnknownAttributes, WriteError, attr, channel_data,
};

/// Reads `data` as a datagram in every way there is, then writes what was read and reads it again.
pub fn stun_message(data: &[u8]) {
    if let Ok(channel_data) = channel_data::parse(data) {
        assert!(channel_data::is_channel_data(data));
        assert!(channel_data::NUMBERS.contains(&channel_data.number));
        assert!(
            Message::parse(data).is_err(),
            "a datagram is one or the other"
        );
    }
    let Ok(message) = Message::parse(data) else {
        return;
    };
    read_everything(&message);
    check_order(&message);
    write_again(&message);
}

fn read_everything(message: &Message<'_>) {
    let _ = format!("{message:?}");
    let _ = (message.class(), message.method(), message.transaction_id());
    for kind in [
        attr::XOR_MAPPED_ADDRESS,
        attr::XOR_PEER_ADDRESS,
        attr::XOR_RELAYED_ADDRESS,
    ] {
        let first = message.xor_addresses(kind).next();
        assert_eq!(first, message.xor_address(kind));
    }
    let _ = message.address(attr::MAPPED_ADDRESS);
    let _ = message.alternate_server();
    for text in [
        message.username(),
        message.realm(),
        message.nonce(),
        message.software(),
        message.alternate_domain(),
    ] {
        if let Some(Ok(text)) = text {
            let _ = stunner_stun::nonce::SecurityFeatures::of(text.as_bytes());
        }
    }
    let _ = (message.userhash(), message.data(), message.lifetime());
    let _ = (message.channel_number(), message.requested_transport());
    let _ = (message.requested_family(), message.additional_family());
    let _ = (message.even_port(), message.dont_fragment());
    let _ = (message.reservation_token(), message.connection_id());
    let _ = (message.icmp(), message.password_algorithm());
    if let Some(Ok(error)) = message.error() {
        assert!((300..700).contains(&error.code));
    }
    message.address_errors().for_each(drop);
    if let Some(Ok(kinds)) = message.unknown_attributes() {
        kinds.for_each(drop);
    }
    if let Some(entries) = message.password_algorithms() {
        assert!(entries.count() <= message.as_bytes().len() / 4);
    }
    let unknown: UnknownAttributes = message.unknown_required(|kind| kind == attr::USERNAME);
    let required = |kind: u16| attr::is_comprehension_required(kind) && message.contains(kind);
    assert!(unknown.iter().all(required));
    let key = Key::short_term("password");
    let verified = message.verify_integrity(&key);
    assert!(message.has_integrity() || !verified);
    let verified = message.verify_truncated_integrity_sha256(&key, 0);
    assert!(message.has_integrity_sha256() || !verified);
    assert_eq!(
        message.has_fingerprint(),
        message.check_fingerprint().is_some()
    );
}

/// Attributes come in the order of the bytes and lie inside them; the closing ones come last.
fn check_order(message: &Message<'_>) {
    let rank = |attribute: &Attribute<'_>| match attribute.kind {
        attr::MESSAGE_INTEGRITY => 1,
        attr::MESSAGE_INTEGRITY_SHA256 => 2,
        attr::FINGERPRINT => 3,
        _ => 0,
    };
    let (mut end, mut last) = (20, 0);
    for attribute in message.attributes() {
        assert!(attribute.offset >= end);
        end = attribute.offset + 4 + attribute.value.len();
        assert!(end <= message.as_bytes().len());
        let rank = rank(&attribute);
        assert!(rank > last || (rank == 0 && last == 0));
        last = rank;
    }
}

fn write_again(message: &Message<'_>) {
    let key = Key::short_term("password");
    let ordinary = || {
        message.attributes().filter(|attribute| {
            !matches!(
                attribute.kind,
                attr::MESSAGE_INTEGRITY | attr::MESSAGE_INTEGRITY_SHA256 | attr::FINGERPRINT
            )
        })
    };
    let mut buffer = vec![0; message.as_bytes().len() + 100];
    // A buffer of about the right size, to end anywhere.
    let room = buffer.len() - usize::from(message.as_bytes()[19]).min(buffer.len());
    for size in [buffer.len(), room] {
        let mut writer = MessageWriter::new(
            &mut buffer[..size],
            message.class(),
            message.method(),
            message.transaction_id(),
        );
        for attribute in ordinary() {
            writer.attribute(attribute.kind, attribute.value);
        }
        writer.integrity(&key).integrity_sha256(&key).fingerprint();
        let len = match writer.finish() {
            Ok(len) => len,
            Err(WriteError::Overflow) => {
                let most = message.as_bytes().len() + 24 + 36 + 8;
                assert!(size < most || most > stunner_stun::MAX_MESSAGE_LEN);
                continue;
            }
            Err(error) => panic!("{error}"),
        };
        let again = Message::parse(&buffer[..len]).expect("what was written can be read");
        assert_eq!(again.class(), message.class());
        assert_eq!(again.method(), message.method());
        assert_eq!(again.transaction_id(), message.transaction_id());
        assert!(again.verify_integrity(&key));
        assert!(again.verify_integrity_sha256(&key));
        assert_eq!(again.check_fingerprint(), Some(true));
        let same = |(a, b): (Attribute<'_>, Attribute<'_>)| (a.kind, a.value) == (b.kind, b.value);
        assert!(ordinary().zip(again.attributes()).all(same));
        assert_eq!(ordinary().count() + 3, again.attributes().count());
    }
}

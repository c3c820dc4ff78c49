//! The attributes of TURN (RFC 8656 §18, RFC 6062 §6.2) on the wire.

use std::net::SocketAddr;

use stunner_stun::{
    AddressErrorCode, AttributeError, Class, Family, Icmp, Message, MessageWriter, Method, Tail,
    TransactionId, WriteError, attr, error_code,
};

const ID: TransactionId = TransactionId([0x5A; 12]);

fn write(fill: impl FnOnce(&mut MessageWriter<'_>)) -> Vec<u8> {
    let mut buffer = vec![0xAA; 1024];
    let mut writer = MessageWriter::new(&mut buffer, Class::Request, Method::ALLOCATE, ID);
    fill(&mut writer);
    let len = writer.finish().unwrap();
    buffer.truncate(len);
    buffer
}

#[test]
fn rfc8656_18_an_allocate_request_reads_as_written() {
    let bytes = write(|w| {
        w.requested_transport(17)
            .lifetime(1800)
            .requested_family(Family::V6)
            .additional_family(Family::V4)
            .even_port(true)
            .dont_fragment()
            .reservation_token(b"8 bytes!")
            .channel_number(0x4001)
            .connection_id(0xDEAD_BEEF);
    });
    let message = Message::parse(&bytes).unwrap();
    assert_eq!(message.requested_transport(), Some(Ok(17)));
    assert_eq!(message.lifetime(), Some(Ok(1800)));
    assert_eq!(message.requested_family(), Some(Ok(Family::V6)));
    assert_eq!(message.additional_family(), Some(Ok(Family::V4)));
    assert_eq!(message.even_port(), Some(Ok(true)));
    assert!(message.dont_fragment());
    assert_eq!(message.reservation_token(), Some(Ok(*b"8 bytes!")));
    assert_eq!(message.channel_number(), Some(Ok(0x4001)));
    assert_eq!(message.connection_id(), Some(Ok(0xDEAD_BEEF)));
}

#[test]
fn absent_attributes_are_none() {
    let bytes = write(|_| ());
    let message = Message::parse(&bytes).unwrap();
    assert_eq!(message.lifetime(), None);
    assert_eq!(message.even_port(), None);
    assert!(!message.dont_fragment());
    assert_eq!(message.icmp(), None);
    assert_eq!(message.data(), None);
    assert!(message.unknown_attributes().is_none());
    assert!(message.password_algorithms().is_none());
}

#[test]
fn values_of_wrong_length_are_errors() {
    let bytes = write(|w| {
        w.attribute(attr::LIFETIME, &[0; 3])
            .attribute(attr::CHANNEL_NUMBER, &[0x40, 0])
            .attribute(attr::REQUESTED_TRANSPORT, &[17])
            .attribute(attr::EVEN_PORT, &[])
            .attribute(attr::RESERVATION_TOKEN, &[0; 9])
            .attribute(attr::ICMP, &[0; 4])
            .attribute(attr::UNKNOWN_ATTRIBUTES, &[0; 3]);
    });
    let message = Message::parse(&bytes).unwrap();
    assert_eq!(message.lifetime(), Some(Err(AttributeError::Length(3))));
    let error = Some(Err(AttributeError::Length(2)));
    assert_eq!(message.channel_number(), error);
    let error = Some(Err(AttributeError::Length(1)));
    assert_eq!(message.requested_transport(), error);
    assert_eq!(message.even_port(), Some(Err(AttributeError::Length(0))));
    let error = Some(Err(AttributeError::Length(9)));
    assert_eq!(message.reservation_token(), error);
    assert_eq!(message.icmp(), Some(Err(AttributeError::Length(4))));
    assert!(matches!(message.unknown_attributes(), Some(Err(_))));
}

#[test]
fn rfc8656_18_7_only_the_first_bit_of_even_port_counts() {
    for (bits, reserve) in [(0x7F, false), (0x80, true), (0xFF, true)] {
        let bytes = write(|w| _ = w.u8(attr::EVEN_PORT, bits));
        let message = Message::parse(&bytes).unwrap();
        assert_eq!(message.even_port(), Some(Ok(reserve)));
    }
}

#[test]
fn rfc8656_18_6_an_unknown_family_is_told_apart_from_a_broken_value() {
    let kind = attr::REQUESTED_ADDRESS_FAMILY;
    let bytes = write(|w| _ = w.attribute(kind, &[7, 0, 0, 0]));
    let message = Message::parse(&bytes).unwrap();
    let error = Some(Err(AttributeError::Family(7)));
    assert_eq!(message.requested_family(), error);
    let bytes = write(|w| _ = w.attribute(kind, &[1]));
    let message = Message::parse(&bytes).unwrap();
    let error = Some(Err(AttributeError::Length(1)));
    assert_eq!(message.requested_family(), error);
}

#[test]
fn rfc8656_18_3_several_peers_are_read_in_order() {
    let peers: [SocketAddr; 3] = [
        "192.0.2.1:1".parse().unwrap(),
        "[2001:db8::1]:2".parse().unwrap(),
        "192.0.2.3:3".parse().unwrap(),
    ];
    let bytes = write(|w| {
        for peer in peers {
            w.xor_address(attr::XOR_PEER_ADDRESS, peer);
        }
    });
    let message = Message::parse(&bytes).unwrap();
    let read: Result<Vec<_>, _> = message.xor_addresses(attr::XOR_PEER_ADDRESS).collect();
    assert_eq!(read, Ok(peers.to_vec()));
}

#[test]
fn rfc8656_18_12_address_error_code() {
    let code = error_code::ADDRESS_FAMILY_NOT_SUPPORTED;
    let bytes = write(|w| _ = w.address_error(Family::V6, code, ""));
    assert_eq!(bytes[24..28], [0x02, 0, 4, 40]);
    let message = Message::parse(&bytes).unwrap();
    let read: Vec<_> = message.address_errors().collect();
    let family = Family::V6;
    let reason = "Address Family not Supported";
    let expected = AddressErrorCode {
        family,
        code,
        reason,
    };
    assert_eq!(read, [Ok(expected)]);
}

#[test]
fn rfc8656_18_13_icmp_has_seven_bits_of_type_and_nine_of_code() {
    let icmp = Icmp {
        icmp_type: 0x7F,
        code: 0x1FF,
        data: [1, 2, 3, 4],
    };
    let bytes = write(|w| _ = w.icmp(icmp));
    assert_eq!(bytes[24..], [0, 0, 0xFF, 0xFF, 1, 2, 3, 4]);
    assert_eq!(Message::parse(&bytes).unwrap().icmp(), Some(Ok(icmp)));

    let mut buffer = [0; 64];
    let mut writer = MessageWriter::new(&mut buffer, Class::Indication, Method::DATA, ID);
    writer.icmp(Icmp {
        icmp_type: 0x80,
        ..icmp
    });
    assert_eq!(writer.finish(), Err(WriteError::Value(attr::ICMP)));
}

#[test]
fn rfc8656_11_3_a_data_indication_is_wrapped_around_a_payload_in_place() {
    let peer = "198.51.100.2:7000".parse().unwrap();
    for len in [0usize, 1, 2, 3, 4, 1200, 65_000] {
        let payload = vec![0x11; len];
        let mut head = [0; 64];
        let mut writer = MessageWriter::new(&mut head, Class::Indication, Method::DATA, ID);
        writer.xor_address(attr::XOR_PEER_ADDRESS, peer);
        let Tail { prefix, padding } = writer.finish_with_tail(attr::DATA, len).unwrap();
        assert_eq!(prefix, 36);

        let mut whole = head[..prefix].to_vec();
        whole.extend(&payload);
        whole.resize(whole.len() + padding, 0);
        let message = Message::parse(&whole).unwrap();
        assert_eq!(message.data(), Some(payload.as_slice()));
        assert_eq!(message.xor_address(attr::XOR_PEER_ADDRESS), Some(Ok(peer)));
    }
}

#[test]
fn a_tail_cannot_follow_integrity_or_overflow_the_buffer() {
    let mut head = [0; 64];
    let mut writer = MessageWriter::new(&mut head, Class::Indication, Method::DATA, ID);
    writer.fingerprint();
    let refused = writer.finish_with_tail(attr::DATA, 1);
    assert_eq!(refused, Err(WriteError::Order(attr::DATA)));
    let writer = MessageWriter::new(&mut head[..23], Class::Indication, Method::DATA, ID);
    let refused = writer.finish_with_tail(attr::DATA, 1);
    assert_eq!(refused, Err(WriteError::Overflow));
}

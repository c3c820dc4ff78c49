//! Rules of RFC 8489 for header, attributes and their values, each named by its section.

mod support;

use stunner_stun::{
    AttributeError, Class, Key, Message, MessageWriter, Method, ParseError, PasswordAlgorithm,
    WriteError, attr, error_code, userhash,
};
use support::{ID, raw, tlv, write};

#[test]
fn rfc8489_5_header_rules() {
    for short in 0..20 {
        let error = ParseError::Truncated(short);
        assert_eq!(Message::parse(&raw(&[])[..short]).unwrap_err(), error);
    }
    for first in [0x40, 0x80, 0xC0] {
        let mut bytes = raw(&[]);
        bytes[0] = first;
        assert_eq!(Message::parse(&bytes).unwrap_err(), ParseError::NotStun);
    }
    let mut bytes = raw(&[]);
    bytes[7] = 0;
    assert_eq!(Message::parse(&bytes).unwrap_err(), ParseError::Cookie);

    // Length: exact, and a multiple of 4.
    let mut bytes = raw(&[]);
    bytes.push(0);
    let (claimed, actual) = (0, 1);
    let error = ParseError::Length { claimed, actual };
    assert_eq!(Message::parse(&bytes).unwrap_err(), error);
    let bytes = raw(&[0x80, 0x00, 0x00, 0x01, 0xFF]);
    assert_eq!(
        Message::parse(&bytes).unwrap_err(),
        ParseError::Unaligned(5)
    );
}

#[test]
fn rfc8489_14_attributes_stay_inside_the_message() {
    // The value claims one byte more than there is; only the padding is missing; no room for a
    // header cannot happen, since lengths are multiples of 4.
    for value_len in [1, 4, 0xFFFF] {
        let [high, low] = u16::to_be_bytes(value_len);
        let bytes = raw(&[0x80, 0x00, high, low]);
        let error = ParseError::Attribute(20);
        assert_eq!(Message::parse(&bytes).unwrap_err(), error);
    }
}

#[test]
fn rfc8489_14_padding_is_not_part_of_the_value_and_may_be_anything() {
    let bytes = raw(&[0x80, 0x22, 0x00, 0x01, b'x', 0xFF, 0xFE, 0xFD]);
    let message = Message::parse(&bytes).unwrap();
    assert_eq!(message.software(), Some(Ok("x")));
}

#[test]
fn rfc8489_14_only_the_first_of_a_kind_is_used() {
    let bytes = raw(&[tlv(attr::REALM, b"one"), tlv(attr::REALM, b"two")].concat());
    let message = Message::parse(&bytes).unwrap();
    assert_eq!(message.realm(), Some(Ok("one")));
    assert_eq!(message.all(attr::REALM).count(), 2);
}

#[test]
fn rfc8489_14_3_a_username_has_fewer_than_509_bytes() {
    let longest = "u".repeat(508);
    let bytes = write(Class::Request, |w| _ = w.username(&longest)).unwrap();
    let message = Message::parse(&bytes).unwrap();
    assert_eq!(message.username(), Some(Ok(longest.as_str())));

    let long = "u".repeat(509);
    let refused = write(Class::Request, |w| _ = w.username(&long));
    assert_eq!(refused, Err(WriteError::Value(attr::USERNAME)));
    let bytes = raw(&tlv(attr::USERNAME, long.as_bytes()));
    let message = Message::parse(&bytes).unwrap();
    assert_eq!(message.username(), Some(Err(AttributeError::Length(509))));
}

#[test]
fn rfc8489_14_3_a_username_is_utf8() {
    let bytes = raw(&tlv(attr::USERNAME, &[0xFF, 0xFE]));
    let message = Message::parse(&bytes).unwrap();
    assert_eq!(message.username(), Some(Err(AttributeError::Utf8)));
}

#[test]
fn rfc8489_14_4_userhash_is_32_bytes_of_user_and_realm() {
    let hash = userhash("user", "realm");
    let bytes = write(Class::Request, |w| _ = w.userhash(&hash)).unwrap();
    let message = Message::parse(&bytes).unwrap();
    assert_eq!(message.userhash(), Some(Ok(&hash)));
    assert_ne!(hash, userhash("user", "other"));
    let bytes = raw(&tlv(attr::USERHASH, &hash[..31]));
    let message = Message::parse(&bytes).unwrap();
    assert_eq!(message.userhash(), Some(Err(AttributeError::Length(31))));
}

#[test]
fn rfc8489_14_8_error_code_has_class_number_and_reason() {
    let bytes = write(Class::Error, |w| _ = w.error(438, "")).unwrap();
    assert_eq!(bytes[20..28], [0x00, 0x09, 0x00, 0x0F, 0, 0, 4, 38]);
    let message = Message::parse(&bytes).unwrap();
    let error = message.error().unwrap().unwrap();
    assert_eq!((error.code, error.reason), (438, "Stale Nonce"));

    let bytes = write(Class::Error, |w| _ = w.error(403, "no route to peer")).unwrap();
    let message = Message::parse(&bytes).unwrap();
    let error = message.error().unwrap().unwrap();
    assert_eq!((error.code, error.reason), (403, "no route to peer"));
}

#[test]
fn rfc8489_14_8_codes_outside_300_to_699_do_not_exist() {
    let refused = Err(WriteError::Value(attr::ERROR_CODE));
    for code in [0, 299, 700, u16::MAX] {
        assert_eq!(write(Class::Error, |w| _ = w.error(code, "")), refused);
    }
    for (class, number) in [(2, 0), (7, 0), (0, 99), (4, 100)] {
        let bytes = raw(&tlv(attr::ERROR_CODE, &[0, 0, class, number]));
        let message = Message::parse(&bytes).unwrap();
        let error = AttributeError::ErrorCode { class, number };
        assert_eq!(message.error(), Some(Err(error)));
    }
    let bytes = raw(&tlv(attr::ERROR_CODE, &[0, 0, 4]));
    let message = Message::parse(&bytes).unwrap();
    assert_eq!(message.error(), Some(Err(AttributeError::Length(3))));
}

#[test]
fn rfc8489_14_8_reserved_bits_are_ignored_and_bad_text_is_cut() {
    let bytes = raw(&tlv(
        attr::ERROR_CODE,
        &[0xFF, 0xFF, 0xFC, 1, b'o', b'k', 0xFF],
    ));
    let message = Message::parse(&bytes).unwrap();
    let error = message.error().unwrap().unwrap();
    assert_eq!((error.code, error.reason), (401, "ok"));
}

#[test]
fn rfc8489_14_8_a_reason_has_fewer_than_128_characters() {
    let long = "é".repeat(300);
    let bytes = write(Class::Error, |w| _ = w.error(400, &long)).unwrap();
    let message = Message::parse(&bytes).unwrap();
    let reason = message.error().unwrap().unwrap().reason;
    assert_eq!(reason, "é".repeat(127));
}

#[test]
fn rfc8489_14_8_every_code_has_a_reason() {
    for code in 300..700 {
        assert!(!error_code::reason(code).is_empty());
    }
    let unauthenticated = error_code::reason(error_code::UNAUTHENTICATED);
    assert_eq!(unauthenticated, "Unauthenticated");
}

#[test]
fn rfc8489_14_9_and_14_10_texts_have_fewer_than_128_characters() {
    let (fits, long) = ("é".repeat(127), "é".repeat(128));
    let bytes = write(Class::Error, |w| {
        w.realm(&fits).nonce(&fits).software(&fits);
    })
    .unwrap();
    let message = Message::parse(&bytes).unwrap();
    for text in [message.realm(), message.nonce(), message.software()] {
        assert_eq!(text, Some(Ok(fits.as_str())));
    }
    let refused = write(Class::Error, |w| _ = w.realm(&long));
    assert_eq!(refused, Err(WriteError::Value(attr::REALM)));
    let refused = write(Class::Error, |w| _ = w.nonce(&long));
    assert_eq!(refused, Err(WriteError::Value(attr::NONCE)));
    let refused = write(Class::Error, |w| _ = w.software(&long));
    assert_eq!(refused, Err(WriteError::Value(attr::SOFTWARE)));
    // A receiver takes up to 763 bytes.
    for (len, expected_ok) in [(763, true), (764, false)] {
        let bytes = raw(&tlv(attr::NONCE, &vec![b'n'; len]));
        let message = Message::parse(&bytes).unwrap();
        assert_eq!(message.nonce().unwrap().is_ok(), expected_ok);
    }
}

#[test]
fn rfc8489_14_11_password_algorithms_keep_order_and_skip_parameters() {
    let ours = [PasswordAlgorithm::Sha256, PasswordAlgorithm::Md5];
    let bytes = write(Class::Error, |w| _ = w.password_algorithms(&ours)).unwrap();
    assert_eq!(bytes[24..], [0, 2, 0, 0, 0, 1, 0, 0]);
    let message = Message::parse(&bytes).unwrap();
    let read: Vec<_> = message
        .password_algorithms()
        .unwrap()
        .map(|entry| entry.unwrap().algorithm())
        .collect();
    assert_eq!(read, ours.map(Some));

    // An unknown algorithm with three bytes of parameters in front of a known one.
    let value = [0, 9, 0, 3, 1, 2, 3, 0, 0, 1, 0, 0];
    let bytes = raw(&tlv(attr::PASSWORD_ALGORITHMS, &value));
    let message = Message::parse(&bytes).unwrap();
    let mut entries = message.password_algorithms().unwrap().map(Result::unwrap);
    let unknown = entries.next().unwrap();
    assert_eq!((unknown.number, unknown.parameters), (9, &[1, 2, 3][..]));
    assert_eq!(unknown.algorithm(), None);
    let known = entries.next().unwrap();
    assert_eq!(known.algorithm(), Some(PasswordAlgorithm::Md5));
    assert!(entries.next().is_none());

    let bytes = raw(&tlv(attr::PASSWORD_ALGORITHMS, &[0, 1, 0, 8, 0, 0]));
    let message = Message::parse(&bytes).unwrap();
    let entries: Vec<_> = message.password_algorithms().unwrap().collect();
    assert_eq!(entries, [Err(AttributeError::Length(6))]);
}

#[test]
fn rfc8489_14_12_password_algorithm_is_one_entry() {
    let write_one = |w: &mut MessageWriter<'_>| {
        w.password_algorithm(PasswordAlgorithm::Sha256);
    };
    let bytes = write(Class::Request, write_one).unwrap();
    let message = Message::parse(&bytes).unwrap();
    let entry = message.password_algorithm().unwrap().unwrap();
    assert_eq!(entry.algorithm(), Some(PasswordAlgorithm::Sha256));

    let bytes = raw(&tlv(attr::PASSWORD_ALGORITHM, &[0, 1, 0, 0, 0, 2, 0, 0]));
    let message = Message::parse(&bytes).unwrap();
    let error = Some(Err(AttributeError::Length(8)));
    assert_eq!(message.password_algorithm(), error);
    // Parameters where the algorithm has none: understood, but not that algorithm.
    let bytes = raw(&tlv(attr::PASSWORD_ALGORITHM, &[0, 1, 0, 1, 7]));
    let message = Message::parse(&bytes).unwrap();
    let entry = message.password_algorithm().unwrap().unwrap();
    assert_eq!(entry.algorithm(), None);
}

#[test]
fn rfc8489_14_13_unknown_required_attributes_are_listed_once() {
    let bytes = raw(&[
        tlv(0x7001, b""),
        tlv(attr::REALM, b"known"),
        tlv(0x8FFF, b"optional"),
        tlv(0x7001, b"again"),
        tlv(0x0002, b""),
    ]
    .concat());
    let message = Message::parse(&bytes).unwrap();
    let unknown = message.unknown_required(|kind| kind == attr::REALM);
    assert_eq!(unknown.as_slice(), [0x7001, 0x0002]);

    let answer = |w: &mut MessageWriter<'_>| {
        w.error(error_code::UNKNOWN_ATTRIBUTE, "")
            .unknown_attributes(unknown.as_slice());
    };
    let bytes = write(Class::Error, answer).unwrap();
    let message = Message::parse(&bytes).unwrap();
    let listed: Vec<u16> = message.unknown_attributes().unwrap().unwrap().collect();
    assert_eq!(listed, [0x7001, 0x0002]);
}

#[test]
fn rfc8489_14_13_the_list_of_unknown_attributes_is_bounded() {
    let many: Vec<u8> = (0x7000..0x7100).flat_map(|kind| tlv(kind, b"")).collect();
    let bytes = raw(&many);
    let unknown = Message::parse(&bytes).unwrap().unknown_required(|_| false);
    assert_eq!(unknown.iter().count(), 16);
}

#[test]
fn rfc8489_14_15_alternate_server_is_a_plain_address() {
    for text in ["192.0.2.7:3478", "[2001:db8::7]:5349"] {
        let server = text.parse().unwrap();
        let redirect = |w: &mut MessageWriter<'_>| {
            w.error(error_code::TRY_ALTERNATE, "")
                .alternate_server(server)
                .alternate_domain("turn.example.org");
        };
        let bytes = write(Class::Error, redirect).unwrap();
        let message = Message::parse(&bytes).unwrap();
        assert_eq!(message.alternate_server(), Some(Ok(server)));
        assert_eq!(message.alternate_domain(), Some(Ok("turn.example.org")));
        let value = message.get(attr::ALTERNATE_SERVER).unwrap();
        assert_eq!(value[2..4], server.port().to_be_bytes());
    }
}

#[test]
fn rfc8489_14_1_addresses_of_wrong_family_or_length_are_refused() {
    let cases: [(&[u8], AttributeError); 5] = [
        (&[], AttributeError::Length(0)),
        (&[0, 1, 0], AttributeError::Length(3)),
        (&[0, 3, 0, 0, 1, 2, 3, 4], AttributeError::Family(3)),
        (&[0, 1, 0, 0, 1, 2, 3], AttributeError::Length(7)),
        (&[0, 2, 0, 0, 1, 2, 3, 4], AttributeError::Length(8)),
    ];
    for (value, error) in cases {
        let bytes = raw(&tlv(attr::XOR_MAPPED_ADDRESS, value));
        let message = Message::parse(&bytes).unwrap();
        let read = message.xor_address(attr::XOR_MAPPED_ADDRESS);
        assert_eq!(read, Some(Err(error)));
        assert_eq!(message.address(attr::XOR_MAPPED_ADDRESS), Some(Err(error)));
    }
}

#[test]
fn a_buffer_too_small_is_reported_and_never_overrun() {
    let key = Key::short_term("password");
    for size in 0..84 {
        let mut buffer = vec![0xAA; size];
        let mut writer = MessageWriter::new(&mut buffer, Class::Error, Method::REFRESH, ID);
        writer.error(401, "no").integrity(&key).fingerprint();
        let expected = 20 + 12 + 24 + 8;
        let result = writer.finish();
        if size < expected {
            assert_eq!(result, Err(WriteError::Overflow));
        } else {
            assert_eq!(result, Ok(expected));
        }
    }
}

#[test]
fn a_message_longer_than_its_length_field_can_say_is_refused() {
    let mut buffer = vec![0; 70_000];
    let payload = vec![1; 0xFFFF];
    let mut writer = MessageWriter::new(&mut buffer, Class::Indication, Method::SEND, ID);
    writer.data(&payload);
    assert_eq!(writer.finish(), Err(WriteError::Overflow));

    let writer = MessageWriter::new(&mut buffer, Class::Indication, Method::SEND, ID);
    let tail = writer.finish_with_tail(attr::DATA, usize::MAX);
    assert_eq!(tail, Err(WriteError::Overflow));

    let mut writer = MessageWriter::new(&mut buffer, Class::Indication, Method::SEND, ID);
    writer.data(&payload[..0xFFF8]);
    let len = writer.finish().unwrap();
    assert_eq!(len, stunner_stun::MAX_MESSAGE_LEN);
    let message = Message::parse(&buffer[..len]).unwrap();
    assert_eq!(message.data(), Some(&payload[..0xFFF8]));
}

#[test]
fn debug_output_shows_no_key_and_no_values() {
    let key = Key::md5("user", "realm", "hunter2");
    assert_eq!(format!("{key:?}"), "Key(***)");
    let bytes = write(Class::Request, |w| _ = w.username("somebody")).unwrap();
    let shown = format!("{:?}", Message::parse(&bytes).unwrap());
    assert!(!shown.contains("somebody"), "{shown}");
    assert!(
        shown.contains("Allocate") && shown.contains("0x0006"),
        "{shown}"
    );
}

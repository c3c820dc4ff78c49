//! Requests as a client would make them, with any attributes.

use stunner_stun::{
    Class, Family, Key, Message, MessageWriter, Method, PasswordAlgorithm, TransactionId, attr,
};

use super::input::Input;
use super::rules::{PASSWORD, USERNAME};

/// What a client knows from the server's last challenge.
#[derive(Debug, Default)]
pub struct Terms {
    pub realm: String,
    pub nonce: String,
    /// The challenge offered password algorithms.
    pub algorithms: bool,
}

impl Terms {
    /// Takes over what a 401 or 438 says.
    pub fn learn(&mut self, message: &Message<'_>) {
        let (Some(Ok(realm)), Some(Ok(nonce))) = (message.realm(), message.nonce()) else {
            return;
        };
        *self = Terms {
            realm: realm.to_owned(),
            nonce: nonce.to_owned(),
            algorithms: message.password_algorithms().is_some(),
        };
    }
}

const METHODS: [Method; 8] = [
    Method::ALLOCATE,
    Method::REFRESH,
    Method::CREATE_PERMISSION,
    Method::CHANNEL_BIND,
    Method::CONNECT,
    Method::CONNECTION_BIND,
    Method::BINDING,
    Method(0x0FF),
];

/// Writes a request into `buffer`. Which attributes it has is up to the input; each method gets the
/// ones it needs most of the time; `connection` turns a choice into the id of a connection.
pub fn request(
    buffer: &mut [u8],
    input: &mut Input<'_>,
    terms: &Terms,
    connection: impl Fn(u8) -> u32,
    counter: &mut u64,
) -> usize {
    let method = METHODS[usize::from(input.byte()) % METHODS.len()];
    let mut id = [0; 12];
    // Now and then the id of the request before: a retransmission, or something that looks like it.
    let flags = input.byte();
    *counter += u64::from(flags & 0x07 != 0);
    id[..8].copy_from_slice(&counter.to_be_bytes());
    let mut writer = MessageWriter::new(buffer, Class::Request, method, TransactionId(id));
    match method {
        Method::ALLOCATE => allocate(&mut writer, input),
        Method::REFRESH => {
            let seconds = input.word();
            writer.lifetime(u32::from(seconds));
            if flags & 0x08 != 0 {
                writer.requested_family(Family::V6);
            }
        }
        Method::CREATE_PERMISSION => {
            for _ in 0..=(input.byte() & 0x03) {
                writer.xor_address(attr::XOR_PEER_ADDRESS, input.peer());
            }
        }
        Method::CHANNEL_BIND => {
            let number = match input.byte() {
                few @ 0..=0xF0 => 0x4000 + u16::from(few & 0x03),
                _ => input.word(),
            };
            writer
                .channel_number(number)
                .xor_address(attr::XOR_PEER_ADDRESS, input.peer());
        }
        Method::CONNECT => {
            writer.xor_address(attr::XOR_PEER_ADDRESS, input.peer());
        }
        Method::CONNECTION_BIND => {
            writer.connection_id(connection(input.byte()));
        }
        _ => (),
    }
    if flags & 0x10 != 0 {
        let kind = input.word();
        let len = usize::from(input.byte() & 0x1F);
        writer.attribute(kind & 0x7FFF | 0x4000, input.bytes(len));
    }
    match flags >> 5 {
        // Without credentials: how every client begins.
        0 => (),
        1 => _ = writer.integrity(&Key::short_term("wrong")),
        2 => sign(&mut writer, terms, true, PasswordAlgorithm::Md5),
        3 => sign(&mut writer, terms, true, PasswordAlgorithm::Sha256),
        _ => sign(&mut writer, terms, false, PasswordAlgorithm::Md5),
    }
    if flags & 0x01 != 0 {
        writer.fingerprint();
    }
    writer.finish().unwrap_or(0)
}

fn allocate(writer: &mut MessageWriter<'_>, input: &mut Input<'_>) {
    let wish = input.byte();
    writer.requested_transport(match wish & 0x07 {
        0 | 1 => 6,
        2 => 99,
        _ => 17,
    });
    match wish >> 3 & 0x07 {
        0 => _ = writer.requested_family(Family::V6),
        1 => _ = writer.additional_family(Family::V6),
        2 => _ = writer.even_port(true),
        3 => _ = writer.even_port(false),
        4 => _ = writer.reservation_token(b"reserved"),
        5 => _ = writer.dont_fragment(),
        6 => _ = writer.lifetime(u32::from(input.word())),
        _ => (),
    }
}

fn sign(writer: &mut MessageWriter<'_>, terms: &Terms, sha256: bool, algorithm: PasswordAlgorithm) {
    writer
        .username(USERNAME)
        .realm(&terms.realm)
        .nonce(&terms.nonce);
    if terms.algorithms && sha256 {
        // RFC 8489 §9.2.3.2: the list comes back as it was offered, with the choice.
        writer
            .password_algorithms(&[PasswordAlgorithm::Sha256, PasswordAlgorithm::Md5])
            .password_algorithm(algorithm);
    }
    let key = match algorithm {
        PasswordAlgorithm::Md5 => Key::md5(USERNAME, &terms.realm, PASSWORD),
        PasswordAlgorithm::Sha256 => Key::sha256(USERNAME, &terms.realm, PASSWORD),
    };
    match sha256 {
        true => writer.integrity_sha256(&key),
        false => writer.integrity(&key),
    };
}

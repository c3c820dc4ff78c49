//! Writes the hand-made seeds of the fuzz corpora: `cargo run -p fuzz-replay --example seeds`.
//!
//! The other files in the corpora were found by fuzzing and are not reproduced by this.

use std::net::SocketAddr;
use std::path::Path;

use stunner_stun::{
    Class, Family, Icmp, Key, MessageWriter, Method, PasswordAlgorithm, TransactionId, attr,
    channel_data, error_code,
};

fn main() -> std::io::Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let messages = messages();
    let mut streams = Vec::new();
    for (name, bytes) in &messages {
        streams.push((*name, [&[0x2F], bytes.as_slice()].concat()));
    }
    let all: Vec<u8> = messages
        .iter()
        .flat_map(|(_, bytes)| stream(bytes))
        .collect();
    streams.push(("all", [&[0x07], all.as_slice()].concat()));
    streams.push(("garbage", b"\x05\x80garbage".to_vec()));
    streams.push(("no-cookie", b"\x01\0\x01\0\x08\x12\x34\x56\x78".to_vec()));
    for (target, seeds) in [
        ("stun_message", messages),
        ("stream_framing", streams),
        ("server", programs()),
        ("auth_query", queries()),
    ] {
        let folder = corpus.join(target);
        std::fs::create_dir_all(&folder)?;
        for (name, bytes) in seeds {
            std::fs::write(folder.join(format!("seed-{name}")), bytes)?;
        }
    }
    Ok(())
}

/// Queries to the auth service: escapes, doubles, and values at and beyond the edges of what is allowed.
fn queries() -> Vec<(&'static str, Vec<u8>)> {
    let long_user = format!("service=turn&username={}", "%C3%A4".repeat(244));
    let all = "service=turn&username=alice&ttl=60&key=k&namespace=ns&gateway=gw&listener=udp&public-addr=192.0.2.9\
               &iceTransportPolicy=relay";
    let queries = [
        ("all", all),
        ("control", "service=turn&username=%00%0A"),
        ("empty", "&&=&==&service"),
        (
            "escapes",
            "service=%74urn&username=a%3Ab+c%20%C3%A4&x=%&y=%4&z=%zz",
        ),
        ("huge-ttl", "service=turn&ttl=99999999999999999999999999"),
        ("long-user", &long_user),
        ("negative-ttl", "service=turn&ttl=-0&"),
        ("not-utf8", "service=turn&username=%ff%C3"),
        ("repeated", "service=turn&%73ervice=turn"),
        ("v6-host", "service=turn&public-addr=2001:db8::1%25eth0"),
        ("wild-host", "service=turn&public-addr=%5B::%5D"),
    ];
    let bytes = |(name, query): (_, &str)| (name, query.as_bytes().to_vec());
    queries.map(bytes).into()
}

/// Programs for the server target; what a step's bytes mean is in `src/server/`.
fn programs() -> Vec<(&'static str, Vec<u8>)> {
    // Per client: a request without credentials, then one with those of the challenge.
    let challenge = |client: u8, wish: u8| [1, client, 0, 0x07, wish];
    let allocate = |client: u8, wish: u8| [1, client, 0, 0x87, wish];
    let ready: &[u8] = &[8, 0];
    let (udp, tcp, both, even) = (0x3F, 0x38, 0x0F, 0x17);
    let permission = |client: u8| [1, client, 2, 0x87, 0, 0];
    let channel = |client: u8| [1, client, 3, 0x87, 0, 0];
    let connect = |client: u8| [1, client, 4, 0x87, 0];
    let bind = |client: u8| [1, client, 5, 0x87, 0];
    let delete = |client: u8| [1, client, 1, 0x87, 0, 0];
    let data: &[u8] = &[7, 0, 0, 5, b'h', b'e', b'l', b'l', b'o'];
    let from_peer: &[u8] = &[10, 0, 0, 0, 100];
    let minutes: &[u8] = &[11, 0xC5, 0];
    let story = |parts: &[&[u8]]| parts.concat();
    vec![
        (
            "challenge",
            story(&[&challenge(0, udp), &challenge(1, udp)]),
        ),
        (
            "udp",
            story(&[
                &challenge(0, udp),
                &allocate(0, udp),
                ready,
                &permission(0),
                &channel(0),
                data,
                &[6, 0, 0, 0x90],
                from_peer,
                &[15, 0, 0, 3, 0, 4],
                &delete(0),
            ]),
        ),
        (
            "expiry",
            story(&[
                &challenge(4, even),
                &allocate(4, even),
                ready,
                &channel(4),
                minutes,
                minutes,
                data,
            ]),
        ),
        (
            "dual",
            story(&[&challenge(0, both), &allocate(0, both), &[8, 1], &delete(0)]),
        ),
        (
            "tcp",
            story(&[
                &challenge(2, tcp),
                &allocate(2, tcp),
                ready,
                &permission(2),
                &connect(2),
                &[13, 0],
                &challenge(3, tcp),
                &bind(3),
                &[13, 0x80],
                &[13, 0xA0, 0, 1],
                &[14, 0, 2],
            ]),
        ),
        (
            "policy",
            story(&[
                &challenge(0, udp),
                &allocate(0, udp),
                ready,
                &channel(0),
                &[12, 0x3F],
                data,
                from_peer,
                &[12, 0x80],
                &allocate(1, udp),
                &permission(0),
                &[14, 0x40],
            ]),
        ),
        (
            "sha256",
            story(&[
                &challenge(0, udp),
                &[1, 0, 0, 0x47, udp],
                ready,
                &[1, 0, 1, 0x67, 9, 9],
            ]),
        ),
    ]
}

/// With the padding a stream needs; STUN messages have none.
fn stream(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn message(class: Class, method: Method, fill: impl FnOnce(&mut MessageWriter<'_>)) -> Vec<u8> {
    let mut buffer = vec![0; 2048];
    let id = TransactionId(*b"corpus-seed!");
    let mut writer = MessageWriter::new(&mut buffer, class, method, id);
    fill(&mut writer);
    let len = writer.finish().expect("seeds fit");
    buffer.truncate(len);
    buffer
}

fn messages() -> Vec<(&'static str, Vec<u8>)> {
    use Class::{Error, Indication, Request, Success};
    let v4: SocketAddr = "192.0.2.1:3478".parse().expect("an address");
    let v6: SocketAddr = "[2001:db8::1]:49152".parse().expect("an address");
    let key = Key::short_term("password");
    let mut channel = channel_data::header(0x4001, 5).to_vec();
    channel.extend(b"hello");
    vec![
        ("channel-data", channel),
        ("channel-empty", channel_data::header(0x7FFF, 0).to_vec()),
        ("binding", message(Request, Method::BINDING, |_| ())),
        (
            "binding-success",
            message(Success, Method::BINDING, |w| {
                w.xor_address(attr::XOR_MAPPED_ADDRESS, v6)
                    .address(attr::MAPPED_ADDRESS, v4)
                    .software("seed")
                    .fingerprint();
            }),
        ),
        (
            "allocate",
            message(Request, Method::ALLOCATE, |w| {
                w.requested_transport(17)
                    .lifetime(600)
                    .requested_family(Family::V4)
                    .additional_family(Family::V6)
                    .even_port(true)
                    .dont_fragment()
                    .reservation_token(b"token 8b")
                    .username("user")
                    .realm("realm")
                    .nonce("obMatJos2wAAA0123456789")
                    .password_algorithms(&[PasswordAlgorithm::Md5, PasswordAlgorithm::Sha256])
                    .password_algorithm(PasswordAlgorithm::Sha256)
                    .integrity(&key)
                    .integrity_sha256(&key)
                    .fingerprint();
            }),
        ),
        (
            "userhash",
            message(Request, Method::REFRESH, |w| {
                w.userhash(&stunner_stun::userhash("user", "realm"))
                    .truncated_integrity_sha256(&key, 16);
            }),
        ),
        (
            "challenge",
            message(Error, Method::ALLOCATE, |w| {
                w.error(error_code::UNAUTHENTICATED, "")
                    .realm("realm")
                    .nonce("obMatJos2AAAA");
            }),
        ),
        (
            "unknown",
            message(Error, Method::CREATE_PERMISSION, |w| {
                w.error(error_code::UNKNOWN_ATTRIBUTE, "")
                    .unknown_attributes(&[0x7001, 0x7002])
                    .address_error(Family::V6, 440, "");
            }),
        ),
        (
            "redirect",
            message(Error, Method::ALLOCATE, |w| {
                w.error(error_code::TRY_ALTERNATE, "")
                    .alternate_server(v4)
                    .alternate_domain("example.org");
            }),
        ),
        (
            "send",
            message(Indication, Method::SEND, |w| {
                w.xor_address(attr::XOR_PEER_ADDRESS, v4).data(b"payload");
            }),
        ),
        (
            "data-icmp",
            message(Indication, Method::DATA, |w| {
                w.xor_address(attr::XOR_PEER_ADDRESS, v6).icmp(Icmp {
                    icmp_type: 3,
                    code: 4,
                    data: [0, 0, 5, 0],
                });
            }),
        ),
        (
            "permission",
            message(Request, Method::CREATE_PERMISSION, |w| {
                w.xor_address(attr::XOR_PEER_ADDRESS, v4)
                    .xor_address(attr::XOR_PEER_ADDRESS, v6)
                    .attribute(0x7FFF, b"unknown")
                    .integrity(&key);
            }),
        ),
        (
            "channel-bind",
            message(Request, Method::CHANNEL_BIND, |w| {
                w.channel_number(0x4000)
                    .xor_address(attr::XOR_PEER_ADDRESS, v4)
                    .connection_id(7);
            }),
        ),
    ]
}

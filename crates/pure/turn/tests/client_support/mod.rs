//! A hand-made TURN server: it answers what a test tells it to, signed like a real one.
#![allow(dead_code)]

use std::net::SocketAddr;

use stunner_stun::nonce::SecurityFeatures;
use stunner_stun::{
    Class, Key, Message, MessageWriter, Method, PasswordAlgorithm, TransactionId, attr,
};
use stunner_turn::client::{AllocateOptions, Client, Event, Settings, Transport};

pub const USER: &str = "user";
pub const PASSWORD: &str = "open-sesame";
pub const REALM: &str = "stunner.l7mp.io";
pub const NONCE: &str = "first-nonce";

pub fn relayed() -> SocketAddr {
    "203.0.113.1:50000".parse().unwrap()
}

pub fn mapped() -> SocketAddr {
    "198.51.100.7:4000".parse().unwrap()
}

pub fn peer(n: u8) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, n], 9000))
}

pub fn md5_key() -> Key {
    Key::md5(USER, REALM, PASSWORD)
}

pub fn sha256_key() -> Key {
    Key::sha256(USER, REALM, PASSWORD)
}

/// A nonce that promises PASSWORD-ALGORITHMS, and USERHASH on demand.
pub fn modern_nonce(anonymity: bool) -> String {
    let mut features = SecurityFeatures::PASSWORD_ALGORITHMS;
    if anonymity {
        features = features.union(SecurityFeatures::USERNAME_ANONYMITY);
    }
    format!("{}tail", std::str::from_utf8(&features.prefix()).unwrap())
}

pub fn client() -> Client {
    Client::new(
        Settings::with_password(USER, PASSWORD, Transport::Datagram),
        [1; 32],
    )
}

pub fn stream_client() -> Client {
    Client::new(
        Settings::with_password(USER, PASSWORD, Transport::Stream),
        [2; 32],
    )
}

/// The one packet the client wants to send now.
pub fn sent(client: &mut Client) -> Vec<u8> {
    let packet = client
        .poll_transmit()
        .expect("the client has something to send");
    assert_eq!(client.poll_transmit(), None, "and only one packet");
    packet
}

/// Writes an answer to `request`.
pub fn answer(
    request: &[u8],
    class: Class,
    key: Option<&Key>,
    fill: impl FnOnce(&mut MessageWriter<'_>),
) -> Vec<u8> {
    let request = Message::parse(request).unwrap();
    write(class, request.method(), request.transaction_id(), key, fill)
}

pub fn write(
    class: Class,
    method: Method,
    id: TransactionId,
    key: Option<&Key>,
    fill: impl FnOnce(&mut MessageWriter<'_>),
) -> Vec<u8> {
    let mut buffer = vec![0; 2048];
    let mut writer = MessageWriter::new(&mut buffer, class, method, id);
    fill(&mut writer);
    if let Some(key) = key {
        writer.integrity(key);
    }
    let length = writer.finish().unwrap();
    buffer.truncate(length);
    buffer
}

pub fn success(request: &[u8], fill: impl FnOnce(&mut MessageWriter<'_>)) -> Vec<u8> {
    answer(request, Class::Success, Some(&md5_key()), fill)
}

pub fn error(request: &[u8], code: u16) -> Vec<u8> {
    answer(request, Class::Error, Some(&md5_key()), |writer| {
        writer.error(code, "because");
    })
}

pub fn challenge(request: &[u8], code: u16, realm: &str, nonce: &str) -> Vec<u8> {
    answer(request, Class::Error, None, |writer| {
        writer.error(code, "challenge").realm(realm).nonce(nonce);
    })
}

pub fn modern_challenge(request: &[u8], nonce: &str, list: &[PasswordAlgorithm]) -> Vec<u8> {
    answer(request, Class::Error, None, |writer| {
        writer
            .error(401, "challenge")
            .realm(REALM)
            .nonce(nonce)
            .password_algorithms(list);
    })
}

pub fn allocated(request: &[u8], lifetime: u32) -> Vec<u8> {
    success(request, |writer| {
        writer
            .xor_address(attr::XOR_RELAYED_ADDRESS, relayed())
            .xor_address(attr::XOR_MAPPED_ADDRESS, mapped())
            .lifetime(lifetime);
    })
}

/// Takes a client through challenge and allocation at time `now`.
pub fn allocate(client: &mut Client, now: u64, options: AllocateOptions) {
    client.allocate(now, options).unwrap();
    let first = sent(client);
    assert_eq!(
        client.handle(now, &challenge(&first, 401, REALM, NONCE)),
        Event::Pending
    );
    let second = sent(client);
    assert!(matches!(
        client.handle(now, &allocated(&second, 600)),
        Event::Allocated(_)
    ));
}

/// Installs a permission for `peer`.
pub fn permit(client: &mut Client, now: u64, peer: SocketAddr) {
    client.create_permission(now, &[peer]).unwrap();
    let request = sent(client);
    let granted = client.handle(now, &success(&request, |_| {}));
    assert_eq!(granted, Event::PermissionGranted { peers: vec![peer] });
}

/// Binds a channel to `peer`.
pub fn bind(client: &mut Client, now: u64, peer: SocketAddr) -> u16 {
    let number = client.bind_channel(now, peer).unwrap();
    let request = sent(client);
    let bound = client.handle(now, &success(&request, |_| {}));
    assert_eq!(bound, Event::ChannelBound { peer, number });
    number
}

//! Permissions, channels and data.

mod client_support;

use client_support::*;
use stunner_stun::channel_data::ChannelData;
use stunner_stun::{Class, Message, Method, TransactionId, attr};
use stunner_turn::client::{AllocateOptions, Client, Event, SendError, Settings, Transport};

fn ready() -> Client {
    let mut client = client();
    allocate(&mut client, 0, AllocateOptions::default());
    client
}

fn data_indication(from: std::net::SocketAddr, payload: &[u8]) -> Vec<u8> {
    write(
        Class::Indication,
        Method::DATA,
        TransactionId([8; 12]),
        None,
        |writer| {
            writer
                .xor_address(attr::XOR_PEER_ADDRESS, from)
                .data(payload);
        },
    )
}

#[test]
fn with_a_permission_data_goes_as_send_indication() {
    let mut client = ready();
    let mut buf = [0; 200];
    assert_eq!(
        client.send(peer(1), b"hello", &mut buf),
        Err(SendError::NoPermission)
    );
    permit(&mut client, 0, peer(1));
    let length = client.send(peer(1), b"hello", &mut buf).unwrap();
    let message = Message::parse(&buf[..length]).unwrap();
    assert_eq!(
        (message.class(), message.method()),
        (Class::Indication, Method::SEND)
    );
    assert_eq!(
        message.xor_address(attr::XOR_PEER_ADDRESS),
        Some(Ok(peer(1)))
    );
    assert_eq!(message.data(), Some(b"hello".as_slice()));
    assert!(
        !message.has_integrity(),
        "RFC 8656 §11.1: indications are not authenticated"
    );
}

#[test]
fn with_a_channel_data_goes_as_channel_data_both_ways() {
    let mut client = ready();
    let number = bind(&mut client, 0, peer(1));
    assert_eq!(number, 0x4000);
    assert_eq!(client.channel(peer(1)), Some(number));
    let mut buf = [0xff; 64];
    let length = client.send(peer(1), b"hello", &mut buf).unwrap();
    assert_eq!(buf[..length], *b"\x40\x00\x00\x05hello");
    let event = client.handle(1, &buf[..length]);
    assert_eq!(
        event,
        Event::Data {
            peer: peer(1),
            range: 4..9
        }
    );
}

#[test]
fn rfc8656_12_5_channel_data_is_padded_on_streams() {
    let mut client = stream_client();
    allocate(&mut client, 0, AllocateOptions::default());
    bind(&mut client, 0, peer(1));
    let mut buf = [0xff; 64];
    let length = client.send(peer(1), b"hello", &mut buf).unwrap();
    assert_eq!(buf[..length], *b"\x40\x00\x00\x05hello\0\0\0");
    assert_eq!(
        ChannelData::parse(&buf[..length]).unwrap().payload,
        b"hello"
    );
    assert_eq!(
        client.handle(1, &buf[..9]),
        Event::Data {
            peer: peer(1),
            range: 4..9
        }
    );
}

#[test]
fn rfc8656_12_5_channel_data_is_padded_in_datagrams_when_asked_for() {
    let mut settings = Settings::with_password(USER, PASSWORD, Transport::Datagram);
    settings.pad_datagrams = true;
    let mut client = Client::new(settings, [1; 32]);
    allocate(&mut client, 0, AllocateOptions::default());
    bind(&mut client, 0, peer(1));
    let mut buf = [0xff; 64];
    let length = client.send(peer(1), b"hello", &mut buf).unwrap();
    assert_eq!(buf[..length], *b"\x40\x00\x00\x05hello\0\0\0");
}

#[test]
fn a_data_indication_gives_the_range_of_its_payload() {
    let mut client = ready();
    permit(&mut client, 0, peer(1));
    let packet = data_indication(peer(1), b"hello");
    let Event::Data { peer: from, range } = client.handle(1, &packet) else {
        panic!()
    };
    assert_eq!(from, peer(1));
    assert_eq!(packet[range], *b"hello");
}

#[test]
fn rfc8656_11_4_data_of_peers_without_permission_is_discarded() {
    let mut client = ready();
    assert_eq!(
        client.handle(1, &data_indication(peer(1), b"x")),
        Event::Ignored
    );
    let unknown_channel = b"\x40\x05\x00\x01x";
    assert_eq!(client.handle(1, unknown_channel), Event::Ignored);
}

#[test]
fn data_on_a_channel_may_overtake_the_answer_that_binds_it() {
    let mut client = ready();
    client.bind_channel(0, peer(1)).unwrap();
    let event = client.handle(1, b"\x40\x00\x00\x01x");
    assert_eq!(
        event,
        Event::Data {
            peer: peer(1),
            range: 4..5
        }
    );
    assert_eq!(client.channel(peer(1)), None, "but we do not use it yet");
}

#[test]
fn rfc8656_11_6_an_icmp_error_names_the_peer() {
    let mut client = ready();
    permit(&mut client, 0, peer(1));
    let id = TransactionId([8; 12]);
    let packet = write(Class::Indication, Method::DATA, id, None, |writer| {
        writer
            .xor_address(attr::XOR_PEER_ADDRESS, peer(1))
            .icmp(stunner_stun::Icmp {
                icmp_type: 3,
                code: 3,
                data: [0; 4],
            });
    });
    let event = client.handle(1, &packet);
    assert_eq!(
        event,
        Event::Unreachable {
            peer: peer(1),
            icmp_type: 3,
            icmp_code: 3
        }
    );
}

#[test]
fn permissions_are_renewed_after_four_minutes_and_channels_after_nine() {
    let mut client = ready();
    permit(&mut client, 0, peer(1));
    let number = bind(&mut client, 0, peer(2));
    let mut renewed = Vec::new();
    while let Some(now) = client.next_deadline().filter(|at| *at < 1_200_000) {
        client.on_timeout(now);
        while let Some(packet) = client.poll_transmit() {
            let message = Message::parse(&packet).unwrap();
            let method = message.method();
            let peers = message.xor_addresses(attr::XOR_PEER_ADDRESS).count();
            renewed.push((now / 1000, method, peers));
            let answer = success(&packet, |writer| {
                if method == Method::REFRESH {
                    writer.lifetime(600);
                }
            });
            assert_ne!(client.handle(now, &answer), Event::Ignored);
        }
        assert_eq!(client.poll_event(), None);
    }
    assert_eq!(
        renewed,
        [
            (240, Method::CREATE_PERMISSION, 2),
            (480, Method::CREATE_PERMISSION, 2),
            (540, Method::REFRESH, 0),
            (540, Method::CHANNEL_BIND, 1),
            (720, Method::CREATE_PERMISSION, 1),
            (780, Method::CREATE_PERMISSION, 1),
            (960, Method::CREATE_PERMISSION, 1),
            (1020, Method::CREATE_PERMISSION, 1),
            (1080, Method::REFRESH, 0),
            (1080, Method::CHANNEL_BIND, 1),
        ]
    );
    assert_eq!(client.channel(peer(2)), Some(number));
}

#[test]
fn a_peer_that_is_no_longer_allowed_does_not_take_the_others_with_it() {
    let mut client = ready();
    permit(&mut client, 0, peer(1));
    permit(&mut client, 0, peer(2));
    client.on_timeout(240_000);
    let both = sent(&mut client);
    assert_eq!(client.handle(240_001, &error(&both, 403)), Event::Pending);
    let mut events = Vec::new();
    while let Some(request) = client.poll_transmit() {
        let message = Message::parse(&request).unwrap();
        let target = message
            .xor_address(attr::XOR_PEER_ADDRESS)
            .unwrap()
            .unwrap();
        let denied = target == peer(1);
        let answer = if denied {
            error(&request, 403)
        } else {
            success(&request, |_| {})
        };
        events.push(client.handle(240_002, &answer));
    }
    assert!(matches!(events[0], Event::Error { code: 403, .. }));
    assert_eq!(
        events[1],
        Event::PermissionGranted {
            peers: vec![peer(2)]
        }
    );
    assert!(!client.has_permission(peer(1).ip()));
    assert!(client.has_permission(peer(2).ip()));
}

#[test]
fn many_peers_are_spread_over_several_requests() {
    let mut client = ready();
    let peers: Vec<_> = (1..=40).map(peer).collect();
    client.create_permission(0, &peers).unwrap();
    let mut sizes = Vec::new();
    while let Some(request) = client.poll_transmit() {
        let message = Message::parse(&request).unwrap();
        sizes.push(message.xor_addresses(attr::XOR_PEER_ADDRESS).count());
        client.handle(0, &success(&request, |_| {}));
    }
    assert_eq!(sizes, [16, 16, 8]);
    assert!(peers.iter().all(|peer| client.has_permission(peer.ip())));
}

#[test]
fn a_refused_channel_is_reported_and_not_used() {
    let mut client = ready();
    let number = client.bind_channel(0, peer(1)).unwrap();
    let request = sent(&mut client);
    let event = client.handle(1, &error(&request, 403));
    assert!(matches!(
        event,
        Event::Error {
            method: Method::CHANNEL_BIND,
            code: 403,
            ..
        }
    ));
    assert_eq!(client.channel(peer(1)), None);
    assert_eq!(client.handle(2, b"\x40\x00\x00\x01x"), Event::Ignored);
    assert_eq!(
        client.bind_channel(3, peer(1)),
        Ok(number),
        "the same peer may try again"
    );
}

#[test]
fn a_payload_that_does_not_fit_is_an_error_and_not_a_panic() {
    let mut client = ready();
    permit(&mut client, 0, peer(1));
    bind(&mut client, 0, peer(2));
    let huge = vec![0; 70_000];
    let mut buf = vec![0; 80_000];
    assert_eq!(
        client.send(peer(1), &huge, &mut buf),
        Err(SendError::TooLarge(70_000))
    );
    assert_eq!(
        client.send(peer(2), &huge, &mut buf),
        Err(SendError::TooLarge(70_000))
    );
    assert!(matches!(
        client.send(peer(1), b"hello", &mut [0; 10]),
        Err(SendError::Buffer(_))
    ));
    assert_eq!(
        client.send(peer(2), b"hello", &mut [0; 8]),
        Err(SendError::Buffer(9))
    );
}

#[test]
fn no_bytes_make_the_client_panic() {
    let mut client = ready();
    permit(&mut client, 0, peer(1));
    client.bind_channel(0, peer(2)).unwrap();
    let request = sent(&mut client);
    let good = [
        success(&request, |_| {}),
        data_indication(peer(1), b"hello"),
        error(&request, 438),
    ];
    for packet in &good {
        for cut in 0..packet.len() {
            client.handle(1, &packet[..cut]);
            let mut broken = packet.clone();
            broken[cut] ^= 0x55;
            client.handle(1, &broken);
        }
    }
    assert!(client.relayed().is_some());
}

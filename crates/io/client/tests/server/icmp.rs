//! ICMP messages about our packets: anybody on the way may send them, and a stranger may make them up.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use socket2::{Domain, Protocol, Socket, Type};
use stunner_client::{AllocateOptions, Relay, ServerTransport};

use crate::world::{Gateway, echo, localhost, patiently};

const UNREACHABLE: u8 = 3;
const FRAGMENTATION_NEEDED: u8 = 4;
const PROHIBITED: u8 = 13;
/// As large as can be: the system believes it for minutes, for all of loopback.
const MTU: u16 = u16::MAX;

/// Sends made-up messages; `None` without the right to.
fn forger() -> Option<Socket> {
    match Socket::new(
        Domain::IPV4,
        Type::from(libc::SOCK_RAW),
        Some(Protocol::ICMPV4),
    ) {
        Ok(socket) => Some(socket),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            eprintln!("skipped: a raw socket needs CAP_NET_RAW");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// RFC 792: destination unreachable, for a UDP packet from `from` to `to`.
fn unreachable(code: u8, from: SocketAddr, to: SocketAddr) -> Vec<u8> {
    let (SocketAddr::V4(from), SocketAddr::V4(to)) = (from, to) else {
        panic!("IPv4 only");
    };
    let mut message = vec![UNREACHABLE, code, 0, 0, 0, 0];
    message.extend(MTU.to_be_bytes());
    message.extend([0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0]);
    message.extend(from.ip().octets());
    message.extend(to.ip().octets());
    message.extend(from.port().to_be_bytes());
    message.extend(to.port().to_be_bytes());
    message.extend([0, 8, 0, 0]);
    let words = message.chunks(2).map(|word| match *word {
        [high, low] => u32::from(u16::from_be_bytes([high, low])),
        _ => 0,
    });
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let checksum = !u16::try_from((folded & 0xffff) + (folded >> 16)).unwrap();
    message[2..4].copy_from_slice(&checksum.to_be_bytes());
    message
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_about_single_packets_end_no_allocation() {
    let Some(forger) = forger() else {
        return;
    };
    let gateway = Gateway::start().await;
    let peer = echo(localhost(4)).await;
    for transport in [ServerTransport::Udp, ServerTransport::Dtls] {
        let connect = gateway.connect(transport);
        let relay = Relay::allocate(connect, AllocateOptions::default())
            .await
            .unwrap();
        relay.bind_channel(peer).await.unwrap();
        for code in [PROHIBITED, FRAGMENTATION_NEEDED].repeat(20) {
            let message = unreachable(code, relay.local(), relay.server());
            let target = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
            forger.send_to(&message, &target.into()).unwrap();
            patiently(relay.refresh())
                .await
                .unwrap_or_else(|error| panic!("{transport}, code {code}: {error}"));
        }
        let mut buffer = [0; 16];
        relay.send(peer, b"still here").await.unwrap();
        let (length, from) = patiently(relay.recv(&mut buffer)).await.unwrap();
        assert_eq!((&buffer[..length], from), (&b"still here"[..], peer));
    }
}

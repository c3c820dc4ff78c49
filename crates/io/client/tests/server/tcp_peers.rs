//! TCP connections to and from peers (RFC 6062).

use std::net::SocketAddr;

use stunner_client::{
    AllocateOptions, ClientError, PeerStream, Relay, RelayTransport, ServerTransport,
};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::world::{Gateway, free_port, localhost, patiently, tcp_echo};

async fn relay(gateway: &Gateway, transport: ServerTransport, peer: SocketAddr) -> Relay {
    let connect = gateway.connect(transport);
    let options = connect.options_for(peer, RelayTransport::Tcp);
    Relay::allocate(connect, options).await.unwrap()
}

/// Sends a megabyte and wants it back, with the end of it.
async fn echoes(stream: PeerStream) {
    let sent: Vec<u8> = (0..1_000_000_u32).map(|n| (n / 7) as u8).collect();
    let (mut reading, mut writing) = tokio::io::split(stream);
    let expected = sent.clone();
    let writer = tokio::spawn(async move {
        writing.write_all(&sent).await.unwrap();
        writing.shutdown().await.unwrap();
    });
    let mut received = vec![0; expected.len()];
    patiently(reading.read_exact(&mut received)).await.unwrap();
    assert!(received == expected, "bytes came back changed");
    writer.await.unwrap();
    assert_eq!(
        patiently(reading.read(&mut [0; 16])).await.unwrap(),
        0,
        "the peer ended too"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_to_a_peer_carries_bytes_both_ways_and_its_end() {
    let gateway = Gateway::start().await;
    for transport in [ServerTransport::Tcp, ServerTransport::Tls] {
        for version in [4, 6] {
            let peer = tcp_echo(localhost(version)).await;
            let relay = relay(&gateway, transport, peer).await;
            let stream = patiently(relay.connect(peer)).await.unwrap();
            echoes(stream).await;
            relay.close().await;
        }
    }
}

async fn greet(
    mut one: impl AsyncRead + AsyncWrite + Unpin,
    mut other: impl AsyncRead + AsyncWrite + Unpin,
) {
    let mut buffer = [0; 5];
    one.write_all(b"hello").await.unwrap();
    patiently(other.read_exact(&mut buffer)).await.unwrap();
    assert_eq!(&buffer, b"hello");
    other.write_all(b"world").await.unwrap();
    patiently(one.read_exact(&mut buffer)).await.unwrap();
    assert_eq!(&buffer, b"world");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_permitted_peer_may_connect_to_the_relay() {
    let gateway = Gateway::start().await;
    for transport in [ServerTransport::Tcp, ServerTransport::Tls] {
        let relay = relay(&gateway, transport, SocketAddr::new(localhost(4), 1)).await;
        relay
            .permit(&[SocketAddr::new(localhost(4), 1)])
            .await
            .unwrap();
        for _ in 0..3 {
            let mut peer = patiently(TcpStream::connect(relay.relayed()))
                .await
                .unwrap();
            // What the peer says before we have answered waits for us.
            peer.write_all(b"early").await.unwrap();
            let (mut stream, from) = patiently(relay.accept()).await.unwrap();
            assert_eq!(from, peer.local_addr().unwrap());
            let mut early = [0; 5];
            patiently(stream.read_exact(&mut early)).await.unwrap();
            assert_eq!(&early, b"early");
            greet(stream, peer).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_does_not_listen_or_is_not_admitted_is_told() {
    let gateway = Gateway::start().await;
    let closed = SocketAddr::new(localhost(4), free_port());
    let relay = relay(&gateway, ServerTransport::Tcp, closed).await;
    let error = patiently(relay.connect(closed)).await.unwrap_err();
    assert!(
        matches!(error, ClientError::Refused { code: 447, .. }),
        "{error}"
    );
    assert!(error.hint().contains("listens"), "{}", error.hint());
    let error = patiently(relay.connect("192.0.2.1:80".parse().unwrap()))
        .await
        .unwrap_err();
    assert!(
        matches!(error, ClientError::Refused { code: 403, .. }),
        "{error}"
    );
    assert!(error.hint().contains("Route"), "{}", error.hint());
}

#[tokio::test(flavor = "multi_thread")]
async fn tcp_peers_need_a_stream_to_the_server() {
    let gateway = Gateway::start().await;
    let options = AllocateOptions {
        transport: RelayTransport::Tcp,
        ..AllocateOptions::default()
    };
    let error = Relay::allocate(gateway.connect(ServerTransport::Udp), options)
        .await
        .unwrap_err();
    assert!(matches!(error, ClientError::Misuse(_)), "{error}");
    assert!(error.hint().contains("TCP or TLS"), "{}", error.hint());
    let datagrams = Relay::allocate(
        gateway.connect(ServerTransport::Tcp),
        AllocateOptions::default(),
    )
    .await
    .unwrap();
    assert!(matches!(
        datagrams.connect("127.0.0.1:1".parse().unwrap()).await,
        Err(ClientError::Misuse(_))
    ));
}

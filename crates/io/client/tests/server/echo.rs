//! Datagrams there and back, over every transport and both families.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::Duration;

use stunner_client::{
    AllocateOptions, ClientError, Connect, Relay, RelayTransport, ServerTransport, binding,
};

use crate::scripted::stalled;
use crate::world::{Gateway, echo, localhost, patiently, until};

async fn relay(gateway: &Gateway, transport: ServerTransport, peer: SocketAddr) -> Relay {
    let connect = gateway.connect(transport);
    let options = connect.options_for(peer, RelayTransport::Udp);
    Relay::allocate(connect, options)
        .await
        .unwrap_or_else(|error| panic!("{transport}: {error}"))
}

async fn echoes(relay: &Relay, peer: SocketAddr, payload: &[u8]) {
    let mut buffer = vec![0; 70_000];
    relay.send(peer, payload).await.unwrap();
    let (length, from) = patiently(relay.recv(&mut buffer)).await.unwrap();
    assert_eq!((length, from), (payload.len(), peer));
    assert!(
        buffer[..length] == *payload,
        "{length} bytes came back changed"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn every_transport_and_family_reaches_peers_of_both_families() {
    let gateway = Gateway::start().await;
    for transport in ServerTransport::ALL {
        for (server, to) in [(4, 4), (4, 6), (6, 4), (6, 6)] {
            let peer = echo(localhost(to)).await;
            let connect = gateway.connect_by(transport, localhost(server));
            let options = connect.options_for(peer, RelayTransport::Udp);
            let relay = Relay::allocate(connect, options).await.unwrap();
            assert_eq!(relay.relayed().is_ipv4(), peer.is_ipv4());
            assert_eq!(relay.mapped(), Some(relay.local()));
            assert_eq!(
                relay.server(),
                gateway.address(transport, localhost(server))
            );
            assert!(relay.software().unwrap().contains("stunnerd"));
            assert!(relay.lifetime().as_secs() >= 60);
            relay.permit(&[peer]).await.unwrap();
            echoes(&relay, peer, b"by Send indication").await;
            relay.bind_channel(peer).await.unwrap();
            echoes(&relay, peer, b"by channel").await;
            echoes(&relay, peer, b"").await;
            relay.close().await;
        }
    }
    assert_eq!(
        gateway.session_count().await,
        0,
        "closed allocations are gone at once"
    );
}

/// The limits are those of IPv4 over IPv6 too: a server drops what is larger without a word.
#[tokio::test(flavor = "multi_thread")]
async fn datagrams_of_any_size_that_the_transport_carries_come_back() {
    let gateway = Gateway::start().await;
    // By indication to peers of IPv4 and of IPv6, and by channel.
    let limits = [
        (ServerTransport::Udp, [65_468, 65_456], 65_503),
        (ServerTransport::Tcp, [65_507, 65_504], 65_507),
        (ServerTransport::Tls, [65_507, 65_504], 65_507),
        (ServerTransport::Dtls, [16_348, 16_336], 16_380),
    ];
    for (family, which) in [(4, 0), (6, 1)] {
        let peer = echo(localhost(family)).await;
        for (transport, by_indication, by_channel) in limits {
            let by_indication = by_indication[which];
            let connect = gateway.connect_by(transport, localhost(family));
            let options = connect.options_for(peer, RelayTransport::Udp);
            let relay = Relay::allocate(connect, options).await.unwrap();
            relay.permit(&[peer]).await.unwrap();
            for limit in [by_indication, by_channel] {
                assert_eq!(relay.max_payload(peer), limit, "{transport} {peer}");
                for size in [1, 1200, 1501, 9001, limit - 1, limit] {
                    // What the gateway hands back to us comes in ChannelData, or in an indication of the same size.
                    let payload: Vec<u8> = (0..size).map(|n| n as u8).collect();
                    echoes(&relay, peer, &payload).await;
                }
                let refused = relay.send(peer, &vec![0; limit + 1]).await.unwrap_err();
                assert!(
                    matches!(refused, ClientError::TooLarge { limit: told, .. } if told == limit),
                    "{refused}"
                );
                relay.bind_channel(peer).await.unwrap();
            }
            relay.close().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_peers_are_told_apart() {
    let gateway = Gateway::start().await;
    let mut peers = Vec::new();
    for _ in 0..20 {
        peers.push(echo(localhost(4)).await);
    }
    let relay = relay(&gateway, ServerTransport::Tcp, peers[0]).await;
    relay.permit(&peers).await.unwrap();
    for peer in &peers[..10] {
        relay.bind_channel(*peer).await.unwrap();
    }
    for peer in &peers {
        echoes(&relay, *peer, peer.to_string().as_bytes()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bursts_come_back_whole_and_in_order() {
    // No more at a time than the peer's socket holds: the way between gateway and peer is UDP.
    const BURST: u32 = 40;
    let gateway = Gateway::start().await;
    let peer = echo(localhost(4)).await;
    for transport in ServerTransport::ALL {
        let relay = relay(&gateway, transport, peer).await;
        relay.bind_channel(peer).await.unwrap();
        let mut buffer = [0; 2000];
        for burst in 0..100 {
            for number in burst * BURST..(burst + 1) * BURST {
                let payload = [number.to_be_bytes().as_slice(), &[7; 995]].concat();
                relay.send(peer, &payload).await.unwrap();
            }
            for number in burst * BURST..(burst + 1) * BURST {
                let (length, from) = patiently(relay.recv(&mut buffer)).await.unwrap();
                assert_eq!((length, from), (999, peer));
                assert_eq!(buffer[..4], number.to_be_bytes(), "{transport}");
            }
        }
        assert_eq!(relay.dropped(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_read_makes_senders_wait_and_loses_nothing() {
    let server = stalled().await;
    let peer = "192.0.2.1:9".parse().unwrap();
    let connect = Connect::new(server.address, ServerTransport::Tcp);
    let relay = Relay::allocate(connect, AllocateOptions::default())
        .await
        .unwrap();
    relay.bind_channel(peer).await.unwrap();
    let mut taken = 0;
    while relay.try_send(peer, &[7; 10_000]).unwrap() {
        taken += 1;
        assert!(taken < 10_000, "100 MB are in memory");
    }
    let waiting = tokio::time::timeout(Duration::from_millis(100), relay.send(peer, &[7; 10_000]));
    assert!(waiting.await.is_err(), "there is room after all");
    let sending = tokio::spawn(async move {
        patiently(relay.send(peer, &[7; 10_000])).await.unwrap();
        relay
    });
    server.go_on.notify_one();
    let relay = sending.await.unwrap();
    until("what was taken to arrive", async || {
        server.received.load(Ordering::Relaxed) == (taken + 1) * 10_004
    })
    .await;
    drop(relay);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_reader_loses_datagrams_and_no_memory() {
    let gateway = Gateway::start().await;
    let peer = echo(localhost(4)).await;
    let relay = relay(&gateway, ServerTransport::Udp, peer).await;
    relay.bind_channel(peer).await.unwrap();
    until("drops", async || {
        for _ in 0..20 {
            relay.send(peer, &[1; 60_000]).await.unwrap();
        }
        relay.dropped() > 0
    })
    .await;
    let mut buffer = vec![0; 70_000];
    let mut waiting = 0;
    while let Some((length, _)) = relay.try_recv(&mut buffer).unwrap() {
        waiting += length;
    }
    assert!(waiting <= 2 << 20, "{waiting} bytes waited");
    assert!(waiting >= 1 << 20, "{waiting} bytes waited");
}

#[tokio::test(flavor = "multi_thread")]
async fn sending_without_a_permission_is_an_error_here_already() {
    let gateway = Gateway::start().await;
    let peer = echo(localhost(4)).await;
    let relay = relay(&gateway, ServerTransport::Udp, peer).await;
    let error = relay.send(peer, b"x").await.unwrap_err();
    assert!(matches!(error, ClientError::NoPermission { .. }), "{error}");
    assert!(error.hint().contains("permission"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_binding_request_tells_our_address_and_the_round_trip() {
    let gateway = Gateway::start().await;
    for transport in ServerTransport::ALL {
        for version in [4, 6] {
            let bound = binding(gateway.connect_by(transport, localhost(version)))
                .await
                .unwrap();
            assert_eq!(bound.mapped.ip(), localhost(version));
            assert!(bound.rtt < crate::world::PATIENCE);
            assert_eq!(bound.software, None, "strangers are not told");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_the_last_handle_ends_the_allocation() {
    let gateway = Gateway::start().await;
    let peer = echo(localhost(4)).await;
    for transport in ServerTransport::ALL {
        let relay = relay(&gateway, transport, peer).await;
        let clone = relay.clone();
        drop(relay);
        clone.permit(&[peer]).await.unwrap();
        echoes(&clone, peer, b"still here").await;
        drop(clone);
        until("the end", async || gateway.session_count().await == 0).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_request_goes_out_at_once() {
    let gateway = Gateway::start().await;
    for transport in [ServerTransport::Udp, ServerTransport::Dtls] {
        let mut quickest = Duration::MAX;
        // A busy machine may be slow now and then, a request that has to be repeated always is.
        for _ in 0..10 {
            let started = std::time::Instant::now();
            binding(gateway.connect(transport)).await.unwrap();
            quickest = quickest.min(started.elapsed());
        }
        assert!(
            quickest < Duration::from_millis(400),
            "{transport}: {quickest:?}"
        );
    }
}

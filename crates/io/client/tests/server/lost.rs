//! How an allocation ends, and who hears of it.

use std::time::Duration;

use stunner_client::{AllocateOptions, ClientError, Connect, Lost, Relay, ServerTransport};

use crate::scripted::{Script, scripted, stalled};
use crate::world::{Gateway, echo, localhost, patiently};

async fn relay(gateway: &Gateway, transport: ServerTransport) -> Relay {
    Relay::allocate(gateway.connect(transport), AllocateOptions::default())
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_was_ended_is_a_mismatch_and_stops_readers() {
    let gateway = Gateway::start().await;
    let peer = echo(localhost(4)).await;
    let relay = relay(&gateway, ServerTransport::Udp).await;
    relay.bind_channel(peer).await.unwrap();
    let reader = relay.clone();
    let reading = tokio::spawn(async move { reader.recv(&mut [0; 16]).await });
    gateway.end_sessions().await;
    let refreshed = patiently(relay.refresh()).await;
    assert!(
        matches!(refreshed, Err(ClientError::Lost(Lost::AllocationMismatch))),
        "{refreshed:?}"
    );
    assert_eq!(patiently(relay.lost()).await, Lost::AllocationMismatch);
    assert_eq!(
        patiently(relay.lost()).await,
        Lost::AllocationMismatch,
        "the same again"
    );
    let read = patiently(reading).await.unwrap();
    assert!(
        matches!(read, Err(ClientError::Lost(Lost::AllocationMismatch))),
        "{read:?}"
    );
    assert!(matches!(
        relay.send(peer, b"x").await,
        Err(ClientError::Lost(Lost::AllocationMismatch))
    ));
    patiently(relay.close()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_the_server_closes_is_heard_without_asking() {
    let gateway = Gateway::start().await;
    for transport in [
        ServerTransport::Tcp,
        ServerTransport::Tls,
        ServerTransport::Dtls,
    ] {
        let relay = relay(&gateway, transport).await;
        gateway.end_sessions().await;
        let lost = patiently(relay.lost()).await;
        assert_eq!(lost, Lost::Closed, "{transport}");
    }
}

/// A server that does not read, with a connection that can take no more.
#[tokio::test(flavor = "multi_thread")]
async fn a_sender_that_waits_for_a_full_connection_hears_of_its_end() {
    let server = stalled().await;
    let peer = "192.0.2.1:9".parse().unwrap();
    let connect = Connect::new(server.address, ServerTransport::Tcp);
    let relay = Relay::allocate(connect, AllocateOptions::default())
        .await
        .unwrap();
    relay.bind_channel(peer).await.unwrap();
    while relay.try_send(peer, &[7; 10_000]).unwrap() {}
    let sender = relay.clone();
    let sending = tokio::spawn(async move { sender.send(peer, b"x").await });
    patiently(relay.close()).await;
    let sent = patiently(sending).await.unwrap();
    assert!(
        matches!(sent, Err(ClientError::Lost(Lost::Released))),
        "{sent:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_goes_away_is_noticed_while_there_is_traffic() {
    for transport in ServerTransport::ALL {
        let gateway = Gateway::start().await;
        let peer = echo(localhost(4)).await;
        let relay = relay(&gateway, transport).await;
        relay.bind_channel(peer).await.unwrap();
        gateway.instance.stop().await;
        let sender = relay.clone();
        let sending = tokio::spawn(async move {
            while sender.send(peer, b"anybody there?").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
        let lost = patiently(relay.lost()).await;
        assert!(
            matches!(
                lost,
                Lost::ServerGone | Lost::Closed | Lost::AllocationMismatch
            ),
            "{transport}: {lost}"
        );
        patiently(sending).await.unwrap();
        assert!(patiently(relay.recv(&mut [0; 16])).await.is_err());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_released_allocation_says_so_to_the_other_clones() {
    let gateway = Gateway::start().await;
    let relay = relay(&gateway, ServerTransport::Udp).await;
    let clone = relay.clone();
    patiently(relay.close()).await;
    assert_eq!(patiently(clone.lost()).await, Lost::Released);
    assert!(matches!(
        clone.refresh().await,
        Err(ClientError::Lost(Lost::Released))
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drain_is_told_while_packets_still_pass() {
    let alternate = "192.0.2.9:3478".parse().unwrap();
    let server = scripted(Script::DrainOnRefresh {
        alternate: Some(alternate),
    })
    .await;
    let relay = Relay::allocate(server.connect(), AllocateOptions::default())
        .await
        .unwrap();
    let peer = "192.0.2.1:9".parse().unwrap();
    relay.permit(&[peer]).await.unwrap();
    let expected = Lost::Draining {
        alternate: Some(alternate),
        domain: None,
    };
    let error = patiently(relay.refresh()).await.unwrap_err();
    assert!(
        matches!(&error, ClientError::Lost(lost) if *lost == expected),
        "{error}"
    );
    let lost = patiently(relay.lost()).await;
    assert_eq!(lost, expected);
    assert!(lost.still_relays());
    relay
        .send(peer, b"x")
        .await
        .expect("the old way works until the new one does");
    assert!(relay.try_recv(&mut [0; 16]).unwrap().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drain_without_an_alternate_is_a_drain_too() {
    let server = scripted(Script::DrainOnRefresh { alternate: None }).await;
    let relay = Relay::allocate(server.connect(), AllocateOptions::default())
        .await
        .unwrap();
    let _ = patiently(relay.refresh()).await;
    assert_eq!(
        patiently(relay.lost()).await,
        Lost::Draining {
            alternate: None,
            domain: None
        }
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn automatic_refreshes_hear_of_the_drain_by_themselves() {
    // A lifetime of two seconds is refreshed after one.
    let server = scripted(Script::ShortLived { refreshes: 1 }).await;
    let relay = Relay::allocate(server.connect(), AllocateOptions::default())
        .await
        .unwrap();
    assert_eq!(
        patiently(relay.lost()).await,
        Lost::Draining {
            alternate: None,
            domain: None
        }
    );
    assert_eq!(
        server.refreshes(),
        2,
        "one that was granted, one that was not"
    );
}

#[tokio::test]
async fn a_server_that_falls_silent_is_lost_once_we_send() {
    let server = scripted(Script::Answers { requests: 2 }).await;
    let relay = Relay::allocate(server.connect(), AllocateOptions::default())
        .await
        .unwrap();
    let peer = "192.0.2.1:9".parse().unwrap();
    relay.permit(&[peer]).await.unwrap();
    // From here on only time passes.
    tokio::time::pause();
    let idle = tokio::time::timeout(Duration::from_secs(100), relay.lost()).await;
    assert!(idle.is_err(), "silence is no news as long as nobody speaks");
    relay.send(peer, b"anybody there?").await.unwrap();
    assert_eq!(relay.lost().await, Lost::Silent);
}

#[tokio::test]
async fn a_peer_that_says_nothing_is_no_reason_to_give_up_the_server() {
    let server = scripted(Script::NoFamilies).await;
    let relay = Relay::allocate(server.connect(), AllocateOptions::default())
        .await
        .unwrap();
    let peer = "192.0.2.1:9".parse().unwrap();
    relay.permit(&[peer]).await.unwrap();
    // Time passes from one datagram to the next, each time that nothing else is to be done.
    tokio::time::pause();
    let sending = async {
        for _ in 0..2000 {
            relay.send(peer, b"anybody there?").await.unwrap();
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::select! {
        () = sending => {}
        lost = relay.lost() => panic!("{lost}"),
    }
    assert!(server.refreshes() > 0, "the server was asked");
}

//! What makes the client ask again: 300 (Try Alternate), 437 and 420 for an Allocate, within bounds.

use std::time::Duration;

use stunner_client::{AllocateOptions, ClientError, Relay, ServerTransport};
use stunner_dataplane::embed::Options;

use crate::scripted::{Script, scripted};
use crate::world::{Certificate, Gateway, echo, localhost, patiently};

#[tokio::test(flavor = "multi_thread")]
async fn a_draining_gateway_sends_newcomers_to_its_alternate() {
    let other = Gateway::start().await;
    let alternate = other.address(ServerTransport::Udp, localhost(4));
    let options = Options {
        alternate_server: Some(alternate),
        ..Options::default()
    };
    let gateway = Gateway::start_with(Certificate::Good, options).await;
    gateway.instance.start_draining().await;
    let connect = gateway.connect(ServerTransport::Udp);
    let relay = patiently(Relay::allocate(connect, AllocateOptions::default()))
        .await
        .unwrap();
    assert_eq!(relay.server(), alternate);
    let peer = echo(localhost(4)).await;
    relay.bind_channel(peer).await.unwrap();
    relay.send(peer, b"hello").await.unwrap();
    let mut buffer = [0; 16];
    assert_eq!(patiently(relay.recv(&mut buffer)).await.unwrap(), (5, peer));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draining_gateway_without_an_alternate_refuses() {
    let gateway = Gateway::start().await;
    gateway.instance.start_draining().await;
    let error = Relay::allocate(
        gateway.connect(ServerTransport::Tcp),
        AllocateOptions::default(),
    )
    .await
    .unwrap_err();
    assert!(
        matches!(error, ClientError::Refused { code: 508, .. }),
        "{error}"
    );
    assert!(error.hint().contains("later"), "{}", error.hint());
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_send_us_around_in_circles_are_found_out() {
    let server = scripted(Script::Redirect { to: None }).await;
    let error = patiently(Relay::allocate(
        server.connect(),
        AllocateOptions::default(),
    ))
    .await
    .unwrap_err();
    assert!(
        matches!(error, ClientError::TooManyRedirects { .. }),
        "{error}"
    );
    let mut next = None;
    for _ in 0..8 {
        next = Some(
            scripted(Script::Redirect {
                to: next
                    .as_ref()
                    .map(|server: &crate::scripted::Scripted| server.address),
            })
            .await,
        );
    }
    let connect = next.unwrap().connect();
    let error = patiently(Relay::allocate(connect, AllocateOptions::default()))
        .await
        .unwrap_err();
    assert!(
        matches!(error, ClientError::TooManyRedirects { .. }),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mismatch_that_does_not_go_away_is_told_as_what_it_is() {
    let server = scripted(Script::Mismatch {
        after: Duration::ZERO,
    })
    .await;
    let allocating = Relay::allocate(server.connect(), AllocateOptions::default());
    let error = patiently(allocating).await.unwrap_err();
    assert!(
        matches!(error, ClientError::Refused { code: 437, .. }),
        "{error}"
    );
    assert!(error.hint().contains("local port"), "{}", error.hint());
}

#[tokio::test(flavor = "multi_thread")]
async fn asking_again_takes_no_more_time_than_asking_once() {
    // The first answer comes in time, the second would not.
    let server = scripted(Script::Mismatch {
        after: Duration::from_millis(1200),
    })
    .await;
    let mut connect = server.connect();
    connect.timeout = Duration::from_secs(2);
    let allocating = Relay::allocate(connect, AllocateOptions::default());
    let error = patiently(allocating).await.unwrap_err();
    assert!(matches!(error, ClientError::Timeout { .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_know_the_address_family_is_asked_without_it() {
    let server = scripted(Script::NoFamilies).await;
    let options = AllocateOptions {
        family: Some(stunner_client::Family::V4),
        ..AllocateOptions::default()
    };
    patiently(Relay::allocate(server.connect(), options))
        .await
        .unwrap();
    let options = AllocateOptions {
        family: Some(stunner_client::Family::V6),
        ..AllocateOptions::default()
    };
    let error = patiently(Relay::allocate(server.connect(), options))
        .await
        .unwrap_err();
    assert!(
        matches!(error, ClientError::Refused { code: 420, .. }),
        "{error}"
    );
}

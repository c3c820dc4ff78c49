//! What goes wrong before there is an allocation, and how soon it is said.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use stunner_client::{
    AllocateOptions, ClientError, Connect, Credentials, Relay, ServerTransport, ServerUri, Step,
    binding,
};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, UdpSocket};

use crate::world::{Gateway, PASSWORD, free_port, localhost, patiently};

async fn failure(connect: Connect) -> ClientError {
    let error = patiently(Relay::allocate(connect, AllocateOptions::default()))
        .await
        .unwrap_err();
    assert!(!error.hint().is_empty());
    error
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_is_unauthorized_and_is_not_shown() {
    let gateway = Gateway::start().await;
    for transport in ServerTransport::ALL {
        let mut connect = gateway
            .connect(transport)
            .with_password("alice", "not-the-password");
        let error = failure(connect.clone()).await;
        assert!(
            matches!(&error, ClientError::Unauthorized { username: Some(name), .. } if name == "alice"),
            "{error}"
        );
        let shown = format!("{connect:?} {error} {error:?} {}", error.hint());
        assert!(!shown.contains("not-the-password"), "{shown}");
        connect.credentials = Credentials::None;
        let error = failure(connect).await;
        assert!(
            matches!(error, ClientError::Unauthorized { username: None, .. }),
            "{error}"
        );
    }
    let shown = format!("{:?}", gateway.connect(ServerTransport::Udp));
    assert!(!shown.contains(PASSWORD), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_where_nothing_listens_is_known_at_once() {
    for transport in ServerTransport::ALL {
        for version in [4, 6] {
            let server = SocketAddr::new(localhost(version), free_port());
            let started = Instant::now();
            let error = failure(Connect::new(server, transport)).await;
            assert!(
                matches!(error, ClientError::NothingListens { .. }),
                "{transport}: {error}"
            );
            let error = patiently(binding(Connect::new(server, transport)))
                .await
                .unwrap_err();
            assert!(
                matches!(error, ClientError::NothingListens { .. }),
                "{transport}: {error}"
            );
            assert!(started.elapsed() < Duration::from_secs(3), "{transport}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_server_is_reported_when_the_time_is_up() {
    let udp = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
    for transport in ServerTransport::ALL {
        let server = if transport.is_stream() {
            tcp.local_addr()
        } else {
            udp.local_addr()
        };
        let mut connect = Connect::new(server.unwrap(), transport);
        connect.timeout = Duration::from_millis(700);
        let started = Instant::now();
        let error = failure(connect.clone()).await;
        let expected = if transport.is_secure() {
            Step::Handshake
        } else {
            Step::Request
        };
        assert!(
            matches!(error, ClientError::Timeout { step, .. } if step == expected),
            "{transport}: {error}"
        );
        let took = started.elapsed();
        assert!(
            took >= connect.timeout && took < Duration::from_secs(5),
            "{transport}: {took:?}"
        );
        assert!(error.to_string().contains("0.7 s"), "{error}");
    }
    assert_eq!(
        Connect::new("127.0.0.1:1".parse().unwrap(), ServerTransport::Udp).timeout,
        Duration::from_secs(10)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_speaks_something_else_or_hangs_up_is_told_so() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
            let _ = stream.shutdown().await;
        }
    });
    let error = failure(Connect::new(server, ServerTransport::Tcp)).await;
    assert!(
        matches!(
            error,
            ClientError::NotTurn { .. } | ClientError::Closed { .. }
        ),
        "{error}"
    );
    let error = failure(Connect::new(server, ServerTransport::Tls)).await;
    assert!(matches!(error, ClientError::Tls { .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_and_encrypted_ports_that_are_mixed_up_are_told_so() {
    let gateway = Gateway::start().await;
    let mut connect = gateway.connect(ServerTransport::Tcp);
    connect.transport = ServerTransport::Tls;
    connect.timeout = Duration::from_secs(2);
    let error = failure(connect).await;
    assert!(
        matches!(error, ClientError::Tls { .. } | ClientError::Closed { .. }),
        "{error}"
    );
    let mut connect = gateway.connect(ServerTransport::Dtls);
    connect.transport = ServerTransport::Udp;
    connect.timeout = Duration::from_millis(500);
    let error = failure(connect).await;
    assert!(matches!(error, ClientError::Timeout { .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_no_route_admits_is_refused_with_a_hint() {
    let gateway = Gateway::start().await;
    for transport in ServerTransport::ALL {
        let relay = Relay::allocate(gateway.connect(transport), AllocateOptions::default())
            .await
            .unwrap();
        let peer = "192.0.2.1:9".parse().unwrap();
        for error in [
            relay.permit(&[peer]).await.unwrap_err(),
            relay.bind_channel(peer).await.unwrap_err(),
        ] {
            assert!(
                matches!(error, ClientError::Refused { code: 403, .. }),
                "{error}"
            );
            assert!(error.hint().contains("UDPRoute"), "{}", error.hint());
        }
    }
}

#[tokio::test]
async fn a_name_without_an_address_is_named() {
    let uri: ServerUri = "turn:no-such-host.invalid".parse().unwrap();
    let error = Connect::to_each(&uri).await.unwrap_err();
    assert!(
        matches!(&error, ClientError::Resolve { host, .. } if host == "no-such-host.invalid"),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_uri_is_all_it_takes() {
    let gateway = Gateway::start().await;
    let port = gateway.address(ServerTransport::Tcp, localhost(4)).port();
    let uri: ServerUri = format!("turn://user:open%2Dsesame@localhost:{port}?transport=tcp")
        .parse()
        .unwrap();
    let connect = Connect::to_each(&uri).await.unwrap().remove(0);
    assert_eq!(connect.tls.sni.as_deref(), Some("localhost"));
    Relay::allocate(connect, AllocateOptions::default())
        .await
        .unwrap();
}

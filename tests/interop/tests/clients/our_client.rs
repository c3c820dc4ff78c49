//! The client state machine of `stunner-turn` over real sockets: what turncat and the load generator stand on.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use interop_tests::client::Link;
use interop_tests::config::Transport;
use interop_tests::echo::{TcpEcho, UdpEcho};
use interop_tests::server::TurnServer;
use interop_tests::{need, skip};
use stunner_turn::client::{
    self, AllocateOptions, Client, Event, Family, RelayTransport, Settings,
};

const PATIENCE: Duration = Duration::from_secs(20);

/// The machine and its socket.
struct Driver {
    client: Client,
    link: Link,
    begun: Instant,
}

impl Driver {
    fn new(client: Client, link: Link) -> Self {
        Self {
            client,
            link,
            begun: Instant::now(),
        }
    }

    fn connect(
        server: &TurnServer,
        transport: Transport,
        settings: impl FnOnce(&mut Settings),
    ) -> Self {
        let kind = if transport.is_stream() {
            client::Transport::Stream
        } else {
            client::Transport::Datagram
        };
        let mut chosen = Settings::with_password(server.user(), server.password(), kind);
        settings(&mut chosen);
        let link =
            Link::connect(transport, server.v4(transport), server.ca.root_pem()).expect("connect");
        Self::new(Client::new(chosen, [7; 32]), link)
    }

    fn now(&self) -> u64 {
        self.begun.elapsed().as_millis() as u64
    }

    /// Moves bytes and time until `wanted` sees its event; the bytes of a Data event come with it.
    #[track_caller]
    fn until<T>(&mut self, what: &str, mut wanted: impl FnMut(&Event, &[u8]) -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            while let Some(bytes) = self.client.poll_transmit() {
                self.link.send(&bytes).expect("send");
            }
            let now = self.now();
            if self.client.next_deadline().is_some_and(|at| at <= now) {
                self.client.on_timeout(now);
            }
            if let Some(found) = self
                .client
                .poll_event()
                .and_then(|event| wanted(&event, &[]))
            {
                return found;
            }
            let soon = Instant::now() + Duration::from_millis(50);
            if let Some(bytes) = self.link.receive_until(soon).expect("receive") {
                let event = self.client.handle(self.now(), &bytes);
                if let Some(found) = wanted(&event, &bytes) {
                    return found;
                }
                assert!(
                    !matches!(event, Event::Error { .. } | Event::TimedOut { .. }),
                    "{what}: {event:?}"
                );
            }
        }
        panic!("{what}: not within {PATIENCE:?}");
    }

    #[track_caller]
    fn allocate(&mut self, options: AllocateOptions) -> client::Allocated {
        self.client.allocate(self.now(), options).expect("allocate");
        self.until("allocate", |event, _| match event {
            Event::Allocated(allocated) => Some(allocated.clone()),
            _ => None,
        })
    }

    #[track_caller]
    fn echo(&mut self, peer: SocketAddr, payload: &[u8]) {
        let mut buffer = vec![0; payload.len() + 64];
        let length = self
            .client
            .send(peer, payload, &mut buffer)
            .expect("a permission");
        self.link.send(&buffer[..length]).expect("send");
        let back = self.until("echo", |event, bytes| match event {
            Event::Data { peer: from, range } if *from == peer => {
                Some(bytes[range.clone()].to_vec())
            }
            _ => None,
        });
        assert!(
            back == payload,
            "{} bytes came back as {}, or changed",
            payload.len(),
            back.len()
        );
    }
}

#[test]
fn our_client_relays_over_every_transport() {
    let server = TurnServer::start();
    let peer = UdpEcho::start("127.0.0.1:0");
    for transport in Transport::ALL {
        for sha256 in [true, false] {
            let mut driver = Driver::connect(&server, transport, |settings| {
                settings.allow_sha256 = sha256;
                settings.fingerprint = !sha256;
            });
            let allocated = driver.allocate(AllocateOptions::default());
            assert_eq!(allocated.lifetime, 600);
            assert_eq!(allocated.mapped, Some(driver.link.local()), "{transport:?}");
            driver
                .client
                .create_permission(driver.now(), &[peer.address()])
                .expect("permission");
            driver.until("permission", |event, _| {
                matches!(event, Event::PermissionGranted { .. }).then_some(())
            });
            driver.echo(peer.address(), b"by Send indication");
            driver
                .client
                .bind_channel(driver.now(), peer.address())
                .expect("bind");
            driver.until("bind", |event, _| {
                matches!(event, Event::ChannelBound { .. }).then_some(())
            });
            for size in [1, 2, 3, 4, 1200, 9000] {
                driver.echo(peer.address(), &vec![size as u8; size]);
            }
            driver
                .client
                .refresh(driver.now(), Some(0))
                .expect("refresh");
            driver.until("release", |event, _| {
                matches!(event, Event::Released).then_some(())
            });
        }
    }
}

#[test]
fn our_client_holds_both_families_in_one_allocation() {
    need!(
        "our_client_holds_both_families_in_one_allocation",
        skip::ipv6()
    );
    let server = TurnServer::start();
    let peers = [UdpEcho::start("127.0.0.1:0"), UdpEcho::start("[::1]:0")];
    let mut driver = Driver::connect(&server, Transport::Udp, |_| {});
    let options = AllocateOptions {
        additional_family: Some(Family::V6),
        ..AllocateOptions::default()
    };
    let allocated = driver.allocate(options);
    assert!(allocated.relayed.is_ipv4(), "{allocated:?}");
    assert!(
        allocated
            .additional
            .is_some_and(|address| address.is_ipv6()),
        "{allocated:?}"
    );
    for peer in &peers {
        driver
            .client
            .bind_channel(driver.now(), peer.address())
            .expect("bind");
        driver.until("bind", |event, _| {
            matches!(event, Event::ChannelBound { .. }).then_some(())
        });
        driver.echo(peer.address(), b"either family");
    }
}

#[test]
fn our_client_relays_tcp_connections() {
    let server = TurnServer::start();
    let peer = TcpEcho::start("127.0.0.1:0");
    for transport in [Transport::Tcp, Transport::Tls] {
        let mut driver = Driver::connect(&server, transport, |_| {});
        driver.allocate(AllocateOptions {
            transport: RelayTransport::Tcp,
            ..AllocateOptions::default()
        });
        driver
            .client
            .connect(driver.now(), peer.address())
            .expect("connect");
        let connection = driver.until("connect", |event, _| match event {
            Event::Connected { connection, .. } => Some(*connection),
            _ => None,
        });
        let link =
            Link::connect(transport, server.v4(transport), server.ca.root_pem()).expect("connect");
        let mut data = Driver::new(driver.client.data_connection(), link);
        data.client
            .connection_bind(data.now(), connection)
            .expect("bind");
        data.until("connection bind", |event, _| {
            matches!(event, Event::ConnectionBound { .. }).then_some(())
        });
        let sent: Vec<u8> = (0..100_000_u32).map(|index| (index % 251) as u8).collect();
        data.link.send_raw(&sent).expect("send");
        let mut back = Vec::new();
        let deadline = Instant::now() + PATIENCE;
        while back.len() < sent.len() && Instant::now() < deadline {
            data.link.flush().expect("flush");
            match data.link.receive_raw().expect("receive") {
                Some(bytes) => back.extend_from_slice(&bytes),
                None => drop(interop_tests::client::wait_readable(
                    &[data.link.fd()],
                    Duration::from_millis(20),
                )),
            }
        }
        assert!(
            back == sent,
            "{transport:?}: {} of {} bytes came back, or changed",
            back.len(),
            sent.len()
        );
    }
}

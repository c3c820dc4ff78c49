//! An example on a host of its own, and its clients on another.

use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use interop_tests::client::{Credentials, Incoming, TurnClient};
use interop_tests::config::Transport;
use interop_tests::echo::UdpEcho;
use interop_tests::netns::{CLIENT, Link, SERVER};
use interop_tests::process::wait_until;
use interop_tests::skip;
use serde_json::Value;
use standalone_tests::binary::root;
use standalone_tests::stunner::Stunner;

/// An end that waits for nobody.
pub const SOON: Duration = Duration::from_secs(20);
/// The channel of sessions that outlive their part.
pub const CHANNEL: u16 = 0x4000;

pub fn folder(example: &str) -> PathBuf {
    root().join("examples").join(example)
}

/// A client that gets its packets back from a peer on [`CHANNEL`].
pub struct Session {
    pub client: TurnClient,
    pub echo: UdpEcho,
}

/// A running example.
pub struct Play<'a> {
    pub link: &'a Link,
    pub stunner: &'a Stunner,
    /// The event of its start.
    pub ready: Value,
}

/// Runs an example, has `part` use it, and ends it with SIGTERM while the session of `part` is alive.
pub fn play(
    test: &str,
    example: &str,
    flags: &[&str],
    part: impl FnOnce(&Play<'_>) -> Session + Send,
) {
    let link = match Link::create() {
        Ok(link) => link,
        Err(missing) => return skip::report(test, &missing),
    };
    link.on_server(|| {
        let output = [("--output", "json")];
        let stunner = Stunner::start_with(&[&folder(example)], flags, &output);
        let ready = stunner.wait_event("ready");
        assert_good(&ready);
        let session = part(&Play {
            link: &link,
            stunner: &stunner,
            ready: ready.clone(),
        });
        let events = stunner.events();
        assert!(
            events.iter().all(|event| event["event"] != "problem"),
            "{events:#?}"
        );
        drains(stunner, session);
        assert_closed(&sockets(&ready));
    });
}

/// SIGTERM lets sessions end in their own time, and takes no new ones.
fn drains(mut stunner: Stunner, mut session: Session) {
    stunner.signal(libc::SIGTERM);
    let draining = wait_until(SOON, || {
        let ready = stunner.health("/ready");
        ready.is_ok_and(|answer| answer.status == 503)
    });
    assert!(draining, "ready though it drains");
    assert!(
        session.client.echoes(CHANNEL, b"while draining"),
        "no echo while draining"
    );
    assert!(
        session.echo.seen() > 20,
        "the packets did not come from the peer"
    );
    session.client.refresh(0).expect("the end of the session");
    let status = stunner.wait_end(SOON).expect("the end");
    assert_eq!(status.code(), Some(0));
    assert_eq!(stunner.wait_event("stopped")["drained"], true);
}

impl Play<'_> {
    /// What is to be pasted into a page: all URLs, and the credentials.
    pub fn ice(&self) -> (Vec<String>, Credentials) {
        let servers = self.ready["iceServers"].as_array().expect("ICE servers");
        let [server] = servers.as_slice() else {
            panic!("one Gateway has one ICE server: {servers:?}");
        };
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let urls = server["urls"].as_array().expect("URLs");
        let credentials =
            Credentials::new(&text(&server["username"]), &text(&server["credential"]));
        (urls.iter().map(text).collect(), credentials)
    }

    /// A client on the other host, with the credentials that were printed.
    pub fn client(&self, transport: Transport, port: u16) -> TurnClient {
        self.client_at(transport, address(SERVER, port))
    }

    pub fn client_at(&self, transport: Transport, server: SocketAddr) -> TurnClient {
        let (_, credentials) = self.ice();
        self.link
            .on_client(|| TurnClient::connect(transport, server, "").with_credentials(credentials))
    }

    /// A peer on the clients' host.
    pub fn peer(&self) -> UdpEcho {
        self.peer_at(CLIENT)
    }

    pub fn peer_at(&self, ip: &str) -> UdpEcho {
        let ip: IpAddr = ip.parse().expect("an address");
        let at = SocketAddr::new(ip, 0).to_string();
        self.link.on_client(|| UdpEcho::start(&at))
    }
}

/// A session that gets twenty packets back.
#[track_caller]
pub fn session(mut client: TurnClient, echo: UdpEcho) -> Session {
    client.join(CHANNEL, echo.address());
    for round in 0..20_u32 {
        assert!(
            client.echoes(CHANNEL, &round.to_be_bytes()),
            "no echo of packet {round}"
        );
    }
    Session { client, echo }
}

/// A client that gets its packets back from a peer, and leaves.
#[track_caller]
pub fn visit(mut client: TurnClient, peer: SocketAddr) {
    client.join(CHANNEL, peer);
    client.refresh(0).expect("the end of the session");
}

/// Two clients talk to each other, each through a relay of its own, and leave.
#[track_caller]
pub fn talk(mut one: TurnClient, mut other: TurnClient) {
    let relays = [&mut one, &mut other].map(|client| client.allocate().expect("a relay"));
    one.bind(CHANNEL, relays[1]).expect("the other's relay");
    other.bind(CHANNEL, relays[0]).expect("the one's relay");
    for round in 0..20_u32 {
        say(
            &mut one,
            &mut other,
            &[b"there", &round.to_be_bytes()[..]].concat(),
        );
        say(
            &mut other,
            &mut one,
            &[b"back", &round.to_be_bytes()[..]].concat(),
        );
    }
    for mut client in [one, other] {
        client.refresh(0).expect("the end of the session");
    }
}

#[track_caller]
fn say(from: &mut TurnClient, to: &mut TurnClient, words: &[u8]) {
    from.send_channel(CHANNEL, words).expect("a packet out");
    let deadline = Instant::now() + SOON;
    while let Some(left) = deadline.checked_duration_since(Instant::now()) {
        let heard = to.receive(left).expect("a connection");
        if matches!(&heard, Some(Incoming::Channel(CHANNEL, data)) if data == words) {
            return;
        }
    }
    panic!("{words:?} was not heard");
}

/// The code with which a peer is refused.
pub fn refused(client: &mut TurnClient, peer: &str) -> Option<u16> {
    let peer = peer.parse().expect("an address");
    let refusal = client.bind(0x4FF0, peer).err()?;
    refusal.code()
}

pub fn address(ip: &str, port: u16) -> SocketAddr {
    SocketAddr::new(ip.parse().expect("an address"), port)
}

/// Everything in order: all conditions of Gateways and listeners, and nothing unmet elsewhere.
#[track_caller]
pub fn assert_good(ready: &Value) {
    assert_eq!(ready["unmet"].as_array().map(Vec::len), Some(0), "{ready}");
    let gateways = ready["gateways"].as_array().expect("gateways");
    assert!(!gateways.is_empty());
    for gateway in gateways {
        let listeners = gateway["listeners"].as_array().expect("listeners");
        for object in std::iter::once(gateway).chain(listeners) {
            for condition in object["conditions"].as_array().expect("conditions") {
                let wanted = match condition["type"] == "Conflicted" {
                    true => "False",
                    false => "True",
                };
                assert_eq!(condition["status"], wanted, "{condition}");
            }
        }
        for listener in listeners {
            assert!(listener["uri"].is_string(), "{listener}");
            assert_ne!(listener["attachedRoutes"], 0, "{listener}");
        }
    }
}

/// The ports that are open, by what the start said.
pub fn sockets(ready: &Value) -> Vec<(String, u16)> {
    let gateways = ready["gateways"].as_array().expect("gateways");
    let listeners = gateways
        .iter()
        .flat_map(|gateway| gateway["listeners"].as_array().expect("listeners"));
    let socket = |listener: &Value| {
        let uri = listener["uri"].as_str().expect("a URI");
        let (place, transport) = uri.split_once("?transport=").expect("a transport");
        let (_, port) = place.rsplit_once(':').expect("a port");
        (transport.to_owned(), port.parse().expect("a number"))
    };
    listeners.map(socket).collect()
}

/// Nobody listens there any more, and the next may.
#[track_caller]
pub fn assert_closed(sockets: &[(String, u16)]) {
    for (transport, port) in sockets {
        match transport.as_str() {
            "udp" => drop(UdpSocket::bind(("0.0.0.0", *port)).expect("a closed port")),
            _ => {
                assert!(TcpStream::connect(("127.0.0.1", *port)).is_err());
                drop(TcpListener::bind(("0.0.0.0", *port)).expect("a closed port"));
            }
        }
    }
}

//! What most scenario tests begin with: a CA, a running `stunnerd` with all four listeners, and an echo peer.

use std::net::SocketAddr;

use crate::client::TurnClient;
use crate::config::{Config, Transport};
use crate::echo::UdpEcho;
use crate::pki::{Identity, TestCa};
use crate::stunnerd::{Options, Stunnerd};

/// The channel that [`Scene::session`] binds.
pub const CHANNEL: u16 = 0x4000;

#[derive(Debug)]
pub struct Scene {
    pub ca: TestCa,
    pub identity: Identity,
    pub server: Stunnerd,
    pub peer: UdpEcho,
}

impl Scene {
    pub fn start() -> Self {
        Self::start_with(&[], |_| {})
    }

    /// With more flags, and a config that `change` has bent.
    pub fn start_with(flags: &[&str], change: impl FnOnce(&mut Config)) -> Self {
        let ca = TestCa::new();
        let identity = ca.ecdsa("scene");
        let mut config = Config::standard(&identity);
        change(&mut config);
        let server = Stunnerd::start_with(&config, &Options::with(flags));
        Self {
            ca,
            identity,
            server,
            peer: UdpEcho::start("127.0.0.1:0"),
        }
    }

    /// The running config, to change and [`Stunnerd::apply`].
    pub fn config(&self) -> Config {
        self.server.config().clone()
    }

    pub fn apply(&mut self, change: impl FnOnce(&mut Config)) {
        let mut config = self.config();
        change(&mut config);
        self.server.apply(&config);
    }

    /// Where the listener of `transport` is now.
    pub fn address(&self, transport: Transport) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.server.config().port(transport.name())))
    }

    /// A connected client that has sent nothing yet.
    #[track_caller]
    pub fn client(&self, transport: Transport) -> TurnClient {
        self.client_at(transport, self.address(transport))
    }

    #[track_caller]
    pub fn client_at(&self, transport: Transport, server: SocketAddr) -> TurnClient {
        TurnClient::connect(transport, server, self.ca.root_pem())
    }

    /// A client with an allocation and [`CHANNEL`] bound to the echo peer.
    #[track_caller]
    pub fn session(&self, transport: Transport) -> TurnClient {
        let mut client = self.client(transport);
        client.join(CHANNEL, self.peer.address());
        client
    }

    /// One session on each transport.
    #[track_caller]
    pub fn sessions(&self) -> Vec<TurnClient> {
        Transport::ALL
            .into_iter()
            .map(|transport| self.session(transport))
            .collect()
    }
}

/// Every session still relays and refreshes.
#[track_caller]
pub fn assert_alive(sessions: &mut [TurnClient], when: &str) {
    for session in sessions {
        let transport = session.link.transport();
        assert!(
            session.echoes(CHANNEL, when.as_bytes()),
            "the {transport:?} session does not relay {when}"
        );
        let lifetime = session
            .refresh(600)
            .unwrap_or_else(|refusal| panic!("{transport:?}: refresh {when}: {refusal:?}"));
        assert_eq!(lifetime, 600, "{transport:?}: lifetime {when}");
    }
}

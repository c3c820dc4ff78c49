//! The servers a comparison can run, each on a free loopback port.

mod launch;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use stunner_load::{Protocol, Target};
use stunner_turn::client::{Client, Credentials, Event, Settings, Transport};
use thiserror::Error;

use crate::process::Process;

pub use launch::Forwarding;

/// The credential every server is started with.
pub const USERNAME: &str = "user";
/// Its password: loopback only, no secret.
pub const PASSWORD: &str = "pass";
/// The realm where a server wants one.
pub const REALM: &str = "relay.bench";
/// Where servers listen and relay.
pub const SERVER_IP: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 1);
/// Where peers live. Not an address of an interface, so that no server takes a peer for itself.
pub const PEER_IP: Ipv4Addr = Ipv4Addr::new(127, 2, 0, 1);

/// A kind of server and how to start it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerKind {
    /// Our own, from `target/release` or a given path; built when missing.
    Stunnerd {
        /// The binary; the workspace's release build by default.
        binary: Option<PathBuf>,
    },
    /// Debian's coturn.
    Coturn,
    /// No TURN at all: the floor a relay cannot get below with the same system calls.
    Forwarder(Forwarding),
    /// Any other TURN server.
    External {
        /// What to call it.
        name: String,
        /// Its command line, with `{port}`, `{user}`, `{pass}`, `{realm}` and `{peer}` to fill in.
        command: String,
    },
}

/// Why a server could not be measured.
#[derive(Debug, Error)]
pub enum ServerError {
    /// Starting it failed.
    #[error("`{server}` cannot be started: {error}")]
    Start {
        /// Which server.
        server: String,
        /// What the system said.
        error: io::Error,
    },
    /// It ended before it answered.
    #[error("`{0}` ended before it answered; RELAY_BENCH_SERVER_LOG=1 shows what it says")]
    Ended(String),
    /// It never answered a Binding request.
    #[error("`{0}` does not answer; RELAY_BENCH_SERVER_LOG=1 shows what it says")]
    Silent(String),
    /// Building stunnerd failed.
    #[error("`cargo build --release -p stunner-dataplane` failed")]
    Build,
}

/// A server that runs.
#[derive(Debug)]
pub struct Server {
    /// What the report calls it.
    pub name: String,
    /// The process, for its CPU time and memory.
    pub process: Process,
    /// Where clients send to.
    pub address: SocketAddr,
    /// How sessions are made.
    pub protocol: Protocol,
    /// The command line, for the report.
    pub command: String,
    /// Kept while the server runs.
    _config: Option<launch::ConfigFile>,
}

impl ServerKind {
    /// What the report calls it.
    pub fn name(&self) -> String {
        match self {
            ServerKind::Stunnerd { .. } => "stunnerd".to_owned(),
            ServerKind::Coturn => "coturn".to_owned(),
            ServerKind::Forwarder(mode) => format!("forwarder-{}", mode.name()),
            ServerKind::External { name, .. } => name.clone(),
        }
    }

    /// Whether it speaks TURN, so that allocations can be measured.
    pub fn is_turn(&self) -> bool {
        !matches!(self, ServerKind::Forwarder(_))
    }

    /// Starts it, on one core if given, and waits until it answers. Packets of sessions are to go
    /// to `peer`.
    pub fn start(&self, peer: SocketAddr, core: Option<usize>) -> Result<Server, ServerError> {
        let name = self.name();
        let start_error = |error| ServerError::Start {
            server: name.clone(),
            error,
        };
        let port = free_port().map_err(start_error)?;
        let launch = launch::plan(self, port, peer).map_err(|error| match error {
            launch::LaunchError::Io(error) => start_error(error),
            launch::LaunchError::Build => ServerError::Build,
        })?;
        let process =
            Process::spawn(&launch.program, &launch.arguments, core).map_err(start_error)?;
        let mut server = Server {
            command: format!("{} {}", launch.program, launch.arguments.join(" ")),
            process,
            address: SocketAddr::from((SERVER_IP, port)),
            protocol: if self.is_turn() {
                Protocol::Turn(stunner_load::Transport::Udp)
            } else {
                Protocol::Forward
            },
            _config: launch.config,
            name,
        };
        if self.is_turn() {
            server.wait_until_it_answers()?;
        }
        Ok(server)
    }
}

impl Server {
    /// Where load goes, and with which credential.
    pub fn target(&self) -> Target {
        Target {
            address: self.address,
            protocol: self.protocol.clone(),
            username: USERNAME.to_owned(),
            password: PASSWORD.to_owned(),
        }
    }

    fn wait_until_it_answers(&mut self) -> Result<(), ServerError> {
        let start = Instant::now();
        let silent = |_| ServerError::Silent(self.name.clone());
        let socket = UdpSocket::bind((SERVER_IP, 0)).map_err(silent)?;
        socket
            .set_read_timeout(Some(Duration::from_millis(100)))
            .map_err(silent)?;
        while start.elapsed() < Duration::from_secs(15) {
            if self.process.has_ended() {
                return Err(ServerError::Ended(self.name.clone()));
            }
            let settings = Settings::new(Credentials::None, Transport::Datagram);
            let mut client = Client::new(settings, [0; 32]);
            let _ = client.binding(0);
            while let Some(request) = client.poll_transmit() {
                let _ = socket.send_to(&request, self.address);
            }
            let mut answer = [0; 1500];
            if let Ok(length) = socket.recv(&mut answer)
                && let Event::Reflexive { .. } = client.handle(0, &answer[..length])
            {
                return Ok(());
            }
            // A port that is not open yet refuses at once.
            std::thread::sleep(Duration::from_millis(20));
        }
        Err(ServerError::Silent(self.name.clone()))
    }
}

/// A port that is free for UDP and TCP now.
pub(crate) fn free_port() -> io::Result<u16> {
    loop {
        let socket = UdpSocket::bind((SERVER_IP, 0))?;
        let port = socket.local_addr()?.port();
        if TcpListener::bind((SERVER_IP, port)).is_ok() {
            return Ok(port);
        }
    }
}

//! The TURN server that a client interop test talks to.
//!
//! That is `stunnerd`, unless `STUNNER_INTEROP_SERVER=coturn`: then the same tests run against coturn's
//! `turnserver`, which tells a fault of the test or the client from one of ours.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use crate::config::{Config, PASSWORD, REALM, Transport, USER};
use crate::pki::{Identity, TestCa};
use crate::ports::free_port;
use crate::process::{Process, wait_until};
use crate::stunnerd::Stunnerd;

#[derive(Debug)]
enum Backend {
    Stunnerd(Box<Stunnerd>),
    Coturn {
        _process: Process,
        plain: u16,
        secure: u16,
    },
}

/// A server with a listener for each transport on loopback, both families, and a certificate of `ca`.
#[derive(Debug)]
pub struct TurnServer {
    backend: Backend,
    pub ca: TestCa,
    dir: TempDir,
}

pub fn testing_coturn() -> bool {
    std::env::var("STUNNER_INTEROP_SERVER").is_ok_and(|value| value == "coturn")
}

impl TurnServer {
    /// With an ECDSA certificate.
    pub fn start() -> Self {
        let ca = TestCa::new();
        let identity = ca.ecdsa("interop ecdsa");
        Self::start_as(ca, &identity, None)
    }

    /// With `address` in place of loopback; for network namespaces.
    pub fn start_at(address: &str) -> Self {
        let ca = TestCa::new();
        let identity = ca.ecdsa("interop ecdsa");
        Self::start_as(ca, &identity, Some(address))
    }

    pub fn start_rsa() -> Self {
        let ca = TestCa::new();
        let identity = ca.rsa("interop rsa");
        Self::start_as(ca, &identity, None)
    }

    fn start_as(ca: TestCa, identity: &Identity, address: Option<&str>) -> Self {
        let dir = TempDir::with_prefix("interop-").expect("temporary folder");
        let backend = if testing_coturn() {
            match address {
                Some(address) => start_coturn(&dir, identity, &[address]),
                None => start_coturn(&dir, identity, &["127.0.0.1", "::1"]),
            }
        } else {
            let mut config = Config::standard(identity);
            if let Some(address) = address {
                config.move_to(address);
            }
            Backend::Stunnerd(Box::new(Stunnerd::start(&config)))
        };
        Self { backend, ca, dir }
    }

    pub fn port(&self, transport: Transport) -> u16 {
        match &self.backend {
            Backend::Stunnerd(server) => server.config().port(transport.name()),
            Backend::Coturn { plain, secure, .. } => {
                if transport.is_secure() {
                    *secure
                } else {
                    *plain
                }
            }
        }
    }

    pub fn v4(&self, transport: Transport) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port(transport)))
    }

    pub fn v6(&self, transport: Transport) -> SocketAddr {
        SocketAddr::from((std::net::Ipv6Addr::LOCALHOST, self.port(transport)))
    }

    pub fn user(&self) -> &'static str {
        USER
    }

    pub fn password(&self) -> &'static str {
        PASSWORD
    }

    /// The file with the root certificate.
    pub fn ca_file(&self) -> PathBuf {
        self.ca.write_root(self.dir.path())
    }

    /// `stunnerd` itself, for checks beyond what a client sees; `None` when coturn stands in.
    pub fn stunnerd(&self) -> Option<&Stunnerd> {
        match &self.backend {
            Backend::Stunnerd(server) => Some(server),
            Backend::Coturn { .. } => None,
        }
    }
}

fn start_coturn(dir: &TempDir, identity: &Identity, addresses: &[&str]) -> Backend {
    let (cert, key) = identity.write(dir.path(), "coturn");
    let (plain, secure) = (free_port(), free_port());
    let mut command = Command::new("turnserver");
    command
        .args([
            "-c",
            "/dev/null",
            "-n",
            "--lt-cred-mech",
            "--no-cli",
            "--allow-loopback-peers",
            "--log-file",
            "stdout",
        ])
        .args(["--simple-log", "-m", "2"])
        .args(
            addresses
                .iter()
                .flat_map(|address| ["-L", address, "-E", address]),
        )
        .args([
            "-p",
            &plain.to_string(),
            "--tls-listening-port",
            &secure.to_string(),
        ])
        // Left alone, it would take the ports next to these two as well.
        .args(["--alt-listening-port", &free_port().to_string()])
        .args(["--alt-tls-listening-port", &free_port().to_string()])
        .args(["-r", REALM, "-u", &format!("{USER}:{PASSWORD}")])
        .args([
            "--pidfile".into(),
            dir.path().join("turnserver.pid").into_os_string(),
        ])
        .args(["--db".into(), dir.path().join("turndb").into_os_string()])
        .args(["--cert".into(), cert.into_os_string()])
        .args(["--pkey".into(), key.into_os_string()]);
    let process = Process::start("turnserver", command).expect("start turnserver");
    let up = wait_until(Duration::from_secs(20), || {
        std::net::TcpStream::connect((addresses[0], secure)).is_ok()
    });
    assert!(up, "turnserver does not listen");
    Backend::Coturn {
        _process: process,
        plain,
        secure,
    }
}

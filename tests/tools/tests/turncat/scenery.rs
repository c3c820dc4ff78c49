//! What the tests tunnel through: servers with both kinds of authentication, and clients of each near end.

use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use interop_tests::config::{Config, PASSWORD, Transport, USER};
use interop_tests::pki::TestCa;
use interop_tests::process::wait_until;
use interop_tests::stunnerd::{Options, Stunnerd};
use serde_json::json;
use tempfile::TempDir;

use crate::process::{PATIENCE, Turncat};

pub const SECRET: &str = "interop-secret";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Auth {
    Static,
    Ephemeral,
}

/// A `stunnerd` with a listener of each transport on both loopback addresses.
pub struct Server {
    pub stunnerd: Stunnerd,
    pub auth: Auth,
    pub ca_file: PathBuf,
    pub dir: TempDir,
}

impl Server {
    pub fn start(auth: Auth) -> Server {
        Server::start_with(auth, &[], |_| {})
    }

    pub fn start_with(auth: Auth, flags: &[&str], change: impl FnOnce(&mut Config)) -> Server {
        let dir = TempDir::with_prefix("turncat-").expect("temporary folder");
        let ca = TestCa::new();
        let mut config = Config::standard(&ca.ecdsa("turncat"));
        if auth == Auth::Ephemeral {
            config.0["auth"]["type"] = "ephemeral".into();
            config.0["auth"]["credentials"] = json!({ "secret": SECRET });
        }
        change(&mut config);
        Server {
            stunnerd: Stunnerd::start_with(&config, &Options::with(flags)),
            auth,
            ca_file: ca.write_root(dir.path()),
            dir,
        }
    }

    pub fn place(&self, transport: Transport, host: &str) -> String {
        format!("{host}:{}", self.stunnerd.config().port(transport.name()))
    }

    /// The URI, and the flags that go with it.
    pub fn uri(&self, transport: Transport, host: &str) -> (String, Vec<&'static str>) {
        let place = self.place(transport, host);
        let transport = transport.name();
        match self.auth {
            Auth::Static => (
                format!("turn://{USER}:{PASSWORD}@{place}?transport={transport}"),
                Vec::new(),
            ),
            Auth::Ephemeral => (
                format!("turn://ann@{place}?transport={transport}"),
                vec!["--secret", SECRET],
            ),
        }
    }

    /// A `turncat` from `local` through this server to `peer`.
    pub fn turncat(
        &self,
        local: &str,
        transport: Transport,
        host: &str,
        peer: &str,
        flags: &[&str],
    ) -> Turncat {
        self.turncat_onto(Stdio::piped(), local, transport, host, peer, flags)
    }

    /// The same, with a standard output of the test's own.
    pub fn turncat_onto(
        &self,
        stdout: impl Into<Stdio>,
        local: &str,
        transport: Transport,
        host: &str,
        peer: &str,
        flags: &[&str],
    ) -> Turncat {
        let (uri, mut arguments) = self.uri(transport, host);
        arguments.extend(flags);
        arguments.extend([local, &uri, peer]);
        let ca = self.ca_file.to_str().expect("a path");
        Turncat::start_onto(stdout, &arguments, &[("SSL_CERT_FILE", ca)])
    }

    /// The ids of its sessions.
    pub fn sessions(&self) -> Vec<String> {
        let host = self.stunnerd.admin_address();
        let answer = interop_tests::http::get(host, "/api/v1/sessions").expect("sessions");
        let sessions = answer.json()["sessions"].clone();
        let sessions = sessions.as_array().expect("a list").clone();
        let ids = sessions.iter().filter_map(|session| session["id"].as_str());
        ids.map(str::to_owned).collect()
    }

    /// Ends every session, as an administrator would.
    #[track_caller]
    pub fn end_sessions(&self) {
        for id in self.sessions() {
            let path = format!("/api/v1/sessions/{id}");
            let host = self.stunnerd.admin_address();
            let answer = interop_tests::http::request("DELETE", host, &path, None, PATIENCE);
            let status = answer.expect("an answer").status;
            assert!(status < 300, "DELETE {path}: {status}");
        }
    }
}

/// A client of the near end.
pub enum Client {
    Udp(UdpSocket),
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Client {
    /// Connects to `udp://…`, `tcp://…` or `unix://…`.
    #[track_caller]
    pub fn connect(end: &str) -> Client {
        let (scheme, place) = end.split_once("://").expect("a scheme");
        match scheme {
            "udp" => {
                let any = if place.starts_with('[') {
                    "[::1]:0"
                } else {
                    "127.0.0.1:0"
                };
                let socket = UdpSocket::bind(any).expect("bind");
                socket.connect(place).expect("connect");
                Client::Udp(socket)
            }
            "tcp" => {
                let stream = TcpStream::connect(place).expect("connect");
                stream.set_nodelay(true).expect("no delay");
                Client::Tcp(stream)
            }
            "unix" => Client::Unix(UnixStream::connect(place).expect("connect")),
            other => panic!("no client for {other}"),
        }
    }

    #[track_caller]
    pub fn send(&mut self, bytes: &[u8]) {
        match self {
            Client::Udp(socket) => assert_eq!(socket.send(bytes).expect("send"), bytes.len()),
            Client::Tcp(stream) => stream.write_all(bytes).expect("write"),
            Client::Unix(stream) => stream.write_all(bytes).expect("write"),
        }
    }

    /// Receives exactly these bytes, within `patience`.
    pub fn receives(&mut self, expected: &[u8], patience: Duration) -> bool {
        let mut buffer = vec![0; expected.len().max(1)];
        let read = match self {
            Client::Udp(socket) => {
                socket.set_read_timeout(Some(patience)).expect("timeout");
                buffer.resize(65_536, 0);
                socket
                    .recv(&mut buffer)
                    .map(|length| buffer.truncate(length))
            }
            Client::Tcp(stream) => {
                stream.set_read_timeout(Some(patience)).expect("timeout");
                stream.read_exact(&mut buffer)
            }
            Client::Unix(stream) => {
                stream.set_read_timeout(Some(patience)).expect("timeout");
                stream.read_exact(&mut buffer)
            }
        };
        read.is_ok() && buffer == expected
    }

    #[track_caller]
    pub fn echoes(&mut self, bytes: &[u8]) {
        self.send(bytes);
        assert!(
            self.receives(bytes, PATIENCE),
            "no echo of {} bytes",
            bytes.len()
        );
    }

    /// Sends until the last one comes back: for datagrams that may be lost.
    #[track_caller]
    pub fn echoes_in_the_end(&mut self, what: &str) {
        let mut number = 0;
        let back = wait_until(PATIENCE, || {
            number += 1;
            let message = format!("{what} {number:04}");
            self.send(message.as_bytes());
            // Echoes of what was kept meanwhile come first.
            let begin = Instant::now();
            let soon = Duration::from_millis(500);
            while begin.elapsed() < soon {
                if self.receives(message.as_bytes(), Duration::from_millis(100)) {
                    return true;
                }
            }
            false
        });
        assert!(back, "no echo: {what}");
    }
}

pub fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at % 251) as u8).collect()
}

//! Servers of others: coturn's `turnserver` and the original `stunnerd`. The original `turncat` against our server is a
//! part of the interop suite.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::time::Duration;

use interop_tests::config::{Config, PASSWORD, REALM, Transport, USER};
use interop_tests::echo::{TcpEcho, UdpEcho};
use interop_tests::pki::TestCa;
use interop_tests::ports::free_port;
use interop_tests::process::{Process, wait_until};
use interop_tests::{go, http, need, skip};
use serde_json::json;
use tempfile::TempDir;

use crate::process::{PATIENCE, Turncat};
use crate::scenery::{Auth, Client, SECRET, pattern};

/// A server of somebody else's, and how to log in there.
struct Other {
    _process: Process,
    ports: [u16; 4],
    auth: Auth,
    dir: TempDir,
}

impl Other {
    fn turncat(&self, local: &str, transport: Transport, peer: &str) -> Turncat {
        let at = Transport::ALL.iter().position(|one| *one == transport);
        let port = self.ports[at.expect("one of four")];
        let name = transport.name();
        let ca = self.dir.path().join("ca.pem");
        let env = [("SSL_CERT_FILE", ca.to_str().expect("a path"))];
        match self.auth {
            Auth::Static => {
                let uri = format!("turn://{USER}:{PASSWORD}@127.0.0.1:{port}?transport={name}");
                Turncat::start_with(&[local, &uri, peer], &env)
            }
            Auth::Ephemeral => {
                let uri = format!("turn://ann@127.0.0.1:{port}?transport={name}");
                Turncat::start_with(&["--secret", SECRET, local, &uri, peer], &env)
            }
        }
    }

    fn expect_echoes(&self, transport: Transport, sizes: &[usize]) {
        let peer = UdpEcho::start("127.0.0.1:0");
        let peer = format!("udp://{}", peer.address());
        for local in ["udp://127.0.0.1:0", "tcp://127.0.0.1:0"] {
            let mut turncat = self.turncat(local, transport, &peer);
            let mut client = Client::connect(&turncat.ready());
            for size in sizes {
                client.echoes(&pattern(*size));
            }
            assert_eq!(turncat.interrupt().code, Some(0), "{transport:?} {local}");
        }
        let mut turncat = self.turncat("-", transport, &peer);
        turncat.write(&pattern(1000));
        assert!(
            wait_until(PATIENCE, || turncat.stdout() == pattern(1000)),
            "{transport:?} stdin"
        );
        turncat.close_stdin();
        assert_eq!(turncat.end().code, Some(0), "{transport:?} stdin");
    }
}

/// Whether somebody has the UDP port: loopback says at once if not.
fn is_open(port: u16) -> bool {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("bind");
    let patience = Some(Duration::from_millis(100));
    socket.set_read_timeout(patience).expect("timeout");
    socket.connect(("127.0.0.1", port)).expect("connect");
    socket.send(b"?").expect("send");
    let refused = |error: std::io::Error| error.kind() == ErrorKind::ConnectionRefused;
    !socket.recv(&mut [0; 1]).is_err_and(refused)
}

fn coturn(auth: Auth) -> Other {
    let dir = TempDir::with_prefix("turncat-coturn-").expect("temporary folder");
    let ca = TestCa::new();
    ca.write_root(dir.path());
    let (cert, key) = ca.ecdsa("coturn").write(dir.path(), "coturn");
    let (plain, secure) = (free_port(), free_port());
    let mut command = Command::new("turnserver");
    command
        .args([
            "-c",
            "/dev/null",
            "-n",
            "--no-cli",
            "--allow-loopback-peers",
        ])
        .args(["--log-file", "stdout", "--simple-log", "-m", "2"])
        .args(["-L", "127.0.0.1", "-E", "127.0.0.1"])
        .args(["-p", &plain.to_string()])
        .args(["--tls-listening-port", &secure.to_string()])
        .args(["--alt-listening-port", &free_port().to_string()])
        .args(["--alt-tls-listening-port", &free_port().to_string()])
        .args(["-r", REALM])
        .args(["--pidfile".into(), dir.path().join("pid").into_os_string()])
        .args(["--db".into(), dir.path().join("turndb").into_os_string()])
        .args(["--cert".into(), cert.into_os_string()])
        .args(["--pkey".into(), key.into_os_string()]);
    match auth {
        Auth::Static => command.args(["--lt-cred-mech", "-u", &format!("{USER}:{PASSWORD}")]),
        Auth::Ephemeral => command.args(["--use-auth-secret", "--static-auth-secret", SECRET]),
    };
    let process = Process::start("turnserver", command).expect("start turnserver");
    // It opens them one after the other.
    for port in [plain, secure] {
        let up = wait_until(PATIENCE, || {
            TcpStream::connect(("127.0.0.1", port)).is_ok() && is_open(port)
        });
        assert!(up, "turnserver does not listen at {port}");
    }
    Other {
        _process: process,
        ports: [plain, plain, secure, secure],
        auth,
        dir,
    }
}

#[test]
fn coturn_relays_over_every_transport() {
    const NAME: &str = "coturn_relays_over_every_transport";
    need!(NAME, skip::program("turnserver", "coturn"));
    for auth in [Auth::Static, Auth::Ephemeral] {
        let server = coturn(auth);
        for transport in Transport::ALL {
            server.expect_echoes(transport, &[1, 100, 1200]);
        }
    }
}

#[test]
fn coturn_connects_to_peers_over_tcp() {
    need!(
        "coturn_connects_to_peers_over_tcp",
        skip::program("turnserver", "coturn")
    );
    let server = coturn(Auth::Static);
    let peer = TcpEcho::start("127.0.0.1:0");
    let peer = format!("tcp://{}", peer.address());
    for transport in [Transport::Tcp, Transport::Tls] {
        let mut turncat = server.turncat("tcp://127.0.0.1:0", transport, &peer);
        let mut client = Client::connect(&turncat.ready());
        client.echoes(&pattern(100_000));
        assert_eq!(turncat.interrupt().code, Some(0), "{transport:?}");

        // It answers the end of our side with a reset.
        let mut turncat = server.turncat("-", transport, &peer);
        turncat.write(b"hello");
        assert!(wait_until(PATIENCE, || turncat.stdout() == b"hello"));
        turncat.close_stdin();
        let ended = turncat.end();
        assert_eq!(ended.code, Some(0), "{transport:?}: {}", ended.stderr);

        // The end comes with the question: the answer is awaited, and if it takes too long, its loss is told.
        let mut turncat = server.turncat("-", transport, &peer);
        turncat.write(b"hello");
        turncat.close_stdin();
        let ended = turncat.end();
        assert_eq!(ended.code, Some(0), "{transport:?}: {}", ended.stderr);
        let answered = ended.stdout == b"hello";
        let warned = ended.stderr.contains("the peer had not answered");
        assert!(answered != warned, "{transport:?}: {}", ended.stderr);
    }
}

/// A peer that answers only after the end cannot be heard through a server that then ends both directions.
#[test]
fn an_answer_that_coturn_cuts_off_is_told() {
    need!(
        "an_answer_that_coturn_cuts_off_is_told",
        skip::program("turnserver", "coturn")
    );
    let server = coturn(Auth::Static);
    let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
    let peer = format!("tcp://{}", listener.local_addr().expect("an address"));
    let mut turncat = server.turncat("-", Transport::Tcp, &peer);
    turncat.write(b"hello");
    turncat.close_stdin();
    let (mut stream, _) = listener.accept().expect("a connection");
    let mut question = Vec::new();
    // It may end with a reset too.
    let _ = stream.read_to_end(&mut question);
    let _ = stream.write_all(b"answer");
    let ended = turncat.end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let warned = ended.stderr.contains("the peer had not answered");
    assert!(warned || ended.stdout == b"answer", "{}", ended.stderr);
}

fn go_stunnerd(program: &std::path::Path, auth: Auth) -> Other {
    let dir = TempDir::with_prefix("turncat-go-").expect("temporary folder");
    let ca = TestCa::new();
    ca.write_root(dir.path());
    let mut config = Config::standard(&ca.ecdsa("go"));
    for transport in Transport::ALL {
        // The original knows one address per listener.
        config.listener(transport.name())["address"] = "127.0.0.1".into();
    }
    if auth == Auth::Ephemeral {
        config.0["auth"]["type"] = "ephemeral".into();
        config.0["auth"]["credentials"] = json!({ "secret": SECRET });
    }
    let file = dir.path().join("stunnerd.conf");
    std::fs::write(&file, config.text()).expect("write");
    let mut command = Command::new(program);
    let origin = format!("file://{}", file.display());
    command.args(["--config", &origin, "--log", "all:WARN"]);
    let process = Process::start("Go stunnerd", command).expect("start");
    let (health, _) = config.endpoint("healthcheck_endpoint").expect("health");
    let ready = wait_until(Duration::from_secs(20), || {
        http::get(&health, "/ready").is_ok_and(|answer| answer.status == 200)
    });
    assert!(ready, "the original is not ready");
    Other {
        _process: process,
        ports: Transport::ALL.map(|transport| config.port(transport.name())),
        auth,
        dir,
    }
}

#[test]
fn the_original_stunnerd_relays_over_every_transport() {
    let program = need!(
        "the_original_stunnerd_relays_over_every_transport",
        go::go_stunnerd()
    );
    for auth in [Auth::Static, Auth::Ephemeral] {
        let server = go_stunnerd(&program, auth);
        for transport in Transport::ALL {
            // The original holds back a stream frame of eight bytes or less until more follow.
            server.expect_echoes(transport, &[12, 100, 1200]);
        }
    }
}

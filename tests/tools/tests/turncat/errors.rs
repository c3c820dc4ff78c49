//! What goes wrong with a server is told in time, with what to do about it.

use std::process::Command;
use std::time::{Duration, Instant};

use interop_tests::client::Credentials;
use interop_tests::config::{Config, PASSWORD, Transport, USER};
use interop_tests::pki::{Identity, TestCa};
use interop_tests::ports::free_port;
use serde_json::json;

use crate::process::{Ended, Turncat, binary, expect_problem};
use crate::scenery::{Auth, Client, SECRET, Server};

const PEER: &str = "udp://127.0.0.1:9";

fn ask(arguments: &[&str]) -> Ended {
    Turncat::start(arguments).end()
}

/// Standard input finds out by its first allocation, the others by trying the server first.
const LOCALS: [&str; 2] = ["-", "udp://127.0.0.1:0"];

#[test]
fn nobody_at_the_servers_port() {
    for local in LOCALS {
        for transport in Transport::ALL {
            let uri = format!(
                "turn://u:pa55w0rd@127.0.0.1:{}?transport={}",
                free_port(),
                transport.name()
            );
            let ended = ask(&[local, &uri, PEER]);
            expect_problem(&ended, "nothing listens at 127.0.0.1:", "check the port");
        }
    }
}

#[test]
fn a_server_that_does_not_answer_is_told_when_the_time_for_it_is_up() {
    // Somebody listens, and says nothing.
    let udp = std::net::UdpSocket::bind("127.0.0.1:0").expect("bind");
    let tcp = std::net::TcpListener::bind("127.0.0.1:0").expect("bind");
    let udp = udp
        .local_addr()
        .map(|address| (udp, address.port()))
        .expect("a port");
    let tcp_port = tcp.local_addr().expect("a port").port();
    std::thread::scope(|scope| {
        for transport in Transport::ALL {
            let port = if transport.is_stream() {
                tcp_port
            } else {
                udp.1
            };
            for local in LOCALS {
                scope.spawn(move || {
                    let uri = format!(
                        "turn://u:pa55w0rd@127.0.0.1:{port}?transport={}",
                        transport.name()
                    );
                    let begin = Instant::now();
                    let ended = ask(&["--connect-timeout", "2s", local, &uri, PEER]);
                    expect_problem(&ended, "no answer from ", "check");
                    let waited = begin.elapsed();
                    // Sooner than the default of 8 s, whichever step is silent.
                    let bounds = Duration::from_secs(2)..Duration::from_secs(8);
                    assert!(bounds.contains(&waited), "{transport:?}: {waited:?}");
                });
            }
        }
    });
}

/// At the default log level, and not again with every attempt.
#[test]
fn a_server_that_does_not_answer_the_first_client_is_told_once() {
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").expect("bind");
    let port = silent.local_addr().expect("a port").port();
    let uri = format!("turn://u:pa55w0rd@127.0.0.1:{port}");
    let flags = ["--no-check", "--connect-timeout", "500ms"];
    let arguments = [&flags[..], &["udp://127.0.0.1:0", &uri, PEER]].concat();
    let mut turncat = Turncat::start(&arguments);
    let end = turncat.ready();
    for mut client in [Client::connect(&end), Client::connect(&end)] {
        client.send(b"hello");
    }
    turncat.wait_stderr("trying again");
    // Some more attempts.
    std::thread::sleep(Duration::from_secs(3));
    let ended = turncat.interrupt();
    let told = ended.stderr.matches("trying again").count();
    assert_eq!(told, 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("no answer from "), "{}", ended.stderr);
}

#[test]
fn wrong_credentials() {
    let server = Server::start(Auth::Static);
    for local in LOCALS {
        for transport in Transport::ALL {
            let place = server.place(transport, "127.0.0.1");
            let uri = format!(
                "turn://{USER}:pa55w0rd@{place}?transport={}",
                transport.name()
            );
            let ended = ask(&["-i", local, &uri, PEER]);
            expect_problem(&ended, "127.0.0.1:", "check the user name and password");
            assert!(ended.stderr.contains(USER), "{}", ended.stderr);
        }
        let uri = format!("turn:{}", server.place(Transport::Udp, "127.0.0.1"));
        let ended = ask(&[local, &uri, PEER]);
        expect_problem(&ended, "127.0.0.1:", "turn://USER:PASSWORD@HOST:PORT");
    }
    let server = Server::start(Auth::Ephemeral);
    let uri = format!("turn://ann@{}", server.place(Transport::Udp, "127.0.0.1"));
    let ended = ask(&["--secret", "pa55w0rd", "-", &uri, PEER]);
    expect_problem(&ended, "127.0.0.1:", "another secret");
}

/// The user name of an ephemeral credential has a colon, which a URI writes as `%3A`.
#[test]
fn minted_credentials_fit_into_a_uri() {
    let server = Server::start(Auth::Ephemeral);
    let peer = interop_tests::echo::UdpEcho::start("127.0.0.1:0");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let user = format!("{}:ann", now.expect("a time").as_secs() + 60);
    let minted = Credentials::ephemeral(&user, SECRET);
    let (user, password) = (
        user.replace(':', "%3A"),
        minted.password.replace('/', "%2F"),
    );
    let place = server.place(Transport::Udp, "127.0.0.1");
    let uri = format!("turn://{user}:{password}@{place}");
    let mut turncat = Turncat::start(&[
        "udp://127.0.0.1:0",
        &uri,
        &format!("udp://{}", peer.address()),
    ]);
    Client::connect(&turncat.ready()).echoes(b"hello");
}

fn server_with(identity: &Identity) -> Server {
    Server::start_with(Auth::Static, &[], |config| {
        *config = Config::standard(identity)
    })
}

#[test]
fn certificates_that_are_not_to_be_trusted() {
    let (ca, dir) = (TestCa::new(), tempfile::tempdir().expect("a folder"));
    let root = ca.write_root(dir.path()).display().to_string();
    let env = [("SSL_CERT_FILE", root.as_str())];
    let expired = server_with(&ca.expired("expired"));
    let unknown = server_with(&ca.ecdsa("unknown"));
    for transport in [Transport::Tls, Transport::Dtls] {
        let uri = |server: &Server, host: &str| {
            let place = server.place(transport, host);
            format!(
                "turn://{USER}:{PASSWORD}@{place}?transport={}",
                transport.name()
            )
        };
        let ended = Turncat::start_with(&["-", &uri(&expired, "127.0.0.1"), PEER], &env).end();
        expect_problem(
            &ended,
            "the certificate of 127.0.0.1:",
            "renew the certificate",
        );

        let ended = ask(&["-", &uri(&unknown, "127.0.0.1"), PEER]);
        expect_problem(&ended, "the certificate of 127.0.0.1:", "SSL_CERT_FILE");

        // The name that is asked for is the name that is checked.
        let other = [
            "--sni",
            "other.example",
            "-",
            &uri(&unknown, "127.0.0.1"),
            PEER,
        ];
        let ended = Turncat::start_with(&other, &env).end();
        expect_problem(&ended, "the certificate of 127.0.0.1:", "--sni");
        let right = [
            "--sni",
            "turn.example.test",
            "-",
            &uri(&unknown, "127.0.0.1"),
            PEER,
        ];
        let mut turncat = Turncat::start_with(&right, &env);
        turncat.close_stdin();
        assert_eq!(turncat.end().code, Some(0));

        let mut turncat = Turncat::start(&["--insecure", "-", &uri(&expired, "127.0.0.1"), PEER]);
        turncat.close_stdin();
        assert_eq!(
            turncat.end().code,
            Some(0),
            "{transport:?}: --insecure takes any certificate"
        );
    }
}

#[test]
fn a_peer_that_no_route_admits() {
    let server = Server::start_with(Auth::Static, &[], |config| {
        config.cluster("udp")["endpoints"] = json!(["10.0.0.1"]);
    });
    for local in LOCALS {
        let turncat = server.turncat(local, Transport::Udp, "127.0.0.1", PEER, &[]);
        let ended = turncat.end();
        expect_problem(&ended, "127.0.0.1:", "no route admits this peer");
    }
}

#[test]
fn names_that_do_not_resolve() {
    let server = Server::start(Auth::Static);
    let uri = "turn://u:pa55w0rd@no.such.host.invalid";
    expect_problem(
        &ask(&["-", uri, PEER]),
        "cannot resolve `no.such.host.invalid`",
        "DNS",
    );
    let peer = "udp://no.such.host.invalid:9";
    let ended = server
        .turncat("-", Transport::Udp, "127.0.0.1", peer, &[])
        .end();
    expect_problem(
        &ended,
        "cannot resolve the peer `no.such.host.invalid`",
        "IP address",
    );
    let local = "udp://no.such.host.invalid:9";
    let ended = server
        .turncat(local, Transport::Udp, "127.0.0.1", PEER, &[])
        .end();
    expect_problem(
        &ended,
        "cannot resolve `no.such.host.invalid`",
        "address of this host",
    );
}

#[test]
fn usage_mistakes_exit_2_and_malformed_uris_1() {
    for (arguments, code) in [
        (vec![], 2),
        (vec!["udp://127.0.0.1:1"], 2),
        (vec!["--no-such-flag"], 2),
        (vec!["--linger", "soon", "-", "turn://u:p@h", PEER], 2),
        (vec!["-l", "bogus", "-", "turn://u:p@h", PEER], 2),
        (vec!["--sni", "bad name", "-", "turn://u:p@h", PEER], 2),
        (vec!["-", "nonsense", PEER], 1),
        (vec!["-", "turn://u:pa55w0rd@h?transport=sctp", PEER], 1),
        (vec!["xyz://127.0.0.1:1", "turn://u:p@h", PEER], 1),
    ] {
        let ended = ask(&arguments);
        assert_eq!(ended.code, Some(code), "{arguments:?}: {}", ended.stderr);
        assert!(
            ended.stderr.starts_with("error: ") && ended.stderr.contains("\nhint: "),
            "{}",
            ended.stderr
        );
        assert!(ended.stdout.is_empty() && !ended.stderr.contains("pa55w0rd"));
    }
    let help = Command::new(binary()).arg("--help").output().expect("run");
    assert!(help.status.success() && help.stdout.starts_with(b"Tunnels "));
    let version = Command::new(binary())
        .arg("--version")
        .output()
        .expect("run");
    assert!(version.status.success() && version.stdout.starts_with(b"turncat "));
}

/// Not at any log level.
#[test]
fn passwords_are_in_no_log() {
    let server = Server::start(Auth::Ephemeral);
    let peer = interop_tests::echo::UdpEcho::start("127.0.0.1:0");
    let peer = format!("udp://{}", peer.address());
    let flags = ["-l", "all:TRACE,hyper:TRACE"];
    let mut turncat = server.turncat(
        "udp://127.0.0.1:0",
        Transport::Tls,
        "127.0.0.1",
        &peer,
        &flags,
    );
    Client::connect(&turncat.ready()).echoes(b"hello");
    let ended = turncat.interrupt();
    assert!(ended.stderr.contains("new client"), "{}", ended.stderr);
    assert!(!ended.stderr.contains(SECRET), "{}", ended.stderr);
}

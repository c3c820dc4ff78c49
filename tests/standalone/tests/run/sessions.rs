//! What live sessions notice of edits that concern them: nothing, as long as their listener is there.

use std::net::SocketAddr;

use interop_tests::client::{Credentials, TurnClient};
use interop_tests::config::Transport;
use interop_tests::echo::UdpEcho;
use interop_tests::pki::{Identity, TestCa};
use interop_tests::ports::free_port;
use interop_tests::process::wait_until;
use standalone_tests::manifests::{Folder, class_with, gateway};
use standalone_tests::stunner::{PATIENCE, Stunner, client};

fn with_password(folder: &Folder, password: &str) {
    let class = class_with(&format!("userName: user-1\n  password: {password}"));
    folder.write("class.yaml", &class);
}

fn server(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

/// Whether a newcomer with this password gets an allocation.
fn is_let_in(port: u16, password: &str) -> bool {
    let credentials = Credentials::new("user-1", password);
    let client = TurnClient::connect(Transport::Udp, server(port), "");
    client.with_credentials(credentials).allocate().is_ok()
}

#[test]
fn new_credentials_are_for_newcomers() {
    let (port, echo) = (free_port(), UdpEcho::start("127.0.0.1:0"));
    let folder = Folder::quickstart(port);
    let stunner = Stunner::run(&[folder.path()], &[]);
    let mut old = client(port);
    old.join(0x4000, echo.address());
    with_password(&folder, "another");
    let changed = stunner.wait_event("changed");
    assert_eq!(changed["sessions"]["kept"], 1, "{changed:#}");
    assert!(wait_until(PATIENCE, || is_let_in(port, "another")));
    assert!(!is_let_in(port, "pass-1"));
    assert!(old.echoes(0x4000, b"still here"));
    let lines = stunner.lines().join("\n");
    assert!(
        !lines.contains("another"),
        "a password in what is told of a change"
    );
}

#[test]
fn a_secret_that_comes_back_with_other_credentials_counts() {
    let (port, echo) = (free_port(), UdpEcho::start("127.0.0.1:0"));
    let folder = Folder::quickstart(port);
    let class = class_with("authRef:\n    name: credentials\n    namespace: default");
    folder.write("class.yaml", &class);
    let secret = |password: &str| {
        let text = format!(
            "apiVersion: v1\nkind: Secret\nmetadata:\n  name: credentials\n  namespace: default\n\
             stringData:\n  type: static\n  username: user-1\n  password: {password}\n"
        );
        folder.write("secret.yaml", &text);
    };
    secret("pass-1");
    let stunner = Stunner::run(&[folder.path()], &[]);
    let mut old = client(port);
    old.join(0x4000, echo.address());
    folder.remove("secret.yaml");
    stunner.wait_event("changed");
    assert!(is_let_in(port, "pass-1"));
    secret("third");
    assert!(wait_until(PATIENCE, || is_let_in(port, "third")));
    assert!(!is_let_in(port, "pass-1"));
    assert!(old.echoes(0x4000, b"still here"));
    // The check comes after the edit is in force.
    let no_problem_is_left = || stunner.state()["problems"].as_array().map(Vec::len) == Some(0);
    assert!(
        wait_until(PATIENCE, no_problem_is_left),
        "{:#}",
        stunner.state()
    );
}

fn tls_gateway(port: u16, protocol: &str) -> String {
    let listener = gateway("gw", &[("tls", protocol, port)]);
    format!("{listener}    tls:\n      certificateRefs:\n      - name: identity\n")
}

fn tls_secret(identity: &Identity) -> String {
    format!(
        "apiVersion: v1\nkind: Secret\ntype: kubernetes.io/tls\nmetadata:\n  name: identity\n  namespace: default\n\
         data:\n  tls.crt: {}\n  tls.key: {}\n",
        identity.cert_base64(),
        identity.key_base64()
    )
}

#[test]
fn a_new_certificate_is_for_new_connections() {
    let (port, echo, pki) = (free_port(), UdpEcho::start("127.0.0.1:0"), TestCa::new());
    let folder = Folder::quickstart(port);
    folder.write("gateway.yaml", &tls_gateway(port, "TURN-TLS"));
    folder.write("secret.yaml", &tls_secret(&pki.ecdsa("first.example.org")));
    let stunner = Stunner::run(&[folder.path()], &[]);
    let connect = || {
        let client = TurnClient::connect(Transport::Tls, server(port), pki.root_pem());
        client.with_credentials(Credentials::new("user-1", "pass-1"))
    };
    let mut old = connect();
    old.join(0x4000, echo.address());
    let first = old.link.server_certificate();
    // Half of a certificate does not count, and nobody notices.
    let broken = tls_secret(&pki.ecdsa("second.example.org")).replace("tls.crt: ", "tls.crt: AAAA");
    folder.write("secret.yaml", &broken);
    stunner.wait_event("problem");
    assert_eq!(connect().link.server_certificate(), first);
    folder.write("secret.yaml", &tls_secret(&pki.ecdsa("second.example.org")));
    assert!(wait_until(PATIENCE, || {
        connect().link.server_certificate() != first
    }));
    assert!(old.echoes(0x4000, b"still here"));
    connect().join(0x4000, echo.address());
}

#[test]
fn a_listener_may_change_its_protocol_under_a_session() {
    let (port, echo, pki) = (free_port(), UdpEcho::start("127.0.0.1:0"), TestCa::new());
    let folder = Folder::quickstart(port);
    folder.write("gateway.yaml", &gateway("gw", &[("tls", "TURN-UDP", port)]));
    folder.write("secret.yaml", &tls_secret(&pki.ecdsa("a.example.org")));
    let stunner = Stunner::run(&[folder.path()], &[]);
    let mut old = client(port);
    old.join(0x4000, echo.address());
    folder.write("gateway.yaml", &tls_gateway(port, "TURN-DTLS"));
    let changed = stunner.wait_event("changed");
    assert_eq!(changed["sessions"]["ended"], 0, "{changed:#}");
    assert_eq!(
        changed["gateways"][0]["listeners"][0]["protocol"],
        "TURN-DTLS"
    );
    assert!(old.echoes(0x4000, b"still here"));
    let mut new = TurnClient::connect(Transport::Dtls, server(port), pki.root_pem())
        .with_credentials(Credentials::new("user-1", "pass-1"));
    new.join(0x4001, echo.address());
}

#[test]
fn a_gateway_under_another_name_takes_over_the_port() {
    let (port, echo) = (free_port(), UdpEcho::start("127.0.0.1:0"));
    let folder = Folder::quickstart(port);
    let stunner = Stunner::run(&[folder.path()], &["--drain-timeout", "8s"]);
    let mut old = client(port);
    old.join(0x4000, echo.address());
    folder.write(
        "gateway.yaml",
        &gateway("renamed", &[("udp", "TURN-UDP", port)]),
    );
    let route = std::fs::read_to_string(folder.file("route.yaml")).expect("a file");
    folder.write("route.yaml", &route.replace("name: gw", "name: renamed"));
    stunner.wait_event("changed");
    assert!(old.echoes(0x4000, b"while the old one drains"));
    let joined = wait_until(PATIENCE, || client(port).allocate().is_ok());
    assert!(joined, "{:#?}", stunner.events());
    // The route is in another file.
    let mut new = client(port);
    new.allocate().expect("an allocation");
    assert!(wait_until(PATIENCE, || new
        .bind(0x4001, echo.address())
        .is_ok()));
    assert!(new.echoes(0x4001, b"hello"));
    // The old one is listed while it drains.
    let alone = wait_until(PATIENCE, || {
        let status = stunner.health("/status").expect("a status").json();
        status.as_array().map(Vec::len) == Some(1)
    });
    assert!(alone, "{:#?}", stunner.health("/status"));
}

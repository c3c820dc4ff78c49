//! TURN servers without a cluster.

use std::net::UdpSocket;
use std::process::Command;

use interop_tests::binary;
use interop_tests::config::{Config, PASSWORD, Transport, USER};
use interop_tests::ended::{Ended, run_to_end};
use interop_tests::pki::TestCa;
use interop_tests::ports::free_port;
use interop_tests::stunnerd::Stunnerd;
use serde_json::Value;

use crate::world::lines;

fn doctor(args: &[&str]) -> Ended {
    let mut command = Command::new(binary::stunnerctl());
    command.args(["doctor", "--timeout", "1s"]).args(args);
    run_to_end(&mut command, "")
}

fn walk(args: &[&str]) -> (Option<i32>, Value) {
    let said = doctor(&[args, &["-o", "json"]].concat());
    assert!(!format!("{said:?}").contains(PASSWORD), "{said:?}");
    (said.code, said.json())
}

#[test]
fn any_turn_server_is_looked_at_over_every_transport() {
    let ca = TestCa::new();
    let config = Config::standard(&ca.ecdsa("turn"));
    let _server = Stunnerd::start(&config);
    for transport in Transport::ALL {
        let word = transport.name();
        let port = config.port(word);
        let uri = format!("turn://{USER}:{PASSWORD}@127.0.0.1:{port}?transport={word}");
        let (code, walk) = walk(&["--turn", &uri]);
        assert_eq!(code, Some(0), "{word}: {walk:#}");
        assert_eq!(
            lines(&walk, "allocate")[0]["verdict"],
            "ok",
            "{word}: {walk:#}"
        );
        let shown = lines(&walk, "certificate").len();
        assert_eq!(
            shown,
            usize::from(transport.is_secure()),
            "{word}: {walk:#}"
        );
        let given = format!("turn:127.0.0.1:{port}?transport={word}");
        let (code, refused) =
            self::walk(&["--turn", &given, "--username", USER, "--password", "no"]);
        assert_eq!(
            (code, &refused["deadHop"]),
            (Some(1), &Value::from("allocate")),
            "{word}: {refused:#}"
        );
        let (code, open) = self::walk(&["--turn", &given]);
        assert_eq!(code, Some(0), "{word}: {open:#}");
        assert_eq!(
            lines(&open, "allocate")[0]["verdict"],
            "skipped",
            "{word}: {open:#}"
        );
    }
}

#[test]
fn closed_ports_and_silence_are_told_apart() {
    let port = free_port();
    let closed = format!("turn:127.0.0.1:{port}?transport=udp");
    let (code, found) = walk(&["--turn", &closed]);
    assert_eq!(
        (code, &found["deadHop"]),
        (Some(1), &Value::from("stun")),
        "{found:#}"
    );
    assert!(found.to_string().contains("is closed"), "{found:#}");
    let hole = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let silent = format!(
        "turn:{}?transport=udp",
        hole.local_addr().expect("an address")
    );
    let (code, found) = walk(&["--turn", &silent]);
    assert_eq!(
        (code, &found["deadHop"]),
        (Some(1), &Value::from("stun")),
        "{found:#}"
    );
    assert!(found.to_string().contains("no answer"), "{found:#}");
    let (code, found) = walk(&["--turn", "turn:turn.invalid"]);
    assert_eq!(
        (code, &found["deadHop"]),
        (Some(1), &Value::from("dns")),
        "{found:#}"
    );
}

/// Nobody who looks at a server without a cluster has a load balancer to look at.
#[test]
fn a_server_without_a_cluster_gets_hints_of_its_own() {
    let ca = TestCa::new();
    let config = Config::standard(&ca.ecdsa("turn"));
    let _server = Stunnerd::start(&config);
    let tls = config.port("tls");
    let plain = format!("turn:127.0.0.1:{tls}?transport=tcp");
    let closed = format!("turn:127.0.0.1:{}?transport=tcp", free_port());
    for (uri, hop, hint) in [
        (plain.as_str(), "stun", "a TLS port is `turns:"),
        (&closed, "stun", "see whether the server runs"),
        ("turn:turn.invalid", "dns", "check the spelling"),
    ] {
        let (code, found) = walk(&["--turn", uri]);
        assert_eq!((code, &found["deadHop"]), (Some(1), &Value::from(hop)));
        let text = found.to_string();
        assert!(text.contains(hint), "{uri}: {found:#}");
        for word in ["kubectl", "Gateway", "load balancer"] {
            assert!(!text.contains(word), "{uri}: {found:#}");
        }
    }
}

#[test]
fn mistakes_on_the_command_line_are_usage() {
    for args in [
        &["a/b/c"][..],
        &["a", "b"],
        &["gateway", "--turn", "turn:127.0.0.1"],
        &["--turn", "turn:127.0.0.1", "--no-network"],
        &["--username", "somebody"],
        &["--secret", "s", "--username", "u", "--password", "p"],
        &["--timeout", "soon"],
        &["-o", "nothing"],
    ] {
        let said = doctor(args);
        assert_eq!(said.code, Some(2), "{args:?}: {said:?}");
        assert!(
            said.stderr.contains("error: ") && said.stderr.contains("hint: "),
            "{args:?}: {said:?}"
        );
    }
    // What is no URI is a problem, as everywhere.
    let said = doctor(&["--turn", "http://127.0.0.1"]);
    assert_eq!(said.code, Some(1), "{said:?}");
}

#[test]
fn a_process_is_asked_for_its_listeners() {
    let ca = TestCa::new();
    let config = Config::standard(&ca.ecdsa("turn"));
    let server = Stunnerd::start(&config);
    let admin = server.admin_address().to_owned();
    let here = ["--admin", &admin];
    // With credentials that are given, and as a guest.
    for given in [&["--username", USER, "--password", PASSWORD][..], &[]] {
        let (code, found) = walk(&[&here[..], given].concat());
        assert_eq!(code, Some(0), "{found:#}");
        assert_eq!(lines(&found, "pods")[0]["verdict"], "ok", "{found:#}");
        let allocated = lines(&found, "allocate");
        assert_eq!(allocated.len(), 4, "{found:#}");
        assert!(
            allocated.iter().all(|it| it["verdict"] == "ok"),
            "{found:#}"
        );
        // A guest has a peer to reach.
        let reached = lines(&found, "peer").len();
        assert_eq!(reached, if given.is_empty() { 4 } else { 0 }, "{found:#}");
    }
    let (code, found) = walk(&[&here[..], &["--username", USER, "--password", "no"]].concat());
    assert_eq!(
        (code, &found["deadHop"]),
        (Some(1), &Value::from("allocate")),
        "{found:#}"
    );
    let (code, found) = walk(&[&here[..], &["--listener", "none"]].concat());
    assert_eq!(
        (code, &found["deadHop"]),
        (Some(1), &Value::from("listener")),
        "{found:#}"
    );
    drop(server);
    let (code, found) = walk(&here);
    assert_eq!(
        (code, &found["deadHop"]),
        (Some(1), &Value::from("pods")),
        "{found:#}"
    );
}

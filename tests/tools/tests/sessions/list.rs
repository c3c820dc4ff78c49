//! What `sessions` shows.

use interop_tests::config::Transport;
use interop_tests::scene::Scene;
use serde_json::json;

use crate::scenery::{CHANNEL, Scenery, ctl};

#[test]
fn a_live_session_is_listed_with_its_user_addresses_peers_and_bytes() {
    let scenery = Scenery::start();
    let empty = scenery.ctl(&["sessions"]).with_code(0);
    assert_eq!(
        empty.stdout,
        "ID  USER  CLIENT  RELAYED  PEERS  AGE  TO PEERS  TO CLIENT\n"
    );
    let mut session = scenery.session();
    assert!(session.echoes(CHANNEL, &[7; 1000]));
    let listed = scenery.ctl(&["sessions", "-o", "json"]).with_code(0);
    let values = listed.values();
    assert_eq!(values.len(), 1, "{listed:?}");
    let value = &values[0];
    assert_eq!(value["user"], "user-1");
    assert_eq!(value["listener"], "default/one/udp");
    assert_eq!(value["client"], session.link.local().to_string());
    assert_eq!(value["transport"], "udp");
    assert_eq!(value["pod"], json!(null));
    // `join` has sent four bytes before.
    assert_eq!(value["to_peers"], json!({ "packets": 2, "bytes": 1004 }));
    assert_eq!(value["to_client"], json!({ "packets": 2, "bytes": 1004 }));
    let peers = value["peers"].as_array().expect("peers");
    let channel = peers.iter().find(|peer| peer["channel"] == 16384);
    assert_eq!(
        channel.map(|peer| &peer["peer"]),
        Some(&json!(scenery.peer.address().to_string()))
    );

    let table = scenery.ctl(&["sessions"]).with_code(0);
    let line = table.stdout.lines().nth(1).expect("a line");
    for part in [
        value["id"].as_str().expect("an id"),
        "user-1",
        &session.link.local().to_string(),
        &scenery.peer.address().to_string(),
        "1.00k",
    ] {
        assert!(line.contains(part), "{part} is missing: {line}");
    }
    let wide = scenery.ctl(&["sessions", "-o", "wide"]).with_code(0);
    assert!(
        wide.stdout.contains("LISTENER") && wide.stdout.contains("default/one/udp"),
        "{}",
        wide.stdout
    );
    let yaml = scenery.ctl(&["sessions", "-o", "yaml"]).with_code(0);
    assert!(yaml.stdout.contains("user: user-1"), "{}", yaml.stdout);
    let path = scenery.ctl(&["sessions", "-o", "jsonpath={.user} {.to_peers.bytes}"]);
    assert_eq!(path.with_code(0).stdout, "user-1 1004\n");
    assert!(!listed.stdout.contains("pass-1"), "no password is shown");
}

#[test]
fn sessions_are_selected_by_gateway_user_client_peer_and_listener() {
    let scenery = Scenery::start();
    let first = scenery.session();
    let _second = scenery.session_at(scenery.two);
    let client = first.link.local().to_string();
    let peer = scenery.peer.address().to_string();
    let cases: &[(&[&str], usize)] = &[
        (&[], 2),
        (&["one"], 1),
        (&["default/two"], 1),
        (&["one", "-n", "elsewhere", "-a"], 1),
        (&["--username", "user-1"], 2),
        (&["-u", "nobody"], 0),
        (&["--client", "127.0.0.1"], 2),
        (&["--client", &client], 1),
        (&["--peer", &peer], 2),
        (&["--peer", "10.9.9.9"], 0),
        (&["--listener", "udp"], 2),
        (&["--listener", "default/one/udp"], 1),
        (&["--listener", "tcp"], 0),
    ];
    for (arguments, count) in cases {
        let mut all = vec!["sessions", "-o", "json"];
        all.extend(*arguments);
        let listed = scenery.ctl(&all).with_code(0);
        assert_eq!(listed.values().len(), *count, "{arguments:?}");
    }
}

#[test]
fn a_gateway_that_the_process_does_not_serve_is_told_with_those_it_does() {
    let scenery = Scenery::start();
    let cases: &[&[&str]] = &[
        &["sessions", "default/three"],
        &["sessions", "one", "-n", "elsewhere"],
        &["top", "nosuch", "--once"],
        &["doctor", "nosuch"],
    ];
    for arguments in cases {
        let ran = scenery.ctl(arguments).with_code(1);
        let hint = "hint: it serves default/one, default/two";
        assert!(ran.stderr.contains(hint), "{arguments:?}: {}", ran.stderr);
        assert_eq!(ran.stdout, "");
    }
}

#[test]
fn sessions_of_all_four_transports_of_stunnerd_are_listed_in_a_stable_order() {
    let scene = Scene::start();
    let _sessions = scene.sessions();
    let list = || {
        ctl(&[
            "sessions",
            "--admin",
            scene.server.admin_address(),
            "-o",
            "json",
        ])
    };
    let values = list().with_code(0).values();
    let mut transports: Vec<&str> = values
        .iter()
        .map(|value| value["transport"].as_str().expect("a transport"))
        .collect();
    transports.sort_unstable();
    let mut expected: Vec<&str> = Transport::ALL.iter().map(|it| it.name()).collect();
    expected.sort_unstable();
    assert_eq!(transports, expected);
    let ids = |ran: Vec<serde_json::Value>| -> Vec<String> {
        ran.iter().map(|value| value["id"].to_string()).collect()
    };
    assert_eq!(ids(values), ids(list().values()));
}

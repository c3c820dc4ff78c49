//! What is listed, and what is meant.

use serde_json::{Value, json};
use stunner_cluster::Session;

use super::list;
use super::selection::{Address, Found, Selection, split_id};

fn session(changes: Value) -> Session {
    let mut value = json!({
        "id": "0-17-3", "user": "ann", "listener": "stunner/udp-gateway/udp",
        "client": "198.51.100.7:40000", "transport": "udp", "relayed": ["192.0.2.1:50000"],
        "relay_transport": "udp",
        "peers": [
            { "peer": "10.0.0.1", "expires_in_seconds": 212 },
            { "peer": "10.0.0.1:5000", "channel": 16384, "expires_in_seconds": 500 },
            { "peer": "10.0.0.2", "expires_in_seconds": 212 },
        ],
        "age_seconds": 61, "idle_seconds": 1, "expires_in_seconds": 539,
        "to_peers": { "packets": 3012, "bytes": 602400 },
        "to_client": { "packets": 2988, "bytes": 5976000 },
    });
    for (name, change) in changes.as_object().into_iter().flatten() {
        value[name] = change.clone();
    }
    serde_json::from_value(value).expect("a session")
}

fn found(pod: Option<&str>, changes: Value) -> Found {
    Found {
        pod: pod.map(str::to_owned),
        session: session(changes),
    }
}

#[test]
fn sessions_are_listed_with_user_client_relay_peers_age_and_bytes() {
    let all = [
        found(Some("stunner/udp-gateway-7c9-x2"), json!({})),
        found(
            None,
            json!({ "id": "2.0-1-1", "user": "bob\u{1b}[2J", "client": "[2001:db8::7]:9",
                    "peers": [], "relayed": ["192.0.2.1:50001", "[2001:db8::1]:50001"] }),
        ),
    ];
    let expected = "\
ID                                 USER          CLIENT              RELAYED                              PEERS                   AGE    TO PEERS  TO CLIENT
stunner/udp-gateway-7c9-x2/0-17-3  ann           198.51.100.7:40000  192.0.2.1:50000                      10.0.0.1:5000,10.0.0.2  1m01s  602k      5.98M
2.0-1-1                            bob\\u{1b}[2J  [2001:db8::7]:9     192.0.2.1:50001,[2001:db8::1]:50001  -                       1m01s  602k      5.98M
";
    assert_eq!(list::table(&all, false), expected);
    let wide = list::table(&all[..1], true);
    assert!(wide.contains("PACKETS TO PEERS"), "{wide}");
    assert!(
        wide.contains("stunner/udp-gateway/udp  udp  udp    1s    8m59s    3012"),
        "{wide}"
    );
}

#[test]
fn many_peers_are_counted_unless_all_are_wanted() {
    let peers: Vec<Value> = (1..6)
        .map(|n| json!({ "peer": format!("10.0.0.{n}") }))
        .collect();
    let all = [found(None, json!({ "peers": peers }))];
    assert!(list::table(&all, false).contains("10.0.0.1,10.0.0.2,+3"));
    assert!(list::table(&all, true).contains("10.0.0.1,10.0.0.2,10.0.0.3,10.0.0.4,10.0.0.5"));
}

#[test]
fn an_empty_list_has_a_heading() {
    assert_eq!(
        list::table(&[], false),
        "ID  USER  CLIENT  RELAYED  PEERS  AGE  TO PEERS  TO CLIENT\n"
    );
}

#[test]
fn programs_get_the_id_that_is_good_everywhere_and_the_pod() {
    let value = list::value(&found(Some("ns/pod"), json!({})));
    assert_eq!(value["id"], "ns/pod/0-17-3");
    assert_eq!(value["pod"], "ns/pod");
    assert_eq!(value["to_peers"]["bytes"], 602_400);
    let local = list::value(&found(None, json!({})));
    assert_eq!(
        (&local["id"], &local["pod"]),
        (&json!("0-17-3"), &Value::Null)
    );
}

#[test]
fn an_id_says_which_pod_has_the_session() {
    assert_eq!(split_id("ns/pod/0-17-3"), (Some("ns/pod"), "0-17-3"));
    assert_eq!(split_id("2.0-17-3"), (None, "2.0-17-3"));
}

#[test]
fn a_selection_holds_when_all_of_it_holds() {
    let address = |text: &str| Some(Address::read(text).unwrap_or_else(|_| panic!("{text}")));
    let one = session(json!({}));
    let text = |text: &str| Some(text.to_owned());
    let cases = [
        (Selection::default(), true),
        (
            Selection {
                user: text("ann"),
                ..Selection::default()
            },
            true,
        ),
        (
            Selection {
                user: text("an"),
                ..Selection::default()
            },
            false,
        ),
        (
            Selection {
                client: address("198.51.100.7"),
                ..Selection::default()
            },
            true,
        ),
        (
            Selection {
                client: address("::ffff:198.51.100.7"),
                ..Selection::default()
            },
            true,
        ),
        (
            Selection {
                client: address("198.51.100.7:40000"),
                ..Selection::default()
            },
            true,
        ),
        (
            Selection {
                client: address("198.51.100.7:1"),
                ..Selection::default()
            },
            false,
        ),
        (
            Selection {
                listener: text("udp"),
                ..Selection::default()
            },
            true,
        ),
        (
            Selection {
                listener: text("stunner/udp-gateway/udp"),
                ..Selection::default()
            },
            true,
        ),
        (
            Selection {
                listener: text("stunner/other/udp"),
                ..Selection::default()
            },
            false,
        ),
        (
            Selection {
                peer: address("10.0.0.1:5000"),
                ..Selection::default()
            },
            true,
        ),
        // A permission is for all ports.
        (
            Selection {
                peer: address("10.0.0.2:9"),
                ..Selection::default()
            },
            true,
        ),
        (
            Selection {
                peer: address("10.0.0.3"),
                ..Selection::default()
            },
            false,
        ),
        (
            Selection {
                user: text("ann"),
                client: address("192.0.2.9"),
                ..Selection::default()
            },
            false,
        ),
    ];
    for (selection, holds) in cases {
        assert_eq!(selection.covers(&one), holds, "{selection:?}");
    }
}

#[test]
fn addresses_are_read_with_and_without_ports() {
    for text in [
        "192.0.2.1",
        "192.0.2.1:7",
        "2001:db8::1",
        "[2001:db8::1]",
        "[2001:db8::1]:7",
    ] {
        assert!(Address::read(text).is_ok(), "{text}");
    }
    for text in ["", "name", "192.0.2.1:", "192.0.2.1:99999", "192.0.2.0/24"] {
        assert!(Address::read(text).is_err(), "{text}");
    }
}

//! A gateway believes the credentials that are handed out.

use std::net::SocketAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use interop_tests::client::{Credentials, TurnClient};
use interop_tests::config::{Config, Transport};
use interop_tests::echo::UdpEcho;
use interop_tests::ports::free_port;
use interop_tests::stunnerd::Stunnerd;
use serde_json::{Value, json};

use crate::process::Authd;

/// In seconds: plenty for one allocation.
const TTL: u64 = 10;

/// A gateway, and a service that reads the very same configuration.
fn world(auth: Value) -> (Stunnerd, Authd) {
    let mut config = Config::empty();
    config.0["auth"] = auth;
    config.add_listener("interop/gateway/udp", Transport::Udp, free_port(), None);
    config.add_listener("interop/gateway/tcp", Transport::Tcp, free_port(), None);
    let stunnerd = Stunnerd::start(&config);
    let path = stunnerd.config_file().display().to_string();
    let authd = Authd::start(&["--config", &path]);
    (stunnerd, authd)
}

/// The server of a URI such as `turn:127.0.0.1:3478?transport=udp`.
fn server(uri: &str) -> (Transport, SocketAddr) {
    let (place, transport) = uri.split_once("?transport=").expect("a transport");
    let transport = match transport {
        "udp" => Transport::Udp,
        _ => Transport::Tcp,
    };
    let place = place.strip_prefix("turn:").expect("a TURN URI");
    (transport, place.parse().expect("an address"))
}

/// Allocates at every URI with the credential, and has an echo through each.
fn use_all(answer: &Value) {
    let text = |key: &str| answer[key].as_str().expect("a text").to_owned();
    let uris = answer["uris"].as_array().expect("URIs");
    assert_eq!(uris.len(), 2);
    let echo = UdpEcho::start("127.0.0.1:0");
    for uri in uris {
        let (transport, address) = server(uri.as_str().expect("a text"));
        let credentials = Credentials::new(&text("username"), &text("password"));
        let mut client = TurnClient::connect(transport, address, "").with_credentials(credentials);
        client.join(0x4000, echo.address());
        assert!(client.echoes(0x4000, b"hello"), "{uri}");
    }
}

#[test]
fn a_minted_credential_allocates() {
    let auth = json!({
        "type": "ephemeral", "realm": "stunner.test", "credentials": {"secret": "shared"}, "lifetime": 3600,
    });
    let (_stunnerd, authd) = world(auth);
    let answer = authd.get("/?service=turn&username=alice").json();
    assert_eq!(answer["ttl"], 3600);
    use_all(&answer);
    // The longest user name that is handed out is one that a gateway takes.
    let longest = "x".repeat(487);
    use_all(
        &authd
            .get(&format!("/?service=turn&username={longest}"))
            .json(),
    );
}

#[test]
fn a_fixed_credential_allocates() {
    let auth = json!({
        "type": "static", "realm": "stunner.test", "credentials": {"username": "ann", "password": "p?&=+ ä"},
    });
    let (_stunnerd, authd) = world(auth);
    use_all(&authd.get("/?service=turn").json());
}

#[test]
fn a_credential_allocates_until_it_expires() {
    let auth = json!({
        "type": "ephemeral", "realm": "stunner.test", "credentials": {"secret": "shared"},
    });
    let (_stunnerd, authd) = world(auth);
    let answer = authd.get(&format!("/?service=turn&ttl={TTL}")).json();
    let text = |key: &str| answer[key].as_str().expect("a text").to_owned();
    let (transport, address) = server(answer["uris"][0].as_str().expect("a URI"));
    let allocate = || {
        let credentials = Credentials::new(&text("username"), &text("password"));
        let mut client = TurnClient::connect(transport, address, "").with_credentials(credentials);
        client
            .allocate()
            .map(drop)
            .map_err(|refusal| refusal.code())
    };
    assert_eq!(allocate(), Ok(()));
    let username = text("username");
    let expiry = username.split(':').next().expect("a time");
    let expiry = UNIX_EPOCH + Duration::from_secs(expiry.parse().expect("a number"));
    // By the clock, which both programs go by; it is still good in its last second.
    while SystemTime::now() < expiry + Duration::from_secs(2) {
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(allocate(), Err(Some(401)));
}

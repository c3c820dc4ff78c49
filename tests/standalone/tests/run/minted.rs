//! The credentials that it prints, ready to be pasted.

use std::net::SocketAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use interop_tests::client::{Credentials, TurnClient};
use interop_tests::config::Transport;
use interop_tests::ports::free_port;
use standalone_tests::manifests::{Folder, class_with, gateway};
use standalone_tests::stunner::Stunner;

/// Starts it, and has the printed credential tried, which is to live so many seconds.
#[track_caller]
fn mints(wanted: u64, config: &str, flags: &[&str]) {
    let port = free_port();
    let folder = Folder::default();
    let config = format!("authType: ephemeral\n  sharedSecret: s\n  {config}");
    folder.write("class.yaml", &class_with(&config));
    folder.write("gateway.yaml", &gateway("gw", &[("udp", "TURN-UDP", port)]));
    let before = unix_seconds();
    let stunner = Stunner::run(&[folder.path()], flags);
    let ready = stunner.wait_event("ready");
    let after = unix_seconds();
    let server = &ready["iceServers"][0];
    let text = |name: &str| server[name].as_str().expect("a text").to_owned();
    let (username, password) = (text("username"), text("credential"));
    let expiry: u64 = username.parse().expect("a time");
    assert!((before + wanted..=after + wanted).contains(&expiry));
    let credentials = Credentials::new(&username, &password);
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let mut client = TurnClient::connect(Transport::Udp, address, "").with_credentials(credentials);
    let allocated = client.allocate().map_err(|refusal| refusal.code());
    assert!(allocated.is_ok(), "{allocated:?}");
}

#[test]
fn the_printed_credential_is_accepted_and_lives_as_long_as_was_said() {
    mints(24 * 3600, "", &[]);
    mints(3600, "", &["--max-ephemeral-lifetime", "1h"]);
    mints(
        1200,
        "authLifetime: 1200",
        &["--max-ephemeral-lifetime", "1h"],
    );
    mints(
        3600,
        "authLifetime: 7200",
        &["--max-ephemeral-lifetime", "1h"],
    );
}

fn unix_seconds() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.expect("a clock").as_secs()
}

//! A dataplane that is older or newer than the operator that feeds it.

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use interop_tests::cds::CdsServer;
use interop_tests::client::TurnClient;
use interop_tests::config::{Config, Transport};
use interop_tests::echo::UdpEcho;
use interop_tests::ports::free_port;
use interop_tests::process::{Process, wait_until};
use interop_tests::{go, http, need, stunnerd};
use serde_json::json;

const SOON: Duration = Duration::from_secs(20);

/// Fields that no version knows yet, at every level of the document.
fn from_the_future(config: &mut Config) {
    let novelty = json!({ "mode": "quantum", "since": 2030, "list": [1, { "deep": null }] });
    let document = &mut config.0;
    document["telemetry"] = novelty.clone();
    for part in ["admin", "auth"] {
        document[part]["novelty"] = novelty.clone();
    }
    for part in ["listeners", "clusters"] {
        for entry in document[part].as_array_mut().into_iter().flatten() {
            entry["novelty"] = novelty.clone();
        }
    }
}

fn serves(program: &std::path::Path) -> Process {
    let mut config = Config::empty();
    let port = free_port();
    config.add_listener("udp", Transport::Udp, port, None)["address"] = "127.0.0.1".into();
    // What ours know and the Go dataplane of this version does not.
    config.0["admin"]["relay_port_range"] = "40000-60000".into();
    from_the_future(&mut config);
    let (health, _) = config.endpoint("healthcheck_endpoint").expect("health");
    let cds = CdsServer::start();
    cds.push(&config);
    let mut command = Command::new(program);
    let origin = format!("http://{}", cds.address());
    command.args(["-w", "-c", &origin, "-i", "interop/gateway"]);
    if program == stunnerd::binary() {
        command.args(["--admin-address", "off"]);
    }
    let server = Process::start(&program.display().to_string(), command).expect("start");
    let ready = || http::get(&health, "/ready").is_ok_and(|answer| answer.status == 200);
    assert!(wait_until(SOON, ready), "not ready");
    let peer = UdpEcho::start("127.0.0.1:0");
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let mut client = TurnClient::connect(Transport::Udp, address, "");
    client.join(0x4000, peer.address());
    server
}

#[test]
fn our_dataplane_serves_a_config_with_fields_that_it_does_not_know_and_says_so() {
    let server = serves(stunnerd::binary());
    for field in ["telemetry", "novelty"] {
        assert!(
            server.wait_log(field, SOON),
            "no word about `{field}`:\n{}",
            server.log().join("\n")
        );
    }
}

#[test]
fn the_go_dataplane_serves_a_config_with_fields_that_it_does_not_know() {
    let test = "the_go_dataplane_serves_a_config_with_fields_that_it_does_not_know";
    serves(&need!(test, go::go_stunnerd()));
}

#[test]
fn our_dataplane_serves_a_config_of_an_operator_that_knows_less() {
    // The least that the first version of the format ever had.
    let port = free_port();
    let cds = CdsServer::start();
    cds.push_text(
        &json!({
            "version": "v1",
            "admin": { "name": "interop/gateway", "healthcheck_endpoint": format!("http://127.0.0.1:{}", free_port()) },
            "auth": { "type": "plaintext", "credentials": {
                "username": interop_tests::config::USER, "password": interop_tests::config::PASSWORD } },
            "listeners": [{ "name": "udp", "protocol": "udp", "address": "127.0.0.1", "port": port, "routes": ["echo"] }],
            "clusters": [{ "name": "echo", "endpoints": ["127.0.0.1"] }],
        })
        .to_string(),
    );
    let mut command = Command::new(stunnerd::binary());
    command
        .args(["-w", "-c", &cds.address(), "-i", "interop/gateway"])
        .args(["--admin-address", "off"]);
    let _server = Process::start("stunnerd", command).expect("start");
    let peer = UdpEcho::start("127.0.0.1:0");
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let joined = wait_until(SOON, || {
        let mut client = TurnClient::connect(Transport::Udp, address, "");
        client
            .exchange_unauthenticated(stunner_stun::Method::BINDING, |_| {})
            .is_ok()
    });
    assert!(joined, "does not listen");
    TurnClient::connect(Transport::Udp, address, "").join(0x4000, peer.address());
}

//! Ports that two want.

use std::net::UdpSocket;

use interop_tests::echo::UdpEcho;
use interop_tests::ports::free_port;
use interop_tests::process::wait_until;
use serde_json::Value;
use standalone_tests::manifests::{Folder, gateway, route};
use standalone_tests::stunner::{PATIENCE, Stunner, client, run_to_end};

/// A condition of the first listener of a Gateway.
fn said(event: &Value, gateway: &str, kind: &str) -> Value {
    let gateways = event["gateways"].as_array().expect("gateways");
    let gateway = gateways
        .iter()
        .find(|one| one["name"] == gateway)
        .expect("the Gateway");
    let conditions = gateway["listeners"][0]["conditions"]
        .as_array()
        .expect("conditions");
    conditions
        .iter()
        .find(|one| one["type"] == kind)
        .expect("the condition")
        .clone()
}

#[test]
fn the_first_gateway_by_name_gets_the_port_and_the_other_a_hint() {
    let (port, echo) = (free_port(), UdpEcho::start("127.0.0.1:0"));
    let folder = Folder::quickstart(port);
    folder.write(
        "second.yaml",
        &gateway("a-first", &[("udp", "TURN-UDP", port)]),
    );
    folder.write(
        "second-route.yaml",
        &route("first", "a-first", &["127.0.0.1/32"]),
    );
    let stunner = Stunner::run(&[folder.path()], &[]);
    let ready = stunner.wait_event("ready");
    assert_eq!(said(&ready, "a-first", "Programmed")["status"], "True");
    let accepted = said(&ready, "gw", "Accepted");
    assert_eq!(accepted["status"], "False");
    assert_eq!(accepted["reason"], "PortUnavailable");
    let message = accepted["message"].as_str().expect("a message");
    assert!(message.contains("default/a-first"), "{message}");
    assert!(message.contains("--port-offset"), "{message}");
    assert_eq!(said(&ready, "gw", "Programmed")["status"], "False");
    let mut client = client(port);
    client.join(0x4000, echo.address());
    client.refresh(0).expect("the end of the session");
    // The port goes to the other when the first lets go of it.
    folder.write(
        "second.yaml",
        &gateway("a-first", &[("udp", "TURN-UDP", free_port())]),
    );
    stunner.wait_for("the port for the other", |event| {
        event["event"] == "changed" && said(event, "gw", "Programmed")["status"] == "True"
    });
}

#[test]
fn a_newcomer_does_not_take_the_port_of_one_that_serves() {
    let (port, echo) = (free_port(), UdpEcho::start("127.0.0.1:0"));
    let folder = Folder::quickstart(port);
    let stunner = Stunner::run(&[folder.path()], &[]);
    let mut client = client(port);
    client.join(0x4000, echo.address());
    folder.write(
        "second.yaml",
        &gateway("a-first", &[("udp", "TURN-UDP", port)]),
    );
    let changed = stunner.wait_event("changed");
    assert_eq!(
        said(&changed, "a-first", "Accepted")["reason"],
        "PortUnavailable"
    );
    assert_eq!(said(&changed, "gw", "Programmed")["status"], "True");
    assert!(client.echoes(0x4000, b"still here"));
}

#[test]
fn a_listener_that_moves_to_a_taken_port_stays_where_it_was() {
    let (port, taken, echo) = (free_port(), free_port(), UdpEcho::start("127.0.0.1:0"));
    let holder = UdpSocket::bind(("0.0.0.0", taken)).expect("a port");
    let folder = Folder::quickstart(port);
    let stunner = Stunner::run(&[folder.path()], &[]);
    let mut client = client(port);
    client.join(0x4000, echo.address());
    folder.write(
        "gateway.yaml",
        &gateway("gw", &[("udp", "TURN-UDP", taken)]),
    );
    let changed = stunner.wait_event("changed");
    let message = said(&changed, "gw", "Accepted")["message"].to_string();
    assert!(
        message.contains(&format!("stays at port {port}")),
        "{message}"
    );
    assert!(client.echoes(0x4000, b"still here"));
    standalone_tests::stunner::client(port).join(0x4001, echo.address());
    drop(holder);
    stunner.wait_for("the new port", |event| {
        event["event"] == "changed" && said(event, "gw", "Programmed")["status"] == "True"
    });
    standalone_tests::stunner::client(taken).join(0x4002, echo.address());
}

#[test]
fn a_port_of_another_process_is_a_condition_until_it_is_free() {
    let (port, other, echo) = (free_port(), free_port(), UdpEcho::start("127.0.0.1:0"));
    let holder = UdpSocket::bind(("0.0.0.0", port)).expect("a port");
    let folder = Folder::quickstart(port);
    folder.write(
        "second.yaml",
        &gateway("other", &[("udp", "TURN-UDP", other)]),
    );
    folder.write(
        "second-route.yaml",
        &route("other", "other", &["127.0.0.1/32"]),
    );
    let stunner = Stunner::run(&[folder.path()], &[]);
    let ready = stunner.wait_event("ready");
    let accepted = said(&ready, "gw", "Accepted");
    assert_eq!(accepted["reason"], "PortUnavailable");
    let message = accepted["message"].as_str().expect("a message");
    assert!(message.contains("--port-offset"), "{message}");
    client(other).join(0x4000, echo.address());
    drop(holder);
    stunner.wait_for("the port", |event| {
        event["event"] == "changed" && said(event, "gw", "Programmed")["status"] == "True"
    });
    let mut late = client(port);
    assert!(wait_until(PATIENCE, || late.allocate().is_ok()));
}

#[test]
fn it_ends_only_when_no_listener_at_all_can_start() {
    let port = free_port();
    let _holder = UdpSocket::bind(("0.0.0.0", port)).expect("a port");
    let folder = Folder::quickstart(port);
    let path = folder.path().display().to_string();
    let flags = [
        "--health-address",
        "off",
        "--metrics-address",
        "off",
        "--console-address",
        "off",
        "--admin-address",
        "off",
    ];
    let arguments: Vec<&str> = ["run", &path].into_iter().chain(flags).collect();
    let (code, output) = run_to_end(&arguments, None);
    assert_eq!(code, Some(1), "{output}");
    assert!(output.contains("PortUnavailable"), "{output}");
    assert!(
        output.contains("error: no listener can be served"),
        "{output}"
    );
}

#[test]
fn a_port_that_the_offset_moves_away_is_a_condition() {
    let (port, echo) = (free_port(), UdpEcho::start("127.0.0.1:0"));
    let folder = Folder::quickstart(port - 10_000);
    folder.write(
        "high.yaml",
        &gateway("high", &[("udp", "TURN-UDP", 60_000)]),
    );
    let stunner = Stunner::run(&[folder.path()], &["--port-offset=10000"]);
    let ready = stunner.wait_event("ready");
    let accepted = said(&ready, "high", "Accepted");
    assert_eq!(accepted["reason"], "PortUnavailable");
    assert!(
        accepted["message"].to_string().contains("60000"),
        "{accepted}"
    );
    client(port).join(0x4000, echo.address());
}

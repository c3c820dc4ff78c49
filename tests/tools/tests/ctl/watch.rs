//! `stunnerctl config --watch` against a discovery service whose configs change.

use std::time::Duration;

use interop_tests::cds::CdsServer;
use interop_tests::process::{Process, wait_until};

use crate::stunnerctl;

const PATIENCE: Duration = Duration::from_secs(20);

fn config(port: u16) -> String {
    format!(
        r#"{{"version":"v1","admin":{{"name":"stunner/udp-gateway"}},"auth":{{"type":"static","credentials":{{"username":"u","password":"p"}}}},"listeners":[{{"name":"stunner/udp-gateway/udp","protocol":"TURN-UDP","address":"127.0.0.1","port":{port},"routes":[]}}],"clusters":[]}}"#
    )
}

#[test]
fn changes_and_the_end_of_a_config_are_printed_as_they_come() {
    let cds = CdsServer::start();
    cds.push_text(&config(3478));
    let mut command = stunnerctl();
    command.args(["-n", "stunner", "config", "udp-gateway", "-w"]);
    command.args(["--cds-server-address", &cds.address()]);
    command.args(["-o", "jsonpath={.admin.name} {.listeners[0].port}"]);
    let mut process = Process::start("stunnerctl", command).expect("start");
    assert!(process.wait_log("stunner/udp-gateway 3478", PATIENCE));
    assert!(wait_until(PATIENCE, || cds.watchers() == 1));
    cds.push_text(&config(3999));
    assert!(process.wait_log("stunner/udp-gateway 3999", PATIENCE));
    cds.push_deletion("stunner/udp-gateway");
    assert!(process.wait_log("Gateway: stunner/udp-gateway <deleted>", PATIENCE));
    let said = process.log();
    assert_eq!(said.len(), 3, "{said:?}");
    process.signal(libc::SIGINT);
    let end = process.wait_end(PATIENCE).expect("an end");
    assert_eq!(end.code(), Some(0));
}

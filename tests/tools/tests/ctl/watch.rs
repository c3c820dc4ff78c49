//! `stunnerctl config --watch` against a discovery service whose configs change.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
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

/// At every attempt it would drown what is of interest.
#[test]
fn an_outage_is_told_once_for_each_reason() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let attempts = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&attempts);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // The whole question, so that the end of the connection is always the same.
            let mut head = BufReader::new(stream).lines().map_while(Result::ok);
            let _ = head.find(String::is_empty);
            counter.fetch_add(1, Ordering::SeqCst);
        }
    });
    let mut command = stunnerctl();
    command.args(["-n", "stunner", "config", "-w"]);
    command.args(["--cds-server-address", &address]);
    let mut process = Process::start("stunnerctl", command).expect("start");
    assert!(process.wait_log("trying again", PATIENCE));
    assert!(wait_until(PATIENCE, || attempts.load(Ordering::SeqCst) >= 4));
    let said = process.log();
    let warnings = said.iter().filter(|line| line.contains("trying again"));
    let warnings: Vec<&String> = warnings.collect();
    let different: BTreeSet<&String> = warnings.iter().copied().collect();
    assert_eq!(warnings.len(), different.len(), "{said:?}");
    process.signal(libc::SIGINT);
    let end = process.wait_end(PATIENCE).expect("an end");
    assert_eq!(end.code(), Some(0));
}

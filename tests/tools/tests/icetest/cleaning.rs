//! A test in a cluster whose API server makes everything and then does not delete it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;

use interop_tests::binary::stunnerctl;
use interop_tests::process::Process;
use serde_json::{Value, json};

use crate::scenery::PATIENCE;

/// Serves the kinds of the test, has no objects, makes all that it is asked for, and answers nothing to a DELETE.
fn undeleting() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || serve(stream));
        }
    });
    format!("http://{address}")
}

fn serve(stream: TcpStream) {
    let mut writer = stream.try_clone().expect("a stream");
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while reader.read_line(&mut head).unwrap_or(0) > 2 {}
        let header = |line: &str| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length")
                .then(|| value.trim().parse().unwrap_or(0))
        };
        let mut body = vec![0; head.lines().find_map(header).unwrap_or(0)];
        let mut words = head.split(' ');
        let (Some(method), Some(path)) = (words.next(), words.next()) else {
            return;
        };
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let (code, answer) = match method {
            "DELETE" => continue,
            "POST" => (201, String::from_utf8(body).unwrap_or_default()),
            _ => answer(path),
        };
        let written = write!(
            writer,
            "HTTP/1.1 {code} Said\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{answer}",
            answer.len()
        );
        if written.is_err() {
            return;
        }
    }
}

fn answer(path: &str) -> (u16, String) {
    let resource = |name: &str| json!({ "name": name, "singularName": "", "namespaced": true, "kind": "K", "verbs": [] });
    let list = |names: &[&str]| -> (u16, String) {
        let resources: Vec<Value> = names.iter().map(|name| resource(name)).collect();
        (
            200,
            json!({ "groupVersion": "x/v1", "resources": resources }).to_string(),
        )
    };
    match path {
        "/apis/gateway.networking.k8s.io/v1" => list(&["gatewayclasses", "gateways"]),
        "/apis/stunner.l7mp.io/v1" => list(&["dataplanes", "gatewayconfigs", "udproutes"]),
        // Nobody has looked at it.
        path if path.ends_with("/gateways/udp-gateway") => (
            200,
            json!({ "metadata": { "name": "udp-gateway" } }).to_string(),
        ),
        _ => (
            404,
            json!({ "kind": "Status", "code": 404, "reason": "NotFound", "message": "none" })
                .to_string(),
        ),
    }
}

fn start(flags: &[&str]) -> Process {
    let mut command = Command::new(stunnerctl());
    command
        .args(["--server", &undeleting(), "icetest", "udp"])
        .args(flags)
        .env_remove("KUBECONFIG");
    let process = Process::start("stunnerctl", command).expect("start stunnerctl");
    assert!(
        process.wait_log("Checking Gateway...", PATIENCE),
        "{:?}",
        process.log()
    );
    process.signal(libc::SIGINT);
    let cleans = process.wait_log("Removing what the test made...", PATIENCE);
    assert!(cleans, "{:?}", process.log());
    process
}

fn ends_with_what_is_left(mut process: Process, why: &str) {
    let ended = process.wait_end(6 * PATIENCE).expect("an end");
    assert_eq!(ended.code(), Some(1), "{:?}", process.log());
    assert!(process.wait_log("error: interrupted", PATIENCE));
    let log = process.log();
    let left = log.iter().find(|line| line.contains("; left: "));
    let left = left.unwrap_or_else(|| panic!("nothing is said to be left: {log:?}"));
    for part in [
        why,
        "Namespace icetest",
        "GatewayClass icetest",
        "Pod icetest/icetester",
    ] {
        assert!(left.contains(part), "{part}: {left}");
    }
    let command = "hint: remove it with `kubectl delete namespaces/icetest gatewayclasses.gateway.networking.k8s.io/icetest";
    assert!(log.iter().any(|line| line.contains(command)), "{log:?}");
}

#[test]
fn a_second_signal_ends_the_cleaning_with_what_is_left() {
    let process = start(&[]);
    process.signal(libc::SIGTERM);
    ends_with_what_is_left(process, "interrupted");
}

#[test]
fn cleaning_ends_by_itself_where_the_api_server_deletes_nothing() {
    let process = start(&["--request-timeout", "2s"]);
    ends_with_what_is_left(process, "no answer within 2s");
}

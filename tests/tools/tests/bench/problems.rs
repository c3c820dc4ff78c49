//! What is wrong is said, with what to do, and by the exit code.

use std::net::{SocketAddr, UdpSocket};

use interop_tests::config::{PASSWORD, Transport};
use interop_tests::scene::Scene;
use serde_json::Value;

use crate::{finished, uri, uri_at};

#[test]
fn what_is_wrong_is_said_with_what_to_do() {
    let scene = Scene::start();
    let udp = scene.address(Transport::Udp);
    let closed = SocketAddr::from(([127, 0, 0, 1], interop_tests::ports::free_port()));
    let good = uri(&scene, Transport::Udp);
    let cases = [
        (
            "wrong password",
            uri_at(udp, Transport::Udp, "wrong"),
            "password",
        ),
        (
            "nothing listens",
            uri_at(closed, Transport::Tcp, PASSWORD),
            "hint:",
        ),
        (
            "no credential",
            format!("turn:{udp}?transport=udp"),
            "--username",
        ),
        ("no URI", "nonsense".to_owned(), "turn://"),
        (
            "no route",
            format!("{good} --peer-address 127.0.0.9 -t 200ms"),
            "StaticService",
        ),
        ("unknown signer", uri(&scene, Transport::Tls), "certificate"),
        (
            "echo without port",
            format!("{good} --echo 127.0.0.1"),
            "--echo",
        ),
    ];
    for (what, arguments, hint) in cases {
        let done = finished(&format!("{arguments} --json"));
        assert_eq!(done.code, Some(1), "{what}: {done:?}");
        let (error, all) = (&done.stderr, format!("{done:?}"));
        let result: Value = serde_json::from_str(&done.stdout).expect("JSON");
        let told = match &result["error"] {
            Value::Null => &result["sessions"]["failed"][0]["error"],
            told => told,
        };
        let told = told.as_str().expect("what is wrong");
        assert!(error.contains(told), "{what}: {told}");
        assert!(
            error.contains("error: ") && error.contains(hint),
            "{what}: {error}"
        );
        assert!(!all.contains(PASSWORD), "{what}: passwords stay unsaid");
    }
}

#[test]
fn wrong_usage_exits_with_two() {
    for arguments in [
        "",
        "turn:127.0.0.1 extra",
        "turn:127.0.0.1 -n 0",
        "turn:127.0.0.1 -r fast",
        "turn:127.0.0.1 -s 10",
        "turn:127.0.0.1 -t 1ms",
        "turn:127.0.0.1 --echo 127.0.0.1:7 -d both",
        "turn:127.0.0.1?transport=udp -s 65504",
        "turns:127.0.0.1?transport=udp -s 16381",
    ] {
        let done = finished(arguments);
        assert_eq!(done.code, Some(2), "{arguments}: {done:?}");
        assert!(done.stderr.contains("hint: "), "{arguments}: {done:?}");
    }
}

#[test]
fn the_largest_packets_pass_over_every_transport() {
    let scene = Scene::start();
    for transport in Transport::ALL {
        let size = match transport {
            Transport::Dtls => 16_380,
            _ => 65_503,
        };
        let uri = uri(&scene, transport);
        let done = finished(&format!(
            "{uri} --json --insecure --peer-address 127.0.0.1 -n 1 -r 20 -t 500ms -d to-peer -s {size}"
        ));
        assert_eq!(done.code, Some(0), "{transport:?}: {done:?}");
        assert_ne!(done.json()["flows"]["toPeer"]["received"], 0, "{done:?}");
    }
}

#[test]
fn too_much_loss_is_a_problem_where_a_bound_is_given() {
    let scene = Scene::start();
    let (uri, echo) = (uri(&scene, Transport::Udp), every_second_packet());
    let load = format!("{uri} --echo {echo} -n 1 -r 200 -t 500ms");
    let lossy = finished(&format!("{load} --max-loss 10"));
    assert_eq!(lossy.code, Some(1), "{lossy:?}");
    let says = |part| lossy.stderr.contains(part);
    assert!(says("--max-loss") && says("hint: "), "{lossy:?}");
    for bound in ["--max-loss 90%", ""] {
        let fine = finished(&format!("{load} {bound}"));
        assert_eq!(fine.code, Some(0), "{fine:?}");
    }
}

#[test]
fn a_peer_that_nothing_comes_back_from_fails_its_sessions() {
    let scene = Scene::start();
    let uri = uri(&scene, Transport::Udp);
    let silent = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let peer = silent.local_addr().expect("its address");
    let done = finished(&format!("{uri} --echo {peer} -n 1 -t 200ms"));
    assert_eq!(done.code, Some(1), "{done:?}");
    let says = "no packet reaches the peer";
    assert!(done.stderr.contains(says), "{done:?}");
}

/// A peer that sends back only half of what it gets.
fn every_second_packet() -> String {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let address = socket.local_addr().expect("its address").to_string();
    std::thread::spawn(move || {
        let mut buffer = [0; 2048];
        let mut is_kept = true;
        while let Ok((length, from)) = socket.recv_from(&mut buffer) {
            is_kept = !is_kept;
            if is_kept {
                let _ = socket.send_to(&buffer[..length], from);
            }
        }
    });
    address
}

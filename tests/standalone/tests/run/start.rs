//! From a folder to a relaying gateway.

use interop_tests::client::{Credentials, TurnClient};
use interop_tests::config::Transport;
use interop_tests::echo::UdpEcho;
use interop_tests::http;
use interop_tests::ports::free_port;
use standalone_tests::manifests::{Folder, class, class_with, gateway, route};
use standalone_tests::stunner::{PATIENCE, Stunner, client, client_over, run_to_end};

#[test]
fn a_folder_becomes_a_relaying_gateway() {
    let (port, echo) = (free_port(), UdpEcho::start("127.0.0.1:0"));
    let folder = Folder::quickstart(port);
    let stunner = Stunner::run(&[folder.path()], &[]);
    let relayed = client(port).join(0x4000, echo.address());
    assert_eq!(relayed.ip().to_string(), "127.0.0.1");
    let ready = stunner.wait_event("ready");
    let gateway = &ready["gateways"][0];
    assert_eq!(gateway["namespace"], "default");
    assert_eq!(gateway["name"], "gw");
    let listener = &gateway["listeners"][0];
    assert_eq!(listener["name"], "udp");
    assert_eq!(listener["protocol"], "TURN-UDP");
    let uri = format!("turn:127.0.0.1:{port}?transport=udp");
    assert_eq!(listener["uri"], uri.as_str());
    let conditions = listener["conditions"].as_array().expect("conditions");
    let said = |kind: &str| {
        let mut found = conditions.iter();
        found.find(|one| one["type"] == kind).expect(kind)["status"].clone()
    };
    assert_eq!(said("Accepted"), "True");
    assert_eq!(said("Programmed"), "True");
    let server = &ready["iceServers"][0];
    assert_eq!(server["urls"][0], uri.as_str());
    assert_eq!(server["username"], "user-1");
    assert_eq!(server["credential"], "pass-1");
    for name in ["console", "health", "metrics"] {
        let url = ready[name].as_str().expect(name);
        assert!(url.starts_with("http://127.0.0.1:"), "{url}");
    }
}

#[test]
fn two_gateways_share_the_servers_beside_them() {
    let (one, two, echo) = (free_port(), free_port(), UdpEcho::start("127.0.0.1:0"));
    let folder = Folder::quickstart(one);
    folder.write("second.yaml", &gateway("tcp", &[("tcp", "TURN-TCP", two)]));
    folder.write(
        "second-route.yaml",
        &route("other", "tcp", &["127.0.0.1/32"]),
    );
    let stunner = Stunner::run(&[folder.path()], &[]);
    let mut udp = client(one);
    let mut tcp = client_over(Transport::Tcp, two);
    udp.join(0x4000, echo.address());
    tcp.join(0x4001, echo.address());
    assert_eq!(stunner.health("/ready").expect("health").status, 200);
    assert_eq!(stunner.health("/live").expect("health").status, 200);
    let status = stunner.health("/status").expect("health").json();
    let names: Vec<&str> = status
        .as_array()
        .expect("an array")
        .iter()
        .filter_map(|one| one["admin"]["name"].as_str())
        .collect();
    assert_eq!(names, ["default/gw", "default/tcp"]);
    let metrics = stunner.metrics();
    for listener in ["default/gw/udp", "default/tcp/tcp"] {
        assert!(metrics.contains(listener), "{metrics}");
    }
    let sessions = stunner.admin("/api/v1/sessions");
    assert_eq!(sessions["total"], 2);
    let state = stunner.state();
    assert_eq!(state["mode"], "standalone");
    assert_eq!(state["gateways"].as_array().map(Vec::len), Some(2));
    assert_eq!(state["live"]["sessionsTotal"], 2);
}

#[test]
fn a_denial_says_which_backend_may_have_been_meant() {
    let port = free_port();
    let folder = Folder::quickstart(port);
    let stunner = Stunner::run(&[folder.path()], &[]);
    let mut client = client(port);
    client.allocate().expect("an allocation");
    let peer = "127.0.1.7:5000".parse().expect("an address");
    assert_eq!(
        client.permit(peer).map_err(|error| error.code()),
        Err(Some(403))
    );
    let state = stunner.state();
    let sentence = state["live"]["denials"][0]["sentence"].as_str();
    let sentence = sentence.unwrap_or_else(|| panic!("no denial in {state:#}"));
    assert!(
        sentence.contains("was refused peer 127.0.1.7"),
        "{sentence}"
    );
    assert!(sentence.contains("default/gw/udp"), "{sentence}");
}

#[test]
fn ephemeral_credentials_are_minted_and_the_shared_secret_stays_in() {
    let (port, echo) = (free_port(), UdpEcho::start("127.0.0.1:0"));
    let folder = Folder::quickstart(port);
    folder.write(
        "class.yaml",
        &class_with("authType: ephemeral\n  sharedSecret: hush-hush-hush"),
    );
    let mut stunner = Stunner::run(&[folder.path()], &["--log", "all:TRACE"]);
    let ready = stunner.wait_event("ready");
    let server = &ready["iceServers"][0];
    let text = |name: &str| server[name].as_str().expect(name).to_owned();
    let expiry: u64 = text("username").parse().expect("a time");
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .expect("a clock")
        .as_secs();
    assert!((now + 86_000..now + 86_500).contains(&expiry), "{expiry}");
    let credentials = Credentials::new(&text("username"), &text("credential"));
    let server = ([127, 0, 0, 1], port).into();
    let client = TurnClient::connect(Transport::Udp, server, "");
    client
        .with_credentials(credentials)
        .join(0x4000, echo.address());
    let state = stunner.console("/api/v1/state").expect("state").body;
    let status = stunner.health("/status").expect("status").body;
    stunner.signal(libc::SIGTERM);
    assert!(stunner.wait_end(PATIENCE).is_some());
    for text in stunner.lines().iter().chain([&state, &status]) {
        assert!(!text.contains("hush-hush"), "{text}");
    }
}

#[test]
fn the_text_output_has_everything_to_begin_with() {
    let port = free_port();
    let folder = Folder::quickstart(port);
    let stunner = Stunner::start_with(&[folder.path()], &[], &[("--address", "127.0.0.1")]);
    for part in [
        "Serving.",
        "NAMESPACE   NAME   CLASS     ADDRESS     ACCEPTED   PROGRAMMED",
        "default     gw     stunner   127.0.0.1   True       True",
        &format!("turn:127.0.0.1:{port}?transport=udp"),
        "\"iceServers\"",
        "\"credential\": \"pass-1\"",
        "Console     http://127.0.0.1:",
        &format!("turncat - 'turn://user-1:pass-1@127.0.0.1:{port}?transport=udp' udp://"),
    ] {
        assert!(
            stunner.process().wait_log(part, PATIENCE),
            "no `{part}` in\n{}",
            stunner.lines().join("\n")
        );
    }
}

#[test]
fn the_folder_may_be_the_current_one_but_not_an_empty_one() {
    let empty = Folder::default();
    let (code, output) = run_to_end(&["run"], Some(empty.path()));
    assert_eq!(code, Some(2), "{output}");
    assert!(output.contains("stunner init"), "{output}");
    let (code, output) = run_to_end(&["run", "no-such-folder"], Some(empty.path()));
    assert_eq!(code, Some(1), "{output}");
    assert!(output.contains("no-such-folder"), "{output}");
}

#[test]
fn manifests_without_a_gateway_are_nothing_to_serve() {
    let folder = Folder::default();
    folder.write("class.yaml", &class());
    let path = folder.path().display().to_string();
    let mut arguments = vec!["run", &path];
    for flag in [
        "--health-address",
        "--metrics-address",
        "--admin-address",
        "--console-address",
    ] {
        arguments.extend([flag, "off"]);
    }
    let (code, output) = run_to_end(&arguments, None);
    assert_eq!(code, Some(1), "{output}");
    assert!(output.contains("the manifests have no Gateway"), "{output}");
    assert!(output.contains("stunner init"), "{output}");
    assert!(
        !output.contains("NAMESPACE"),
        "a table of nothing: {output}"
    );
}

#[test]
fn the_port_offset_moves_all_listeners() {
    let (port, echo) = (free_port(), UdpEcho::start("127.0.0.1:0"));
    let folder = Folder::quickstart(port - 10_000);
    let stunner = Stunner::run(&[folder.path()], &["--port-offset", "10000"]);
    client(port).join(0x4000, echo.address());
    let ready = stunner.wait_event("ready");
    let uri = format!("turn:127.0.0.1:{port}?transport=udp");
    assert_eq!(ready["gateways"][0]["listeners"][0]["uri"], uri.as_str());
}

#[test]
fn a_server_whose_address_is_in_use_is_named_with_its_flag_and_done_without() {
    let (port, echo) = (free_port(), UdpEcho::start("127.0.0.1:0"));
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let folder = Folder::quickstart(port);
    for flag in [
        "--health-address",
        "--metrics-address",
        "--admin-address",
        "--console-address",
    ] {
        let stunner = Stunner::run(&[folder.path()], &[flag, &address]);
        client(port).join(0x4000, echo.address());
        // On standard error, which is read apart from what is told of the start.
        for part in [flag, address.as_str()] {
            assert!(
                stunner.process().wait_log(part, PATIENCE),
                "no {part} in {:?}",
                stunner.lines()
            );
        }
    }
}

#[test]
fn standard_input_is_a_source_too() {
    use std::io::Write as _;
    let (port, echo) = (free_port(), UdpEcho::start("127.0.0.1:0"));
    let folder = Folder::quickstart(port);
    let mut text = String::new();
    for name in ["class.yaml", "gateway.yaml", "route.yaml"] {
        text.push_str(&std::fs::read_to_string(folder.file(name)).expect("a manifest"));
        text.push_str("---\n");
    }
    let mut child = std::process::Command::new(standalone_tests::binary::stunner())
        .args([
            "run",
            "-",
            "--address",
            "127.0.0.1",
            "--health-address",
            "off",
        ])
        .args([
            "--metrics-address",
            "off",
            "--console-address",
            "off",
            "--admin-address",
            "off",
        ])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("start stunner");
    let mut input = child.stdin.take().expect("stdin");
    input.write_all(text.as_bytes()).expect("write manifests");
    drop(input);
    let up = interop_tests::process::wait_until(PATIENCE, || {
        let mut probe = client(port);
        probe.allocate().is_ok()
    });
    let _ = child.kill();
    let _ = child.wait();
    assert!(up, "no gateway from standard input");
    drop(echo);
}

#[test]
fn the_console_page_is_served() {
    let folder = Folder::quickstart(free_port());
    let stunner = Stunner::run(&[folder.path()], &[]);
    let page = stunner.console("/").expect("the page");
    assert_eq!(page.status, 200);
    assert!(page.body.contains("<html"), "{:.200}", page.body);
    let strange = http::send(
        "GET",
        stunner.console_address(),
        "/api/v1/state",
        &[("Host", "evil.example")],
        None,
        PATIENCE,
    );
    assert_eq!(strange.expect("an answer").status, 421);
}

#[test]
fn an_ice_test_reaches_the_echo_peer_and_nothing_else() {
    let (port, echo) = (free_port(), UdpEcho::start("127.0.0.1:0"));
    let folder = Folder::quickstart(port);
    let stunner = Stunner::run(&[folder.path()], &[]);
    let address = stunner.console_address();
    let post = |origin: &str| {
        let headers = [
            ("Host", address),
            ("Origin", origin),
            ("Content-Type", "application/json"),
        ];
        let body = r#"{"gateway":"default/gw","listener":"udp"}"#;
        let patience = PATIENCE;
        http::send(
            "POST",
            address,
            "/api/v1/ice-tests",
            &headers,
            Some(body),
            patience,
        )
        .expect("an answer")
    };
    assert_eq!(post("http://evil.example").status, 403);
    let started = post(&format!("http://{address}"));
    assert_eq!(started.status, 201, "{}", started.body);
    let test = started.json();
    let server = &test["iceServers"][0];
    let text = |name: &str| server[name].as_str().expect(name).to_owned();
    let credentials = Credentials::new(&text("username"), &text("credential"));
    let place = ([127, 0, 0, 1], port).into();
    let mut guest = TurnClient::connect(Transport::Udp, place, "").with_credentials(credentials);
    guest.allocate().expect("an allocation");
    let peer = test["peer"]
        .as_str()
        .expect("a peer")
        .parse()
        .expect("an address");
    assert!(guest.bind(0x4000, peer).is_ok());
    let refused = guest.bind(0x4001, echo.address());
    assert_eq!(refused.map_err(|refusal| refusal.code()), Err(Some(403)));
}

#[test]
fn one_gateway_serves_udp_and_tcp_though_a_load_balancer_might_not() {
    let (port, echo) = (free_port(), UdpEcho::start("127.0.0.1:0"));
    let folder = Folder::quickstart(port);
    let both = [("udp", "TURN-UDP", port), ("tcp", "TURN-TCP", port)];
    folder.write("gateway.yaml", &gateway("gw", &both));
    let stunner = Stunner::run(&[folder.path()], &[]);
    let ready = stunner.wait_event("ready");
    let gateway = &ready["gateways"][0];
    let listeners = gateway["listeners"].as_array().expect("listeners");
    for object in listeners.iter().chain([gateway]) {
        let conditions = object["conditions"].as_array().expect("conditions");
        let mut conditions = conditions.iter();
        let programmed = conditions.find(|one| one["type"] == "Programmed");
        assert_eq!(
            programmed.expect("a condition")["status"],
            "True",
            "{object}"
        );
    }
    for transport in [Transport::Udp, Transport::Tcp] {
        client_over(transport, port).join(0x4000, echo.address());
    }
}

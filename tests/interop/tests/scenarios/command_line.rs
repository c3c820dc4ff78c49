//! Flags, exit codes and error texts of the program itself.

use std::time::Duration;

use interop_tests::config::{Config, PASSWORD, Transport};
use interop_tests::pki::TestCa;
use interop_tests::ports::free_port;
use interop_tests::process::{Process, wait_until};
use interop_tests::stunnerd::{binary, run_to_end};
use serde_json::json;

const SOON: Duration = Duration::from_secs(20);

/// Runs `stunnerd check` on `text`; exit code and output.
fn check(text: &str) -> (Option<i32>, String) {
    let dir = tempfile::tempdir().expect("temporary folder");
    let file = dir.path().join("bad.yaml");
    std::fs::write(&file, text).expect("write");
    let finished = run_to_end(&["check", file.to_str().expect("path")], SOON);
    (finished.code(), finished.output)
}

fn start_once(text: &str) -> (Option<i32>, String) {
    let dir = tempfile::tempdir().expect("temporary folder");
    let file = dir.path().join("bad.yaml");
    std::fs::write(&file, text).expect("write");
    let finished = run_to_end(
        &["-c", file.to_str().expect("path"), "--admin-address", "off"],
        SOON,
    );
    (finished.code(), finished.output)
}

fn standard() -> Config {
    Config::standard(&TestCa::new().ecdsa("command line"))
}

#[test]
fn version_and_help_exit_0() {
    let version = run_to_end(&["--version"], SOON);
    assert_eq!(version.code(), Some(0));
    assert!(
        version.output.starts_with("stunnerd "),
        "{}",
        version.output
    );
    let help = run_to_end(&["--help"], SOON);
    assert_eq!(help.code(), Some(0));
    for flag in [
        "--config",
        "--watch",
        "--relay-port-range",
        "--drain-timeout",
        "--alternate-server",
        "--credential-grace",
    ] {
        assert!(help.output.contains(flag), "{flag} is not in the help");
    }
}

#[test]
fn usage_errors_exit_2() {
    for arguments in [
        &["--no-such-flag"][..],
        &["--udp-thread-num", "many"],
        &["--relay-port-range", "50-40"],
        &["--drain-timeout", "soon"],
        &["--admin-address", "0.0.0.0:8087"],
        &["turn://a:b@127.0.0.1:1", "turn://a:b@127.0.0.1:2"],
    ] {
        let finished = run_to_end(arguments, SOON);
        assert_eq!(
            finished.code(),
            Some(2),
            "{arguments:?}: {}",
            finished.output
        );
    }
}

#[test]
fn bad_uris_and_origins_exit_1_without_their_password() {
    for uri in [
        "turn://127.0.0.1:3478",
        "turn://user@127.0.0.1:3478",
        "turn://user:hidden@127.0.0.1:99999",
        "smoke://user:hidden@127.0.0.1",
    ] {
        let finished = run_to_end(&[uri], SOON);
        assert_eq!(finished.code(), Some(1), "{uri}: {}", finished.output);
        assert!(
            !finished.output.contains("hidden"),
            "{uri}: {}",
            finished.output
        );
    }
    let finished = run_to_end(&["-c", "/no/such/file.yaml"], SOON);
    assert_eq!(finished.code(), Some(1), "{}", finished.output);
    assert!(
        finished.output.contains("/no/such/file.yaml"),
        "{}",
        finished.output
    );
    let closed = format!("127.0.0.1:{}", free_port());
    let finished = run_to_end(&["-c", &closed, "-i", "ns/gw"], SOON);
    assert_eq!(finished.code(), Some(1), "{}", finished.output);
}

#[test]
fn every_broken_config_exits_1_with_the_place() {
    let bend = |change: &dyn Fn(&mut Config)| {
        let mut config = standard();
        change(&mut config);
        config.text()
    };
    let cases = [
        (String::new(), ""),
        ("{ not: [closed".to_owned(), ""),
        (bend(&|config| config.0["version"] = "v9".into()), "v9"),
        (
            bend(&|config| config.0["auth"]["type"] = "nonsense".into()),
            "nonsense",
        ),
        (
            bend(&|config| config.0["auth"]["credentials"] = json!({ "username": "only" })),
            "password",
        ),
        (
            bend(&|config| config.listener("udp")["protocol"] = "TURN-PIGEON".into()),
            "TURN-PIGEON",
        ),
        (
            bend(&|config| config.listener("udp")["port"] = 123_456.into()),
            "port",
        ),
        (
            bend(&|config| config.listener("udp")["address"] = "not-an-address".into()),
            "not-an-address",
        ),
        (
            bend(&|config| config.listener("tls")["cert"] = json!(null)),
            "listeners[2].cert",
        ),
        (
            bend(&|config| config.listener("tls")["cert"] = "bm90IGEgY2VydGlmaWNhdGU=".into()),
            "listeners[2].cert",
        ),
        (
            bend(&|config| config.listener("dtls")["name"] = "udp".into()),
            "udp",
        ),
        (
            bend(&|config| config.cluster("udp")["endpoints"] = json!(["10.0.0.0/99"])),
            "10.0.0.0/99",
        ),
        (
            bend(&|config| config.cluster("udp")["type"] = "SOMETIMES".into()),
            "SOMETIMES",
        ),
    ];
    for (text, hint) in cases {
        for (code, output) in [check(&text), start_once(&text)] {
            assert_eq!(code, Some(1), "{hint:?}: {output}");
            assert!(output.contains(hint), "{hint:?} is not in: {output}");
            assert!(!output.contains(PASSWORD), "a secret is in: {output}");
        }
    }
}

#[test]
fn check_of_a_good_config_exits_0_and_names_unknown_keys() {
    let (code, output) = check(&standard().text());
    assert_eq!(code, Some(0), "{output}");
    let mut config = standard();
    config.listener("udp")["colour"] = "blue".into();
    let (_, output) = check(&config.text());
    assert!(
        output.contains("colour"),
        "an unknown key is not named: {output}"
    );
    assert!(output.contains("warning"), "{output}");
}

#[test]
fn check_prints_every_problem_at_once() {
    let mut config = standard();
    config.listener("udp")["protocol"] = "TURN-PIGEON".into();
    config.listener("tcp")["port"] = 99_999.into();
    config.cluster("udp")["endpoints"] = json!(["nowhere/8"]);
    let (code, output) = check(&config.text());
    assert_eq!(code, Some(1));
    for text in ["TURN-PIGEON", "port", "nowhere/8"] {
        assert!(output.contains(text), "{text} is not in: {output}");
    }
}

#[test]
fn a_dry_run_opens_no_socket() {
    let mut config = standard();
    let taken = std::net::UdpSocket::bind("0.0.0.0:0").expect("bind");
    config.listener("udp")["port"] = taken.local_addr().expect("address").port().into();
    let dir = tempfile::tempdir().expect("temporary folder");
    let file = dir.path().join("stunnerd.conf");
    std::fs::write(&file, config.text()).expect("write");
    let mut command = std::process::Command::new(binary());
    command
        .arg("--dry-run")
        .arg("-c")
        .arg(&file)
        .args(["--admin-address", "off"]);
    let mut process = Process::start("stunnerd", command).expect("start");
    assert!(
        process.wait_log("configuration applied", SOON),
        "a dry run says nothing: {:?}",
        process.log()
    );
    assert!(
        process.ended().is_none(),
        "a dry run ended: {:?}",
        process.log()
    );
    let (health, _) = config.endpoint("healthcheck_endpoint").expect("health");
    assert!(
        std::net::TcpStream::connect(&health).is_err(),
        "a dry run serves health"
    );
    process.signal(libc::SIGTERM);
    assert!(
        process
            .wait_end(SOON)
            .is_some_and(|status| status.success())
    );
}

/// A URI says nothing of the health endpoint, which is then on its default port: in a network namespace, where possible,
/// nobody else has it.
#[test]
fn a_turn_uri_serves_at_once() {
    match interop_tests::netns::Link::create() {
        Ok(link) => link.on_server(serve_turn_uris),
        Err(_) => serve_turn_uris(),
    }
}

fn serve_turn_uris() {
    for transport in Transport::ALL {
        let port = free_port();
        let uri = format!(
            "turn://uri-user:uri-pass@127.0.0.1:{port}?transport={}",
            transport.name()
        );
        let mut command = std::process::Command::new(binary());
        command.args([&uri, "--allow-loopback-peers", "--admin-address", "off"]);
        let process = Process::start("stunnerd", command).expect("start");
        let address = std::net::SocketAddr::from(([127, 0, 0, 1], port));
        if transport.is_secure() {
            // Its certificate is self-signed; that there is one to show is all that can be checked here.
            let flag = if transport == Transport::Dtls {
                "-dtls1_2"
            } else {
                "-tls1_3"
            };
            let shown = wait_until(SOON, || {
                let out = std::process::Command::new("timeout")
                    .args([
                        "5",
                        "openssl",
                        "s_client",
                        flag,
                        "-connect",
                        &address.to_string(),
                    ])
                    .stdin(std::process::Stdio::null())
                    .output();
                out.is_ok_and(|out| {
                    String::from_utf8_lossy(&out.stdout).contains("BEGIN CERTIFICATE")
                })
            });
            assert!(shown, "{transport:?}: no certificate");
        } else {
            assert!(wait_until(SOON, || interop_tests::client::Link::connect(
                transport, address, ""
            )
            .is_ok_and(|link| interop_tests::client::TurnClient::new(link)
                .binding()
                .is_ok())));
            let peer = interop_tests::echo::UdpEcho::start("127.0.0.1:0");
            let credentials = interop_tests::client::Credentials::new("uri-user", "uri-pass");
            interop_tests::client::TurnClient::connect(transport, address, "")
                .with_credentials(credentials)
                .join(0x4000, peer.address());
        }
        assert!(
            !process.log().join("\n").contains("uri-pass"),
            "the password is in the log"
        );
    }
}

/// Two servers on one port would share its clients at random.
#[test]
fn a_port_of_another_process_is_an_error() {
    let mut config = standard();
    let taken = std::net::TcpListener::bind("0.0.0.0:0").expect("bind");
    let port = taken.local_addr().expect("address").port();
    config.listener("tcp")["port"] = port.into();
    let (code, output) = start_once(&config.text());
    assert_eq!(code, Some(1), "{output}");
    assert!(
        output.contains(&port.to_string()),
        "the port is not named: {output}"
    );
}

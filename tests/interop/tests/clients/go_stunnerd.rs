//! The original Go `stunnerd` beside ours: the same config file runs on both, and our client works with both.

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use interop_tests::client::TurnClient;
use interop_tests::config::{Config, Transport};
use interop_tests::echo::UdpEcho;
use interop_tests::pki::TestCa;
use interop_tests::process::{Process, wait_until};
use interop_tests::{go, http, need, stunnerd};

#[test]
fn one_config_file_serves_the_same_clients_on_both() {
    let original = need!(
        "one_config_file_serves_the_same_clients_on_both",
        go::go_stunnerd()
    );
    let ca = TestCa::new();
    let mut config = Config::standard(&ca.ecdsa("both"));
    for transport in Transport::ALL {
        // The original knows one address per listener.
        config.listener(transport.name())["address"] = "127.0.0.1".into();
    }
    let dir = tempfile::tempdir().expect("temporary folder");
    let file = dir.path().join("stunnerd.conf");
    std::fs::write(&file, config.text()).expect("write");
    let origin = format!("file://{}", file.display());
    let (health, _) = config.endpoint("healthcheck_endpoint").expect("health");
    let peer = UdpEcho::start("127.0.0.1:0");
    for program in [original.as_path(), stunnerd::binary()] {
        let mut command = Command::new(program);
        command.args(["--config", &origin, "--log", "all:WARN"]);
        if program == stunnerd::binary() {
            command.args(["--admin-address", "off"]);
        }
        let server = Process::start(&program.display().to_string(), command).expect("start");
        let ready = wait_until(Duration::from_secs(20), || {
            http::get(&health, "/ready").is_ok_and(|answer| answer.status == 200)
        });
        assert!(ready, "{} is not ready", program.display());
        for transport in Transport::ALL {
            let address = SocketAddr::from(([127, 0, 0, 1], config.port(transport.name())));
            let mut client = TurnClient::connect(transport, address, ca.root_pem());
            let relayed = client.allocate().expect("allocate");
            client.bind(0x4000, peer.address()).expect("bind");
            assert_eq!(
                relayed.ip(),
                address.ip(),
                "{}: {transport:?}",
                program.display()
            );
            // The original holds back a stream frame of eight bytes or less until more follow, and over DTLS waits
            // for padding that datagrams need not have (RFC 8656 12.5).
            for size in [12, 100, 1200] {
                assert!(
                    client.echoes(0x4000, &vec![3; size]),
                    "{}: {transport:?}: {size} bytes",
                    program.display()
                );
            }
            client.refresh(0).expect("delete");
        }
        drop(server);
    }
}

//! The README's first command, as a newcomer runs it: a fresh clone, the words of the README, nothing else.
//!
//! It runs in a network namespace, where port 3478 is free whatever the machine does, and proves itself by a TURN client
//! on another host that gets its packets back through the relay.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use interop_tests::client::{Credentials, TurnClient};
use interop_tests::config::Transport;
use interop_tests::echo::UdpEcho;
use interop_tests::netns::{CLIENT, Link, SERVER};
use interop_tests::process::{Process, kill_group, run};
use interop_tests::skip;
use serde_json::Value;
use standalone_tests::binary::root;

/// A build from nothing takes minutes on two cores.
const BUILD_PATIENCE: Duration = Duration::from_secs(20 * 60);

#[test]
fn the_first_command_of_the_readme_leads_from_a_clone_to_a_relaying_gateway() {
    let test = "the_first_command_of_the_readme_leads_from_a_clone_to_a_relaying_gateway";
    let link = match Link::create() {
        Ok(link) => link,
        Err(missing) => return skip::report(test, &missing),
    };
    let scratch = tempfile::tempdir().expect("temporary folder");
    let clone = scratch.path().join("clone");
    let mut git = Command::new("git");
    git.args(["clone", "--quiet"]).arg(root()).arg(&clone);
    run("git", git, Duration::from_secs(120)).expect_success("git clone");

    link.on_server(|| {
        let gateway = start_first_command(&clone);
        let _all = Group(gateway.id());
        assert!(
            gateway.wait_log("Serving", BUILD_PATIENCE),
            "it does not say that it serves"
        );
        let ice = ice_server(&gateway.log());
        let urls: Vec<&str> = ice["urls"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        assert_eq!(urls, [format!("turn:{SERVER}:3478?transport=udp")]);
        let credentials = Credentials::new(
            ice["username"].as_str().expect("username"),
            ice["credential"].as_str().expect("credential"),
        );
        link.on_client(|| relay(credentials));
    });
}

/// The first code block of the README, run by a shell in the clone. What was built already is not built again: the
/// crates from the registry are the same.
fn start_first_command(clone: &Path) -> Process {
    let readme = std::fs::read_to_string(clone.join("README.md")).expect("README.md");
    let command = readme
        .split("```sh\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .expect("a code block in README.md");
    let target =
        std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| root().join("target").into());
    let mut shell = Command::new("sh");
    shell
        .args(["-e", "-c", command])
        .current_dir(clone)
        .env("CARGO_TARGET_DIR", target)
        .process_group(0);
    Process::start("README command 1", shell).expect("start a shell")
}

/// The shell and all that it has started, which end with the test.
struct Group(u32);

impl Drop for Group {
    fn drop(&mut self) {
        kill_group(self.0);
    }
}

/// The ICE server among the lines of the start, as a user would copy it.
fn ice_server(log: &[String]) -> Value {
    let text = log.join("\n");
    let json = text
        .find("{\n  \"iceServers\"")
        .and_then(|start| {
            serde_json::Deserializer::from_str(&text[start..])
                .into_iter()
                .next()
        })
        .and_then(|value: Result<Value, _>| value.ok())
        .expect("ICE servers in the output");
    json["iceServers"][0].clone()
}

fn relay(credentials: Credentials) {
    let peer = UdpEcho::start(&format!("{CLIENT}:0"));
    let server = format!("{SERVER}:3478").parse().expect("address");
    let mut client = TurnClient::connect(Transport::Udp, server, "").with_credentials(credentials);
    client.join(0x4000, peer.address());
    for round in 0..20_u32 {
        assert!(
            client.echoes(0x4000, &round.to_be_bytes()),
            "no echo of packet {round}"
        );
    }
}

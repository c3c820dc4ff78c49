//! The `turnutils_uclient` lines of the READMEs, with ADDRESS filled in.

use std::process::Command;
use std::time::Duration;

use interop_tests::echo::UdpEcho;
use interop_tests::netns::{Link, SERVER};
use interop_tests::process::run;
use interop_tests::{need, skip};
use standalone_tests::stunner::Stunner;

use super::commands::commands;
use crate::dual_stack::{SERVER_V6, with_ipv6};
use crate::ephemeral_credentials::mint;
use crate::stage::folder;

const PATIENCE: Duration = Duration::from_secs(60);
const ATTEMPTS: usize = 3;

/// Runs the lines of an example's README on the clients' host; how many there were.
fn lines_of(example: &str, flags: &[&str], link: &Link, addresses: &[&str]) -> usize {
    let lines: Vec<Vec<String>> = commands(&folder(example).join("README.md"))
        .into_iter()
        .filter(|words| words[0] == "turnutils_uclient")
        .collect();
    link.on_server(|| {
        let output = [("--output", "json")];
        let stunner = Stunner::start_with(&[&folder(example)], flags, &output);
        stunner.wait_event("ready");
        for line in &lines {
            for address in addresses {
                link.on_client(|| uclient(line, address));
            }
        }
    });
    lines.len()
}

/// Everything that was sent has to come back, in one of a few runs: the tool gives up on what a slow machine brings late.
/// Over streams the tool does not count the message of each of its two
/// connections that waits in its own buffer when it stops.
fn uclient(line: &[String], address: &str) {
    let minted = mint("a-secret-that-everybody-knows", "alice", "3600");
    let fill = |word: &String| match word.as_str() {
        "ADDRESS" => address.to_owned(),
        "USERNAME" => minted.user.clone(),
        "CREDENTIAL" => minted.password.clone(),
        word => word.to_owned(),
    };
    let words: Vec<String> = line.iter().map(fill).collect();
    let uncounted = if words.iter().any(|word| word == "-t") {
        2
    } else {
        0
    };
    let mut output = String::new();
    let all_came_back = (0..ATTEMPTS).any(|_| {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        output = run(&words[0], command, PATIENCE).expect_success(&words.join(" "));
        let [sent, received] =
            ["tot_send_msgs=", "tot_recv_msgs="].map(|name| last_count(&output, name));
        sent >= 20 && received + uncounted >= sent
    });
    assert!(
        all_came_back,
        "{}: not all came back\n{output}",
        words.join(" ")
    );
}

fn last_count(output: &str, name: &str) -> u32 {
    let rest = output.rsplit_once(name).map_or("", |(_, rest)| rest);
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

#[test]
fn the_clients_of_the_readmes_get_everything_back() {
    let test = "the_clients_of_the_readmes_get_everything_back";
    need!(test, skip::program("turnutils_uclient", "coturn"));
    let link = need!(test, Link::create());
    let examples: [(&str, &[&str]); 5] = [
        ("quickstart", &[]),
        ("public-turn", &[]),
        ("ephemeral-credentials", &[]),
        ("media-server", &[]),
        ("tls-443", &["--port-offset", "8000"]),
    ];
    // What socat stands in for.
    let _media_server = link.on_server(|| UdpEcho::start("127.0.0.1:10000"));
    for (example, flags) in examples {
        let count = lines_of(example, flags, &link, &[SERVER]);
        assert!(count > 0, "{example} shows no client");
    }
}

#[test]
fn the_clients_of_the_dual_stack_readme_get_everything_back() {
    let test = "the_clients_of_the_dual_stack_readme_get_everything_back";
    need!(test, skip::program("turnutils_uclient", "coturn"));
    let link = need!(test, with_ipv6());
    let count = lines_of("dual-stack", &[], &link, &[SERVER, SERVER_V6]);
    assert_eq!(count, 2);
}

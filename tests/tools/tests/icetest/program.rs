//! The `icetester` program: how it starts, what it answers, how it ends.

use std::process::Command;
use std::time::Duration;

use interop_tests::binary::icetester;
use interop_tests::http::header;
use interop_tests::process::run;

use crate::scenery::{Icetester, PATIENCE, TOKEN};

fn finish(arguments: &[&str], env: &[(&str, &str)]) -> (Option<i32>, String) {
    let mut command = Command::new(icetester());
    command.args(arguments).envs(env.iter().copied());
    let ended = run("icetester", command, Duration::from_secs(10));
    (ended.code(), ended.output)
}

#[test]
fn bad_starts_exit_with_their_codes_and_a_hint() {
    for (arguments, env, code) in [
        (vec!["--help"], ("A", ""), 0),
        (vec!["--version"], ("A", ""), 0),
        (vec!["--no-such-flag"], ("A", ""), 2),
        (vec![], ("ICE_SERVERS", "nonsense-with-secret"), 1),
        (vec![], ("ICE_TRANSPORT_POLICY", "public"), 1),
        (vec![], ("WHIP_ENDPOINT", "noslash"), 1),
        (vec!["--addr", "192.0.2.1:1"], ("A", ""), 1),
    ] {
        let (ended, output) = finish(&arguments, &[env]);
        assert_eq!(ended, Some(code), "{arguments:?} {env:?}: {output}");
        assert!(code == 0 || output.contains("hint: "), "{output}");
        assert!(!output.contains("nonsense-with-secret"), "{output}");
    }
}

#[test]
fn the_help_is_what_the_reference_says() {
    let (_, help) = finish(&["--help"], &[]);
    let page = interop_tests::binary::root().join("docs/reference/icetester.md");
    let page = std::fs::read_to_string(page).expect("the page");
    assert!(page.contains(help.trim()), "{help}");
}

#[test]
fn a_signal_ends_it_with_0() {
    for signal in [libc::SIGTERM, libc::SIGINT] {
        let mut tester = Icetester::start(&[]);
        tester.process.signal(signal);
        let ended = tester.process.wait_end(PATIENCE).expect("an end");
        assert_eq!(ended.code(), Some(0));
    }
}

#[test]
fn the_endpoint_is_where_the_environment_says() {
    let tester = Icetester::start(&[("WHIP_ENDPOINT", "/calls/whip")]);
    let answer = tester.ask("GET", "/calls/whip", "", "");
    assert_eq!(answer.status, 405);
    assert_eq!(header(&answer.head.to_lowercase(), "allow"), Some("post"));
    assert_eq!(
        tester.ask("POST", "/whip", "application/sdp", "").status,
        404
    );
    let config = tester.ask("GET", "/config", "", "").json();
    assert_eq!(config["WHIPEndpoint"], "/calls/whip");
    assert_eq!(config["BearerToken"], TOKEN);
}

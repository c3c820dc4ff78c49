//! `stunnerctl` as users run it: what it prints on the terminal, for every form of output and every way to fail.
//!
//! A transcript holds command lines and what they print; `UPDATE=1 cargo test -p tools-tests --test ctl` writes the
//! answers anew, to be read in the difference. `SERVER` stands for the address of a server that plays all parts.

mod completion;
mod kubectl;
mod server;
mod watch;

use std::path::{Path, PathBuf};
use std::process::Command;

use interop_tests::binary;
use interop_tests::ended::{Ended, run_to_end};
use server::Server;

fn stunnerctl() -> Command {
    let mut command = Command::new(binary::stunnerctl());
    // Nothing of the user's own clusters.
    command
        .env_remove("KUBECONFIG")
        .env_remove("KUBERNETES_SERVICE_HOST")
        .env_remove("CDS_SERVER_ADDR")
        .env("HOME", "/nonexistent");
    command
}

fn run(words: &[&str]) -> Ended {
    run_to_end(stunnerctl().args(words), "")
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ctl/transcripts")
}

/// The words of a line; those with blanks stand in single quotes.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let (mut quoted, mut begun) = (false, false);
    for c in line.chars() {
        match c {
            '\'' => {
                quoted = !quoted;
                begun = true;
            }
            ' ' if !quoted => {
                if begun {
                    words.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            c => {
                word.push(c);
                begun = true;
            }
        }
    }
    if begun {
        words.push(word);
    }
    words
}

fn transcript(name: &str) {
    let server = Server::start();
    let path = folder().join(format!("{name}.txt"));
    let written = std::fs::read_to_string(&path).expect("a transcript");
    let mut now = String::new();
    for line in written
        .lines()
        .filter(|line| line.starts_with("$ stunnerctl"))
    {
        let said = line.trim_start_matches("$ stunnerctl").trim();
        let words = words(&said.replace("SERVER", &server.address));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let done = run(&words);
        now.push_str(&format!("{line}\n{}", done.stdout));
        for line in done.stderr.lines() {
            now.push_str(&format!("stderr: {line}\n"));
        }
        now.push_str(&format!("[exit {}]\n\n", done.code.unwrap_or(-1)));
    }
    let now = now.replace(&server.address, "SERVER");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &now).expect("the transcript can be written");
        return;
    }
    assert!(
        now == written,
        "{name}: run with UPDATE=1 if this is meant\n{now}"
    );
}

#[test]
fn configs_are_printed_in_every_form() {
    transcript("config");
}

#[test]
fn statuses_are_printed_in_every_form() {
    transcript("status");
}

#[test]
fn credentials_are_asked_for_and_printed_in_every_form() {
    transcript("auth");
}

#[test]
fn the_license_says_that_everything_is_included() {
    transcript("license");
}

#[test]
fn whatever_goes_wrong_is_told_with_what_to_do() {
    transcript("errors");
}

#[test]
fn no_summary_shows_a_secret() {
    let server = Server::start();
    for form in ["summary", "string"] {
        let done = run(&[
            "-a",
            "config",
            "-o",
            form,
            "--cds-server-address",
            &server.address,
        ]);
        assert_eq!(done.code, Some(0), "{done:?}");
        for secret in [
            "fixture-user",
            "fixture-pass",
            "fixture-shared-secret",
            "RklYVFVSRQ",
        ] {
            assert!(!done.stdout.contains(secret), "{secret} in {}", done.stdout);
        }
    }
}

/// As after `| head -1`.
#[test]
fn a_reader_that_has_seen_enough_is_no_problem() {
    let mut command = Command::new("bash");
    command
        .args([
            "-c",
            "set -o pipefail; \"$0\" completion fish | head -1 > /dev/null",
        ])
        .arg(binary::stunnerctl());
    let done = run_to_end(&mut command, "");
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
}

#[test]
fn the_log_tells_what_is_asked_and_no_secret() {
    let server = Server::start();
    for flags in [["-v", "-a"].as_slice(), &["-l", "all:TRACE", "-a"]] {
        let mut words = flags.to_vec();
        words.extend(["config", "--cds-server-address", &server.address]);
        let done = run(&words);
        assert_eq!(done.code, Some(0), "{done:?}");
        let asked = format!("GET /api/v1/configs of http://{}", server.address);
        assert!(done.stderr.contains(&asked), "{}", done.stderr);
        assert!(!done.stderr.contains("fixture-"), "{}", done.stderr);
    }
    let done = run(&[
        "-v",
        "-s",
        &format!("http://{}/twice", server.address),
        "config",
    ]);
    let found = "[stunner-system/operator-1, test/operator-2]";
    assert!(done.stderr.contains(found), "{}", done.stderr);
}

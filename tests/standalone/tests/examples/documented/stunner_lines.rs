//! Every `stunner …` line is run, where all its addresses exist.

use std::path::Path;
use std::process::Command;

use interop_tests::netns::Host;
use interop_tests::process::{self, Process};
use interop_tests::skip;
use standalone_tests::binary::{root, stunner};
use standalone_tests::stunner::PATIENCE;

use super::commands::{commands, documents};
use crate::stage::assert_good;

/// Addresses of the documents' machine.
const ADDRESSES: [&str; 2] = ["192.0.2.7/32", "2001:db8::7/128"];

#[test]
fn the_commands_of_the_documents_do_what_they_say() {
    let test = "the_commands_of_the_documents_do_what_they_say";
    let host = match skip::ipv6().and_then(|()| Host::with_addresses(&ADDRESSES)) {
        Ok(host) => host,
        Err(missing) => return skip::report(test, &missing),
    };
    host.inside(|| {
        let mut count = 0;
        for document in documents() {
            count += run_all(&document);
        }
        assert!(count >= 20, "only {count} commands");
    });
}

/// Runs the commands of a document one after the other, in a folder that has the examples and what the README says to
/// have made before.
fn run_all(document: &Path) -> usize {
    let scratch = tempfile::tempdir().expect("a folder");
    let examples = scratch.path().join("examples");
    std::os::unix::fs::symlink(
        root().join("examples").canonicalize().expect("examples"),
        examples,
    )
    .expect("a link");
    let mut count = 0;
    for words in commands(document) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let ours = match words.as_slice() {
            ["sudo", "stunner", rest @ ..] | ["stunner", rest @ ..] => rest,
            _ => continue,
        };
        // Folders of the system are not ours to write to.
        let inside = |word: &&str| word.replace("/etc/stunner", "etc-stunner");
        let arguments: Vec<String> = ours.iter().map(inside).collect();
        let what = format!("{}: stunner {}", document.display(), arguments.join(" "));
        let mut command = Command::new(stunner());
        command.args(&arguments).current_dir(scratch.path());
        match arguments.first().map(String::as_str) {
            Some("run") => serve(command, &what),
            // There is no server to put load on: that its words are understood has to do.
            Some("bench") => {
                command.arg("--help");
                drop(process::run("stunner", command, PATIENCE).expect_success(&what));
            }
            _ => drop(process::run("stunner", command, PATIENCE).expect_success(&what)),
        }
        count += 1;
    }
    count
}

/// It serves until it is interrupted.
fn serve(command: Command, what: &str) {
    let mut process = Process::start("stunner", command).expect("start stunner");
    let serves = process::wait_until(PATIENCE, || {
        process.log_contains("Serving") || process.log_contains("\"event\":\"ready\"")
    });
    assert!(serves, "{what}: {:#?}", process.log());
    // What is on standard error is read apart, and may come first.
    let log = process.log();
    let ready = log.iter().find(|line| line.contains("\"event\":\"ready\""));
    match ready {
        Some(ready) => assert_good(&serde_json::from_str(ready).expect("JSON")),
        None => assert!(!process.log_contains("False"), "{what}: {log:#?}"),
    }
    process.signal(libc::SIGINT);
    let status = process.wait_end(PATIENCE).expect("the end");
    assert_eq!(status.code(), Some(0), "{what}");
}

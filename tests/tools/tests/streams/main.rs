//! Every program where its standard output or error is full or closed: no panic, and an exit code that says what came
//! of it.
//!
//! Run it with `cargo test -p tools-tests --test streams`. `STUNNER_BIN`, `STUNNERD_BIN`, `OPERATOR_BIN`, `AUTHD_BIN`,
//! `STUNNERCTL_BIN`, `TURNCAT_BIN` and `ICETESTER_BIN` name other programs than those of this repository.

use std::fs::OpenOptions;
use std::io::{PipeWriter, pipe};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use interop_tests::binary::find;
use interop_tests::ports::free_port;
use interop_tests::process::{signal_process, wait_until};
use serde_json::json;

/// For a start on a machine that has other things to do.
const PATIENCE: Duration = Duration::from_secs(60);

fn programs() -> [&'static Path; 7] {
    [
        find("STUNNER_BIN", "stunner-standalone", "stunner"),
        find("STUNNERD_BIN", "stunner-dataplane", "stunnerd"),
        find(
            "OPERATOR_BIN",
            "stunner-operator",
            "stunner-gateway-operator",
        ),
        find("AUTHD_BIN", "stunner-auth", "authd"),
        find("STUNNERCTL_BIN", "stunnerctl", "stunnerctl"),
        find("TURNCAT_BIN", "turncat", "turncat"),
        find("ICETESTER_BIN", "icetester", "icetester"),
    ]
}

/// A file on a disk without room.
fn full() -> Stdio {
    let file = OpenOptions::new().write(true).open("/dev/full");
    file.expect("/dev/full").into()
}

/// A pipe whose reader has gone.
fn closed() -> PipeWriter {
    let (_, writer) = pipe().expect("a pipe");
    writer
}

fn end(program: &Path, argument: &str, out: impl Into<Stdio>, err: impl Into<Stdio>) -> Output {
    let ended = Command::new(program)
        .arg(argument)
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(err)
        .output();
    ended.expect("an end")
}

#[test]
fn a_text_that_cannot_be_printed_is_a_problem_and_is_told() {
    for program in programs() {
        for argument in ["--help", "--version"] {
            let ended = end(program, argument, full(), Stdio::piped());
            let told = String::from_utf8_lossy(&ended.stderr);
            let what = format!("{} {argument}: {told}", program.display());
            assert_eq!(ended.status.code(), Some(1), "{what}");
            assert!(
                told.starts_with("error: cannot write to standard output"),
                "{what}"
            );
        }
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_problem() {
    for program in programs() {
        let ended = end(program, "--help", closed(), Stdio::piped());
        let told = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(
            ended.status.code(),
            Some(0),
            "{}: {told}",
            program.display()
        );
        assert_eq!(told, "", "{}", program.display());
    }
}

#[test]
fn an_error_that_nobody_can_read_keeps_its_exit_code() {
    for program in programs() {
        let wrong = "--no-such-flag";
        for (place, err) in [("full", full()), ("closed", closed().into())] {
            let ended = end(program, wrong, Stdio::piped(), err);
            let code = ended.status.code();
            assert_eq!(code, Some(2), "{}, {place}", program.display());
            assert!(ended.stdout.is_empty(), "{}", program.display());
        }
        let ended = end(program, "--help", full(), full());
        assert_eq!(ended.status.code(), Some(1), "{}", program.display());
    }
}

/// A server that ends with the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Each with everything that it can log, at a port of its own.
#[test]
fn servers_serve_on_when_nobody_reads_what_they_tell() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("stunnerd.json");
    let [_, stunnerd, _, authd, _, _, icetester] = programs();
    let servers: [(&Path, &dyn Fn(u16) -> String); 3] = [
        (icetester, &|port| {
            format!("--addr 127.0.0.1:{port} --verbose")
        }),
        // It serves while it waits for its config discovery service.
        (authd, &|port| {
            let cds = free_port();
            format!(
                "--address 127.0.0.1 --port {port} --cds-server-address 127.0.0.1:{cds} --log all:TRACE"
            )
        }),
        (stunnerd, &|port| {
            let text = json!({
                "version": "v1",
                "admin": { "name": "ns/gw", "healthcheck_endpoint": format!("http://127.0.0.1:{port}") },
                "auth": { "type": "static", "credentials": { "username": "u", "password": "p" } },
            });
            std::fs::write(&config, text.to_string()).expect("a config");
            format!(
                "--config {} --admin-address off --log all:TRACE",
                config.display()
            )
        }),
    ];
    for (program, arguments) in servers {
        for [out, err] in [[full(), full()], [closed().into(), closed().into()]] {
            let port = free_port();
            let arguments = arguments(port);
            let started = Command::new(program)
                .args(arguments.split(' '))
                .stdin(Stdio::null())
                .stdout(out)
                .stderr(err)
                .spawn();
            let mut server = Server(started.expect("a process"));
            let answers = wait_until(PATIENCE, || {
                let ended = server.0.try_wait().expect("a state");
                assert_eq!(ended, None, "{arguments}");
                TcpStream::connect(("127.0.0.1", port)).is_ok()
            });
            assert!(answers, "{arguments}");
            // What it tells once it serves, and at its end, is no reason for another end.
            signal_process(server.0.id(), libc::SIGTERM);
            let mut ended = None;
            wait_until(PATIENCE, || {
                ended = server.0.try_wait().expect("a state");
                ended.is_some()
            });
            let code = ended.and_then(|status| status.code());
            assert_eq!(code, Some(0), "{arguments}");
        }
    }
}

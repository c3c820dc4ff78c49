//! Output that nobody takes: a terminal that is stopped (Ctrl-S), a stuck log shipper.

use std::io::{PipeReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use interop_tests::client::TurnClient;
use interop_tests::echo::UdpEcho;
use interop_tests::ports::free_port;
use interop_tests::process::wait_until;
use serde_json::Value;
use standalone_tests::manifests::{Folder, route};
use standalone_tests::stunner::client;

/// Generous for a machine that compiles something else.
const SOON: Duration = Duration::from_secs(30);

/// What is in the pipe beforehand. It holds 64 KiB.
const FILL: usize = 60 << 10;

/// A gateway whose standard output or standard error goes into a pipe that holds next to nothing.
struct Unread {
    child: Child,
    pipe: PipeReader,
    folder: Folder,
    client: TurnClient,
}

impl Unread {
    fn start(flags: &[&str], attach: impl FnOnce(&mut Command, std::io::PipeWriter)) -> Self {
        let port = free_port();
        let folder = Folder::quickstart(port);
        let mut command = Command::new(standalone_tests::binary::stunner());
        command.arg("run").arg(folder.path()).args(flags);
        command.args(["--address", "127.0.0.1"]);
        for server in ["health", "metrics", "admin", "console"] {
            command.args([&format!("--{server}-address"), "off"]);
        }
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let (pipe, mut writer) = std::io::pipe().expect("a pipe");
        writer.write_all(&[b'\n'; FILL]).expect("a pipe");
        attach(&mut command, writer);
        let child = command.spawn().expect("start stunner");
        drop(command);
        let serves = wait_until(SOON, || client(port).allocate().is_ok());
        assert!(serves, "it does not serve");
        let mut client = client(port);
        let echo = UdpEcho::start("127.0.0.1:0");
        client.join(0x4000, echo.address());
        Unread {
            child,
            pipe,
            folder,
            client,
        }
    }

    /// Edits the route, and sees it take effect.
    fn edit(&mut self, number: u8) {
        let prefix = format!("127.0.{number}.0/24");
        let text = route("media", "gw", &["127.0.0.0/24", &prefix]);
        self.folder.write("route.yaml", &text);
        let peer = format!("127.0.{number}.1:1").parse().expect("an address");
        let client = &mut self.client;
        let admits = wait_until(SOON, || client.permit(peer).is_ok());
        assert!(admits, "edit {number} has no effect");
    }

    fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &id]).status();
        assert!(sent.is_ok_and(|status| status.success()));
    }

    fn ends(&mut self) {
        let mut status = None;
        let ended = wait_until(SOON, || {
            status = self.child.try_wait().expect("a process");
            status.is_some()
        });
        assert!(ended, "it does not end");
        assert_eq!(status.and_then(|status| status.code()), Some(0));
    }
}

impl Drop for Unread {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// More than the pipe holds: what is told of one edit is some hundred bytes.
const EDITS: u8 = 16;

#[test]
fn edits_take_effect_and_signals_end_it_though_nobody_reads_its_output() {
    for signal in ["INT", "TERM"] {
        let attach = |command: &mut Command, pipe| {
            command.stdout(pipe);
        };
        let mut unread = Unread::start(&["--output", "json", "--drain-timeout", "1s"], attach);
        (1..=EDITS).for_each(|number| unread.edit(number));
        unread.signal(signal);
        unread.ends();
        // What the pipe holds was told before it was full, in order.
        let mut told = Vec::new();
        unread.pipe.read_to_end(&mut told).expect("what was told");
        assert!(told[FILL..].starts_with(b"{\"event\":\"ready\""));
        assert!(
            !String::from_utf8_lossy(&told).contains("\"stopped\""),
            "the pipe never was full"
        );
    }
}

#[test]
fn nor_its_complaints() {
    let attach = |command: &mut Command, pipe| {
        command.stderr(pipe);
    };
    let mut unread = Unread::start(&["--drain-timeout", "1s"], attach);
    // Something to complain about, at some length.
    let faults: String = (0..20).map(|n| format!("field{n}: 1\n")).collect();
    let manifest = format!("apiVersion: v1\nkind: Service\nmetadata: {{name: a}}\n{faults}");
    for number in 1..=EDITS {
        unread
            .folder
            .write(&format!("broken-{number}.yaml"), &manifest);
        unread.edit(number);
    }
    unread.signal("TERM");
    unread.ends();
}

#[test]
fn a_reader_that_was_away_is_told_everything_in_order() {
    let attach = |command: &mut Command, pipe| {
        command.stdout(pipe);
    };
    let mut unread = Unread::start(&["--output", "json"], attach);
    (1..=EDITS).for_each(|number| unread.edit(number));
    let mut pipe = unread.pipe.try_clone().expect("a pipe");
    let reader = std::thread::spawn(move || {
        let mut told = String::new();
        pipe.read_to_string(&mut told).map(|_| told)
    });
    unread.signal("INT");
    unread.ends();
    let told = reader.join().expect("a reader").expect("what was told");
    let events: Vec<Value> = told
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let names: Vec<&str> = events
        .iter()
        .filter_map(|event| event["event"].as_str())
        .collect();
    assert_eq!(names.first(), Some(&"ready"));
    assert_eq!(names.last(), Some(&"stopped"));
    let changes = names.iter().filter(|name| **name == "changed").count();
    assert_eq!(changes, usize::from(EDITS));
    assert_eq!(names.len(), changes + 2, "{names:?}");
}

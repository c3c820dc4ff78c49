//! A gateway with a live session, whose folder others write nonsense into.

use std::cell::Cell;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use interop_tests::client::{Credentials, TurnClient};
use interop_tests::config::Transport;
use interop_tests::echo::UdpEcho;
use interop_tests::netns::{Link, SERVER};
use interop_tests::process::wait_until;
use interop_tests::skip;
use serde_json::{Value, json};
use standalone_tests::manifests::Folder;
use standalone_tests::stunner::{PATIENCE, Stunner};

use crate::corpus::Finding;
use crate::{finding, good};

/// In the prefix that the route of the good folder leads to.
const PEER: &str = "192.0.2.10";
const CHANNEL: u16 = 0x4000;
/// The settings of the good folder.
const PARAMETERS: &str = "parametersRef: {group: stunner.l7mp.io, kind: GatewayConfig, name: stunner-gatewayconfig, namespace: stunner}";
/// The file of the route that the session needs.
pub const ROUTE: &str = "UDPRoute-media-route.yaml";

/// `stunner run` of the good folder.
pub struct Gateway {
    pub folder: Folder,
    pub stunner: Stunner,
    start: Value,
    steps: Cell<u32>,
}

/// Runs `work` beside a session that sends packet after packet and must get every one back.
pub fn beside_a_session(test: &str, work: impl FnOnce(&Gateway) + Send) {
    let link = match Link::create() {
        Ok(link) => link,
        Err(missing) => return skip::report(test, &missing),
    };
    let echo = link.on_client(|| {
        let own = format!("{PEER}/32");
        let status = Command::new("ip")
            .args(["addr", "add", &own, "dev", "lo"])
            .status();
        assert!(status.expect("ip").success());
        UdpEcho::start(&format!("{PEER}:0"))
    });
    link.on_server(|| {
        let folder = Folder::default();
        for document in good().split("---\n") {
            folder.write(&file_of(document), document);
        }
        let output = [("--output", "json")];
        let stunner = Stunner::start_with(&[folder.path()], &[], &output);
        stunner.wait_event("ready");
        let mut gateway = Gateway {
            folder,
            stunner,
            start: Value::Null,
            steps: Cell::new(0),
        };
        gateway.step();
        gateway.start = gateway.state();
        assert_eq!(gateway.start["problems"], json!([]));
        let mut client = link.on_client(client);
        client.join(CHANNEL, echo.address());
        let (is_over, packets) = (AtomicBool::new(false), AtomicU32::new(0));
        std::thread::scope(|scope| {
            let session = scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let number = packets.fetch_add(1, Ordering::Relaxed);
                    let came_back = client.echoes(CHANNEL, &number.to_be_bytes());
                    assert!(came_back, "packet {number} did not come back");
                    std::thread::sleep(std::time::Duration::from_millis(5));
                }
            });
            // The session ends also when the work fails.
            let _end = Raise(&is_over);
            work(&gateway);
            is_over.store(true, Ordering::Relaxed);
            session.join().expect("the session goes on to the end");
        });
        assert!(packets.load(Ordering::Relaxed) > 20);
        gateway.ends_well();
    });
}

struct Raise<'a>(&'a AtomicBool);

impl Drop for Raise<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn client() -> TurnClient {
    let server = format!("{SERVER}:3478").parse().expect("an address");
    let credentials = Credentials::new("user-1", "swordfish-good");
    TurnClient::connect(Transport::Udp, server, "").with_credentials(credentials)
}

/// `KIND-NAME.yaml`.
fn file_of(document: &str) -> String {
    let value = |key: &str| {
        let mut lines = document.lines().filter_map(|line| line.strip_prefix(key));
        lines.next().expect("a line").to_owned()
    };
    format!("{}-{}.yaml", value("kind: "), value("  name: "))
}

impl Gateway {
    /// Waits until all that was written or removed before has been taken in. Files are read in the order in which they
    /// come to rest, so that one more of them, with a name that nothing else has, tells.
    #[track_caller]
    pub fn step(&self) {
        let number = self.steps.get() + 1;
        self.steps.set(number);
        let name = format!("step-{number}");
        let text = format!(
            "apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {{name: {name}}}
spec: {{controllerName: stunner.l7mp.io/gateway-operator, {PARAMETERS}}}
"
        );
        // A change of the same file as in the last step, so that the folder ends up as it was.
        self.folder.replace("zzz-step.yaml", &text);
        let seen = wait_until(PATIENCE, || {
            let state = self.stunner.state();
            let classes = state["classes"].as_array().expect("classes");
            classes.iter().any(|class| class["name"] == name.as_str())
        });
        assert!(seen, "{name} was not taken in");
    }

    /// What is served, and what is said of the files.
    pub fn state(&self) -> Value {
        let state = self.stunner.state();
        let part = |name: &str| state[name].clone();
        let is_step = |class: &Value| {
            let name = class["name"].as_str();
            name.is_some_and(|name| name.starts_with("step-"))
        };
        let classes = state["classes"].as_array().expect("classes").iter();
        let classes: Vec<&Value> = classes.filter(|class| !is_step(class)).collect();
        json!({
            "classes": classes,
            "gateways": part("gateways"),
            "routes": part("routes"),
            "problems": part("problems"),
        })
    }

    /// What is said of a file now.
    pub fn problems_of(&self, file: &Path) -> Vec<Finding> {
        let state = self.stunner.state();
        let problems = state["problems"].as_array().expect("problems");
        let of_file = |problem: &&Value| {
            let named = problem["file"].as_str().map(Path::new);
            named.and_then(Path::file_name) == file.file_name()
        };
        problems.iter().filter(of_file).map(finding).collect()
    }

    /// All that the good files define is there, as it was at the start. Others may have joined it.
    #[track_caller]
    pub fn assert_serves(&self, during: &str) {
        let now = self.state();
        for list in ["classes", "gateways", "routes"] {
            for old in self.start[list].as_array().expect("a list") {
                let mut all = now[list].as_array().expect("a list").iter();
                let found = all.find(|new| new["id"] == old["id"] && new["name"] == old["name"]);
                let found = found.unwrap_or_else(|| panic!("{during}: lost {old}"));
                assert_eq!(served(found), served(old), "{during}");
            }
        }
    }

    /// Everything is as it was at the start.
    #[track_caller]
    pub fn assert_as_at_the_start(&self, after: &str) {
        // What is said of files may come a moment later than what is served.
        wait_until(PATIENCE, || self.state() == self.start);
        assert_eq!(self.state(), self.start, "{after}");
    }

    /// Ends at once, and nothing was a panic.
    fn ends_well(mut self) {
        self.stunner.signal(libc::SIGINT);
        let status = self.stunner.wait_end(PATIENCE).expect("the end");
        assert_eq!(status.code(), Some(0));
        let lines = self.stunner.lines();
        let panics: Vec<&String> = lines
            .iter()
            .filter(|line| line.contains("panicked"))
            .collect();
        assert!(panics.is_empty(), "{panics:?}");
        // The start tells what clients need; from then on nothing secret is said.
        let later = lines.iter().filter(|line| !line.contains("iceServers"));
        let leaks: Vec<&String> = later.filter(|line| line.contains("swordfish")).collect();
        assert!(leaks.is_empty(), "{leaks:?}");
        // Names of files are bytes, and none may be left over.
        let left = std::fs::read_dir(self.folder.path()).expect("the folder");
        let odd = left
            .flatten()
            .any(|entry| entry.file_name().as_bytes().starts_with(b"case-"));
        assert!(!odd, "the test left a case behind");
    }
}

/// Without what other objects may add to: routes of a listener, endpoints of a backend and whether all are usable.
fn served(object: &Value) -> Value {
    let mut object = object.clone();
    for listener in object["listeners"].as_array_mut().into_iter().flatten() {
        for field in ["attachedRoutes", "routes"] {
            listener[field] = Value::Null;
        }
    }
    for parent in object["parents"].as_array_mut().into_iter().flatten() {
        if let Some(conditions) = parent["conditions"].as_array_mut() {
            conditions.retain(|condition| condition["type"] != "ResolvedRefs");
        }
    }
    for backend in object["backends"].as_array_mut().into_iter().flatten() {
        backend["endpoints"] = Value::Null;
        backend["message"] = Value::Null;
        backend["names"] = Value::Null;
        backend["resolved"] = Value::Null;
    }
    object
}

//! Gateways with sessions, and `stunnerctl` run to its end.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use interop_tests::client::TurnClient;
use interop_tests::echo::UdpEcho;
use interop_tests::ports::free_port;
use serde_json::Value;
use standalone_tests::manifests::{Folder, class, gateway, route};
use standalone_tests::stunner::{Stunner, client};

pub const CHANNEL: u16 = 0x4000;

/// The binary: `STUNNERCTL_BIN`, else built with cargo in the profile of the test itself.
pub fn stunnerctl() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| interop_tests::binary::find("STUNNERCTL_BIN", "stunnerctl", "stunnerctl"))
}

/// What a run came to.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Ran {
    #[track_caller]
    pub fn with_code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// Standard output, a JSON value per line.
    #[track_caller]
    pub fn values(&self) -> Vec<Value> {
        let lines = self.out.lines();
        lines
            .map(|line| {
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
            })
            .collect()
    }
}

/// Runs `stunnerctl` to its end, without a cluster, and with a minute for it.
pub fn ctl(arguments: &[&str]) -> Ran {
    ctl_with(arguments, "")
}

pub fn ctl_with(arguments: &[&str], stdin: &str) -> Ran {
    let home = tempfile::tempdir().expect("a folder");
    let input = home.path().join("stdin");
    std::fs::write(&input, stdin).expect("a file");
    let mut command = Command::new("timeout");
    command
        .args(["60"])
        .arg(stunnerctl())
        .args(arguments)
        .stdin(std::fs::File::open(&input).expect("the file"))
        .env_remove("KUBECONFIG")
        .env_remove("KUBERNETES_SERVICE_HOST")
        .env("HOME", home.path());
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().expect("run stunnerctl");
    Ran {
        code: status.code(),
        out: String::from_utf8_lossy(&stdout).into_owned(),
        err: String::from_utf8_lossy(&stderr).into_owned(),
    }
}

/// A `stunner run` with two gateways, `one` with a UDP and a TCP listener and `two` with one, and an echo peer that the
/// routes of both admit.
pub struct Scenery {
    pub stunner: Stunner,
    pub peer: UdpEcho,
    pub one: u16,
    pub two: u16,
    _folder: Folder,
}

impl Scenery {
    #[track_caller]
    pub fn start() -> Scenery {
        let (one, tcp, two) = (free_port(), free_port(), free_port());
        let manifests = [
            class(),
            gateway("one", &[("udp", "TURN-UDP", one), ("tcp", "TURN-TCP", tcp)]),
            route("media", "one", &["127.0.0.1/32", "10.1.0.0/16"]),
            gateway("two", &[("udp", "TURN-UDP", two)]),
            route("voice", "two", &["127.0.0.1/32"]),
        ];
        let folder = Folder::default();
        folder.write("all.yaml", &manifests.join("---\n"));
        let stunner = Stunner::run(&[folder.path()], &[]);
        Scenery {
            stunner,
            peer: UdpEcho::start("127.0.0.1:0"),
            one,
            two,
            _folder: folder,
        }
    }

    pub fn admin(&self) -> &str {
        self.stunner.admin_address()
    }

    /// A session of gateway `one` that relays to the echo peer.
    #[track_caller]
    pub fn session(&self) -> TurnClient {
        self.session_at(self.one)
    }

    #[track_caller]
    pub fn session_at(&self, port: u16) -> TurnClient {
        let mut client = client(port);
        client.join(CHANNEL, self.peer.address());
        client
    }

    /// `stunnerctl COMMAND … --admin ADDR`.
    pub fn ctl(&self, arguments: &[&str]) -> Ran {
        let mut all = arguments.to_vec();
        all.extend(["--admin", self.admin()]);
        ctl(&all)
    }
}

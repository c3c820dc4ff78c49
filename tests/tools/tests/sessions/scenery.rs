//! Gateways with sessions, and `stunnerctl` run to its end.

use std::process::Command;

use interop_tests::binary;
use interop_tests::client::TurnClient;
use interop_tests::echo::UdpEcho;
use interop_tests::ended::{Ended, run_to_end};
use interop_tests::ports::free_port;
use standalone_tests::manifests::{Folder, class, gateway, route};
use standalone_tests::stunner::{Stunner, client};

pub const CHANNEL: u16 = 0x4000;

/// Runs `stunnerctl` to its end, without a cluster, and with a minute for it.
pub fn ctl(arguments: &[&str]) -> Ended {
    ctl_with(arguments, "")
}

pub fn ctl_with(arguments: &[&str], stdin: &str) -> Ended {
    let home = tempfile::tempdir().expect("a folder");
    let mut command = Command::new("timeout");
    command
        .args(["60"])
        .arg(binary::stunnerctl())
        .args(arguments)
        .env_remove("KUBECONFIG")
        .env_remove("KUBERNETES_SERVICE_HOST")
        .env("HOME", home.path());
    run_to_end(&mut command, stdin)
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
            route(
                "media",
                "one",
                &["127.0.0.1/32", "10.1.0.0/16", "fd12:3456::/32"],
            ),
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
    pub fn ctl(&self, arguments: &[&str]) -> Ended {
        let mut all = arguments.to_vec();
        all.extend(["--admin", self.admin()]);
        ctl(&all)
    }
}

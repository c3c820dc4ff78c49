//! How it ends.

use std::os::unix::fs::OpenOptionsExt as _;
use std::time::{Duration, Instant};

use interop_tests::echo::UdpEcho;
use interop_tests::ports::free_port;
use interop_tests::process::wait_until;
use standalone_tests::manifests::{Folder, gateway, route};
use standalone_tests::stunner::{Stunner, client};

/// Well below the time to drain of these tests, and generous for a machine that compiles something else.
const SOON: Duration = Duration::from_secs(20);

/// Waits until it says that it drains.
fn drains(stunner: &Stunner) -> bool {
    wait_until(SOON, || {
        let ready = stunner.health("/ready");
        ready.is_ok_and(|answer| answer.status == 503)
    })
}

#[test]
fn sigterm_drains_and_refuses_new_sessions() {
    let (port, echo) = (free_port(), UdpEcho::start("127.0.0.1:0"));
    let folder = Folder::quickstart(port);
    let mut stunner = Stunner::run(&[folder.path()], &["--drain-timeout", "60s"]);
    let mut client = client(port);
    client.join(0x4000, echo.address());
    stunner.signal(libc::SIGTERM);
    assert!(drains(&stunner), "ready though it drains");
    let newcomer = standalone_tests::stunner::client(port).allocate();
    assert_eq!(newcomer.map_err(|refusal| refusal.code()), Err(Some(508)));
    assert!(client.echoes(0x4000, b"while draining"));
    assert!(stunner.wait_end(Duration::from_millis(300)).is_none());
    client.refresh(0).expect("the end of the session");
    let status = stunner.wait_end(SOON).expect("the end");
    assert_eq!(status.code(), Some(0));
    let stopped = stunner.wait_event("stopped");
    assert_eq!(stopped["drained"], true);
}

#[test]
fn the_drain_has_an_end() {
    let (port, echo) = (free_port(), UdpEcho::start("127.0.0.1:0"));
    let folder = Folder::quickstart(port);
    let mut stunner = Stunner::run(&[folder.path()], &["--drain-timeout", "1s"]);
    client(port).join(0x4000, echo.address());
    let began = Instant::now();
    stunner.signal(libc::SIGTERM);
    let status = stunner.wait_end(SOON).expect("the end");
    assert_eq!(status.code(), Some(0));
    assert!(began.elapsed() >= Duration::from_millis(900));
}

#[test]
fn sigint_and_a_second_signal_stop_at_once() {
    for signals in [vec![libc::SIGINT], vec![libc::SIGTERM, libc::SIGTERM]] {
        let (port, echo) = (free_port(), UdpEcho::start("127.0.0.1:0"));
        let folder = Folder::quickstart(port);
        let mut stunner = Stunner::run(&[folder.path()], &["--drain-timeout", "60s"]);
        client(port).join(0x4000, echo.address());
        let (last, first) = signals.split_last().expect("a signal");
        for signal in first {
            stunner.signal(*signal);
            // Two that come at once are one to the kernel.
            assert!(drains(&stunner), "ready though it drains");
        }
        stunner.signal(*last);
        let status = stunner.wait_end(SOON).expect("the end");
        assert_eq!(status.code(), Some(0));
        stunner.wait_event("stopped");
    }
}

/// Whether a new client is turned away. One that comes before the drain has begun is let in, and must not hold it up.
fn newcomer_is_refused(port: u16) -> bool {
    let mut newcomer = client(port);
    match newcomer.allocate() {
        Ok(_) => {
            newcomer.refresh(0).expect("the end of the session");
            false
        }
        Err(refusal) => refusal.code() == Some(508),
    }
}

#[test]
fn edits_apply_while_it_drains() {
    let (port, echo) = (free_port(), UdpEcho::start("127.0.0.1:0"));
    let folder = Folder::quickstart(port);
    let mut stunner = Stunner::run(&[folder.path()], &["--drain-timeout", "60s"]);
    let mut client = client(port);
    client.join(0x4000, echo.address());
    stunner.signal(libc::SIGTERM);
    assert!(wait_until(SOON, || newcomer_is_refused(port)));
    folder.write(
        "route.yaml",
        &route("media", "gw", &["127.0.0.0/24", "127.0.7.0/24"]),
    );
    let other = free_port();
    folder.write(
        "other.yaml",
        &gateway("other", &[("udp", "TURN-UDP", other)]),
    );
    stunner.wait_event("changed");
    let peer = "127.0.7.1:1".parse().expect("an address");
    assert!(wait_until(SOON, || client.permit(peer).is_ok()));
    assert!(newcomer_is_refused(port));
    // One that comes now lets nobody in either.
    assert!(wait_until(SOON, || newcomer_is_refused(other)));
    client.refresh(0).expect("the end of the session");
    let status = stunner.wait_end(SOON).expect("the end");
    assert_eq!(status.code(), Some(0));
}

#[test]
fn waiting_for_a_pipe_can_be_ended() {
    let folder = Folder::default();
    let pipe = folder.file("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.is_ok_and(|status| status.success()), "no pipe");
    let mut stunner = Stunner::start(&[&pipe], &[]);
    // That somebody reads from the pipe is known when it can be opened for writing. Nothing is written.
    let mut writer = None;
    let reads = wait_until(SOON, || {
        let mut options = std::fs::File::options();
        options.write(true).custom_flags(libc::O_NONBLOCK);
        writer = options.open(&pipe).ok();
        writer.is_some()
    });
    assert!(reads, "it does not read the pipe");
    stunner.signal(libc::SIGINT);
    let status = stunner.wait_end(SOON).expect("it waits on");
    assert_eq!(status.code(), Some(0));
}

/// As when the terminal is closed under `nohup`, or a program that read its output has ended.
#[test]
fn it_serves_on_when_nobody_reads_what_it_says() {
    let (port, echo) = (free_port(), UdpEcho::start("127.0.0.1:0"));
    let folder = Folder::quickstart(port);
    let mut command = std::process::Command::new(standalone_tests::binary::stunner());
    command.arg("run").arg(folder.path());
    command.args(["--address", "127.0.0.1"]);
    for server in ["health", "metrics", "admin", "console"] {
        command.args([&format!("--{server}-address"), "off"]);
    }
    let (out, told) = std::io::pipe().expect("a pipe");
    command
        .stdout(told.try_clone().expect("a pipe"))
        .stderr(told);
    let mut child = Killed(command.spawn().expect("start stunner"));
    drop((command, out));
    let serves = || standalone_tests::stunner::client(port).allocate().is_ok();
    assert!(wait_until(SOON, serves));
    // Of each of these it has something to say: a change, a file that is broken, and another change. Files are read in
    // the order in which they come to rest, so that the last one tells of the others.
    let mut client = client(port);
    client.join(0x4000, echo.address());
    let mut reaches = |prefix: &str, peer: &str| {
        folder.write(
            "route.yaml",
            &route("media", "gw", &["127.0.0.0/24", prefix]),
        );
        let peer = peer.parse().expect("an address");
        wait_until(SOON, || client.permit(peer).is_ok())
    };
    assert!(reaches("127.0.7.0/24", "127.0.7.1:1"), "no effect");
    folder.write("gateway.yaml", "kind: [");
    assert!(reaches("127.0.8.0/24", "127.0.8.1:1"), "no effect");
    assert!(client.echoes(0x4000, b"still here"));
    assert_eq!(child.0.try_wait().expect("a process"), None);
}

/// A process that does not outlive the test.
struct Killed(std::process::Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

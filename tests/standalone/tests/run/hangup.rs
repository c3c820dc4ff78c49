//! SIGHUP, which tells daemons to read their files again.

use interop_tests::echo::UdpEcho;
use interop_tests::ports::free_port;
use standalone_tests::manifests::{Folder, route};
use standalone_tests::stunner::{PATIENCE, Stunner, client};

#[test]
fn a_hangup_ends_nothing() {
    let (port, echo) = (free_port(), UdpEcho::start("127.0.0.1:0"));
    let folder = Folder::quickstart(port);
    let mut stunner = Stunner::run(&[folder.path()], &[]);
    let mut client = client(port);
    client.join(0x4000, echo.address());
    stunner.signal(libc::SIGHUP);
    // Signals are delivered before the answer to this: the process is alive, and follows its files.
    folder.write(
        "route.yaml",
        &route("media", "gw", &["127.0.0.0/24", "127.0.7.0/24"]),
    );
    stunner.wait_event("changed");
    assert!(client.echoes(0x4000, b"still here"));
    stunner.signal(libc::SIGINT);
    let status = stunner.wait_end(PATIENCE).expect("the end");
    assert_eq!(status.code(), Some(0));
}

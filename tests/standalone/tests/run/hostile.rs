//! Files that nobody meant well.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use interop_tests::echo::UdpEcho;
use interop_tests::ports::free_port;
use interop_tests::process::wait_until;
use standalone_tests::manifests::{Folder, route};
use standalone_tests::stunner::{PATIENCE, Stunner, client};

#[test]
fn a_bad_file_hurts_no_other() {
    let (port, echo) = (free_port(), UdpEcho::start("127.0.0.1:0"));
    let folder = Folder::quickstart(port);
    folder.write("binary.yaml", "\u{7f}ELF\u{0}\u{1}\u{2}");
    let big = std::fs::File::create(folder.file("big.yaml")).expect("a file");
    big.set_len(50 << 20).expect("a large file");
    // Just within the limit. It holds up nobody, however long it takes to read.
    let nearly = "a: &a [x]\n".repeat(1_600_000);
    folder.write("nearly.yaml", &nearly);
    folder.write("locked.yaml", "kind: Gateway");
    let locked = std::fs::Permissions::from_mode(0o000);
    std::fs::set_permissions(folder.file("locked.yaml"), locked).expect("no rights");
    std::os::unix::fs::symlink("nowhere", folder.file("dangling.yaml")).expect("a link");
    std::fs::create_dir(folder.file("folder.yaml")).expect("a folder");
    let bombs = (0..40).fold(String::from("a0: &a0 [x]\n"), |mut text, level| {
        let before = format!("*a{level}, ");
        text.push_str(&format!(
            "a{}: &a{} [{}]\n",
            level + 1,
            level + 1,
            before.repeat(9)
        ));
        text
    });
    folder.write("bomb.yaml", &bombs);
    folder.write("deep.yaml", &"[".repeat(100_000));
    let stunner = Stunner::run(&[folder.path()], &[]);
    client(port).join(0x4000, echo.address());
    for name in [
        "binary.yaml",
        "big.yaml",
        "dangling.yaml",
        "bomb.yaml",
        "deep.yaml",
    ] {
        stunner.wait_for(&format!("word of {name}"), |event| {
            let file = event["file"].as_str();
            file.is_some_and(|file| file.ends_with(name))
        });
    }
    // The good ones are followed as if nothing were.
    folder.write("route.yaml", &route("media", "gw", &["127.0.4.0/24"]));
    let mut client = client(port);
    client.allocate().expect("an allocation");
    let peer = "127.0.4.1:1".parse().expect("an address");
    assert!(wait_until(PATIENCE, || client.permit(peer).is_ok()));
}

#[test]
fn a_file_that_is_written_slowly_is_not_believed_halfway() {
    let port = free_port();
    let folder = Folder::quickstart(port);
    let stunner = Stunner::run(&[folder.path()], &[]);
    for attempt in 0..20 {
        let seen = stunner.events().len();
        let text = route("media", "gw", &[&format!("127.0.4.{attempt}")]);
        let pause = write_slowly(&folder.file("route.yaml"), &text);
        stunner.wait_after(seen, "change", |event| event["event"] == "changed");
        // A machine that stops for longer than the stillness has written half a file, and nothing is shown.
        if pause < Duration::from_millis(90) {
            let events = stunner.events();
            let problems = events.iter().skip(seen);
            let problems: Vec<_> = problems
                .filter(|event| event["event"] == "problem")
                .collect();
            assert!(problems.is_empty(), "{problems:#?}");
            return;
        }
        // What was said of the half must not be heard during the next attempt.
        let is_whole = || stunner.state()["problems"].as_array().map(Vec::len) == Some(0);
        assert!(wait_until(PATIENCE, is_whole), "{:#?}", stunner.events());
    }
    panic!("this machine cannot write a file in one go");
}

/// Writes a file in many pieces; the longest time between two.
fn write_slowly(path: &Path, text: &str) -> Duration {
    let mut last = Instant::now();
    let mut file = std::fs::File::create(path).expect("a file");
    let mut longest = Duration::ZERO;
    for piece in text.as_bytes().chunks(text.len() / 12) {
        std::thread::sleep(Duration::from_millis(25));
        file.write_all(piece).expect("a piece");
        let now = Instant::now();
        longest = longest.max(now - last);
        last = now;
    }
    longest
}

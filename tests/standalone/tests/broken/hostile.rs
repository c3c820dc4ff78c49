//! What lies in folders besides manifests, and what becomes of the gateway's own files.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use interop_tests::process::{self, wait_until};
use standalone_tests::binary::stunner;

use crate::corpus::cases;
use crate::corpus_root;
use crate::gateway::{Gateway, ROUTE, beside_a_session};

/// Commands that read a folder must come to an end whatever is in it.
const PATIENCE: Duration = Duration::from_secs(60);

fn fifo(path: &Path) {
    let status = Command::new("mkfifo").arg(path).status();
    assert!(status.expect("mkfifo").success());
}

/// Lays something under each name; `true` where a problem has to be told.
fn litter(folder: &Path) -> Vec<(&'static str, bool)> {
    let at = |name: &str| folder.join(name);
    let big = std::fs::File::create(at("case-big.yaml")).expect("a file");
    big.set_len(50 << 20).expect("a large file");
    std::fs::write(at("case-binary.yaml"), b"\x7fELF\x02\x01\x01\0\0\0\xff").expect("a file");
    std::fs::write(at("case-closed.yaml"), "kind: Gateway\nspec: [").expect("a file");
    let nobody = std::fs::Permissions::from_mode(0o000);
    std::fs::set_permissions(at("case-closed.yaml"), nobody).expect("no rights");
    symlink("nowhere.yaml", at("case-dangling.yaml")).expect("a link");
    symlink("case-loop.yaml", at("case-loop.yaml")).expect("a link");
    std::fs::create_dir(at("case-folder.yaml")).expect("a folder");
    fifo(&at("case-fifo.yaml"));
    symlink("case-fifo.yaml", at("case-link-to-fifo.yaml")).expect("a link");
    symlink("/dev/zero", at("case-device.yaml")).expect("a link");
    drop(UnixListener::bind(at("case-socket.yaml")).expect("a socket"));
    let odd = std::ffi::OsStr::from_bytes(b"case-\xff\xfe.yaml");
    std::fs::write(folder.join(odd), "kind: [").expect("a file");
    vec![
        ("case-big.yaml", true),
        ("case-binary.yaml", true),
        ("case-closed.yaml", true),
        ("case-dangling.yaml", true),
        ("case-loop.yaml", true),
        ("case-folder.yaml", false),
        ("case-fifo.yaml", false),
        ("case-link-to-fifo.yaml", false),
        ("case-device.yaml", false),
        ("case-socket.yaml", false),
    ]
}

#[test]
fn what_is_no_manifest_is_told_or_passed_over_and_holds_up_nobody() {
    let test = "what_is_no_manifest_is_told_or_passed_over_and_holds_up_nobody";
    beside_a_session(test, |gateway| {
        let names = litter(gateway.folder.path());
        gateway.step();
        gateway.assert_serves("litter");
        for (name, is_told) in names {
            let path = gateway.folder.file(name);
            let told = || !gateway.problems_of(&path).is_empty();
            assert!(wait_until(PATIENCE, || told() == is_told), "{name}");
        }
        for command in ["check", "translate"] {
            let mut run = Command::new(stunner());
            run.arg(command).arg(gateway.folder.path());
            let finished = process::run(command, run, PATIENCE);
            assert_eq!(finished.code(), Some(1), "{command}: {}", finished.output);
        }
        for entry in std::fs::read_dir(gateway.folder.path()).expect("the folder") {
            let path = entry.expect("an entry").path();
            let is_ours = path
                .file_name()
                .map(|name| name.as_bytes().starts_with(b"case-"));
            match (is_ours, path.is_dir()) {
                (Some(true), true) => std::fs::remove_dir(&path).expect("no folder"),
                (Some(true), false) => std::fs::remove_file(&path).expect("no file"),
                _ => {}
            }
        }
        gateway.step();
        gateway.assert_as_at_the_start("after the litter");
    });
}

/// A file that is about to be read may become a pipe that nobody writes to.
#[test]
fn a_file_that_becomes_a_pipe_holds_up_nobody() {
    beside_a_session("a_file_that_becomes_a_pipe_holds_up_nobody", |gateway| {
        let path = gateway.folder.file("case-turns.yaml");
        for delay in [0, 60, 90, 95, 98, 100, 102, 105, 110] {
            std::fs::write(&path, "kind: [").expect("a file");
            std::thread::sleep(Duration::from_millis(delay));
            let next = gateway.folder.file(".next");
            fifo(&next);
            std::fs::rename(&next, &path).expect("a pipe in its place");
            gateway.step();
            gateway.assert_serves("a pipe");
            std::fs::remove_file(&path).expect("no pipe");
        }
        gateway.step();
        gateway.assert_as_at_the_start("after the pipes");
    });
}

/// Damages of a text, by name.
fn damages(good: &str) -> Vec<(&'static str, Vec<u8>)> {
    let swap = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        good.replacen(from, to, 1).into_bytes()
    };
    let utf16: Vec<u8> = good.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let with = |more: &[u8]| [good.as_bytes(), more].concat();
    vec![
        ("an unknown field", swap("  rules:", "  ruls:")),
        ("a text for a port", swap("port: 10000", "port: ten")),
        ("a port too high", swap("endPort: 20000", "endPort: 200000")),
        ("a list for a name", swap("name: media-server", "name: [a]")),
        ("no name", swap("name: media-route", "labels: {}")),
        (
            "a name that is none",
            swap("name: media-route", "name: Media_Route"),
        ),
        ("a kind misspelt", swap("kind: UDPRoute", "kind: UDPRout")),
        ("no kind", swap("kind: UDPRoute", "# kind: UDPRoute")),
        (
            "a version of the future",
            swap("stunner.l7mp.io/v1", "stunner.l7mp.io/v9"),
        ),
        ("a tab", swap("  rules:", "\trules:")),
        (
            "an open bracket",
            swap("    - name: udp-gateway", "    - [name: udp-gateway"),
        ),
        (
            "an open quote",
            swap("name: media-route", "name: \"media-route"),
        ),
        ("a key twice", swap("  rules:", "  rules: []\n  rules:")),
        (
            "a template",
            swap("name: media-route", "name: {{ .Values.route }}"),
        ),
        (
            "an alias to nothing",
            swap("name: udp-gateway", "name: *gateway"),
        ),
        (
            "a merge conflict",
            with(b"<<<<<<< HEAD\n=======\n>>>>>>> theirs\n"),
        ),
        ("a NUL", with(b"\0")),
        ("no UTF-8", with(b"# \xff\xfe\n")),
        ("UTF-16", utf16),
        ("nothing", Vec::new()),
        ("too much", with(&vec![b' '; 17 << 20])),
        ("a binary", b"\x7fELF\x02\x01\x01\0\0\0".to_vec()),
        (
            "a web page",
            b"<!DOCTYPE html>\n<html><body>404</body></html>\n".to_vec(),
        ),
    ]
}

#[test]
fn the_file_of_a_live_route_may_be_overwritten_with_any_nonsense() {
    let test = "the_file_of_a_live_route_may_be_overwritten_with_any_nonsense";
    beside_a_session(test, |gateway| {
        let good = std::fs::read_to_string(gateway.folder.file(ROUTE)).expect("the route");
        let mut damages = damages(&good);
        // Texts from which no object can be told.
        let unreadable = ["syntax", "encoding", "nesting", "too-large"];
        let cases = cases(&corpus_root()).into_iter();
        let cases = cases.filter(|case| unreadable.contains(&case.class.as_str()));
        let cases = cases.filter(|case| !String::from_utf8_lossy(&case.bytes).contains("kind:"));
        damages.extend(cases.map(|case| ("a case of the corpus", case.bytes)));
        for (damage, bytes) in damages {
            overwrite(gateway, damage, &bytes);
            gateway.folder.replace(ROUTE, &good);
        }
        gateway.step();
        gateway.assert_as_at_the_start("after all damage");
    });
}

fn overwrite(gateway: &Gateway, damage: &str, bytes: &[u8]) {
    let path = gateway.folder.file(ROUTE);
    std::fs::write(&path, bytes).expect("a file");
    gateway.step();
    gateway.assert_serves(damage);
    let told = wait_until(PATIENCE, || !gateway.problems_of(&path).is_empty());
    assert!(told, "nothing said of {damage}");
}

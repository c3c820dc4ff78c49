//! The ways in which files are saved.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use interop_tests::client::TurnClient;
use interop_tests::ports::free_port;
use interop_tests::process::wait_until;
use standalone_tests::manifests::{Folder, class, gateway, route};
use standalone_tests::stunner::{PATIENCE, Stunner, client};

fn reaches(client: &mut TurnClient, last: u8) -> bool {
    let peer = format!("127.0.4.{last}:1").parse().expect("an address");
    client.permit(peer).is_ok()
}

fn text(last: u8) -> String {
    route("media", "gw", &[&format!("127.0.4.{last}/32")])
}

/// Less than the stillness after which a file is read.
const IN_ONE_GO: Duration = Duration::from_millis(90);

/// The ways of editors and scripts to put a text into a file.
type Save = fn(&Path, &str, &mut Pace);

/// Notes how long a file was left as it was between two steps.
struct Pace {
    last: Instant,
    longest: Duration,
}

impl Pace {
    fn begin() -> Self {
        Pace {
            last: Instant::now(),
            longest: Duration::ZERO,
        }
    }

    fn step(&mut self) {
        let now = Instant::now();
        self.longest = self.longest.max(now - self.last);
        self.last = now;
    }
}

const WAYS: [(&str, Save); 6] = [
    ("in place", |path, text, _| {
        fs::write(path, text).expect("a file")
    }),
    (
        "vim: the old one is moved to a backup, which is deleted",
        |path, text, _| {
            let backup = path.with_extension("yaml~");
            fs::rename(path, &backup).expect("a backup");
            fs::write(path, text).expect("a file");
            fs::remove_file(backup).expect("no backup");
        },
    ),
    ("a new one is renamed over it", |path, text, _| {
        let next = path.with_extension("next");
        fs::write(&next, text).expect("a file");
        fs::rename(next, path).expect("a rename");
    }),
    ("deleted and made again", |path, text, _| {
        fs::remove_file(path).expect("no file");
        fs::write(path, text).expect("a file");
    }),
    ("emptied, and written in pieces", |path, text, pace| {
        let mut file = fs::File::create(path).expect("a file");
        for piece in text.as_bytes().chunks(40) {
            std::thread::sleep(Duration::from_millis(20));
            file.write_all(piece).expect("a piece");
            pace.step();
        }
    }),
    ("with a time of modification long ago", |path, text, _| {
        fs::write(path, text).expect("a file");
        let file = fs::File::options().append(true).open(path).expect("a file");
        let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        file.set_modified(then).expect("a time");
    }),
];

#[test]
fn every_way_to_save_a_file_takes_effect_and_removes_nothing() {
    for (way, save) in WAYS {
        // A machine that stops for longer than the stillness has left the file as it was in between, and what comes of
        // that is right, too.
        let in_one_go = (0..20).any(|_| saved_in_one_go(way, save));
        assert!(in_one_go, "this machine cannot save in one go: {way}");
    }
}

/// Whether the file was never left alone for long meanwhile. If so, nothing was removed.
fn saved_in_one_go(way: &str, save: Save) -> bool {
    let port = free_port();
    let folder = Folder::quickstart(port);
    let stunner = Stunner::run(&[folder.path()], &[]);
    let mut client = client(port);
    client.allocate().expect("an allocation");
    let mut pace = Pace::begin();
    save(&folder.file("route.yaml"), &text(1), &mut pace);
    pace.step();
    let effective = wait_until(PATIENCE, || reaches(&mut client, 1));
    assert!(effective, "{way}: {:#?}", stunner.events());
    stunner.wait_event("changed");
    if pace.longest >= IN_ONE_GO {
        return false;
    }
    for event in stunner.events() {
        let objects = event["objects"].as_array().cloned().unwrap_or_default();
        assert!(
            objects.iter().all(|one| one["change"] == "changed"),
            "{way}: {event:#}"
        );
    }
    true
}

/// What `git checkout` does: files go, come and change all at once.
#[test]
fn another_branch_takes_effect_as_a_whole() {
    let (port, other) = (free_port(), free_port());
    let folder = Folder::quickstart(port);
    let one = |number: u8| format!("route-{number}.yaml");
    for number in 0..100 {
        let prefix = format!("127.0.4.{number}/32");
        let text = route(&format!("route-{number}"), "gw", &[&prefix]);
        folder.write(&one(number), &text);
    }
    let stunner = Stunner::run(&[folder.path()], &[]);
    for number in 0..100 {
        folder.remove(&one(number));
    }
    for number in 100..200 {
        let prefix = format!("127.0.4.{number}/32");
        let text = route(&format!("route-{number}"), "gw", &[&prefix]);
        folder.replace(&one(number), &text);
    }
    folder.replace(
        "gateway.yaml",
        &gateway("gw", &[("udp", "TURN-UDP", other)]),
    );
    let mut client = wait_for_gateway(other);
    assert!(wait_until(PATIENCE, || reaches(&mut client, 199)));
    assert!(wait_until(PATIENCE, || !reaches(&mut client, 99)));
    assert!(wait_until(PATIENCE, || reaches(&mut client, 100)));
    let problems = stunner.events();
    let mut problems = problems.iter().filter(|event| event["event"] == "problem");
    assert!(problems.next().is_none(), "{:#?}", stunner.events());
}

fn wait_for_gateway(port: u16) -> TurnClient {
    let there = wait_until(PATIENCE, || client(port).allocate().is_ok());
    assert!(there, "no gateway at {port}");
    let mut client = client(port);
    client.allocate().expect("an allocation");
    client
}

#[test]
fn a_file_that_becomes_a_folder_is_a_file_that_is_gone() {
    let port = free_port();
    let folder = Folder::quickstart(port);
    folder.write("more.yaml", &route("more", "gw", &["127.0.4.1/32"]));
    let stunner = Stunner::run(&[folder.path()], &[]);
    let mut client = client(port);
    client.allocate().expect("an allocation");
    assert!(reaches(&mut client, 1));
    folder.remove("more.yaml");
    fs::create_dir(folder.file("more.yaml")).expect("a folder");
    assert!(wait_until(PATIENCE, || !reaches(&mut client, 1)));
    fs::remove_dir(folder.file("more.yaml")).expect("no folder");
    folder.write("more.yaml", &route("more", "gw", &["127.0.4.1/32"]));
    assert!(wait_until(PATIENCE, || reaches(&mut client, 1)));
    drop(stunner);
}

/// As `rm -r` and `git clone` do it.
#[test]
fn a_folder_that_is_deleted_with_all_its_files_and_made_anew_is_followed() {
    let port = free_port();
    let outer = Folder::default();
    let inner = outer.file("manifests");
    let make = |last: u8| {
        fs::create_dir(&inner).expect("a folder");
        let gateway = gateway("gw", &[("udp", "TURN-UDP", port)]);
        fs::write(
            inner.join("all.yaml"),
            [class(), gateway, text(last)].join("---\n"),
        )
        .expect("a file");
    };
    make(1);
    let stunner = Stunner::run(&[&inner], &[]);
    let mut client = client(port);
    client.allocate().expect("an allocation");
    for last in 2..5 {
        let seen = stunner.events().len();
        fs::remove_dir_all(&inner).expect("no folder");
        stunner.wait_after(seen, "problem", |event| event["event"] == "problem");
        assert!(reaches(&mut client, last - 1));
        make(last);
        assert!(wait_until(PATIENCE, || reaches(&mut client, last)));
        // Only what has been solved is told anew.
        let is_solved = || stunner.state()["problems"].as_array().map(Vec::len) == Some(0);
        assert!(wait_until(PATIENCE, is_solved), "{:#}", stunner.state());
    }
}

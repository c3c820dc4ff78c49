//! Watching a file through everything that editors, scripts and the kubelet do to one.

mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use stunner_cds::{Notice, Options, Origin, Update, watch};
use support::*;
use tokio::sync::mpsc::Receiver;

/// Changes must be noticed by events: the poll comes too late to help.
fn by_events() -> Options {
    let mut options = options();
    options.timing.file_settle = Duration::from_millis(30);
    options.timing.file_poll = Duration::from_secs(3600);
    options
}

fn by_polling() -> Options {
    let mut options = by_events();
    options.timing.file_poll = Duration::from_millis(50);
    options
}

fn start(path: &Path, options: &Options) -> Receiver<Update> {
    watch(&Origin::File(path.to_owned()), ID, None, options).expect("watch")
}

async fn expect(updates: &mut Receiver<Update>, port: u16) {
    let update = tokio::time::timeout(Duration::from_secs(20), updates.recv())
        .await
        .unwrap_or_else(|_| panic!("no update to {port}"))
        .expect("open");
    assert_eq!(port_of(&update), port);
}

async fn quiet(updates: &mut Receiver<Update>) {
    nothing_for(updates, Duration::from_millis(300)).await;
}

struct Folder {
    _dir: tempfile::TempDir,
    path: PathBuf,
}

fn folder() -> Folder {
    let dir = tempfile::tempdir().expect("tempdir");
    let path = dir.path().join("config");
    fs::create_dir(&path).expect("folder");
    Folder { _dir: dir, path }
}

#[tokio::test]
async fn writing_in_place_is_noticed_and_rewriting_the_same_is_not_news() {
    let folder = folder();
    let path = folder.path.join("c.json");
    fs::write(&path, config(1)).expect("write");
    let mut updates = start(&path, &by_events());
    expect(&mut updates, 1).await;
    for port in 2..5 {
        fs::write(&path, config(port)).expect("write");
        expect(&mut updates, port).await;
    }
    fs::write(&path, config(4)).expect("write");
    fs::write(&path, format!("\n{}", config(4))).expect("write");
    quiet(&mut updates).await;
}

#[tokio::test]
async fn renaming_over_is_noticed_every_time() {
    let folder = folder();
    let path = folder.path.join("c.json");
    fs::write(&path, config(1)).expect("write");
    let mut updates = start(&path, &by_events());
    expect(&mut updates, 1).await;
    for port in 2..5 {
        let draft = folder.path.join(".c.json.swp");
        fs::write(&draft, config(port)).expect("write");
        fs::rename(&draft, &path).expect("rename");
        expect(&mut updates, port).await;
    }
}

#[tokio::test]
async fn deletion_changes_nothing_and_a_new_file_is_read() {
    let folder = folder();
    let path = folder.path.join("c.json");
    fs::write(&path, config(1)).expect("write");
    let mut updates = start(&path, &by_events());
    expect(&mut updates, 1).await;
    fs::remove_file(&path).expect("remove");
    quiet(&mut updates).await;
    fs::write(&path, config(1)).expect("write");
    quiet(&mut updates).await;
    fs::remove_file(&path).expect("remove");
    fs::write(&path, config(2)).expect("write");
    expect(&mut updates, 2).await;
}

#[tokio::test]
async fn a_file_that_is_not_there_yet_is_waited_for() {
    let folder = folder();
    let path = folder.path.join("c.json");
    let mut updates = start(&path, &by_events());
    quiet(&mut updates).await;
    fs::write(&path, config(1)).expect("write");
    expect(&mut updates, 1).await;
}

#[tokio::test]
async fn a_folder_that_is_not_there_yet_or_replaced_is_found_by_polling() {
    let folder = folder();
    let inner = folder.path.join("later");
    let path = inner.join("c.json");
    let mut updates = start(&path, &by_polling());
    quiet(&mut updates).await;
    fs::create_dir(&inner).expect("folder");
    fs::write(&path, config(1)).expect("write");
    expect(&mut updates, 1).await;
    fs::remove_dir_all(&inner).expect("remove");
    fs::create_dir(&inner).expect("folder");
    fs::write(&path, config(2)).expect("write");
    expect(&mut updates, 2).await;
}

#[tokio::test]
async fn empty_half_written_and_bad_files_are_ignored_until_they_are_good() {
    let folder = folder();
    let path = folder.path.join("c.json");
    fs::write(&path, config(1)).expect("write");
    let mut updates = start(&path, &by_events());
    expect(&mut updates, 1).await;
    for bad in [
        "",
        &config(2)[..100],
        "version: v9",
        "\u{0}",
        "listeners: [",
    ] {
        fs::write(&path, bad).expect("write");
        quiet(&mut updates).await;
    }
    fs::write(&path, [0xff, 0xfe, 0x00]).expect("write");
    quiet(&mut updates).await;
    fs::write(&path, config(2)).expect("write");
    expect(&mut updates, 2).await;
}

#[tokio::test]
async fn a_file_is_believed_once_it_has_been_still() {
    let folder = folder();
    let path = folder.path.join("c.yaml");
    let mut options = by_events();
    options.timing.file_settle = Duration::from_millis(150);
    let mut updates = start(&path, &options);
    // Every prefix of this that ends at a line is a valid config of its own.
    let mut text = String::from(
        "version: v1\nauth: {type: static, credentials: {username: u, password: p}}\nlisteners:\n",
    );
    for port in 1..=8 {
        text.push_str(&format!(
            "  - {{name: l{port}, protocol: UDP, address: 10.0.0.1, port: {port}}}\n"
        ));
        fs::write(&path, &text).expect("write");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let update = next(&mut updates).await;
    assert_eq!(update.config.listeners.len(), 8);
    quiet(&mut updates).await;
}

/// What the kubelet does: a new timestamped folder, and `..data` renamed over to point to it.
fn swap_config_map(mount: &Path, generation: u32, text: &str) {
    let folder = format!("..2026_11_15_{generation}");
    fs::create_dir(mount.join(&folder)).expect("folder");
    fs::write(mount.join(&folder).join("stunnerd.json"), text).expect("write");
    let old = fs::read_link(mount.join("..data")).ok();
    symlink(&folder, mount.join("..data_tmp")).expect("link");
    fs::rename(mount.join("..data_tmp"), mount.join("..data")).expect("rename");
    if let Some(old) = old {
        fs::remove_dir_all(mount.join(old)).expect("remove");
    }
}

#[tokio::test]
async fn a_mounted_config_map_is_followed_through_three_swaps_in_a_row() {
    let mount = folder();
    let path = mount.path.join("stunnerd.json");
    swap_config_map(&mount.path, 0, &config(1));
    symlink("..data/stunnerd.json", &path).expect("link");
    let mut updates = start(&path, &by_events());
    expect(&mut updates, 1).await;
    for generation in 1..=3 {
        swap_config_map(&mount.path, generation, &config(generation as u16 + 1));
        expect(&mut updates, generation as u16 + 1).await;
    }
    // And three at once: the last one counts.
    for generation in 4..=6 {
        swap_config_map(&mount.path, generation, &config(generation as u16 + 1));
    }
    expect(&mut updates, 7).await;
}

#[tokio::test]
async fn a_link_into_another_folder_is_followed_to_its_target() {
    let (here, there) = (folder(), folder());
    let (link, target) = (here.path.join("c.json"), there.path.join("real.json"));
    fs::write(&target, config(1)).expect("write");
    symlink(&target, &link).expect("link");
    let mut updates = start(&link, &by_events());
    expect(&mut updates, 1).await;
    fs::write(&target, config(2)).expect("write");
    expect(&mut updates, 2).await;
}

#[tokio::test]
async fn a_link_somewhere_up_the_path_is_found_by_polling() {
    let folder = folder();
    for (name, port) in [("a", 1), ("b", 2)] {
        fs::create_dir_all(folder.path.join(name).join("deep")).expect("folder");
        fs::write(folder.path.join(name).join("deep/c.json"), config(port)).expect("write");
    }
    let link = folder.path.join("current");
    symlink("a", &link).expect("link");
    let mut updates = start(&link.join("deep/c.json"), &by_polling());
    expect(&mut updates, 1).await;
    fs::remove_file(&link).expect("remove");
    symlink("b", &link).expect("link");
    expect(&mut updates, 2).await;
}

#[tokio::test]
async fn reading_the_file_does_not_wake_the_watcher_for_ever() {
    let folder = folder();
    let path = folder.path.join("c.json");
    fs::write(&path, config(1)).expect("write");
    let mut updates = start(&path, &by_events());
    expect(&mut updates, 1).await;
    let before = context_switches();
    quiet(&mut updates).await;
    // Looking every few milliseconds would take hundreds of switches.
    let switches = context_switches() - before;
    assert!(switches < 60, "{switches}");
}

fn context_switches() -> u64 {
    let status = fs::read_to_string("/proc/thread-self/status").expect("status");
    status
        .lines()
        .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))
        .and_then(|count| count.trim().parse().ok())
        .expect("a count")
}

#[tokio::test]
async fn a_deleted_config_in_a_file_is_ignored_whatever_name_it_bears() {
    let folder = folder();
    let path = folder.path.join("c.json");
    fs::write(&path, config(1)).expect("write");
    let mut updates = start(&path, &by_events());
    expect(&mut updates, 1).await;
    let gone = stunner_config::bootstrap("some/other")
        .to_json()
        .to_string();
    fs::write(&path, gone).expect("write");
    quiet(&mut updates).await;
    fs::write(&path, config(2)).expect("write");
    expect(&mut updates, 2).await;
}

#[tokio::test]
async fn a_bad_file_is_told_to_the_observer() {
    let folder = folder();
    let path = folder.path.join("c.json");
    fs::write(&path, "version: v9").expect("write");
    let (sender, mut notices) = tokio::sync::mpsc::unbounded_channel();
    let mut options = by_events();
    options.observer = Some(std::sync::Arc::new(move |notice| {
        let _ = sender.send(notice);
    }));
    let _updates = start(&path, &options);
    let notice = tokio::time::timeout(Duration::from_secs(20), notices.recv()).await;
    let Ok(Some(Notice::BadConfig { why })) = notice else {
        panic!("{notice:?}");
    };
    assert!(why.contains("v9"), "{why}");
}

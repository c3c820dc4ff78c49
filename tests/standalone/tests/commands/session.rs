//! Terminal sessions that are replayed.

use std::fs;
use std::path::Path;

use standalone_tests::command::run;

/// The session with what its commands print now.
pub fn replay(written: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let input = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/commands/input");
    copy(&input, folder.path());
    let mut text = String::new();
    for line in written.lines().filter(|line| line.starts_with(['$', '#'])) {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(line);
        text.push('\n');
        if let Some(command) = line.strip_prefix("$ ") {
            text.push_str(&answer(folder.path(), command));
        }
    }
    text
}

fn answer(folder: &Path, command: &str) -> String {
    let (command, stdin) = match command.split_once(" <") {
        Some((command, file)) => {
            let path = folder.join(file.trim());
            (command, fs::read_to_string(path).expect("standard input"))
        }
        None => (command, String::new()),
    };
    let words = command.strip_prefix("stunner").expect("a command of ours");
    let ended = run(folder, words.split_whitespace(), &stdin);
    let mut text = ended.stdout;
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    for line in ended.stderr.lines() {
        text.push_str(&format!("! {line}\n"));
    }
    if ended.code != Some(0) {
        text.push_str(&format!("exit {}\n", ended.code.unwrap_or(-1)));
    }
    text
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let target = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).expect("a copy")),
        }
    }
}

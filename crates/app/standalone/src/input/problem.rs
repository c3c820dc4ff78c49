//! What can be wrong with paths.

use std::io;
use std::path::Path;

use stunner_document::{Place, nearest};
use stunner_manifest::{Fault, Problem};

use super::find::Holds;

const START: Place = Place { line: 1, column: 1 };

pub(super) fn missing(path: &str) -> Problem {
    let message = "there is no such file or folder";
    let problem = Problem::error(path, START, Fault::Unreadable, "", message);
    match similar(Path::new(path)) {
        Some(similar) => problem.hint(format!("did you mean `{similar}`?")),
        None => problem.hint(
            "name a file, a folder or `-` for standard input; `stunner init DIR` writes a starter folder",
        ),
    }
}

/// A neighbour whose name is nearly the same.
fn similar(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let folder = path.parent()?;
    let listed = match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    };
    let names: Vec<String> = std::fs::read_dir(listed)
        .ok()?
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let similar = nearest(name, &names)?;
    Some(folder.join(similar).display().to_string())
}

pub(super) fn unreadable(path: &str, error: &io::Error) -> Problem {
    let message = format!("it cannot be read: {}", why(error));
    let hint = match error.kind() {
        io::ErrorKind::PermissionDenied => "let this user read it, or run as one who may",
        io::ErrorKind::NotFound => "the link leads nowhere: remove it, or make what it points to",
        _ => "check the path and the disk it is on",
    };
    Problem::error(path, START, Fault::Unreadable, "", message).hint(hint)
}

/// Without the number that the standard library puts behind its text.
fn why(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    text.to_lowercase()
}

pub(super) fn no_manifest(file: &str) -> Problem {
    let message = "the file holds no manifest of a kind that matters here";
    Problem::warning(file, START, Fault::Empty, "", message)
        .hint("name a file with Gateways, routes or what they refer to")
}

pub(super) fn empty_folder(folder: &str, holds: Holds) -> Option<Problem> {
    let (message, hint) = match holds {
        Holds::Nothing => (
            "the folder holds no file that ends in .yaml, .yml or .json",
            "name another folder, or write a starter folder with `stunner init DIR`",
        ),
        Holds::FilesBelow => (
            "the folder holds manifests only in folders below it, which are not looked into",
            "name those folders, or give --recursive",
        ),
        Holds::Files | Holds::Unknown => return None,
    };
    Some(Problem::warning(folder, START, Fault::Empty, "", message).hint(hint))
}

//! Reading files, without ever taking more memory than a file may have.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use stunner_manifest::{MAX_BYTES, Problem, Reading, read, too_large};

use super::problem;

/// How standard input is called in problems.
pub const STDIN: &str = "<stdin>";

/// Reads a file; one that cannot be read has that as its problem. A pipe that has taken the place of a file is not waited
/// for: perhaps nobody will ever write to it.
pub fn read_file(path: &Path, name: &str) -> Reading {
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path);
    let regular = opened.and_then(|file| match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is no regular file")),
    });
    read_opened(regular, name)
}

/// Reads what was named by itself to its end, a pipe too.
pub fn read_named(path: &Path, name: &str) -> Reading {
    read_opened(File::open(path), name)
}

fn read_opened(file: io::Result<File>, name: &str) -> Reading {
    let file = match file {
        Ok(file) => file,
        Err(error) => return failed(name, problem::unreadable(name, &error)),
    };
    // Before reading: a file of gigabytes is not worth the time. A pipe has no length, and is cut short below.
    if let Ok(metadata) = file.metadata()
        && metadata.len() > MAX_BYTES
    {
        return failed(name, too_large(name, metadata.len()));
    }
    bounded(file, name)
}

/// Reads standard input to its end.
pub fn read_stdin() -> Reading {
    bounded(io::stdin().lock(), STDIN)
}

fn bounded(source: impl Read, name: &str) -> Reading {
    let mut bytes = Vec::new();
    match source.take(MAX_BYTES + 1).read_to_end(&mut bytes) {
        // Also what has grown since its length was asked for.
        Ok(_) if bytes.len() as u64 > MAX_BYTES => {
            failed(name, too_large(name, bytes.len() as u64))
        }
        Ok(_) => read(name, &bytes),
        Err(error) => failed(name, problem::unreadable(name, &error)),
    }
}

/// A file of which nothing is known but that it is there: anything may be meant.
fn failed(name: &str, problem: Problem) -> Reading {
    Reading {
        file: name.to_owned(),
        problems: vec![problem],
        unreadable: vec![None],
        empty: false,
        ..Reading::default()
    }
}

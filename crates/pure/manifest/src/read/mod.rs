//! From bytes to [`Reading`].

use stunner_document::Place;

use crate::problem::{Fault, Problem};
use crate::reading::Reading;

/// Most bytes that a file may have.
pub const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The problem of a file with more than [`MAX_BYTES`]; it is not worth opening.
pub fn too_large(file: &str, bytes: u64) -> Problem {
    let message = format!("the file has {bytes} bytes, more than {MAX_BYTES}");
    Problem::error(file, Place::START, Fault::TooLarge, "", message)
        .hint("split it into several files, or keep it elsewhere if it holds no manifests")
}

/// Reads a file. `file` is the name that problems show.
pub fn read(file: &str, bytes: &[u8]) -> Reading {
    let mut reading = Reading {
        file: file.to_owned(),
        empty: true,
        ..Reading::default()
    };
    if bytes.len() as u64 > MAX_BYTES {
        reading.problems.push(too_large(file, bytes.len() as u64));
        reading.unreadable.push(None);
    }
    reading
}

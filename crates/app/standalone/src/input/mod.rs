//! Finding and reading what a command is given: files, folders and standard input.
//!
//! In folders only `*.yaml`, `*.yml` and `*.json` count, hidden names do not, and folders below are looked into only
//! when asked for, as `kubectl apply -f` does. A file that is named by itself may be called anything.

mod find;
mod problem;
mod read;
#[cfg(test)]
mod tests;

pub use find::{Found, FoundFile};
pub use read::{STDIN, read_file, read_named, read_stdin};

use stunner_flags::UsageError;
use stunner_manifest::{Problem, Reading};

/// What stands on the command line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sources {
    /// Files, folders, `-` for standard input. Empty means the current folder, if it holds manifests.
    pub paths: Vec<String>,
    /// Folders below the given ones count too.
    pub recursive: bool,
}

/// Everything that was to be read, read once.
#[derive(Debug, Default)]
pub struct Input {
    /// In the order of the command line, files of a folder by name.
    pub readings: Vec<Reading>,
    /// What is wrong with the paths themselves.
    pub problems: Vec<Problem>,
}

impl Sources {
    /// Where nothing was named, the current folder is meant, if there are manifests in it.
    pub fn or_current_folder(self, command: &str) -> Result<Sources, UsageError> {
        if !self.paths.is_empty() {
            return Ok(self);
        }
        let here = Sources {
            paths: vec![".".to_owned()],
            ..self
        };
        let holds_manifests = |file: &FoundFile| !read_file(&file.path, &file.name).empty;
        if here.find().files.iter().any(holds_manifests) {
            return Ok(here);
        }
        Err(UsageError::new(
            format!(
                "`stunner {command}` needs a file or folder: there are no manifests in this one"
            ),
            "name one, or write a starter folder with `stunner init my-gateway`",
        ))
    }

    /// Finds and reads everything, once.
    pub fn read(&self) -> Input {
        let found = self.find();
        let mut input = Input {
            problems: found.problems,
            ..Input::default()
        };
        for file in &found.files {
            let reading = match file.is_named {
                true if file.is_stdin() => read_stdin(),
                true => read_named(&file.path, &file.name),
                false => read_file(&file.path, &file.name),
            };
            if reading.empty && file.is_named {
                input.problems.push(problem::no_manifest(&file.name));
            }
            input.readings.push(reading);
        }
        input
    }
}

//! Which files are meant.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use stunner_manifest::Problem;

use super::read::STDIN;
use super::{Sources, problem};

const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];

/// A file to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFile {
    /// Which path of the command line it belongs to.
    pub argument: usize,
    /// Empty for standard input.
    pub path: PathBuf,
    /// As problems name it.
    pub name: String,
    /// It was named by itself, not found in a folder.
    pub is_named: bool,
}

impl FoundFile {
    pub fn is_stdin(&self) -> bool {
        self.path.as_os_str().is_empty()
    }
}

/// What the paths of a command line mean at this moment.
#[derive(Debug, Default)]
pub struct Found {
    /// In the order of the command line, files of a folder by name; each once.
    pub files: Vec<FoundFile>,
    /// The folders that were looked into.
    pub folders: Vec<PathBuf>,
    pub problems: Vec<Problem>,
}

impl Sources {
    /// Looks at the paths and into the folders; reads no file.
    pub fn find(&self) -> Found {
        let mut search = Search {
            recursive: self.recursive,
            found: Found::default(),
            seen: BTreeSet::new(),
        };
        for (argument, path) in self.paths.iter().enumerate() {
            search.argument(argument, path);
        }
        search.found
    }
}

struct Search {
    recursive: bool,
    found: Found,
    /// Files and folders by where they really are, so that a path given twice defines nothing twice.
    seen: BTreeSet<PathBuf>,
}

impl Search {
    fn argument(&mut self, argument: usize, text: &str) {
        if text == "-" {
            if self.seen.insert(PathBuf::new()) {
                self.found.files.push(FoundFile {
                    argument,
                    path: PathBuf::new(),
                    name: STDIN.to_owned(),
                    is_named: true,
                });
            }
            return;
        }
        let path = Path::new(text);
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => {
                let holds = self.folder(argument, path);
                let problem = problem::empty_folder(text, holds);
                self.found.problems.extend(problem);
            }
            Ok(_) => self.file(argument, path, true),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => {
                self.found.problems.push(problem::missing(text));
            }
            Err(error) => self.found.problems.push(problem::unreadable(text, &error)),
        }
    }

    /// Collects the files of a folder.
    fn folder(&mut self, argument: usize, folder: &Path) -> Holds {
        if !self.is_new(folder) {
            return Holds::Files;
        }
        self.found.folders.push(folder.to_owned());
        let mut entries = match entries(folder) {
            Ok(entries) => entries,
            Err(error) => {
                let name = folder.display().to_string();
                self.found.problems.push(problem::unreadable(&name, &error));
                return Holds::Unknown;
            }
        };
        entries.sort();
        let mut holds = Holds::Nothing;
        for path in entries {
            // What a name points to is what counts: Kubernetes mounts ConfigMaps as links to files in a hidden folder.
            match fs::metadata(&path) {
                Ok(metadata) if metadata.is_dir() => {
                    if self.recursive && !path.is_symlink() {
                        holds = holds.max(self.folder(argument, &path));
                    } else if holds_candidates(&path) {
                        holds = holds.max(Holds::FilesBelow);
                    }
                }
                // A pipe or a device that happens to lie here is nobody's manifest, and reading it might never end.
                Ok(metadata) if !metadata.is_file() => {}
                Ok(_) | Err(_) if is_candidate(&path) => {
                    holds = Holds::Files;
                    self.file(argument, &path, false);
                }
                Ok(_) | Err(_) => {}
            }
        }
        holds
    }

    fn file(&mut self, argument: usize, path: &Path, is_named: bool) {
        if self.is_new(path) {
            let name = path.strip_prefix(".").unwrap_or(path);
            self.found.files.push(FoundFile {
                argument,
                path: path.to_owned(),
                name: name.display().to_string(),
                is_named,
            });
        }
    }

    fn is_new(&mut self, path: &Path) -> bool {
        let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        self.seen.insert(place)
    }
}

/// What there is in a folder, the most telling last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Holds {
    Nothing,
    /// Only in folders below it, and those were not asked for.
    FilesBelow,
    /// It may not be looked into, which has been said.
    Unknown,
    Files,
}

/// The entries of a folder without hidden ones.
fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        if !is_hidden {
            paths.push(entry.path());
        }
    }
    Ok(paths)
}

/// Whether a file in a folder is to be read.
fn is_candidate(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| ENDINGS.contains(&ending))
}

fn holds_candidates(folder: &Path) -> bool {
    let entries = entries(folder).unwrap_or_default();
    entries
        .iter()
        .any(|path| is_candidate(path) && path.is_file())
}

//! Which files there are, and how they look from outside.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use stunner_manifest::{Fault, Problem};

use super::super::world::FileId;
use crate::input::Sources;

/// What is wrong with paths comes after all files.
const TROUBLE: usize = usize::MAX;

/// Whether this stands for something to say about a path, not for a file.
pub(super) fn is_trouble(file: &FileId) -> bool {
    file.argument == TROUBLE
}

/// A file from outside. Whoever writes to a file, or puts another in its place, changes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Look {
    File {
        device: u64,
        inode: u64,
        bytes: u64,
        modified: (i64, i64),
        changed: (i64, i64),
    },
    /// A pipe can be read once, and standard input is one.
    Once,
    /// It is there, and that is all that can be found out.
    Closed(io::ErrorKind),
    /// No file at all, but something to say about a path.
    Trouble(Problem),
}

impl Look {
    /// How long ago the file was changed, if that is known. Nobody can choose this time, unlike that of modification.
    pub(super) fn age(&self) -> Option<Duration> {
        let Look::File { changed, .. } = self else {
            return None;
        };
        let seconds = u64::try_from(changed.0).ok()?;
        let nanoseconds = u32::try_from(changed.1).ok()?;
        let changed = UNIX_EPOCH.checked_add(Duration::new(seconds, nanoseconds))?;
        SystemTime::now().duration_since(changed).ok()
    }
}

/// How a path looks; `None` when there is nothing.
pub(super) fn look(path: &Path) -> Option<Look> {
    // Standard input has no path.
    if path.as_os_str().is_empty() {
        return Some(Look::Once);
    }
    match std::fs::metadata(path) {
        // The file whose name it has is gone.
        Ok(metadata) if metadata.is_dir() => None,
        Ok(metadata) => Some(look_of(&metadata)),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => None,
        Err(error) => Some(Look::Closed(error.kind())),
    }
}

fn look_of(metadata: &Metadata) -> Look {
    if !metadata.is_file() {
        return Look::Once;
    }
    Look::File {
        device: metadata.dev(),
        inode: metadata.ino(),
        bytes: metadata.len(),
        modified: (metadata.mtime(), metadata.mtime_nsec()),
        changed: (metadata.ctime(), metadata.ctime_nsec()),
    }
}

#[derive(Debug)]
pub(super) struct Found {
    pub(super) path: PathBuf,
    pub(super) look: Look,
}

#[derive(Debug, Default)]
pub(super) struct Scan {
    pub(super) files: BTreeMap<FileId, Found>,
    /// Where something may happen that matters.
    pub(super) folders: BTreeSet<PathBuf>,
    /// Folders, or files, that cannot be looked at now.
    closed: Vec<PathBuf>,
}

impl Scan {
    pub(super) fn of(sources: &Sources) -> Scan {
        let found = sources.find();
        let mut scan = Scan {
            folders: found.folders.into_iter().collect(),
            ..Scan::default()
        };
        for path in sources.paths.iter().filter(|path| *path != "-") {
            // A folder may be removed and made again, a link to it may swing.
            scan.folders.insert(parent(Path::new(path)));
        }
        for file in found.files {
            // Gone since it was listed.
            let Some(look) = look(&file.path) else {
                continue;
            };
            // A pipe since it was listed. Only those that were named are waited for.
            if look == Look::Once && !file.is_named {
                continue;
            }
            if file.path.is_symlink()
                && let Ok(real) = file.path.canonicalize()
            {
                scan.folders.insert(parent(&real));
            }
            let id = FileId::new(file.argument, file.name);
            let path = file.path;
            scan.files.insert(id, Found { path, look });
        }
        for problem in found.problems {
            let path = PathBuf::from(&problem.file);
            if problem.fault == Fault::Unreadable {
                // As the names of files are written.
                let named = path.strip_prefix(".").unwrap_or(&path);
                scan.closed.push(named.to_owned());
            }
            let id = FileId::new(TROUBLE, problem.file.clone());
            let look = Look::Trouble(problem);
            scan.files.insert(id, Found { path, look });
        }
        scan
    }

    /// Whether a file that was not found may be there all the same: a folder that is gone is not the same as its files
    /// being deleted, since mounts come and go.
    pub(super) fn may_hide(&self, file: &FileId) -> bool {
        let file = Path::new(&file.name);
        let mut folders = self.closed.iter();
        folders.any(|folder| file != folder && file.starts_with(folder))
    }
}

fn parent(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => PathBuf::from("."),
        Some(parent) => parent.to_owned(),
        None => path.to_owned(),
    }
}

//! Where programs that the tests build or download are kept between runs.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// `STUNNER_CACHE_DIR`, else `stunner-tests` in the user's cache folder. `scripts/setup` uses the same.
pub fn cache_dir() -> PathBuf {
    if let Some(dir) = std::env::var_os("STUNNER_CACHE_DIR") {
        return dir.into();
    }
    let user = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home =
        || PathBuf::from(std::env::var_os("HOME").unwrap_or_else(|| "/tmp".into())).join(".cache");
    user.unwrap_or_else(home).join("stunner-tests")
}

/// A short name for the content of `path`, a file or a folder of sources.
pub fn fingerprint(path: &Path) -> String {
    let mut files = Vec::new();
    list(path, &mut files);
    files.sort();
    let mut hasher = DefaultHasher::new();
    for file in files {
        file.strip_prefix(path).unwrap_or(&file).hash(&mut hasher);
        std::fs::read(&file).unwrap_or_default().hash(&mut hasher);
    }
    format!("{:016x}", hasher.finish())
}

fn list(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_file() {
        files.push(path.to_owned());
    }
    for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
        list(&entry.path(), files);
    }
}

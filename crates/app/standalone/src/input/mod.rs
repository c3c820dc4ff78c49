//! Finding and reading what a command is given: files, folders and standard input.

/// What stands on the command line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sources {
    /// Files, folders, `-` for standard input. Empty means the current folder, if it holds manifests.
    pub paths: Vec<String>,
    /// Folders below the given ones count too.
    pub recursive: bool,
}

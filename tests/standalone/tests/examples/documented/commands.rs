//! The shell lines of Markdown files.

use std::path::{Path, PathBuf};

use standalone_tests::binary::root;

/// The README, the guides, and everything that stands beside the examples and units.
pub fn documents() -> Vec<PathBuf> {
    let mut documents = vec![root().join("README.md"), root().join("docs/standalone.md")];
    for folder in ["docs/guides", "examples", "examples/*", "deploy/systemd"] {
        documents.extend(markdown(folder));
    }
    documents.sort();
    assert!(documents.len() > 12, "{documents:?}");
    documents
}

fn markdown(folder: &str) -> Vec<PathBuf> {
    if let Some(above) = folder.strip_suffix("/*") {
        let folders = entries(&root().join(above)).into_iter();
        let names = folders.filter(|path| path.is_dir());
        let files = names.flat_map(|path| entries(&path));
        return files.filter(|path| is_markdown(path)).collect();
    }
    let files = entries(&root().join(folder)).into_iter();
    files.filter(|path| is_markdown(path)).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    entries.flatten().map(|entry| entry.path()).collect()
}

fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "md")
}

/// The commands of the shell blocks of a document, in order, without comments, redirections and what they are piped to.
pub fn commands(document: &Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(document).expect("a document");
    let mut commands = Vec::new();
    for block in text.split("```sh\n").skip(1) {
        let block = block.split("```").next().unwrap_or_default();
        for line in block.replace("\\\n", " ").lines() {
            let line = line.split(" #").next().unwrap_or_default();
            for command in line.split("&&") {
                let command = command.split(" | ").next().unwrap_or_default();
                let command = command.split(" > ").next().unwrap_or_default();
                let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
                if !words.is_empty() {
                    commands.push(words);
                }
            }
        }
    }
    commands
}

//! Folders as users have them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::{Found, Sources};

fn find(folder: &Path, paths: &[&str], recursive: bool) -> Found {
    let paths = paths
        .iter()
        .map(|path| folder.join(path).display().to_string());
    Sources {
        paths: paths.collect(),
        recursive,
    }
    .find()
}

fn names(folder: &Path, found: &Found) -> Vec<String> {
    let prefix = format!("{}/", folder.display());
    let names = found
        .files
        .iter()
        .map(|file| file.name.replace(&prefix, ""));
    names.collect()
}

fn problems(folder: &Path, found: &Found) -> Vec<String> {
    let prefix = format!("{}/", folder.display());
    let problems = found.problems.iter();
    problems
        .map(|problem| problem.to_string().replace(&prefix, ""))
        .collect()
}

fn folder_with(files: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for file in files {
        let path = folder.path().join(file);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, "").expect("a file");
    }
    folder
}

#[test]
fn of_a_folder_only_visible_manifests_count_by_name() {
    let folder = folder_with(&[
        "d/b.yml",
        "d/a.yaml",
        "d/c.json",
        "d/.hidden.yaml",
        "d/README.md",
        "d/e.yaml.bak",
        "d/sub/x.yaml",
        "d/.git/y.yaml",
    ]);
    let found = find(folder.path(), &["d"], false);
    assert_eq!(
        names(folder.path(), &found),
        ["d/a.yaml", "d/b.yml", "d/c.json"]
    );
    assert!(found.problems.is_empty());
    let found = find(folder.path(), &["d"], true);
    let all = ["d/a.yaml", "d/b.yml", "d/c.json", "d/sub/x.yaml"];
    assert_eq!(names(folder.path(), &found), all);
}

#[test]
fn a_named_file_may_be_called_anything_and_counts_once() {
    let folder = folder_with(&["d/a.yaml", "d/notes"]);
    let found = find(
        folder.path(),
        &["d/notes", "d/a.yaml", "d", "d/a.yaml"],
        false,
    );
    assert_eq!(names(folder.path(), &found), ["d/notes", "d/a.yaml"]);
    assert!(found.files.iter().all(|file| file.is_named));
    assert!(found.problems.is_empty(), "{:?}", found.problems);
}

#[test]
fn links_as_a_mounted_config_map_has_them_are_followed() {
    let folder = folder_with(&["m/..2026_01_01/gateway.yaml"]);
    let mount = folder.path().join("m");
    symlink("..2026_01_01", mount.join("..data")).expect("a link");
    symlink("..data/gateway.yaml", mount.join("gateway.yaml")).expect("a link");
    for recursive in [false, true] {
        let found = find(folder.path(), &["m"], recursive);
        assert_eq!(names(folder.path(), &found), ["m/gateway.yaml"]);
        assert!(found.problems.is_empty());
    }
}

#[test]
fn folders_that_link_to_each_other_are_looked_into_once() {
    let folder = folder_with(&["d/a.yaml", "d/sub/b.yaml"]);
    symlink("..", folder.path().join("d/sub/up")).expect("a link");
    let found = find(folder.path(), &["d", "d/sub"], true);
    assert_eq!(names(folder.path(), &found), ["d/a.yaml", "d/sub/b.yaml"]);
    assert!(found.problems.is_empty(), "{:?}", found.problems);
}

#[test]
fn what_is_not_there_is_a_problem_with_a_hint() {
    let folder = folder_with(&["quickstart/a.yaml", "empty/README.md", "tree/one/a.yaml"]);
    symlink("gone", folder.path().join("quickstart/b.yaml")).expect("a link");
    let found = find(
        folder.path(),
        &["quikstart", "nowhere-at-all", "empty", "tree"],
        false,
    );
    assert_eq!(
        problems(folder.path(), &found),
        [
            "quikstart:1:1: error: there is no such file or folder\n  hint: did you mean `quickstart`?",
            "nowhere-at-all:1:1: error: there is no such file or folder\n  \
             hint: name a file, a folder or `-` for standard input; `stunner init DIR` writes a starter folder",
            "empty:1:1: warning: the folder holds no file that ends in .yaml, .yml or .json\n  \
             hint: name another folder, or write a starter folder with `stunner init DIR`",
            "tree:1:1: warning: the folder holds manifests only in folders below it, which are not looked into\n  \
             hint: name those folders, or give --recursive",
        ]
    );
    let input = Sources {
        paths: vec![folder.path().join("quickstart").display().to_string()],
        recursive: false,
    }
    .read();
    let problems: Vec<String> = input
        .readings
        .iter()
        .flat_map(|reading| &reading.problems)
        .map(ToString::to_string)
        .collect();
    assert_eq!(problems.len(), 1);
    assert!(
        problems[0].contains("b.yaml:1:1: error: it cannot be read: no such file or directory"),
        "{problems:?}"
    );
}

#[test]
fn a_file_over_the_limit_is_not_read() {
    let folder = folder_with(&["big.yaml"]);
    let big = fs::File::options()
        .write(true)
        .open(folder.path().join("big.yaml"))
        .expect("a file");
    big.set_len(50 << 30).expect("a sparse file");
    let input = Sources {
        paths: vec![folder.path().display().to_string()],
        recursive: false,
    }
    .read();
    assert_eq!(input.readings.len(), 1);
    assert!(
        input.readings[0].problems[0]
            .message
            .contains("53687091200 bytes")
    );
    assert_eq!(input.readings[0].unreadable, [None]);
}

#[test]
fn a_named_link_to_nowhere_is_told_as_one() {
    let folder = folder_with(&[]);
    symlink("gone.yaml", folder.path().join("dangling.yaml")).expect("a link");
    let found = find(folder.path(), &["dangling.yaml"], false);
    assert_eq!(
        problems(folder.path(), &found),
        [
            "dangling.yaml:1:1: error: it cannot be read: no such file or directory\n  \
          hint: the link leads nowhere: remove it, or make what it points to"
        ]
    );
}

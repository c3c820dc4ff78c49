//! The starter folder.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::input::Sources;

use super::{InitError, next_steps, quoted, write};

fn problems(folder: &Path) -> Vec<String> {
    let input = Sources {
        paths: vec![folder.display().to_string()],
        recursive: false,
    }
    .read();
    assert!(input.problems.is_empty(), "{:?}", input.problems);
    let problems = stunner_manifest::check(&input.readings);
    problems.iter().map(ToString::to_string).collect()
}

#[test]
fn what_it_writes_has_no_problem_and_credentials_of_its_own() {
    let place = tempfile::tempdir().expect("a folder");
    let (one, other) = (place.path().join("a/one"), place.path().join("other"));
    write(&one).expect("a starter folder");
    fs::create_dir(&other).expect("an empty folder");
    write(&other).expect("a starter folder");
    assert_eq!(problems(&one), Vec::<String>::new());
    let secret = |folder: &Path| {
        let path = folder.join("credentials.yaml");
        let mode = fs::metadata(&path).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        fs::read_to_string(path).expect("a text")
    };
    assert_ne!(secret(&one), secret(&other));
    assert!(!secret(&one).contains("{{"));
}

#[test]
fn a_folder_with_anything_in_it_is_left_alone() {
    let place = tempfile::tempdir().expect("a folder");
    fs::write(place.path().join(".hidden"), "").expect("a file");
    let refused = write(place.path());
    assert!(matches!(refused, Err(InitError::NotEmpty(_))));
    let refused = write(&place.path().join(".hidden"));
    assert!(matches!(refused, Err(InitError::IsFile(_))), "{refused:?}");
    assert_eq!(fs::read_dir(place.path()).expect("a folder").count(), 1);
}

#[test]
fn the_next_steps_can_be_pasted() {
    assert_eq!(quoted("my-gateway"), "my-gateway");
    assert_eq!(quoted("it's here"), r"'it'\''s here'");
    assert!(next_steps(Path::new("my gateway")).contains("stunner run 'my gateway'  "));
}

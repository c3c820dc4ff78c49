//! Results that cannot be written whole: nobody may take the part that could for the result.

use std::fs::OpenOptions;
use std::process::{Command, Stdio};

use standalone_tests::binary::{root, stunner};

#[test]
fn a_full_disk_is_a_problem() {
    let full = || OpenOptions::new().write(true).open("/dev/full");
    for args in [
        &["translate", "quickstart"][..],
        &["check", "-o", "json", "quickstart"],
        &["help"],
    ] {
        let output = Command::new(stunner())
            .args(args)
            .current_dir(root().join("examples"))
            .stdout(full().expect("the full device"))
            .output()
            .expect("start stunner");
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {told}");
        assert!(told.contains("cannot write to standard output"), "{told}");
    }
}

#[test]
fn a_reader_that_leaves_is_none() {
    let mut child = Command::new(stunner())
        .args(["translate", "quickstart"])
        .current_dir(root().join("examples"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("start stunner");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the end of stunner");
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(!told.contains("standard output"), "{told}");
}

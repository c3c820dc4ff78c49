//! The other two programs inside this one.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use standalone_tests::binary::stunner;
use standalone_tests::command::run;

#[test]
fn the_operator_and_the_dataplane_are_commands() {
    let here = Path::new(".");
    for (args, said) in [
        (["operator", "--version"], "stunner-gateway-operator "),
        (["dataplane", "--version"], "stunnerd "),
        (["help", "operator"], "Watches Gateway API objects"),
        (["help", "dataplane"], "STUN/TURN server"),
    ] {
        let ended = run(here, args, "");
        assert_eq!(ended.code, Some(0), "{args:?}: {}", ended.stderr);
        assert!(ended.stdout.starts_with(said), "{args:?}: {}", ended.stdout);
    }
    for program in ["operator", "dataplane"] {
        let ended = run(here, [program, "--no-such-flag"], "");
        assert_eq!(ended.code, Some(2), "{program}");
        assert!(
            ended.stderr.contains("unknown flag `--no-such-flag`"),
            "{}",
            ended.stderr
        );
    }
    let config = "version: v1\nauth: {type: none}\n";
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("stunnerd.yaml"), config).expect("a file");
    let ended = run(folder.path(), ["dataplane", "check", "stunnerd.yaml"], "");
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
}

#[test]
fn a_link_by_the_name_of_another_program_is_that_program() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["stunnerd", "stunner-gateway-operator"] {
        let link = folder.path().join(name);
        symlink(std::fs::canonicalize(stunner()).expect("the binary"), &link).expect("a link");
        let output = Command::new(&link)
            .arg("--version")
            .output()
            .expect("its output");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.starts_with(&format!("{name} ")), "{said}");
    }
}

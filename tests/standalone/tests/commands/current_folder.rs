//! Commands without a path.

use std::fs;

use standalone_tests::command::run;

const COMMANDS: [&str; 3] = ["run", "check", "translate"];

#[test]
fn without_manifests_here_a_path_has_to_be_named() {
    let folder = tempfile::tempdir().expect("a folder");
    // Neither of them is for us, whatever its ending.
    fs::write(folder.path().join("package.json"), "{\"name\": \"page\"}").expect("a file");
    fs::write(folder.path().join("compose.yaml"), "services: {}\n").expect("a file");
    for command in COMMANDS {
        let ended = run(folder.path(), [command], "");
        assert_eq!(ended.code, Some(2), "{command}: {ended:?}");
        assert!(
            ended.stderr.contains("stunner init"),
            "{command}: {ended:?}"
        );
    }
}

#[test]
fn with_manifests_here_this_folder_is_meant() {
    let folder = tempfile::tempdir().expect("a folder");
    let class = "{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {name: x}, \
                 spec: {controllerName: example.com/x}}\n";
    fs::write(folder.path().join("class.yaml"), class).expect("a file");
    fs::write(folder.path().join("compose.yaml"), "services: {}\n").expect("a file");
    for command in ["check", "translate"] {
        let ended = run(folder.path(), [command], "");
        assert_eq!(
            (ended.code, ended.stderr.as_str()),
            (Some(0), ""),
            "{command}"
        );
    }
}

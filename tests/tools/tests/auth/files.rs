//! Configurations from files, and the command line.

use crate::process::{Authd, config, run_to_end, url};

#[test]
fn a_file_is_followed() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("gateway.json");
    std::fs::write(&path, config("ns/gw", "192.0.2.1")).expect("write");
    let origin = format!("file://{}", path.display());
    let authd = Authd::start(&["--config", &origin]);
    assert_eq!(authd.get("/readyz").status, 200);
    authd.wait_for_urls(&[&url("192.0.2.1")]);
    std::fs::write(&path, config("ns/gw", "192.0.2.2")).expect("write");
    authd.wait_for_urls(&[&url("192.0.2.2")]);
    std::fs::write(&path, "version: [").expect("write");
    authd.wait_for_log("cannot be used");
    authd.wait_for_urls(&[&url("192.0.2.2")]);
    assert!(!authd.log().contains("pass"), "{}", authd.log());
    assert!(authd.terminate().success());
}

#[test]
fn a_folder_is_followed() {
    let dir = tempfile::tempdir().expect("a folder");
    let write =
        |name: &str, text: String| std::fs::write(dir.path().join(name), text).expect("write");
    write("b.yaml", config("ns/b", "192.0.2.2"));
    write(
        "c.yaml",
        config("ns/a", "192.0.2.1") + "\n" + &config("ms/z", "192.0.2.9"),
    );
    let authd = Authd::start(&["--config", &dir.path().display().to_string()]);
    let (a, b, z) = (url("192.0.2.1"), url("192.0.2.2"), url("192.0.2.9"));
    authd.wait_for_urls(&[&z, &a, &b]);
    std::fs::remove_file(dir.path().join("b.yaml")).expect("remove");
    authd.wait_for_urls(&[&z, &a]);
}

#[test]
fn the_environment_tells_a_public_address_and_the_caller_another() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("gateway.json");
    std::fs::write(&path, config("ns/gw", "192.0.2.1")).expect("write");
    let path = path.display().to_string();
    let env = [("STUNNER_PUBLIC_ADDR", "203.0.113.200")];
    let authd = Authd::start_in(&["--config", &path], &env);
    authd.wait_for_urls(&[&url("203.0.113.200")]);
    let said = authd.get("/?service=turn&public-addr=2001:db8::9").json();
    assert_eq!(said["uris"][0], "turn:[2001:db8::9]:3478?transport=udp");
}

#[test]
fn what_stands_in_the_way_of_a_start_is_said_with_what_to_do() {
    let dir = tempfile::tempdir().expect("a folder");
    let broken = dir.path().join("broken.yaml");
    std::fs::write(&broken, "version: v9\n").expect("write");
    let broken = broken.display().to_string();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    for (arguments, code, error, hint) in [
        (
            vec!["--config", "/no/such/file"],
            1,
            "cannot read the configuration",
            "check the path",
        ),
        (
            vec!["--config", &broken],
            1,
            "cannot be used",
            "stunnerd check",
        ),
        (
            vec!["--config", &broken, "--token-file", "/no/such"],
            1,
            "token file",
            "a token on each line",
        ),
        (
            vec!["--address", "127.0.0.1", "-p", &port],
            1,
            "cannot listen",
            "another process",
        ),
        (vec![], 1, "no kubeconfig", "--cds-server-address"),
        (vec!["--no-such-flag"], 2, "unknown flag", "authd --help"),
        (vec!["--max-ttl", "soon"], 2, "--max-ttl", "a duration"),
    ] {
        let ended = run_to_end(&arguments);
        let output = &ended.output;
        assert_eq!(ended.code(), Some(code), "{arguments:?}: {output}");
        assert!(
            output.contains("error: ") && output.contains(error),
            "{arguments:?}: {output}"
        );
        assert!(
            output.contains("hint: ") && output.contains(hint),
            "{arguments:?}: {output}"
        );
    }
}

#[test]
fn help_and_version_are_printed() {
    let help = run_to_end(&["--help"]).expect_success("help");
    assert!(help.contains("GET /ice?service=turn") && help.contains("--cors-origin"));
    let version = run_to_end(&["--version"]).expect_success("version");
    assert!(version.starts_with("authd "), "{version}");
}

//! The programs of this repository, as the tests run them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// The top of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub fn stunnerctl() -> &'static Path {
    find("STUNNERCTL_BIN", "stunnerctl", "stunnerctl")
}

pub fn icetester() -> &'static Path {
    find("ICETESTER_BIN", "icetester", "icetester")
}

/// The program that the environment variable names, else the binary `name` of `package`, built with cargo in the
/// profile of the test itself. Looked for once: each build waits for whoever builds something else.
pub fn find(variable: &str, package: &str, name: &str) -> &'static Path {
    static FOUND: Mutex<Option<HashMap<String, &'static Path>>> = Mutex::new(None);
    // A build that failed is tried again.
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    let found = found.get_or_insert_default();
    found.entry(name.to_owned()).or_insert_with(|| {
        let path = match std::env::var_os(variable) {
            Some(path) => PathBuf::from(path),
            None => build(package, name),
        };
        Box::leak(path.into_boxed_path())
    })
}

fn build(package: &str, name: &str) -> PathBuf {
    let root = root();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .current_dir(&root)
        .args(["build", "--locked", "--quiet"])
        .args(["-p", package, "--bin", name]);
    let profile = if cfg!(debug_assertions) {
        "debug"
    } else {
        command.arg("--release");
        "release"
    };
    let status = command.status().expect("run cargo build");
    assert!(status.success(), "cargo build of {name} failed");
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let binary = target.join(profile).join(name);
    assert!(binary.exists(), "no {} after the build", binary.display());
    binary
}

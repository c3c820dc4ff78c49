//! The Kubernetes programs and the Gateway API manifests, which `tests/kube/build` keeps in the cache folder.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use interop_tests::skip::Missing;

/// What `tests/kube/build` exits with where a machine without Go or network is to blame, not the tests.
const NOT_TO_BE_HAD: i32 = 3;

/// The folder with the programs; they are built when this is the first use. What it says while it builds goes to the
/// terminal, because that takes minutes.
pub fn folder() -> Result<&'static Path, Missing> {
    static FOLDER: OnceLock<Result<PathBuf, Missing>> = OnceLock::new();
    FOLDER
        .get_or_init(build)
        .as_deref()
        .map_err(Missing::to_owned)
}

fn build() -> Result<PathBuf, Missing> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kube/build");
    let out = Command::new(&script)
        .stderr(Stdio::inherit())
        .output()
        .unwrap_or_else(|error| panic!("cannot run {}: {error}", script.display()));
    if out.status.code() == Some(NOT_TO_BE_HAD) {
        return Err(Missing::new(
            "kube-apiserver",
            "it cannot be built here (Go 1.26 and its module proxy are needed)",
        ));
    }
    assert!(out.status.success(), "tests/kube/build: {}", out.status);
    let text = String::from_utf8_lossy(&out.stdout);
    Ok(PathBuf::from(text.lines().last().unwrap_or_default()))
}

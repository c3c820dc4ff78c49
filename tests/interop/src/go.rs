//! Go programs of the tests: our pion client, and the Go `turncat` and `stunnerd` as a module dependency.
//!
//! They are built once into the user's cache folder, by version of their go.mod and sources, and reused.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use crate::cache::{cache_dir, fingerprint};
use crate::skip::{Missing, find_in_path};

/// A Go toolchain that can build our modules, or why there is none.
fn toolchain() -> Result<PathBuf, Missing> {
    let cached = cache_dir().join("go/bin/go");
    let candidates = [
        std::env::var_os("GO").map(PathBuf::from),
        find_in_path("go"),
        Some(cached),
    ];
    let usable = candidates
        .into_iter()
        .flatten()
        .find(|go| version(go).is_some_and(|found| found >= (1, 26)));
    usable.ok_or_else(|| Missing::new("go", "no Go 1.26 or newer (scripts/setup installs it)"))
}

fn version(go: &Path) -> Option<(u32, u32)> {
    let out = Command::new(go)
        .args(["env", "GOVERSION"])
        .env("GOTOOLCHAIN", "local")
        .output()
        .ok()?;
    let text = String::from_utf8(out.stdout).ok()?;
    let mut numbers = text.trim().strip_prefix("go")?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Our client on pion/turn, from `tests/peers`.
pub fn pion_client() -> Result<PathBuf, Missing> {
    build("peers", "./pionclient", "pionclient")
}

/// The original `turncat`, from the module that `tests/go-stunner` requires.
pub fn turncat() -> Result<PathBuf, Missing> {
    build(
        "go-stunner",
        "github.com/l7mp/stunner/cmd/turncat",
        "turncat",
    )
}

/// The original `stunnerd`.
pub fn go_stunnerd() -> Result<PathBuf, Missing> {
    build(
        "go-stunner",
        "github.com/l7mp/stunner/cmd/stunnerd",
        "stunnerd",
    )
}

fn build(module: &str, package: &str, name: &str) -> Result<PathBuf, Missing> {
    // Tests run in parallel; two of them must not build the same program at once.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .join(module);
    let dir = cache_dir().join(format!("{module}-{}", fingerprint(&source)));
    let program = dir.join(name);
    if program.exists() {
        return Ok(program);
    }
    let go = toolchain()?;
    std::fs::create_dir_all(&dir).map_err(|error| Missing::new(name, error.to_string()))?;
    let unfinished = dir.join(format!("{name}.{}", std::process::id()));
    let out = Command::new(&go)
        .current_dir(&source)
        .args(["build", "-trimpath", "-ldflags", "-s -w", "-o"])
        .arg(&unfinished)
        .arg(package)
        .env("CGO_ENABLED", "0")
        .env("GOTOOLCHAIN", "local")
        .env("GOFLAGS", "-mod=readonly")
        .output()
        .map_err(|error| Missing::new(name, error.to_string()))?;
    if !out.status.success() {
        let text = String::from_utf8_lossy(&out.stderr)
            .trim()
            .replace('\n', "; ");
        // Our own source must build; only a download that fails is somebody else's fault.
        let downloading = text.contains("dial tcp")
            || text.contains("proxy.golang.org")
            || text.contains("Get \"http");
        assert!(downloading, "go build {package}: {text}");
        return Err(Missing::new(
            name,
            format!("its modules cannot be downloaded: {text}"),
        ));
    }
    std::fs::rename(&unfinished, &program)
        .map_err(|error| Missing::new(name, error.to_string()))?;
    Ok(program)
}

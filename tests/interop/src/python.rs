//! Python environments with pinned packages, those of the lists in `tests/peers`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use crate::cache::{cache_dir, fingerprint};
use crate::skip::{self, Missing};

/// The interpreter of the environment for the Python peers, which is made on first use.
pub fn interpreter() -> Result<PathBuf, Missing> {
    interpreter_with("requirements.txt")
}

/// The interpreter of an environment with the packages of another list, which is made on first use.
pub fn interpreter_with(requirements: &str) -> Result<PathBuf, Missing> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let requirements = script(requirements);
    let dir = cache_dir().join(format!("python-{}", fingerprint(&requirements)));
    let (python, done) = (dir.join("bin/python3"), dir.join("installed"));
    if done.exists() {
        return Ok(python);
    }
    let system = skip::program("python3", "python3-venv")?;
    run(
        Command::new(system).args(["-m", "venv"]).arg(&dir),
        Some("python3-venv"),
    )?;
    let pip = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--requirement",
    ];
    run(Command::new(&python).args(pip).arg(&requirements), None)?;
    std::fs::write(&done, "").map_err(|error| Missing::new("python", error.to_string()))?;
    Ok(python)
}

fn run(command: &mut Command, package: Option<&'static str>) -> Result<(), Missing> {
    let why = match command.output() {
        Ok(out) if out.status.success() => return Ok(()),
        Ok(out) => String::from_utf8_lossy(&out.stderr)
            .trim()
            .replace('\n', "; "),
        Err(error) => error.to_string(),
    };
    Err(Missing {
        what: format!("{command:?}"),
        why,
        package,
    })
}

/// A file of `tests/peers`.
pub fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../peers")
        .join(name)
}

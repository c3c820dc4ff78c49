//! Outside programs that a test needs, and what happens without them.
//!
//! A test never passes silently because its peer is missing: it prints `SKIPPED name: reason` past
//! libtest's capture, and adds the same line to the file that `STUNNER_SKIP_LOG` names, from which
//! `scripts/test` counts. Where `CI` is `true`, a missing Debian package is a failure.

use std::io::Write;
use std::path::{Path, PathBuf};

/// Why a test cannot run here.
#[derive(Debug, Clone)]
pub struct Missing {
    pub what: String,
    pub why: String,
    /// The Debian package that has it, where one does.
    pub package: Option<&'static str>,
}

impl Missing {
    pub fn new(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            why: why.into(),
            package: None,
        }
    }
}

/// Finds a program in `PATH`; `package` is what installs it on Debian.
pub fn program(name: &str, package: &'static str) -> Result<PathBuf, Missing> {
    find_in_path(name).ok_or_else(|| Missing {
        what: name.to_owned(),
        why: format!("not in PATH (apt-get install {package})"),
        package: Some(package),
    })
}

pub fn find_in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let extra = ["/usr/sbin", "/sbin", "/usr/local/go/bin"].map(PathBuf::from);
    std::env::split_paths(&path)
        .chain(extra)
        .map(|dir| dir.join(name))
        .find(|file| is_program(file))
}

fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata()
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// Whether this machine has IPv6 at all; containers often do not.
pub fn ipv6() -> Result<(), Missing> {
    match std::net::UdpSocket::bind("[::1]:0") {
        Ok(_) => Ok(()),
        Err(error) => Err(Missing::new("IPv6 loopback", error.to_string())),
    }
}

pub fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true" || value == "1")
}

/// Reports `test` as skipped. In CI a missing Debian package panics instead: there it can be installed.
pub fn report(test: &str, missing: &Missing) {
    if let (true, Some(package)) = (in_ci(), missing.package) {
        panic!(
            "{} is missing; CI must install the Debian package {package}",
            missing.what
        );
    }
    let line = format!("SKIPPED {test}: {}: {}\n", missing.what, missing.why);
    // Straight to the descriptor: libtest captures only what goes through print! and eprint!.
    let _ = std::io::stderr().write_all(line.as_bytes());
    if let Some(log) = std::env::var_os("STUNNER_SKIP_LOG") {
        let file = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(log);
        if let Ok(mut file) = file {
            let _ = file.write_all(line.as_bytes());
        }
    }
}

/// The value of a `Result<T, Missing>`, or report the calling test as skipped and return from it.
#[macro_export]
macro_rules! need {
    ($test:expr, $found:expr) => {
        match $found {
            Ok(found) => found,
            Err(missing) => {
                $crate::skip::report($test, &missing);
                return;
            }
        }
    };
}

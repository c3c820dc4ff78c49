//! `stunner init`: a commented starter folder with fresh credentials.

#[cfg(test)]
mod tests;

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use stunner_flags::{EXIT_PROBLEM, report};
use stunner_process::{print_only, say};

use crate::cli::InitOptions;

/// A file of the starter folder.
struct Starter {
    name: &'static str,
    /// With `{{username}}` and `{{password}}` where fresh ones belong.
    text: &'static str,
    /// What the user is told about it.
    about: &'static str,
    is_secret: bool,
}

const STARTERS: [Starter; 4] = [
    Starter {
        name: "class.yaml",
        text: include_str!("starter/class.yaml"),
        about: "who serves the Gateways, and their settings",
        is_secret: false,
    },
    Starter {
        name: "credentials.yaml",
        text: include_str!("starter/credentials.yaml"),
        about: "fresh credentials, readable by you only",
        is_secret: true,
    },
    Starter {
        name: "gateway.yaml",
        text: include_str!("starter/gateway.yaml"),
        about: "one TURN listener, on UDP port 3478",
        is_secret: false,
    },
    Starter {
        name: "route.yaml",
        text: include_str!("starter/route.yaml"),
        about: "what clients may reach",
        is_secret: false,
    },
];

#[derive(Debug, thiserror::Error)]
enum InitError {
    #[error("`{0}` is not empty")]
    NotEmpty(PathBuf),
    #[error("`{0}` is a file")]
    IsFile(PathBuf),
    #[error("cannot write `{path}`")]
    Write { path: PathBuf, source: io::Error },
}

impl InitError {
    fn hint(&self) -> &'static str {
        match self {
            Self::NotEmpty(_) | Self::IsFile(_) => {
                "name a folder that is new or empty: nothing is ever overwritten"
            }
            Self::Write { .. } => "check that this user may write there",
        }
    }
}

/// Writes the folder, says what to do next, and gives the exit code.
pub fn init(options: InitOptions) -> ExitCode {
    match write(&options.folder) {
        Ok(()) => print_only(&next_steps(&options.folder)),
        Err(error) => {
            say(&report(&error, Some(error.hint())));
            ExitCode::from(EXIT_PROBLEM)
        }
    }
}

fn write(folder: &Path) -> Result<(), InitError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| InitError::Write { path, source }
    };
    match fs::read_dir(folder).map(|mut entries| entries.next().is_none()) {
        Ok(true) => {}
        Ok(false) => return Err(InitError::NotEmpty(folder.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(folder).map_err(failed(folder))?;
        }
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            return Err(InitError::IsFile(folder.to_owned()));
        }
        Err(error) => return Err(failed(folder)(error)),
    }
    let username = format!("user-{}", hexadecimal(&rand::random::<[u8; 4]>()));
    let password = hexadecimal(&rand::random::<[u8; 16]>());
    for starter in &STARTERS {
        let path = folder.join(starter.name);
        let text = starter.text.replace("{{username}}", &username);
        let text = text.replace("{{password}}", &password);
        let mode = if starter.is_secret { 0o600 } else { 0o644 };
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(&path)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(failed(&path))?;
    }
    Ok(())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn next_steps(folder: &Path) -> String {
    let folder = quoted(&folder.display().to_string());
    let mut text = format!("{folder} is ready:\n");
    for starter in &STARTERS {
        text.push_str(&format!("  {:18}{}\n", starter.name, starter.about));
    }
    text.push_str(&format!(
        "
Next:
  stunner run {folder}        serve it; edits take effect as you save them
  stunner check {folder}      every problem, with its place and the fix
  kubectl apply -f {folder}   the same gateway in a cluster that runs the operator
"
    ));
    text
}

/// As it can be pasted into a shell.
fn quoted(path: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+@:,=".contains(&byte);
    match path.bytes().all(is_plain) {
        true => path.to_owned(),
        false => format!("'{}'", path.replace('\'', r"'\''")),
    }
}

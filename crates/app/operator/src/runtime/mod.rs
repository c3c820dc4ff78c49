//! The life of the process: start, work, end.

mod end;
mod open_files;
mod process;
mod start;

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;
use std::time::Duration;

use stunner_flags::{EXIT_PROBLEM, EXIT_USAGE, report};
use stunner_process::{block_on, print_only, say};
use stunner_telemetry::logging;
use tokio::runtime::Builder;

use crate::cds::CdsError;
use crate::cli::{self, Command, Options};
use crate::cluster::ConnectError;

/// As printed by `--version` and in the first log line.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// How long the last log lines may take to be written.
const LOG_PATIENCE: Duration = Duration::from_secs(1);

/// Why the process ends with a problem.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("cannot reach a cluster")]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    Cds(#[from] CdsError),
    #[error("cannot listen at `{address}` of `--{flag}`")]
    Listen {
        flag: &'static str,
        address: String,
        source: io::Error,
    },
    #[error("cannot start")]
    Io(#[from] io::Error),
}

impl RunError {
    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Connect(error) => Some(error.hint()),
            Self::Cds(error) => error.hint(),
            Self::Listen { .. } => {
                Some("another process may have the port; give another address, or `off`")
            }
            Self::Io(_) => None,
        }
    }
}

/// The `stunner-gateway-operator` program: reads the command line, does what it says, gives the exit code.
pub fn main() -> ExitCode {
    main_with(std::env::args_os())
}

/// The program with these arguments, of which the first is its name.
pub fn main_with(args: impl Iterator<Item = OsString>) -> ExitCode {
    let env = |name: &str| std::env::var(name).ok();
    match cli::parse(args, &env) {
        Ok(Command::Help(text)) => print_only(&text),
        Ok(Command::Version) => print_only(&format!("stunner-gateway-operator {VERSION}\n")),
        Ok(Command::Run(options)) => execute(*options),
        Err(usage) => {
            say(&usage.report());
            ExitCode::from(EXIT_USAGE)
        }
    }
}

fn execute(options: Options) -> ExitCode {
    let log = logging::init(options.logs.format, &options.logs.spec).ok();
    let result = block_on(&mut Builder::new_multi_thread(), process::run(options));
    let result = result.map_err(RunError::Io).flatten();
    if let Some(log) = log {
        log.flush(LOG_PATIENCE);
    }
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&report(&error, error.hint()));
            ExitCode::from(EXIT_PROBLEM)
        }
    }
}

//! The life of the process: start, follow the configuration, drain, stop.

mod process;
mod start;

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use stunner_cds::{LoadError, OriginError};
use stunner_config::uri::UriError;
use stunner_process::{print, print_only, say};
use stunner_telemetry::logging::{self, Format};

use self::process::Process;
use crate::cli::{self, Command, LogFormat, Options};
use crate::control::{ReconcileError, judge};

/// Name and version, as in SOFTWARE attributes and the first log line.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// How long the last log lines may take to be written.
const LOG_PATIENCE: Duration = Duration::from_secs(1);

/// Why the process ends with a problem.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("the TURN URI cannot be used")]
    Uri(#[from] UriError),
    #[error("cannot make a certificate")]
    Certificate(#[from] rcgen::Error),
    #[error(transparent)]
    Origin(#[from] OriginError),
    #[error("cannot load the configuration")]
    Load(#[from] LoadError),
    #[error("cannot apply the configuration")]
    Reconcile(#[from] ReconcileError),
    #[error("cannot start")]
    Io(#[from] io::Error),
}

impl RunError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Uri(_) => Some(
                "write it as `turn://USER:PASSWORD@ADDRESS:PORT?transport=udp|tcp|tls|dtls`"
                    .to_owned(),
            ),
            Self::Origin(error) => Some(error.hint().to_owned()),
            Self::Load(error) => error.hint(),
            Self::Reconcile(ReconcileError::Prepare(error)) => Some(error.hint()),
            Self::Certificate(_) | Self::Io(_) => None,
        }
    }
}

/// The `stunnerd` program: reads the command line, does what it says, gives the exit code.
pub fn main() -> ExitCode {
    main_with(std::env::args_os())
}

/// The program with these arguments, of which the first is its name.
pub fn main_with(args: impl Iterator<Item = OsString>) -> ExitCode {
    let env = |name: &str| std::env::var(name).ok();
    let command = match cli::parse(args, &env) {
        Ok(command) => command,
        Err(usage) => {
            say(&usage.report());
            return ExitCode::from(cli::EXIT_USAGE);
        }
    };
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            say(&cli::report(&error, None));
            return ExitCode::from(cli::EXIT_PROBLEM);
        }
    };
    let code = execute(command, &runtime);
    // A name that is still being looked up, or a file that hangs, must not hold up the end.
    runtime.shutdown_background();
    code
}

fn execute(command: Command, runtime: &tokio::runtime::Runtime) -> ExitCode {
    match command {
        Command::Help(text) => print_only(&text),
        Command::Version => print_only(&format!("stunnerd {VERSION}\n")),
        Command::Check { origin, options } => {
            let cds = origin_options(&options);
            let report = runtime.block_on(cli::check(&origin, &options, &cds, &judge));
            match print(&report.text) {
                true => ExitCode::from(report.exit_code()),
                false => ExitCode::from(cli::EXIT_PROBLEM),
            }
        }
        Command::Run(options) => match runtime.block_on(run(*options)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                say(&match &error {
                    RunError::Load(error) => cli::report_load(error),
                    _ => cli::report(&error, error.hint().as_deref()),
                });
                ExitCode::from(cli::EXIT_PROBLEM)
            }
        },
    }
}

/// Options of the config origin, with certificates judged as the runtime would.
fn origin_options(options: &Options) -> stunner_cds::Options {
    stunner_cds::Options {
        judge: Some(Arc::new(judge)),
        ..options.cds_options()
    }
}

/// Runs until told to stop.
async fn run(options: Options) -> Result<(), RunError> {
    let spec = options
        .log
        .clone()
        .unwrap_or_else(|| stunner_config::defaults::LOGLEVEL.to_owned());
    let format = match options.log_format {
        LogFormat::Text => Format::Text,
        LogFormat::Json => Format::Json,
    };
    let log = logging::init(format, &spec).ok();
    let result = Process::start(options, log.clone()).await;
    let result = match result {
        Ok(Some(process)) => {
            process.serve().await;
            Ok(())
        }
        Ok(None) => Ok(()),
        Err(error) => Err(error),
    };
    if let Some(log) = log {
        log.flush(LOG_PATIENCE);
    }
    result
}

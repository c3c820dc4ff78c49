//! The life of the process: start, work, end.

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use axum::Router;
use stunner_cluster::{Cds, Cluster, ClusterError};
use stunner_flags::{EXIT_PROBLEM, report};
use stunner_http::{Bound, HttpServer, Limits, Serving};
use stunner_process::{Signals, block_on, say};
use stunner_telemetry::logging;
use tokio::runtime::Builder;
use tokio::task::JoinHandle;

use crate::VERSION;
use crate::cli::Options;
use crate::http::{
    Access, Clock, REVIEW_PATIENCE, RateLimit, Reviewer, Service, TokenFile, TokenFileError,
};
use crate::source::{ConfigFiles, FileError, Teller, follow_discovery};

const SCOPE: &str = "auth";
/// How long the last log lines may take to be written.
const LOG_PATIENCE: Duration = Duration::from_secs(1);

/// Why the process ends with a problem.
#[derive(Debug, thiserror::Error)]
enum RunError {
    #[error("cannot find the gateways")]
    Discovery(#[source] ClusterError),
    #[error("cannot have tokens checked")]
    Review(#[source] ClusterError),
    #[error(transparent)]
    Config(#[from] FileError),
    #[error(transparent)]
    Tokens(#[from] TokenFileError),
    #[error("cannot listen at `{address}`")]
    Listen {
        address: String,
        #[source]
        source: io::Error,
    },
    #[error("cannot start")]
    Io(#[from] io::Error),
}

impl RunError {
    /// What to do about it.
    fn hint(&self) -> Option<String> {
        match self {
            RunError::Discovery(ClusterError::NoKubeconfig) => Some(
                "say where the gateways are: --cds-server-address for a config discovery service, --config for files, or \
                 --kubeconfig or $KUBECONFIG for a cluster"
                    .to_owned(),
            ),
            RunError::Review(ClusterError::NoKubeconfig) => Some(
                "--token-review asks a cluster: name one with --kubeconfig or $KUBECONFIG, or use --token-file"
                    .to_owned(),
            ),
            RunError::Discovery(error) | RunError::Review(error) => error.hint(),
            RunError::Config(error) => Some(error.hint().to_owned()),
            RunError::Tokens(_) => {
                Some("give --token-file a file with a token on each line".to_owned())
            }
            RunError::Listen { .. } => Some(
                "another process may have the port; give another by --port or --address".to_owned(),
            ),
            RunError::Io(_) => None,
        }
    }
}

/// Runs until told to stop, and gives the exit code.
pub(crate) fn execute(options: Options) -> ExitCode {
    let log = logging::init(options.log_format, &options.log).ok();
    let result = match block_on(&mut Builder::new_multi_thread(), run(options)) {
        Ok(result) => result,
        Err(error) => Err(RunError::Io(error)),
    };
    if let Some(log) = log {
        log.flush(LOG_PATIENCE);
    }
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&report(&error, error.hint().as_deref()));
            ExitCode::from(EXIT_PROBLEM)
        }
    }
}

async fn run(options: Options) -> Result<(), RunError> {
    let signals = Signals::listen()?;
    // Only a start can be broken off: what serves already lets those have their answers who asked for them.
    let ready = tokio::select! {
        () = signals.at_least(1) => return Ok(()),
        ready = start(options) => ready?,
    };
    let running = ready.bound.serve_with(ready.router, serving())?;
    tracing::info!(scope = SCOPE, "serving at {}", running.local_addr()?);
    signals.at_least(1).await;
    tracing::info!(scope = SCOPE, "stopping");
    ready.following.abort();
    tokio::select! {
        () = running.stop() => {}
        () = signals.at_least(2) => {}
    }
    Ok(())
}

/// What is needed to serve.
struct Ready {
    bound: Bound,
    router: Router,
    following: JoinHandle<()>,
}

fn serving() -> Serving {
    Serving {
        // As Go's server writes them.
        title_case_headers: true,
        limits: Limits {
            // A request under way may be waiting for the API server, and then needs a moment for the answer.
            grace: REVIEW_PATIENCE + Duration::from_secs(1),
            ..Limits::default()
        },
        ..Serving::default()
    }
}

async fn start(options: Options) -> Result<Ready, RunError> {
    tracing::info!(scope = SCOPE, "starting authd {VERSION}");
    // What cannot be listened at is said before anything else is done.
    let bound = HttpServer::bind(&options.listen).map_err(|source| RunError::Listen {
        address: options.listen.to_string(),
        source,
    })?;
    let access = access(&options).await?;
    let (teller, known) = Teller::new();
    let following = match &options.config {
        Some(path) => {
            let path = path.clone();
            let files = blocking(move || ConfigFiles::open(&path)).await??;
            // Before anybody can ask.
            teller.tell(files.gateways());
            tokio::spawn(files.follow(teller))
        }
        None => {
            let found = discovery(&options).await;
            let cds = found.map_err(RunError::Discovery)?.by("authd");
            tokio::spawn(follow_discovery(cds, teller))
        }
    };
    let service = Service {
        known,
        settings: options.settings,
        access,
        cors: options.cors,
        rate: RateLimit::per_second(options.rate_limit),
        clock: Clock::default(),
    };
    Ok(Ready {
        bound,
        router: service.router(),
        following,
    })
}

/// Looks at files where a file system that hangs holds up nobody who waits for a signal.
async fn blocking<T: Send + 'static>(look: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    Ok(tokio::task::spawn_blocking(look).await?)
}

/// The config discovery service. It may come up after this one; only what waiting does not mend is an error.
async fn discovery(options: &Options) -> Result<Cds, ClusterError> {
    if let Some(address) = &options.cds.address {
        return Cds::direct(address, &options.cds);
    }
    let cluster = Cluster::connect(&options.kubectl).await?;
    match Cds::discover(&cluster, &options.cds).await {
        Err(
            ClusterError::NotFound { .. }
            | ClusterError::NotReady { .. }
            | ClusterError::Unreachable { .. }
            | ClusterError::Unavailable { .. },
        ) => Ok(Cds::in_cluster(&cluster, &options.cds)),
        found => found,
    }
}

async fn access(options: &Options) -> Result<Access, RunError> {
    let token_file = match options.token_file.clone() {
        None => None,
        Some(path) => Some(blocking(move || TokenFile::open(&path)).await??),
    };
    let reviewer = match &options.review {
        None => None,
        Some(review) => {
            let cluster = Cluster::connect(&options.kubectl).await;
            let client = cluster.map_err(RunError::Review)?.client().clone();
            let (audiences, accounts) = (review.audiences.clone(), review.accounts.clone());
            Some(Reviewer::new(client, audiences, accounts))
        }
    };
    Ok(Access {
        token_file,
        reviewer,
    })
}

//! Log lines on standard output, filtered by scope, in text or JSON.
//!
//! Call sites use `tracing` as it is: `tracing::info!(scope = "turn", "allocation made")`. The scope may be computed
//! (`scope = %listener_scope`); without one it follows from the crate the call is in. Formatting happens on the
//! calling thread, writing on a thread of its own: a full pipe loses lines, which is counted and said, and never stalls
//! the caller.

mod layer;
mod limit;
mod line;
mod scope;
mod spec;
mod writer;

use std::io::Write;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tracing_subscriber::layer::SubscriberExt;

pub use layer::LogLayer;
pub use limit::Limits;
pub use scope::KNOWN_SCOPES;
pub use spec::{LogLevel, LogSpec, SpecProblem};

use writer::Queue;

/// How a line looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    #[default]
    Text,
    Json,
}

impl FromStr for Format {
    type Err = std::convert::Infallible;

    /// `json` in any case; everything else is text.
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Ok(if name.eq_ignore_ascii_case("json") {
            Format::Json
        } else {
            Format::Text
        })
    }
}

/// A logger has been installed in this process before.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("a logger is already installed in this process")]
pub struct AlreadyInstalled;

/// Installs the process-wide logger on standard output.
///
/// Problems of the spec are logged as warnings; what is right in it applies.
pub fn init(format: Format, spec: &str) -> Result<LogHandle, AlreadyInstalled> {
    init_on(format, spec, std::io::stdout())
}

/// The same on another output, for programs whose standard output is for something else.
pub fn init_on(
    format: Format,
    spec: &str,
    output: impl Write + Send + 'static,
) -> Result<LogHandle, AlreadyInstalled> {
    let (layer, handle) = layer(format, spec, Limits::default(), output);
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer))
        .map_err(|_| AlreadyInstalled)?;
    for problem in LogSpec::parse(spec).1 {
        tracing::warn!(scope = "stunnerd", "log level: {problem}");
    }
    Ok(handle)
}

/// The logger as a layer over any writer; the way for tests, and for programs that add layers of their own.
pub fn layer(
    format: Format,
    spec: &str,
    limits: Limits,
    output: impl Write + Send + 'static,
) -> (LogLayer, LogHandle) {
    let queue = Queue::start(format, limits, output);
    let spec = Arc::new(ArcSwap::from_pointee(LogSpec::parse(spec).0));
    let layer = LogLayer::new(format, Arc::clone(&spec), queue.clone());
    (layer, LogHandle { spec, queue })
}

/// Steers a running logger.
#[derive(Clone, Debug)]
pub struct LogHandle {
    spec: Arc<ArcSwap<LogSpec>>,
    queue: Queue,
}

impl LogHandle {
    /// Applies a spec such as `all:INFO,turn:DEBUG` from the next event on. Malformed items are skipped and returned.
    pub fn set_spec(&self, spec: &str) -> Vec<SpecProblem> {
        let (spec, problems) = LogSpec::parse(spec);
        if **self.spec.load() != spec {
            self.spec.store(Arc::new(spec));
            // Call sites cache whether anybody wants them.
            tracing::callsite::rebuild_interest_cache();
        }
        problems
    }

    /// The spec in force, in its normal form.
    pub fn spec(&self) -> String {
        self.spec.load().to_string()
    }

    /// Lines lost so far because the output took no more.
    pub fn lost_lines(&self) -> u64 {
        self.queue.lost()
    }

    /// Waits until everything logged so far is written, at most this long. To be called before the process exits.
    pub fn flush(&self, at_most: Duration) {
        self.queue.flush(at_most);
    }
}

//! What the user of an origin may set, and the timing that tests shorten.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use stunner_config::{Config, ParseOptions, Problem};

/// The environment that `$NAME` in a configuration is looked up in.
pub type Env = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// A further opinion on a configuration that parses, such as whether its certificates are usable.
/// Errors among the answers refuse the configuration.
pub type Judge = Arc<dyn Fn(&Config) -> Vec<Problem> + Send + Sync>;

/// Is told what happens to a watch besides new configurations.
pub type Observer = Arc<dyn Fn(Notice) + Send + Sync>;

/// What happens to a watch besides new configurations. The running configuration stays in every case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The discovery service is connected.
    Up { origin: String },
    /// The connection to the discovery service is lost; it is tried again.
    Down { origin: String, why: String },
    /// The origin gave a configuration that cannot be used.
    BadConfig { why: String },
}

/// The environment of this process.
pub fn process_env() -> Env {
    Arc::new(|name| std::env::var(name).ok())
}

/// How to read from an origin.
#[derive(Clone)]
pub struct Options {
    /// Who asks, for the `User-Agent`.
    pub program: &'static str,
    pub env: Env,
    pub parse: ParseOptions,
    pub judge: Option<Judge>,
    /// A file whose content is sent as `Authorization: Bearer`, over TLS only. It is read anew for every connection,
    /// because mounted tokens rotate.
    pub token_file: Option<PathBuf>,
    /// Further root certificates (PEM) beside those of the system or of `SSL_CERT_FILE`.
    pub ca_file: Option<PathBuf>,
    /// Where the last good configuration from a discovery service is kept.
    pub cache_dir: Option<PathBuf>,
    pub timing: Timing,
    pub observer: Option<Observer>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            program: "stunnerd",
            env: process_env(),
            parse: ParseOptions::default(),
            judge: None,
            token_file: None,
            ca_file: None,
            cache_dir: None,
            timing: Timing::default(),
            observer: None,
        }
    }
}

impl Options {
    pub(crate) fn user_agent(&self) -> String {
        format!("{}/{}", self.program, env!("CARGO_PKG_VERSION"))
    }

    pub(crate) fn tell(&self, notice: Notice) {
        if let Some(observer) = &self.observer {
            observer(notice);
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("parse", &self.parse)
            .field("token_file", &self.token_file)
            .field("ca_file", &self.ca_file)
            .field("cache_dir", &self.cache_dir)
            .field("timing", &self.timing)
            .finish_non_exhaustive()
    }
}

/// Every wait has a bound; these are the bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timing {
    /// Name resolution, TCP and TLS handshake together.
    pub connect: Duration,
    /// From the request to the end of the response, or to the end of the WebSocket upgrade.
    pub request: Duration,
    /// Between two `keepalive` pings of the client.
    pub ping_interval: Duration,
    /// For one frame to be written.
    pub write: Duration,
    /// Without any message for this long, the connection counts as dead.
    pub read: Duration,
    /// Wait before the first reconnection; it doubles up to `backoff_max`.
    pub backoff_first: Duration,
    pub backoff_max: Duration,
    /// How long a file must be still before it is believed.
    pub file_settle: Duration,
    /// How often a file is looked at when the kernel reports nothing.
    pub file_poll: Duration,
    /// How long a discovery service has at start before the cached configuration stands in.
    pub cache_after: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Timing {
            connect: Duration::from_secs(5),
            request: Duration::from_secs(8),
            ping_interval: Duration::from_secs(5),
            write: Duration::from_secs(2),
            read: Duration::from_secs(8),
            backoff_first: Duration::from_secs(1),
            backoff_max: Duration::from_secs(10),
            file_settle: Duration::from_millis(100),
            file_poll: Duration::from_secs(2),
            cache_after: Duration::from_secs(3),
        }
    }
}

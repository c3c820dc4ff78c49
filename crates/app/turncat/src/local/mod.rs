//! The near ends: each gives every client of its own a [`Session`](crate::tunnel::Session).

mod bind;
mod clients;
mod stdio;
mod streams;
mod udp;

use std::fmt;
use std::io;
use std::sync::Arc;

use tokio::sync::watch;

pub use bind::BindError;

use crate::ends::LocalEnd;
use crate::tunnel::{Route, SessionError};

/// A near end that is open. Nothing is read from it before [`Local::serve`].
#[derive(Debug)]
pub struct Local {
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Udp(udp::UdpEnd),
    Streams(streams::StreamEnd),
    Stdio,
}

impl Local {
    pub async fn open(end: &LocalEnd) -> Result<Local, BindError> {
        let kind = match end {
            LocalEnd::Udp(place) => Kind::Udp(udp::UdpEnd::bind(place).await?),
            LocalEnd::Tcp(place) => Kind::Streams(streams::StreamEnd::tcp(place).await?),
            LocalEnd::Unix(path) => Kind::Streams(streams::StreamEnd::unix(path).await?),
            LocalEnd::Abstract(name) => Kind::Streams(streams::StreamEnd::abstract_unix(name)?),
            LocalEnd::Stdio => Kind::Stdio,
        };
        Ok(Local { kind })
    }

    /// Whether there is only one client, and it is there already.
    pub fn is_stdio(&self) -> bool {
        matches!(self.kind, Kind::Stdio)
    }

    /// Serves clients until told to stop; standard input also ends by itself.
    pub async fn serve(
        self,
        route: Arc<Route>,
        stop: watch::Receiver<bool>,
    ) -> Result<(), SessionError> {
        match self.kind {
            Kind::Udp(end) => end.serve(route, stop).await,
            Kind::Streams(end) => end.serve(route, stop).await,
            Kind::Stdio => return stdio::serve(route, stop).await,
        }
        Ok(())
    }
}

/// As on the command line, with the port that was bound.
impl fmt::Display for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Udp(end) => end.fmt(f),
            Kind::Streams(end) => end.fmt(f),
            Kind::Stdio => f.write_str("-"),
        }
    }
}

/// A process that has no more descriptors gets them back when clients go; until then asking again at once would only
/// spin.
async fn after_failed_accept(error: io::Error) {
    tracing::warn!("cannot take a client: {error}");
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
}

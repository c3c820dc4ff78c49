//! One client's traffic, over one link after the other.

use std::io;
use std::sync::Arc;

use stunner_client::Lost;
use thiserror::Error;
use tokio::sync::{mpsc, watch};
use tracing::{debug, info, warn};

use super::outlet::Outlet;
use super::route::{OpenError, Route};
use super::{datagrams, stream};

/// What a client may have waiting while its server is away.
const QUEUE: usize = 128;

/// What a client sends, one datagram or one read of a stream at a time. Its end is the end of what the client says.
pub type Inbox = mpsc::Receiver<Vec<u8>>;

/// A queue for one client.
pub fn inbox() -> (mpsc::Sender<Vec<u8>>, Inbox) {
    mpsc::channel(QUEUE)
}

/// What kind of client it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Boundaries are the client's: what does not fit is dropped.
    Datagrams,
    /// A connection; what does not fit is cut.
    Stream,
    /// The same, and the process lives as long as it does.
    Stdio,
}

/// Why a session is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The process was told to stop.
    Stopped,
    /// Nothing went either way for too long.
    Idle,
    /// The client has said everything, and no more answers come.
    InputEnded,
    /// The peer has said everything.
    PeerEnded,
    /// The client takes no more answers.
    ClientGone,
}

#[derive(Debug, Error)]
pub enum SessionError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("the connection to the peer broke")]
    Broken(#[source] io::Error),
    #[error("the way to the peer broke")]
    Lost(#[source] Lost),
    #[error("cannot write to standard output")]
    Output(#[source] io::Error),
}

impl SessionError {
    pub fn hint(&self) -> String {
        match self {
            SessionError::Open(error) => error.hint(),
            SessionError::Broken(_) | SessionError::Lost(_) => {
                "a stream cannot go on at another server: connect again".to_owned()
            }
            SessionError::Output(_) => {
                "look at where standard output goes, such as a disk that is full".to_owned()
            }
        }
    }
}

/// One client. Its socket outlives the allocations it gets.
#[derive(Debug)]
pub struct Session {
    pub route: Arc<Route>,
    /// For the log.
    pub client: String,
    pub origin: Origin,
    pub inbox: Inbox,
    pub outlet: Outlet,
}

impl Session {
    /// Carries traffic until the client, the peer or the process ends it.
    pub async fn run(self, mut stop: watch::Receiver<bool>) -> Result<End, SessionError> {
        let opening = async {
            match self.origin {
                // Whoever waits at a terminal wants to know at once.
                Origin::Stdio => self.route.open(None).await,
                Origin::Datagrams | Origin::Stream => self.route.reopen(None).await,
            }
        };
        let (client, origin) = (self.client.clone(), self.origin);
        let opened = tokio::select! {
            opened = opening => opened,
            () = stopped(&mut stop) => return Ok(End::Stopped),
        };
        let ended = match opened {
            Ok(link) => {
                info!(%client, relayed = %link.relay.relayed(), "new client");
                match link.stream {
                    None => datagrams::carry(self, link, stop).await,
                    Some(_) => stream::carry(self, link, stop).await,
                }
            }
            Err(error) => Err(error.into()),
        };
        match &ended {
            Ok(end) => info!(%client, "client gone: {end:?}"),
            // The end of standard input's session is the end of the process, which says why.
            Err(error) if origin == Origin::Stdio => debug!("{error}"),
            Err(error) => warn!(%client, "client let go: {error}; {}", error.hint()),
        }
        ended
    }
}

/// What it means that a client takes no more answers. A reader of standard output that has seen enough, such as `head`, is
/// no problem; a connection that broke is an end as any other.
pub(super) fn takes_no_more(origin: Origin, error: io::Error) -> Result<End, SessionError> {
    match origin {
        Origin::Stdio if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(SessionError::Output(error))
        }
        _ => {
            debug!("the client takes no more: {error}");
            Ok(End::ClientGone)
        }
    }
}

/// Returns once the process is to stop.
pub(super) async fn stopped(stop: &mut watch::Receiver<bool>) {
    // Whoever could tell us is gone: so should we be.
    let _ = stop.wait_for(|stop| *stop).await;
}

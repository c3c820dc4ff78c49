//! One watch, from the upgrade of its connection to its end.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::watch;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Bytes, Error, Message};

use super::SCOPE;
use super::access::Scope;
use super::store::ConfigStore;
use super::subscription::{Overrun, Subscription};

/// What every pong says, whatever the ping said.
const KEEPALIVE: Bytes = Bytes::from_static(b"keepalive");
/// Clients have nothing to say but pings; what they say all the same is read and dropped.
const MAX_INBOUND: usize = 64 * 1024;
/// How long a client may take to end its side after we ended ours.
const FAREWELL: Duration = Duration::from_millis(500);

/// Where a server is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    Open,
    /// Everyone gets a close frame.
    Closing,
    /// Who is still here is dropped.
    Gone,
}

/// Someone who watches.
pub(super) struct Client {
    pub(super) peer: Option<SocketAddr>,
    pub(super) store: ConfigStore,
    pub(super) scope: Scope,
    pub(super) node: Option<String>,
    pub(super) phases: watch::Receiver<Phase>,
}

/// Why a watch ended.
enum End {
    /// The client went, or spoke something that is not WebSocket.
    Left,
    /// The client took nothing for too long.
    Stuck,
    Overrun,
    /// The server stops.
    Closing,
}

type Socket = WebSocketStream<TokioIo<Upgraded>>;

impl Client {
    pub(super) async fn serve(self, upgrade: OnUpgrade) {
        let mut phases = self.phases.clone();
        tokio::select! {
            () = self.run(upgrade) => {}
            () = reach(&mut phases, Phase::Gone) => {}
        }
    }

    async fn run(self, upgrade: OnUpgrade) {
        // A client that leaves between its request and our answer never was subscribed.
        let Ok(upgraded) = upgrade.await else {
            return;
        };
        let limits = WebSocketConfig::default()
            .read_buffer_size(4 * 1024)
            .write_buffer_size(0)
            .max_message_size(Some(MAX_INBOUND))
            .max_frame_size(Some(MAX_INBOUND));
        let mut socket =
            WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, Some(limits))
                .await;
        let Client {
            peer,
            store,
            scope,
            node,
            mut phases,
        } = self;
        let who = peer.map_or_else(|| "a client".to_owned(), |peer| peer.to_string());
        let end = {
            let mut subscription = Subscription::new(store.clone(), scope.clone(), node);
            tracing::debug!(scope = SCOPE, "{who} watches {scope}");
            converse(&mut socket, &mut subscription, &mut phases, &store).await
        };
        match end {
            End::Left => tracing::debug!(scope = SCOPE, "{who} no longer watches {scope}"),
            End::Stuck | End::Overrun => {
                store.count_cut();
                tracing::warn!(
                    scope = SCOPE,
                    "{who} watches {scope} and takes nothing that is sent to it: it is cut off"
                );
            }
            End::Closing => say_goodbye(socket).await,
        }
    }
}

/// Sends what changes and answers pings, until one side has had enough.
async fn converse(
    socket: &mut Socket,
    subscription: &mut Subscription,
    phases: &mut watch::Receiver<Phase>,
    store: &ConfigStore,
) -> End {
    loop {
        let sent = tokio::select! {
            () = reach(phases, Phase::Closing) => return End::Closing,
            message = socket.next() => match message {
                // The library has put an echo in place of this pong; the newest one counts.
                Some(Ok(Message::Ping(_))) => socket.send(Message::Pong(KEEPALIVE)).await,
                Some(Ok(Message::Close(_))) => {
                    let _ = socket.flush().await;
                    return End::Left;
                }
                Some(Ok(_)) => continue,
                Some(Err(error)) => Err(error),
                None => return End::Left,
            },
            config = subscription.next() => {
                let frame = match config {
                    Ok(config) => config.frame(),
                    Err(Overrun) => return End::Overrun,
                };
                let sent = socket.send(Message::Text(frame)).await;
                if sent.is_ok() {
                    store.count_frame();
                }
                sent
            }
        };
        match sent {
            Ok(()) => {}
            Err(Error::Io(error)) if error.kind() == io::ErrorKind::TimedOut => return End::Stuck,
            Err(_) => return End::Left,
        }
    }
}

/// Sends an empty close frame and ends our side. Closing at once could destroy the frame on its way if the client has
/// something on its own way, so its end is waited for, for a moment.
async fn say_goodbye(mut socket: Socket) {
    if socket.send(Message::Close(None)).await.is_err() {
        return;
    }
    let stream = socket.get_mut();
    if stream.shutdown().await.is_err() {
        return;
    }
    let _ = tokio::time::timeout(FAREWELL, async {
        let mut rest = [0; 1024];
        while matches!(stream.read(&mut rest).await, Ok(length) if length > 0) {}
    })
    .await;
}

/// Waits for a phase. A server that was dropped is closing.
async fn reach(phases: &mut watch::Receiver<Phase>, phase: Phase) {
    if phases.wait_for(|now| *now >= phase).await.is_err() && phase == Phase::Gone {
        std::future::pending::<()>().await;
    }
}

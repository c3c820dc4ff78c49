//! A client and a peer over TCP (RFC 6062). A stream cannot go on at another server: what breaks it ends the client.

use std::convert::Infallible;
use std::io;
use std::time::Duration;

use stunner_client::{ClientError, Lost, Relay};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use tracing::{debug, info};

use super::outlet::Outlet;
use super::route::{Link, Route};
use super::session::{Activity, End, Inbox, Origin, Session, SessionError, stopped};
use super::statistics::Counts;
use super::watch::Watch;

const BUFFER: usize = 64 << 10;
/// A UDP client gets what one read gives as one datagram, which should pass without fragments.
const DATAGRAM: usize = 1200;
/// How long the server may take to say that it was the peer that ended, and not the server itself.
const PARTING_WORD: Duration = Duration::from_secs(2);
const TICK: Duration = Duration::from_millis(500);

pub(super) async fn carry(
    session: Session,
    mut link: Link,
    mut stop: watch::Receiver<bool>,
) -> Result<End, SessionError> {
    let Session {
        route,
        origin,
        mut inbox,
        mut outlet,
        ..
    } = session;
    let Some(stream) = link.stream.take() else {
        return Ok(End::PeerEnded);
    };
    let activity = Activity::new();
    let (reader, writer) = tokio::io::split(stream);
    let (relay, counts) = (&link.relay, &link.counts);
    let both = async {
        let up = upwards(&mut inbox, writer, counts, &activity);
        let down = downwards(reader, &mut outlet, origin, counts, &activity);
        tokio::pin!(up, down);
        tokio::select! {
            done = &mut up => {
                done?;
                tokio::select! {
                    end = &mut down => end.or_else(after_our_end),
                    () = silent(&route, origin, &activity) => Ok(End::InputEnded),
                }
            }
            done = &mut down => match done? {
                // Nobody can say that standard input will ever end.
                End::PeerEnded if origin == Origin::Stream => up.await.map(|()| End::PeerEnded),
                end => Ok(end),
            },
        }
    };
    let both = async {
        match both.await.map_err(SessionError::Broken)? {
            End::PeerEnded => peer_ended(relay).await,
            end => Ok(end),
        }
    };
    let ended = tokio::select! {
        ended = both => ended,
        never = watch_over(&route, relay, &activity) => match never {},
        () = idle(&route, origin, &activity) => Ok(End::Idle),
        lost = gone(relay) => Err(SessionError::Lost(lost)),
        () = stopped(&mut stop) => Ok(End::Stopped),
    };
    link.close().await;
    outlet.finish().await;
    ended
}

/// From the client to the peer; the end of one is the end of the other.
async fn upwards(
    inbox: &mut Inbox,
    mut writer: impl tokio::io::AsyncWrite + Unpin,
    counts: &Counts,
    activity: &Activity,
) -> io::Result<()> {
    while let Some(bytes) = inbox.recv().await {
        writer.write_all(&bytes).await?;
        writer.flush().await?;
        counts.sent(bytes.len());
        activity.sent();
    }
    match writer.shutdown().await {
        // The peer was faster.
        Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
        told => told,
    }
}

/// Some servers answer the end of our side with a reset of both (coturn does): nothing more was to come.
fn after_our_end(error: io::Error) -> io::Result<End> {
    match error.kind() {
        io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted => {
            info!("the server ended the connection after our end of it: {error}");
            Ok(End::PeerEnded)
        }
        _ => Err(error),
    }
}

/// A server that dies ends the connections too, as if the peers had.
async fn peer_ended(relay: &Relay) -> Result<End, SessionError> {
    match timeout(PARTING_WORD, relay.refresh()).await {
        Ok(Err(ClientError::Lost(lost))) if lost.still_relays() => Ok(End::PeerEnded),
        Ok(Err(ClientError::Lost(lost))) => Err(SessionError::Lost(lost)),
        Ok(Err(ClientError::Unreachable { .. } | ClientError::Closed { .. })) => {
            Err(SessionError::Lost(Lost::Closed))
        }
        _ => Ok(End::PeerEnded),
    }
}

/// Says when the server answers nothing. What a stream has sent may still arrive: nothing is given up here.
async fn watch_over(route: &Route, relay: &Relay, activity: &Activity) -> Infallible {
    let mut watch = Watch::new();
    loop {
        sleep(TICK).await;
        if let Err(error) = watch.look(route, relay, activity).await {
            debug!("refreshing: {error}");
        }
    }
}

/// From the peer to the client, likewise.
async fn downwards(
    mut reader: impl tokio::io::AsyncRead + Unpin,
    outlet: &mut Outlet,
    origin: Origin,
    counts: &Counts,
    activity: &Activity,
) -> io::Result<End> {
    let size = match origin {
        Origin::Datagrams => DATAGRAM,
        Origin::Stream | Origin::Stdio => BUFFER,
    };
    let mut buffer = vec![0; size];
    loop {
        let length = reader.read(&mut buffer).await?;
        if length == 0 {
            outlet.finish().await;
            return Ok(End::PeerEnded);
        }
        activity.received();
        match outlet.deliver(&buffer[..length]).await {
            Ok(true) => counts.received(length),
            Ok(false) => counts.dropped(1),
            Err(_) => return Ok(End::ClientGone),
        }
    }
}

/// Returns when a peer that has been told everything has been silent for too long.
async fn silent(route: &Route, origin: Origin, activity: &Activity) {
    let patience = match origin {
        Origin::Stdio => Some(route.settings.linger),
        Origin::Datagrams | Origin::Stream => route.settings.idle_timeout,
    };
    let Some(patience) = patience else {
        return std::future::pending().await;
    };
    let told = Instant::now();
    loop {
        let quiet = activity.silence().min(told.elapsed());
        if quiet >= patience {
            return;
        }
        sleep(patience - quiet).await;
    }
}

/// Returns when a client that cannot say that it is gone has been idle for too long.
async fn idle(route: &Route, origin: Origin, activity: &Activity) {
    let patience = route.settings.idle_timeout;
    let Some(patience) = patience.filter(|_| origin == Origin::Datagrams) else {
        return std::future::pending().await;
    };
    while let Some(rest) = activity.until_idle(patience) {
        sleep(rest).await;
    }
}

/// Returns when the allocation is over, and with it the connections made through it (RFC 6062 §5.5).
async fn gone(relay: &Relay) -> Lost {
    let lost = relay.lost().await;
    match lost.still_relays() {
        true => std::future::pending().await,
        false => lost,
    }
}

//! A client and a peer over TCP (RFC 6062). A stream cannot go on at another server: what breaks it ends the client.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use stunner_client::{Lost, Relay};

use super::outlet::Outlet;
use super::route::{Link, Route};
use super::session::{Activity, End, Inbox, Origin, Session, SessionError, stopped};
use super::statistics::Counts;

const BUFFER: usize = 64 << 10;
/// A UDP client gets what one read gives as one datagram, which should pass without fragments.
const DATAGRAM: usize = 1200;

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
                    end = &mut down => end,
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
    let ended = tokio::select! {
        ended = both => ended.map_err(SessionError::Broken),
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
    writer.shutdown().await
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
    while activity.idle() < patience {
        sleep(patience - activity.idle()).await;
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

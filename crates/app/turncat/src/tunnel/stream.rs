//! A client and a peer over TCP (RFC 6062). A stream cannot go on at another server: what breaks it ends the client.

use std::convert::Infallible;
use std::io;
use std::time::Duration;

use stunner_client::{ClientError, Lost, Relay};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tracing::{debug, info, warn};

use super::activity::Activity;
use super::outlet::Outlet;
use super::route::{Link, Route};
use super::session::{End, Inbox, Origin, Session, SessionError, stopped, takes_no_more};
use super::statistics::Counts;
use super::watch::Watch;

const BUFFER: usize = 64 << 10;
/// A UDP client gets what one read gives as one datagram, which should pass without fragments.
const DATAGRAM: usize = 1200;
/// How long the server may take to say that it was the peer that ended, and not the server itself.
const PARTING_WORD: Duration = Duration::from_secs(2);
/// Some servers end both directions when we end ours (coturn does): a peer that answers at once gets so much time to.
const ANSWER_FIRST: Duration = Duration::from_millis(300);
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
        let linger = (origin == Origin::Stdio).then_some(route.settings.linger);
        let up = upwards(&mut inbox, writer, linger, counts, &activity);
        let down = downwards(reader, &mut outlet, origin, counts, &activity);
        tokio::pin!(up, down);
        tokio::select! {
            done = &mut up => {
                let was_silent = done?;
                tokio::select! {
                    end = &mut down => end.or_else(|error| {
                        after_our_end(error, was_silent && activity.answered())
                    }),
                    () = silent(&route, origin, &activity) => Ok(End::InputEnded),
                }
            }
            done = &mut down => match done? {
                // Nobody can say that standard input will ever end.
                End::PeerEnded if origin == Origin::Stream => up.await.map(|_| End::PeerEnded),
                end => Ok(end),
            },
        }
    };
    let both = async {
        match both.await? {
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

/// From the client to the peer; the end of one is the end of the other, at once or, with `linger`, when the peer is silent.
/// Says whether it was silent.
async fn upwards(
    inbox: &mut Inbox,
    mut writer: impl tokio::io::AsyncWrite + Unpin,
    linger: Option<Duration>,
    counts: &Counts,
    activity: &Activity,
) -> Result<bool, SessionError> {
    while let Some(bytes) = inbox.recv().await {
        writer
            .write_all(&bytes)
            .await
            .map_err(SessionError::Broken)?;
        writer.flush().await.map_err(SessionError::Broken)?;
        counts.sent(bytes.len());
        activity.sent();
    }
    let silent = match linger {
        // A peer that says more and more may be waiting for our end.
        Some(linger) => {
            let silence = activity.silent_for(ANSWER_FIRST.min(linger));
            timeout(linger, silence).await.is_ok()
        }
        None => true,
    };
    match writer.shutdown().await {
        // The peer was faster.
        Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(silent),
        Err(error) => Err(SessionError::Broken(error)),
        Ok(()) => Ok(silent),
    }
}

/// Some servers answer the end of our side with a reset of both (coturn does): what the peer had not said by then is lost.
fn after_our_end(error: SessionError, answered: bool) -> Result<End, SessionError> {
    let SessionError::Broken(error) = error else {
        return Err(error);
    };
    match error.kind() {
        io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted => {
            let what = "the server ended the connection after our end of it";
            match answered {
                true => info!("{what}: {error}"),
                false => warn!(
                    "{what}, and the peer had not answered, or not all: end the input after the answer, for a server \
                     that does not carry one direction without the other"
                ),
            }
            Ok(End::PeerEnded)
        }
        _ => Err(SessionError::Broken(error)),
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
) -> Result<End, SessionError> {
    let size = match origin {
        Origin::Datagrams => DATAGRAM,
        Origin::Stream | Origin::Stdio => BUFFER,
    };
    let mut buffer = vec![0; size];
    loop {
        let read = reader.read(&mut buffer).await;
        let length = read.map_err(SessionError::Broken)?;
        if length == 0 {
            outlet.finish().await;
            return Ok(End::PeerEnded);
        }
        activity.received();
        let _delivery = activity.delivering();
        match outlet.deliver(&buffer[..length]).await {
            Ok(true) => counts.received(length),
            Ok(false) => counts.dropped(1),
            Err(error) => return takes_no_more(origin, error),
        }
    }
}

/// Returns when a peer that has been told everything has been silent for too long.
async fn silent(route: &Route, origin: Origin, activity: &Activity) {
    let patience = match origin {
        Origin::Stdio => Some(route.settings.linger),
        Origin::Datagrams | Origin::Stream => route.settings.idle_timeout,
    };
    match patience {
        Some(patience) => activity.silent_for(patience).await,
        None => std::future::pending().await,
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

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::super::session::inbox;
    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    /// When the peer sees our end, and whether it was silent then, if it says something every 200 ms so many times.
    async fn end_of_input(answers: u32, linger: Option<Duration>) -> (Duration, bool) {
        let (queue, mut inbox) = inbox();
        let (near, mut far) = tokio::io::duplex(64);
        let (counts, activity) = (Counts::default(), Activity::new());
        let begin = Instant::now();
        queue.send(b"question".to_vec()).await.expect("room");
        drop(queue);
        let peer = async {
            let mut question = Vec::new();
            far.read_to_end(&mut question).await.expect("the question");
            assert_eq!(question, b"question");
            begin.elapsed()
        };
        let answering = async {
            for _ in 0..answers {
                sleep(200 * MILLISECOND).await;
                activity.received();
            }
        };
        let up = upwards(&mut inbox, near, linger, &counts, &activity);
        let (seen, (), silent) = tokio::join!(peer, answering, up);
        (seen, silent.expect("a connection"))
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_of_standard_input_is_told_once_the_peer_is_silent() {
        let linger = Some(10_000 * MILLISECOND);
        let (seen, silent) = end_of_input(2, linger).await;
        assert!(
            seen >= 700 * MILLISECOND && seen < 750 * MILLISECOND,
            "{seen:?}"
        );
        assert!(silent);
        let (seen, silent) = end_of_input(0, linger).await;
        assert!(seen >= ANSWER_FIRST && seen < 350 * MILLISECOND, "{seen:?}");
        assert!(silent);
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_never_stops_is_told_the_end_too() {
        let (seen, silent) = end_of_input(100, Some(1000 * MILLISECOND)).await;
        assert!(
            seen >= 1000 * MILLISECOND && seen < 1050 * MILLISECOND,
            "{seen:?}"
        );
        assert!(!silent, "it had more to say");
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_of_a_connection_is_told_at_once() {
        let (seen, _) = end_of_input(1, None).await;
        assert_eq!(seen, Duration::ZERO);
    }
}

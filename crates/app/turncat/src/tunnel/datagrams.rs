//! A client and a peer over UDP. A lost allocation is replaced; what was under way is lost, as UDP has it.

use std::time::Duration;

use stunner_client::{ClientError, Lost};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use tracing::{debug, info, warn};

use super::outlet::Outlet;
use super::route::{Link, Route};
use super::session::{Activity, End, Inbox, Origin, Session, SessionError, stopped};
use super::watch::Watch;

/// The largest datagram of UDP over IPv4; over IPv6 a little more would fit.
const LARGEST: usize = 65_535;
const TICK: Duration = Duration::from_millis(500);

/// How carrying over one link ended.
enum Outcome {
    Ended(End),
    Lost(Lost),
}

/// The client's side.
struct Traffic {
    origin: Origin,
    inbox: Inbox,
    outlet: Outlet,
    activity: Activity,
    buffer: Vec<u8>,
}

pub(super) async fn carry(
    session: Session,
    mut link: Link,
    mut stop: watch::Receiver<bool>,
) -> Result<End, SessionError> {
    let (route, client) = (session.route, session.client);
    let mut traffic = Traffic {
        origin: session.origin,
        inbox: session.inbox,
        outlet: session.outlet,
        activity: Activity::new(),
        buffer: vec![0; LARGEST],
    };
    loop {
        let outcome = tokio::select! {
            outcome = traffic.pass(&route, &link, true) => outcome,
            () = stopped(&mut stop) => Outcome::Ended(End::Stopped),
        };
        let lost = match outcome {
            Outcome::Ended(end) => return traffic.part(link, Ok(end)).await,
            Outcome::Lost(lost) => lost,
        };
        info!(%client, "connecting again: {lost}");
        let next = tokio::select! {
            next = replace(&route, &mut traffic, &link, &lost) => next,
            () = stopped(&mut stop) => Ok(Err(End::Stopped)),
        };
        let next = match next {
            Ok(Ok(next)) => next,
            Ok(Err(end)) => return traffic.part(link, Ok(end)).await,
            Err(error) => return traffic.part(link, Err(error)).await,
        };
        next.counts.reconnected();
        warn!(%client, "the allocation was lost and made again: {lost}");
        let old = std::mem::replace(&mut link, next);
        old.close().await;
    }
}

/// A new link in place of a lost one, or the end of the session meanwhile. A server that drains relays on for a while.
async fn replace(
    route: &Route,
    traffic: &mut Traffic,
    link: &Link,
    lost: &Lost,
) -> Result<Result<Link, End>, SessionError> {
    let opening = route.reopen(Some(lost));
    if !lost.still_relays() {
        return Ok(Ok(opening.await?));
    }
    tokio::pin!(opening);
    tokio::select! {
        next = &mut opening => Ok(Ok(next?)),
        outcome = traffic.pass(route, link, false) => match outcome {
            Outcome::Ended(end) => Ok(Err(end)),
            Outcome::Lost(_) => Ok(Ok(opening.await?)),
        },
    }
}

impl Traffic {
    /// The last of the answers, then the end.
    async fn part(
        mut self,
        link: Link,
        ended: Result<End, SessionError>,
    ) -> Result<End, SessionError> {
        link.close().await;
        self.outlet.finish().await;
        ended
    }

    /// Passes datagrams both ways until something ends that.
    async fn pass(&mut self, route: &Route, link: &Link, until_lost: bool) -> Outcome {
        let Traffic {
            origin,
            inbox,
            outlet,
            activity,
            buffer,
        } = self;
        let lost = async {
            match until_lost {
                true => link.relay.lost().await,
                false => std::future::pending().await,
            }
        };
        tokio::select! {
            lost = lost => Outcome::Lost(lost),
            outcome = upwards(route, link, *origin, inbox, activity) => outcome,
            outcome = downwards(link, outlet, activity, buffer) => outcome,
            outcome = watch_over(route, link, *origin, activity) => outcome,
        }
    }
}

/// From the client to the peer.
async fn upwards(
    route: &Route,
    link: &Link,
    origin: Origin,
    inbox: &mut Inbox,
    activity: &Activity,
) -> Outcome {
    while let Some(payload) = inbox.recv().await {
        let limit = link.relay.max_payload(link.peer);
        let pieces: Vec<&[u8]> = match origin {
            Origin::Datagrams => vec![&payload],
            Origin::Stream | Origin::Stdio => {
                let limit = route
                    .settings
                    .max_datagram
                    .map_or(limit, |max| max.min(limit));
                payload.chunks(limit.max(1)).collect()
            }
        };
        for piece in pieces {
            match link.relay.send(link.peer, piece).await {
                Ok(()) => {
                    link.counts.sent(piece.len());
                    activity.sent();
                }
                Err(ClientError::Lost(lost)) if !lost.still_relays() => {
                    link.counts.dropped(1);
                    return Outcome::Lost(lost);
                }
                Err(error) => {
                    link.counts.dropped(1);
                    let size = piece.len();
                    let what = format_args!("dropped a datagram of {size} bytes: {error}");
                    route.unsendable.warn(what);
                }
            }
        }
    }
    if origin == Origin::Datagrams {
        return Outcome::Ended(End::InputEnded);
    }
    // Answers may still be on their way.
    let linger = route.settings.linger;
    let ended = Instant::now();
    loop {
        let quiet = activity.silence().min(ended.elapsed());
        if quiet >= linger {
            return Outcome::Ended(End::InputEnded);
        }
        sleep(linger - quiet).await;
    }
}

/// From the peer to the client.
async fn downwards(
    link: &Link,
    outlet: &mut Outlet,
    activity: &Activity,
    buffer: &mut [u8],
) -> Outcome {
    loop {
        let (length, from) = match link.relay.recv(buffer).await {
            Ok(received) => received,
            Err(ClientError::Lost(lost)) => return Outcome::Lost(lost),
            Err(error) => {
                debug!("receiving from the server: {error}");
                return Outcome::Lost(Lost::Closed);
            }
        };
        // A permission is for an address (RFC 8656 §9): other ports of the peer's host get in too.
        if from != link.peer {
            link.counts.dropped(1);
            continue;
        }
        activity.received();
        match outlet.deliver(&buffer[..length]).await {
            Ok(true) => link.counts.received(length),
            Ok(false) => link.counts.dropped(1),
            Err(error) => {
                debug!("the client takes no more: {error}");
                return Outcome::Ended(End::ClientGone);
            }
        }
    }
}

/// Asks the server whether it still knows the allocation when it may not, and forgets idle clients.
async fn watch_over(route: &Route, link: &Link, origin: Origin, activity: &Activity) -> Outcome {
    let mut watch = Watch::new();
    loop {
        sleep(TICK).await;
        let idle = route.settings.idle_timeout;
        if origin == Origin::Datagrams && idle.is_some_and(|idle| activity.idle() >= idle) {
            return Outcome::Ended(End::Idle);
        }
        match watch.look(route, &link.relay, activity).await {
            Ok(()) => {}
            Err(ClientError::Lost(lost)) => return Outcome::Lost(lost),
            Err(error @ ClientError::Timeout { .. }) => {
                debug!("the server does not answer: {error}");
                return Outcome::Lost(Lost::Silent);
            }
            // What the server says of the allocation comes out at `Relay::lost`.
            Err(error) => debug!("refreshing: {error}"),
        }
    }
}

//! A client and a peer over UDP. A lost allocation is replaced; what was under way is lost, as UDP has it.

use std::time::Duration;

use stunner_client::{ClientError, Lost};
use tokio::sync::watch;
use tokio::time::sleep;
use tracing::{debug, info, warn};

use super::activity::Activity;
use super::outlet::Outlet;
use super::route::{Link, Route};
use super::session::{End, Inbox, Origin, Session, SessionError, stopped, takes_no_more};
use super::watch::Watch;

/// The largest datagram of UDP over IPv4; over IPv6 a little more would fit.
const LARGEST: usize = 65_535;
const TICK: Duration = Duration::from_millis(500);

/// How carrying over one link ended.
enum Outcome {
    Ended(Result<End, SessionError>),
    Lost(Lost),
}

/// The client's side.
struct Traffic {
    origin: Origin,
    inbox: Inbox,
    waiting: Option<Unsent>,
    outlet: Outlet,
    activity: Activity,
    buffer: Vec<u8>,
}

/// What was taken from the inbox and is not sent, or not all of it.
struct Unsent {
    payload: Vec<u8>,
    handled: usize,
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
        waiting: None,
        outlet: session.outlet,
        activity: Activity::new(),
        buffer: vec![0; LARGEST],
    };
    loop {
        let outcome = tokio::select! {
            outcome = traffic.pass(&route, &link, true) => outcome,
            () = stopped(&mut stop) => Outcome::Ended(Ok(End::Stopped)),
        };
        let lost = match outcome {
            Outcome::Ended(ended) => return traffic.part(link, ended).await,
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
    tokio::pin!(opening);
    if lost.still_relays() {
        tokio::select! {
            next = &mut opening => return Ok(Ok(next?)),
            outcome = traffic.pass(route, link, false) => match outcome {
                Outcome::Ended(ended) => return ended.map(Err),
                Outcome::Lost(_) => {}
            },
        }
    }
    tokio::select! {
        next = opening => Ok(Ok(next?)),
        ended = traffic.nothing_left() => {
            if let Ok(End::InputEnded) = ended {
                warn!("{lost}; what the client said has ended, so that no connection is made again");
            }
            ended.map(Err)
        }
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

    /// Returns when the client has said everything, all of it was sent, and the client has what came back: then nothing
    /// needs a server. Safe to cancel.
    async fn nothing_left(&mut self) -> Result<End, SessionError> {
        if self.waiting.is_none() {
            self.waiting = self.inbox.recv().await.map(Unsent::from);
        }
        if self.waiting.is_some() {
            std::future::pending::<()>().await;
        }
        match self.outlet.resume().await {
            Ok(()) => Ok(End::InputEnded),
            Err(error) => takes_no_more(self.origin, error),
        }
    }

    /// Passes datagrams both ways until something ends that.
    async fn pass(&mut self, route: &Route, link: &Link, until_lost: bool) -> Outcome {
        let Traffic {
            origin,
            inbox,
            waiting,
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
            outcome = upwards(route, link, *origin, (inbox, waiting), activity) => outcome,
            outcome = downwards(link, *origin, outlet, activity, buffer) => outcome,
            outcome = watch_over(route, link, *origin, activity) => outcome,
        }
    }
}

impl From<Vec<u8>> for Unsent {
    fn from(payload: Vec<u8>) -> Unsent {
        Unsent {
            payload,
            handled: 0,
        }
    }
}

/// From the client to the peer. What could not be sent when this ends, or is cancelled, is left waiting.
async fn upwards(
    route: &Route,
    link: &Link,
    origin: Origin,
    (inbox, waiting): (&mut Inbox, &mut Option<Unsent>),
    activity: &Activity,
) -> Outcome {
    loop {
        if waiting.is_none() {
            *waiting = inbox.recv().await.map(Unsent::from);
        }
        let Some(Unsent { payload, handled }) = waiting else {
            break;
        };
        let rest = &payload[*handled..];
        let piece = match origin {
            Origin::Datagrams => rest,
            Origin::Stream | Origin::Stdio => {
                let limit = link.relay.max_payload(link.peer);
                let limit = route
                    .settings
                    .max_datagram
                    .map_or(limit, |max| max.min(limit));
                &rest[..rest.len().min(limit.max(1))]
            }
        };
        match link.relay.send(link.peer, piece).await {
            Ok(()) => {
                link.counts.sent(piece.len());
                activity.sent();
            }
            Err(ClientError::Lost(lost)) if !lost.still_relays() => return Outcome::Lost(lost),
            Err(error) => {
                link.counts.dropped(1);
                let size = piece.len();
                let what = format_args!("dropped a datagram of {size} bytes: {error}");
                route.unsendable.warn(what);
            }
        }
        *handled += piece.len();
        if *handled == payload.len() {
            *waiting = None;
        }
    }
    if origin != Origin::Datagrams {
        // Answers may still be on their way.
        activity.silent_for(route.settings.linger).await;
    }
    Outcome::Ended(Ok(End::InputEnded))
}

/// From the peer to the client.
async fn downwards(
    link: &Link,
    origin: Origin,
    outlet: &mut Outlet,
    activity: &Activity,
    buffer: &mut [u8],
) -> Outcome {
    let delivery = activity.delivering();
    if let Err(error) = outlet.resume().await {
        return Outcome::Ended(takes_no_more(origin, error));
    }
    drop(delivery);
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
        let _delivery = activity.delivering();
        match outlet.deliver(&buffer[..length]).await {
            Ok(true) => link.counts.received(length),
            Ok(false) => link.counts.dropped(1),
            Err(error) => return Outcome::Ended(takes_no_more(origin, error)),
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
            return Outcome::Ended(Ok(End::Idle));
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

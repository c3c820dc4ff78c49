//! The sessions that no change names, and what became of their packets.

use std::collections::HashMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use interop_tests::client::{Incoming, TurnClient, wait_readable};
use interop_tests::config::Transport;
use interop_tests::scene::CHANNEL;
use stunner_stun::{Method, TransactionId};

/// Between a refresh and the next: several per session within the storm.
const REFRESH_EVERY: Duration = Duration::from_secs(15);
/// How long packets may still come in after the last was sent, on a machine that has other things to do.
const QUIET: Duration = Duration::from_secs(10);
const PAYLOAD: usize = 160;

struct Session {
    client: TurnClient,
    sent: u32,
    /// By sequence number.
    came_back: Vec<bool>,
    twice: u64,
    next_send: Instant,
    next_refresh: Instant,
    refreshing: HashMap<TransactionId, Instant>,
    cut: Option<String>,
}

pub struct Worker {
    transport: Transport,
    sessions: Vec<Session>,
}

#[derive(Debug, Default)]
pub struct Totals {
    pub transport: Option<Transport>,
    pub sessions: u64,
    pub sent: u64,
    pub received: u64,
    pub twice: u64,
    pub refreshes: u64,
    pub refreshes_failed: u64,
    pub cut: u64,
    pub problems: Vec<String>,
}

impl Totals {
    pub fn lost(&self) -> u64 {
        self.sent - self.received
    }

    pub fn add(&mut self, other: &Totals) {
        self.sessions += other.sessions;
        self.sent += other.sent;
        self.received += other.received;
        self.twice += other.twice;
        self.refreshes += other.refreshes;
        self.refreshes_failed += other.refreshes_failed;
        self.cut += other.cut;
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.transport.map_or("all", Transport::name);
        write!(
            f,
            "{name:10} {:8} {:10} {:10} {:6} {:6} {:10} {:5}",
            self.sessions,
            self.sent,
            self.received,
            self.lost(),
            self.twice,
            self.refreshes,
            self.cut
        )
    }
}

impl Worker {
    /// Opens `count` sessions to `server`, each with a channel to one of `peers`.
    pub fn join(
        transport: Transport,
        count: usize,
        server: SocketAddr,
        ca_pem: &str,
        peers: &[SocketAddr],
    ) -> Self {
        let mut sessions = Vec::new();
        for number in 0..count {
            let mut client = TurnClient::connect(transport, server, ca_pem);
            client.join(CHANNEL, peers[number % peers.len()]);
            let now = Instant::now();
            sessions.push(Session {
                client,
                sent: 0,
                came_back: Vec::new(),
                twice: 0,
                next_send: now,
                next_refresh: now,
                refreshing: HashMap::new(),
                cut: None,
            });
        }
        Self {
            transport,
            sessions,
        }
    }

    /// Sends on every session until `stop`, then waits for what is under way.
    pub fn run(mut self, stop: &AtomicBool, per_second: u32) -> Totals {
        let mut totals = Totals {
            transport: Some(self.transport),
            sessions: self.sessions.len() as u64,
            ..Totals::default()
        };
        let interval = Duration::from_secs(1) / per_second;
        let begun = Instant::now();
        let count = self.sessions.len() as u32;
        for (number, session) in self.sessions.iter_mut().enumerate() {
            // Spread evenly, as independent senders are.
            session.next_send = begun + interval * number as u32 / count;
            session.next_refresh = begun + REFRESH_EVERY * number as u32 / count;
        }
        let mut last_send = None;
        loop {
            let now = Instant::now();
            let stopping = stop.load(Ordering::Relaxed);
            if stopping {
                let late = now > *last_send.get_or_insert(now) + QUIET;
                if late || self.sessions.iter().all(Session::has_all_back) {
                    break;
                }
            }
            if !stopping {
                for session in self
                    .sessions
                    .iter_mut()
                    .filter(|session| session.cut.is_none())
                {
                    session.send_due(now, interval);
                }
            }
            self.receive(&mut totals);
        }
        for session in &mut self.sessions {
            // Still there after all that?
            if session.cut.is_none() && session.client.refresh(600).is_err() {
                session.cut = Some("does not refresh after the storm".into());
            }
            totals.sent += u64::from(session.sent);
            totals.received += session.came_back.iter().filter(|came| **came).count() as u64;
            totals.twice += session.twice;
            totals.refreshes_failed += session.refreshing.len() as u64;
            if let Some(why) = &session.cut {
                totals.cut += 1;
                totals.problems.push(format!(
                    "{} session at {}: {why}",
                    self.transport.name(),
                    session.client.link.local()
                ));
            }
        }
        totals
    }

    fn receive(&mut self, totals: &mut Totals) {
        let fds: Vec<_> = self
            .sessions
            .iter()
            .map(|session| session.client.link.fd())
            .collect();
        let ready = wait_readable(&fds, Duration::from_millis(2));
        for (session, ready) in self.sessions.iter_mut().zip(ready) {
            if ready && session.cut.is_none() {
                session.drain(totals);
            }
        }
    }
}

impl Session {
    /// Nothing is under way, or nothing more will come.
    fn has_all_back(&self) -> bool {
        let has_all = self.refreshing.is_empty() && self.came_back.iter().all(|came| *came);
        has_all || self.cut.is_some()
    }

    fn send_due(&mut self, now: Instant, interval: Duration) {
        while self.next_send <= now {
            self.next_send += interval;
            let mut payload = [0; PAYLOAD];
            payload[..4].copy_from_slice(&self.sent.to_be_bytes());
            if let Err(error) = self.client.send_channel(CHANNEL, &payload) {
                self.cut = Some(format!("send: {error:?}"));
                return;
            }
            self.sent += 1;
            self.came_back.push(false);
        }
        if self.next_refresh <= now {
            self.next_refresh += REFRESH_EVERY;
            self.refresh(now);
        }
    }

    fn refresh(&mut self, now: Instant) {
        let started = self.client.start(Method::REFRESH, |writer| {
            writer.lifetime(600);
        });
        match started {
            Ok((id, _)) => drop(self.refreshing.insert(id, now)),
            Err(error) => self.cut = Some(format!("refresh: {error:?}")),
        }
    }

    fn drain(&mut self, totals: &mut Totals) {
        loop {
            match self.client.poll() {
                Ok(Some(Incoming::Channel(_, payload))) => self.count(&payload),
                Ok(Some(Incoming::Response(id, response)))
                    if self.refreshing.remove(&id).is_some() =>
                {
                    match response.code() {
                        0 => totals.refreshes += 1,
                        438 => {
                            self.client.accept_challenge(&response);
                            self.refresh(Instant::now());
                        }
                        code => self.cut = Some(format!("refresh refused with {code}")),
                    }
                }
                Ok(Some(_)) => {}
                Ok(None) => return,
                Err(error) => {
                    self.cut = Some(format!("receive: {error:?}"));
                    return;
                }
            }
        }
    }

    fn count(&mut self, payload: &[u8]) {
        let Some(number) = payload
            .first_chunk::<4>()
            .map(|bytes| u32::from_be_bytes(*bytes))
        else {
            return;
        };
        // The `join` of the session's start has no number of ours.
        let Some(came) = self
            .came_back
            .get_mut(number as usize)
            .filter(|_| payload.len() == PAYLOAD)
        else {
            return;
        };
        if *came {
            self.twice += 1;
        }
        *came = true;
    }
}

//! The first packets of sessions, sent only to see whether they arrive.

use std::net::SocketAddr;
use std::time::Duration;

use crate::error::SessionError;
use crate::generator::Generator;
use crate::phase::Phase;
use crate::stamp::{GREETING_RUN, STAMP_LEN};
use crate::traffic::{BurstMode, Direction, Outcome, Traffic};

/// First packets of one session are this far apart until one arrives.
const GREETING_PAUSE: u64 = 50_000_000;
/// First packets that may get lost.
const GREETINGS: u32 = 100;
/// First packets in a row: the server may still be waking up.
const GREETINGS_AT_ONCE: usize = 64;

/// How often a session has been greeted, and when last.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Greeted {
    times: u32,
    at: u64,
}

impl Generator {
    pub(crate) fn greet_all(&mut self) -> Result<(), SessionError> {
        for index in 0..self.sessions.list.len() {
            self.sessions.advance(index);
        }
        let mut ignored = Outcome::default();
        while self.ready.len() < self.sessions.list.len() {
            self.greet();
            self.receive(&mut ignored, Duration::from_millis(1))?;
            if let Some(error) = self.sessions.failures.pop() {
                return Err(error);
            }
        }
        Ok(())
    }

    /// Sends a packet of each new session, from whose source the peer learns the relayed address, and again until one
    /// has arrived.
    pub(crate) fn greet(&mut self) {
        let now = self.nanos();
        self.greeted
            .resize(self.sessions.list.len(), Greeted::default());
        let traffic = Traffic {
            payload: STAMP_LEN,
            burst: 1,
            mode: BurstMode::Mmsg,
            direction: Direction::ToPeer,
        };
        let is_waiting = |(index, greeted): (usize, &Greeted)| {
            let since = now.saturating_sub(greeted.at);
            let is_due = greeted.times == 0 || since > GREETING_PAUSE;
            (self.sessions.list[index].phase == Phase::Greeting && is_due).then_some(index)
        };
        let waiting = self.greeted.iter().enumerate().filter_map(is_waiting);
        let waiting: Vec<usize> = waiting.take(GREETINGS_AT_ONCE).collect();
        let mut ignored = Outcome::default();
        let run = std::mem::replace(&mut self.run, GREETING_RUN);
        for index in waiting {
            self.greeted[index].times += 1;
            self.greeted[index].at = now;
            if self.greeted[index].times > GREETINGS {
                self.sessions.fail(index, SessionError::NothingPasses);
                continue;
            }
            self.send_burst(&traffic, index, Direction::ToPeer, &mut ignored);
        }
        self.run = run;
    }

    /// Packets of this session pass; a peer of ours knows where they come from.
    pub(crate) fn greeted_back(&mut self, index: usize, from: Option<SocketAddr>) {
        if let Some(session) = self.sessions.list.get_mut(index)
            && session.phase == Phase::Greeting
        {
            session.phase = Phase::Ready;
            session.relayed = from.or(session.relayed);
            self.ready.push(index);
        }
    }
}

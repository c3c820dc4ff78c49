//! The life of one echo session.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use str0m::RtcError;
use tokio::sync::{oneshot, watch};

use crate::echo::Echo;
use crate::engine::{Engine, Wants};

/// How long a session may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Without a datagram from the other side for this long it ends.
    pub idle: Duration,
    /// It ends after this time in any case.
    pub whole: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            idle: Duration::from_secs(30),
            whole: Duration::from_secs(600),
        }
    }
}

/// Why a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// One of the sides closed the connection.
    Closed,
    /// Nothing came for too long.
    Idle,
    /// Its time was over.
    Deadline,
    /// The connection broke, or the other side sent more than it took back.
    Failed,
}

/// A running session. It ends when this is dropped, and tells the other side.
#[derive(Debug)]
pub struct Session {
    ended: watch::Receiver<Option<Ended>>,
    /// Dropped with the session, which the task sees.
    _held: oneshot::Sender<()>,
}

impl Session {
    pub(crate) fn start(engine: Engine, limits: Limits) -> Self {
        let (sender, ended) = watch::channel(None);
        let (held, dropped) = oneshot::channel();
        tokio::spawn(async move {
            let mut session = Loop::new(engine, limits);
            let why = tokio::select! {
                why = session.run() => why,
                _ = dropped => Ended::Closed,
            };
            tracing::debug!(scope = "echo", "a session ended: {why:?}");
            session.engine.close().await;
            sender.send_replace(Some(why));
        });
        Session { ended, _held: held }
    }

    /// Why it has ended; `None` while it runs.
    pub fn has_ended(&self) -> Option<Ended> {
        *self.ended.borrow()
    }

    /// Waits for the end.
    pub async fn ended(&mut self) -> Ended {
        match self.ended.wait_for(Option::is_some).await {
            Ok(ended) => ended.unwrap_or(Ended::Failed),
            // The task is gone without a word.
            Err(_) => Ended::Failed,
        }
    }

    /// Ends it and waits until servers have back what they lent.
    pub async fn close(self) {
        let Session { mut ended, _held } = self;
        drop(_held);
        let _ = ended.wait_for(Option::is_some).await;
    }
}

struct Loop {
    engine: Engine,
    idle: Duration,
    deadline: Instant,
    last_heard: Instant,
    echo: Echo,
}

impl Loop {
    fn new(engine: Engine, limits: Limits) -> Self {
        let now = Instant::now();
        Loop {
            engine,
            idle: limits.idle,
            deadline: now + limits.whole,
            last_heard: now,
            echo: Echo::default(),
        }
    }

    async fn run(&mut self) -> Ended {
        loop {
            match self.step().await {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(why)) => return why,
                Err(error) => {
                    tracing::debug!(scope = "echo", "a session breaks: {error}");
                    return Ended::Failed;
                }
            }
        }
    }

    async fn step(&mut self) -> Result<ControlFlow<Ended>, RtcError> {
        let wake = match self.engine.poll().await? {
            Wants::End => return Ok(ControlFlow::Break(Ended::Closed)),
            Wants::Heard(event) => return Ok(self.echo.heard(event)),
            Wants::Wait(wake) => wake,
        };
        if self.echo.flush(&mut self.engine.rtc) {
            return Ok(ControlFlow::Continue(()));
        }
        let silent_until = self.last_heard + self.idle;
        let until = wake.min(silent_until).min(self.deadline);
        let heard = self.engine.wait(until).await?;
        let now = Instant::now();
        if heard {
            self.last_heard = now;
        }
        Ok(if now >= self.deadline {
            ControlFlow::Break(Ended::Deadline)
        } else if !heard && now >= silent_until {
            ControlFlow::Break(Ended::Idle)
        } else {
            ControlFlow::Continue(())
        })
    }
}

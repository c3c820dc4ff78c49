//! The life of one session: a task that moves datagrams between the socket and the engine.

use std::net::{IpAddr, SocketAddr};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use str0m::net::{Protocol, Receive};
use str0m::{Input, Output, Rtc, RtcError};
use tokio::net::UdpSocket;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::echo::Echo;

/// The longest UDP payload there is.
const DATAGRAM: usize = 65_535;

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
    /// The other side closed the connection.
    Closed,
    /// Nothing came for too long.
    Idle,
    /// Its time was over.
    Deadline,
    /// The connection broke, or the other side sent more than it took back.
    Failed,
}

/// A running session. It ends when this is dropped.
#[derive(Debug)]
pub struct Session {
    task: JoinHandle<()>,
    ended: watch::Receiver<Option<Ended>>,
}

impl Session {
    pub(crate) fn start(
        rtc: Rtc,
        socket: Arc<UdpSocket>,
        address: SocketAddr,
        limits: Limits,
    ) -> Self {
        let (sender, ended) = watch::channel(None);
        let task = tokio::spawn(async move {
            let why = Loop::new(rtc, socket, address, limits).run().await;
            tracing::debug!(scope = "echo", "the session at {address} ended: {why:?}");
            sender.send_replace(Some(why));
        });
        Session { task, ended }
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
}

impl Drop for Session {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Loop {
    rtc: Rtc,
    socket: Arc<UdpSocket>,
    address: SocketAddr,
    idle: Duration,
    deadline: Instant,
    last_heard: Instant,
    echo: Echo,
}

impl Loop {
    fn new(rtc: Rtc, socket: Arc<UdpSocket>, address: SocketAddr, limits: Limits) -> Self {
        let now = Instant::now();
        Loop {
            rtc,
            socket,
            address,
            idle: limits.idle,
            deadline: now + limits.whole,
            last_heard: now,
            echo: Echo::default(),
        }
    }

    async fn run(mut self) -> Ended {
        let mut buffer = vec![0; DATAGRAM];
        loop {
            let wake = match self.drain().await {
                Ok(ControlFlow::Continue(wake)) => wake,
                Ok(ControlFlow::Break(why)) => return why,
                Err(_) => return Ended::Failed,
            };
            let silent_until = self.last_heard + self.idle;
            let until = wake.min(silent_until).min(self.deadline);
            let heard = tokio::select! {
                biased;
                received = self.socket.recv_from(&mut buffer) => received.ok(),
                () = tokio::time::sleep_until(until.into()) => None,
            };
            let now = Instant::now();
            if now >= self.deadline {
                return self.close(Ended::Deadline).await;
            }
            if heard.is_none() && now >= silent_until {
                return self.close(Ended::Idle).await;
            }
            let taken = match heard {
                Some((len, source)) => self.receive(now, source, &buffer[..len]),
                None => self.rtc.handle_input(Input::Timeout(now)),
            };
            if taken.is_err() {
                return Ended::Failed;
            }
        }
    }

    fn receive(&mut self, now: Instant, source: SocketAddr, bytes: &[u8]) -> Result<(), RtcError> {
        // What is none of the protocols that share the socket (RFC 7983) is no reason to end.
        let Ok(contents) = bytes.try_into() else {
            return Ok(());
        };
        let input = Input::Receive(
            now,
            Receive {
                proto: Protocol::Udp,
                source: SocketAddr::new(plain(source.ip()), source.port()),
                destination: self.address,
                contents,
            },
        );
        // Strangers on the socket neither disturb the session nor keep it alive.
        if !self.rtc.accepts(&input) {
            return Ok(());
        }
        self.last_heard = now;
        self.rtc.handle_input(input)
    }

    /// Does what the engine wants until it only wants to wait: until when, or why it is over.
    async fn drain(&mut self) -> Result<ControlFlow<Ended, Instant>, RtcError> {
        loop {
            if !self.rtc.is_alive() {
                return Ok(ControlFlow::Break(Ended::Closed));
            }
            match self.rtc.poll_output()? {
                Output::Timeout(wake) => {
                    if self.echo.flush(&mut self.rtc) {
                        continue;
                    }
                    return Ok(ControlFlow::Continue(wake));
                }
                // A datagram that does not go out is a lost one; the protocols above know how to live with that.
                Output::Transmit(send) => {
                    let _ = self.socket.send_to(&send.contents, send.destination).await;
                }
                Output::Event(event) => {
                    if let ControlFlow::Break(why) = self.echo.heard(event) {
                        return Ok(ControlFlow::Break(why));
                    }
                }
            }
        }
    }

    /// Tells the other side, as far as one round of datagrams does.
    async fn close(mut self, why: Ended) -> Ended {
        if self.rtc.close().is_ok() {
            let _ = self.drain().await;
        }
        why
    }
}

/// A socket of both families sees IPv4 sources as IPv6 ones.
fn plain(address: IpAddr) -> IpAddr {
    address.to_canonical()
}

//! A connection with the machine that speaks on it.
//!
//! One task per connection reads, runs the timers and answers those who asked. Senders write to the socket themselves,
//! so that a datagram does not change tasks on its way out.

mod core;
mod drive;
mod send;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use stunner_stun::Method;
use stunner_turn::client::{
    Client, ClientError as MachineError, Credentials, RequestId, Settings, Transport,
};
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::{Instant, timeout_at};

pub(crate) use self::core::{Answer, Asked, Failed};
use self::core::{Core, Waiter};
use crate::error::{Step, unreachable};
use crate::inbox::Inbox;
use crate::link::{LinkFault, Opened, Security, Socket};
use crate::{ClientError, Connect, Lost, ServerTransport};

/// How long the end of an allocation may take.
const GOODBYE: Duration = Duration::from_secs(1);
/// SOFTWARE of our requests.
const SOFTWARE: &str = concat!("stunner ", env!("CARGO_PKG_VERSION"));

/// What the handles and the task have in common.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) connect: Connect,
    pub(crate) security: Option<Arc<Security>>,
    pub(crate) socket: Socket,
    pub(crate) local: SocketAddr,
    started: Instant,
    core: Mutex<Core>,
    inbox: Mutex<Inbox>,
    /// Something is in the inbox, or never will be again.
    arrived: Notify,
    /// A peer connected, or none ever will again.
    attempted: Notify,
    /// The task has something new to look at.
    kick: Notify,
    lost: watch::Sender<Option<Lost>>,
    dropped: AtomicU64,
    undeliverable: AtomicU64,
}

/// A connection; ends with its last handle.
#[derive(Debug)]
pub(crate) struct Session(Arc<Shared>);

impl std::ops::Deref for Session {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.0.release();
    }
}

impl Session {
    pub(crate) async fn open(connect: Connect, deadline: Instant) -> Result<Self, ClientError> {
        let security = connect.security()?;
        let opened = Opened::open(&connect, security.as_deref(), deadline).await?;
        let local = opened.socket.local_addr().map_err(ClientError::Socket)?;
        let transport = match connect.transport.is_stream() {
            true => Transport::Stream,
            false => Transport::Datagram,
        };
        let mut settings = Settings::new(connect.credentials.clone(), transport);
        settings.software = Some(SOFTWARE.to_owned());
        settings.pad_datagrams = connect.transport == ServerTransport::Dtls;
        let core = Core::new(Client::new(settings, rand::random()), opened.writer);
        let shared = Arc::new(Shared {
            connect,
            security,
            socket: opened.socket,
            local,
            started: Instant::now(),
            core: Mutex::new(core),
            inbox: Mutex::default(),
            arrived: Notify::new(),
            attempted: Notify::new(),
            kick: Notify::new(),
            lost: watch::Sender::new(None),
            dropped: AtomicU64::new(0),
            undeliverable: AtomicU64::new(0),
        });
        tokio::spawn(Arc::clone(&shared).drive(opened.reader));
        Ok(Session(shared))
    }
}

impl Shared {
    pub(crate) fn core(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Milliseconds, as the machine counts.
    pub(crate) fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Makes a request and waits for its answer.
    pub(crate) async fn ask(
        &self,
        asked: Asked,
        deadline: Instant,
        make: impl FnOnce(&mut Client, u64) -> Result<RequestId, MachineError>,
    ) -> Result<Answer, ClientError> {
        let method = asked.method();
        let answered = {
            let mut core = self.core();
            if core.end.is_some() {
                return Err(self.ended(&core));
            }
            let request =
                make(&mut core.machine, self.now()).map_err(|error| match self.gone() {
                    Some(lost) => ClientError::Lost(lost),
                    None => error.into(),
                })?;
            let (answer, answered) = oneshot::channel();
            core.wait(Waiter {
                request,
                asked,
                answer,
            });
            core.transmit()
                .map_err(|error| unreachable(&self.connect, error))?;
            answered
        };
        self.kick.notify_one();
        match timeout_at(deadline, answered).await {
            Ok(Ok(answer)) => answer.map_err(|failed| self.failure(method, failed)),
            Ok(Err(_)) => Err(self.ended(&self.core())),
            Err(_) => Err(self.connect.timed_out(Step::Request)),
        }
    }

    pub(crate) fn deadline(&self) -> Instant {
        self.connect.deadline()
    }

    pub(crate) fn failure(&self, method: Method, failed: Failed) -> ClientError {
        let server = self.connect.server;
        match failed {
            Failed::Refused { code: 401, .. } => {
                let username = match &self.connect.credentials {
                    Credentials::None => None,
                    Credentials::Static { username, .. } => Some(username.clone()),
                };
                ClientError::Unauthorized { server, username }
            }
            Failed::Refused { code, reason } => ClientError::Refused {
                server,
                request: core::name_of(method),
                code,
                reason,
            },
            Failed::Silence => self.connect.timed_out(Step::Request),
            Failed::Lost(lost) => ClientError::Lost(lost),
        }
    }

    /// Why nothing can be asked any more.
    fn ended(&self, core: &Core) -> ClientError {
        let (server, transport) = (self.connect.server, self.connect.transport);
        if core.allocated
            && let Some(lost) = self.lost.borrow().clone()
        {
            return ClientError::Lost(lost);
        }
        match &core.end {
            Some(LinkFault::Refused) => ClientError::NothingListens { server, transport },
            Some(LinkFault::NotTurn) => ClientError::NotTurn { server, transport },
            Some(LinkFault::Io(error)) => unreachable(
                &self.connect,
                std::io::Error::new(error.kind(), error.to_string()),
            ),
            Some(LinkFault::Silent) => self.connect.timed_out(Step::Request),
            Some(LinkFault::Closed) | None => ClientError::Closed { server, transport },
        }
    }

    /// Says why the allocation is over, or will be; a final reason replaces a warning.
    fn lose(&self, lost: Lost) {
        self.lost.send_if_modified(|known| {
            let news = known
                .as_ref()
                .is_none_or(|known| known.still_relays() && !lost.still_relays());
            if news {
                *known = Some(lost);
            }
            news
        });
    }

    /// Why no packets pass any more.
    pub(crate) fn gone(&self) -> Option<Lost> {
        self.lost
            .borrow()
            .clone()
            .filter(|lost| !lost.still_relays())
    }

    pub(crate) async fn lost(&self) -> Lost {
        let mut watched = self.lost.subscribe();
        match watched.wait_for(Option::is_some).await {
            Ok(lost) => lost.clone().unwrap_or(Lost::Closed),
            Err(_) => Lost::Closed,
        }
    }

    /// Begins the end: tells the server, and lets the task go once it has answered, or soon anyway.
    pub(crate) fn release(&self) {
        let mut core = self.core();
        if core.closing.is_some() {
            return;
        }
        let now = self.now();
        let asked = core.machine.refresh(now, Some(0)).is_ok() && core.transmit().is_ok();
        let patience = if asked { GOODBYE } else { Duration::ZERO };
        core.closing = Some(Instant::now() + patience);
        self.kick.notify_one();
    }

    /// Until the task has ended.
    pub(crate) async fn over(&self) {
        let mut watched = self.lost.subscribe();
        let _ = watched
            .wait_for(|lost| lost.as_ref().is_some_and(|lost| !lost.still_relays()))
            .await;
    }

    pub(crate) fn try_recv(
        &self,
        buffer: &mut [u8],
    ) -> Result<Option<(usize, SocketAddr)>, ClientError> {
        let mut inbox = self.inbox();
        if let Some(received) = inbox.pop(buffer) {
            if !inbox.is_empty() {
                self.arrived.notify_one();
            }
            return Ok(Some(received));
        }
        drop(inbox);
        self.gone().map_or(Ok(None), |lost| Err(lost.into()))
    }

    pub(crate) async fn recv(&self, buffer: &mut [u8]) -> Result<(usize, SocketAddr), ClientError> {
        loop {
            let arrived = self.arrived.notified();
            if let Some(received) = self.try_recv(buffer)? {
                return Ok(received);
            }
            arrived.await;
        }
    }

    /// The next connection of a peer.
    pub(crate) async fn attempt(&self) -> Result<(u32, SocketAddr), ClientError> {
        loop {
            let attempted = self.attempted.notified();
            if let Some(attempt) = self.core().attempts.pop_front() {
                self.attempted.notify_one();
                return Ok(attempt);
            }
            if let Some(lost) = self.gone() {
                return Err(lost.into());
            }
            attempted.await;
        }
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    pub(crate) fn undeliverable(&self) -> u64 {
        self.undeliverable.load(Ordering::Relaxed)
    }
}

//! The machine, who waits for its answers, and the way out.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use stunner_stun::Method;
use stunner_turn::client::{Allocated, Client, Event, RequestId};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::Lost;
use crate::link::{LinkFault, Writer};

/// Connections of peers that may wait to be accepted; the server gives each up after 30 s (RFC 6062 §5.3).
const MAX_ATTEMPTS: usize = 128;

/// What somebody waits for.
#[derive(Debug)]
pub(crate) enum Asked {
    Binding,
    Allocate,
    Refresh,
    /// The peers that are not let in yet.
    Permit(Vec<SocketAddr>),
    Channel(SocketAddr),
    Connect(SocketAddr),
}

impl Asked {
    pub(crate) fn method(&self) -> Method {
        match self {
            Asked::Binding => Method::BINDING,
            Asked::Allocate => Method::ALLOCATE,
            Asked::Refresh => Method::REFRESH,
            Asked::Permit(_) => Method::CREATE_PERMISSION,
            Asked::Channel(_) => Method::CHANNEL_BIND,
            Asked::Connect(_) => Method::CONNECT,
        }
    }
}

/// A method's name as in its RFC.
pub(crate) fn name_of(method: Method) -> &'static str {
    match method {
        Method::BINDING => "Binding",
        Method::ALLOCATE => "Allocate",
        Method::REFRESH => "Refresh",
        Method::CREATE_PERMISSION => "CreatePermission",
        Method::CHANNEL_BIND => "ChannelBind",
        Method::CONNECT => "Connect",
        Method::CONNECTION_BIND => "ConnectionBind",
        _ => "a request",
    }
}

/// What came of it.
#[derive(Debug)]
pub(crate) enum Answer {
    Done,
    Mapped(SocketAddr),
    Allocated(Allocated),
    /// 300 for an Allocate.
    Elsewhere {
        server: SocketAddr,
        domain: Option<String>,
    },
    /// CONNECTION-ID.
    Connected(u32),
}

/// Why nothing came of it.
#[derive(Clone, Debug)]
pub(crate) enum Failed {
    Refused { code: u16, reason: String },
    Silence,
    Lost(Lost),
}

#[derive(Debug)]
pub(crate) struct Waiter {
    pub(super) request: RequestId,
    pub(super) asked: Asked,
    pub(super) answer: oneshot::Sender<Result<Answer, Failed>>,
}

/// Everything that the task and the senders take turns with.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) machine: Client,
    pub(crate) writer: Writer,
    waiters: Vec<Waiter>,
    pub(super) attempts: VecDeque<(u32, SocketAddr)>,
    pub(super) allocated: bool,
    pub(crate) lifetime: Duration,
    /// SOFTWARE of the server's last answer that had it.
    pub(crate) software: Option<String>,
    /// Whether datagrams went out, and anything came in, since the task looked last.
    pub(super) sent: bool,
    pub(super) heard: bool,
    /// When the task ends at the latest.
    pub(super) closing: Option<Instant>,
    /// Why the connection is over.
    pub(super) end: Option<LinkFault>,
}

impl Core {
    pub(super) fn new(machine: Client, writer: Writer) -> Self {
        Core {
            machine,
            writer,
            waiters: Vec::new(),
            attempts: VecDeque::new(),
            allocated: false,
            lifetime: Duration::ZERO,
            software: None,
            sent: false,
            heard: false,
            closing: None,
            end: None,
        }
    }

    pub(super) fn wait(&mut self, waiter: Waiter) {
        // Those whose patience ran out.
        self.waiters.retain(|waiter| !waiter.answer.is_closed());
        self.waiters.push(waiter);
    }

    /// Sends what the machine has to say.
    pub(crate) fn transmit(&mut self) -> io::Result<()> {
        while let Some(packet) = self.machine.poll_transmit() {
            self.writer.packet(&packet)?;
        }
        Ok(())
    }

    fn answer(&mut self, is_it: impl Fn(&Waiter) -> bool, answer: Result<Answer, Failed>) -> bool {
        let Some(index) = self.waiters.iter().position(is_it) else {
            return false;
        };
        let _ = self.waiters.swap_remove(index).answer.send(answer);
        true
    }

    /// Nobody gets an answer any more.
    pub(super) fn fail_all(&mut self, lost: Option<&Lost>) {
        for waiter in self.waiters.drain(..) {
            // Without a reason, dropping the sender lets the waiter look for the connection's.
            if let Some(lost) = lost {
                let _ = waiter.answer.send(Err(Failed::Lost(lost.clone())));
            }
        }
    }

    /// Tells whoever waited; what is left for all to know is returned.
    pub(super) fn on_event(&mut self, event: Event, of_time: bool) -> Option<Lost> {
        match event {
            Event::Reflexive { mapped } => {
                let waits = |waiter: &Waiter| matches!(waiter.asked, Asked::Binding);
                self.answer(waits, Ok(Answer::Mapped(mapped)));
            }
            Event::Allocated(allocated) => {
                self.allocated = true;
                self.lifetime = Duration::from_secs(allocated.lifetime.into());
                let waits = |waiter: &Waiter| matches!(waiter.asked, Asked::Allocate);
                self.answer(waits, Ok(Answer::Allocated(allocated)));
            }
            Event::Refreshed { lifetime } => {
                self.lifetime = Duration::from_secs(lifetime.into());
                let waits = |waiter: &Waiter| matches!(waiter.asked, Asked::Refresh);
                self.answer(waits, Ok(Answer::Done));
            }
            Event::Released => {
                self.fail_all(Some(&Lost::Released));
                return Some(Lost::Released);
            }
            Event::PermissionGranted { peers } => self.on_permission(&peers),
            Event::ChannelBound { peer, .. } => {
                let waits =
                    |waiter: &Waiter| matches!(waiter.asked, Asked::Channel(of) if of == peer);
                self.answer(waits, Ok(Answer::Done));
            }
            Event::Connected { connection, peer } => {
                let waits =
                    |waiter: &Waiter| matches!(waiter.asked, Asked::Connect(to) if to == peer);
                self.answer(waits, Ok(Answer::Connected(connection)));
            }
            Event::ConnectionAttempt { connection, peer } => {
                if self.attempts.len() < MAX_ATTEMPTS {
                    self.attempts.push_back((connection, peer));
                }
            }
            Event::TryAlternate { server, domain } => return self.on_alternate(server, domain),
            Event::Error {
                request,
                method,
                code,
                reason,
            } => return self.on_error(request, method, code, reason),
            Event::TimedOut { request, .. } => {
                self.answer(|waiter| waiter.request == request, Err(Failed::Silence));
            }
            Event::AllocationLost => {
                let lost = if of_time {
                    Lost::Expired
                } else {
                    Lost::AllocationMismatch
                };
                self.fail_all(Some(&lost));
                return Some(lost);
            }
            Event::Ignored
            | Event::Pending
            | Event::Data { .. }
            | Event::Unreachable { .. }
            | Event::ConnectionBound { .. } => {}
        }
        None
    }

    fn on_permission(&mut self, granted: &[SocketAddr]) {
        for waiter in &mut self.waiters {
            if let Asked::Permit(missing) = &mut waiter.asked {
                missing.retain(|peer| !granted.contains(peer));
            }
        }
        while self.answer(
            |waiter| matches!(&waiter.asked, Asked::Permit(missing) if missing.is_empty()),
            Ok(Answer::Done),
        ) {}
    }

    /// 300: before there is an allocation it is the answer to what was asked, later the news of a drain.
    fn on_alternate(&mut self, server: SocketAddr, domain: Option<String>) -> Option<Lost> {
        if !self.allocated {
            let waits = |waiter: &Waiter| matches!(waiter.asked, Asked::Allocate | Asked::Binding);
            self.answer(waits, Ok(Answer::Elsewhere { server, domain }));
            return None;
        }
        let lost = Lost::Draining {
            alternate: Some(server),
            domain,
        };
        let waits = |waiter: &Waiter| matches!(waiter.asked, Asked::Refresh);
        self.answer(waits, Err(Failed::Lost(lost.clone())));
        Some(lost)
    }

    fn on_error(
        &mut self,
        request: RequestId,
        method: Method,
        code: u16,
        reason: String,
    ) -> Option<Lost> {
        let failed = Failed::Refused {
            code,
            reason: reason.clone(),
        };
        let waited = self.answer(|waiter| waiter.request == request, Err(failed));
        if method != Method::REFRESH {
            if !waited {
                tracing::debug!(
                    "the server refused to renew by {}: {code} {reason}",
                    name_of(method)
                );
            }
            return None;
        }
        match code {
            300 => Some(Lost::Draining {
                alternate: None,
                domain: None,
            }),
            _ => Some(Lost::RefreshRefused { code, reason }),
        }
    }
}

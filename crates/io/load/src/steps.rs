//! What takes a session from phase to phase: its own steps, answers of the server, and time.

use std::net::SocketAddr;

use stunner_turn::client::{AllocateOptions, Event, Family};

use crate::error::SessionError;
use crate::link::Link;
use crate::phase::Phase;
use crate::session::{Session, Sessions};
use crate::target::Protocol;

impl Sessions {
    /// Takes the next step of a session, if it is the session's turn and short of the goal.
    pub(crate) fn advance(&mut self, index: usize) {
        if let Err(error) = self.try_advance(index) {
            self.fail(index, error);
        }
    }

    fn try_advance(&mut self, index: usize) -> Result<(), SessionError> {
        let (now, goal, peer, server) = (self.now(), self.goal, self.peer, self.target.address);
        let is_forward = matches!(self.target.protocol, Protocol::Forward);
        let Some(session) = self.list.get_mut(index) else {
            return Ok(());
        };
        loop {
            let phase = session.phase;
            if phase >= goal {
                break;
            }
            session.phase = match phase {
                // What is over before its allocation has nothing to release.
                Phase::New | Phase::Connecting | Phase::Connected if goal == Phase::Over => {
                    Phase::Over
                }
                Phase::New | Phase::Connecting => {
                    let is_open = match &mut session.link {
                        Link::Udp(_) => true,
                        Link::Framed(framed) => framed.progress().map_err(SessionError::Connect)?,
                    };
                    match is_open {
                        true => Phase::Connected,
                        false => Phase::Connecting,
                    }
                }
                Phase::Connected if is_forward => Phase::Bound,
                Phase::Connected => {
                    session.client.allocate(now, options_for(peer))?;
                    Phase::Allocating
                }
                _ if goal == Phase::Over => match is_forward {
                    true => Phase::Over,
                    false if phase == Phase::Releasing || phase == Phase::Allocating => phase,
                    false => {
                        session.client.refresh(now, Some(0))?;
                        Phase::Releasing
                    }
                },
                Phase::Allocated => {
                    session.client.bind_channel(now, peer)?;
                    Phase::Binding
                }
                Phase::Bound => Phase::Greeting,
                waiting => waiting,
            };
            if session.phase == phase {
                break;
            }
        }
        transmit(session, server)
    }

    /// Runs what time brings about; cheap enough for every few milliseconds.
    pub(crate) fn tick(&mut self) {
        let now = self.now();
        for index in 0..self.list.len() {
            let session = &mut self.list[index];
            if session.phase == Phase::Connecting {
                self.advance(index);
            } else if session.client.next_deadline().is_some_and(|at| at <= now) {
                session.client.on_timeout(now);
                while let Some(event) = self.list[index].client.poll_event() {
                    self.note(index, event);
                }
                self.send_requests(index);
            }
        }
    }

    /// Hands a packet that is no ChannelData to its session's client.
    pub(crate) fn handle(&mut self, index: usize, bytes: &[u8]) {
        let now = self.now();
        if let Some(session) = self.list.get_mut(index) {
            let event = session.client.handle(now, bytes);
            self.note(index, event);
            self.send_requests(index);
        }
    }

    fn note(&mut self, index: usize, event: Event) {
        let session = &mut self.list[index];
        match event {
            Event::Allocated(allocated) => {
                session.relayed = Some(allocated.relayed);
                session.phase = Phase::Allocated;
            }
            Event::ChannelBound { number, .. } if session.phase == Phase::Binding => {
                session.channel = number;
                session.phase = Phase::Bound;
            }
            Event::Released => session.phase = Phase::Over,
            Event::Error {
                method,
                code,
                reason,
                ..
            } => {
                let error = SessionError::Refused {
                    method,
                    code,
                    reason,
                };
                return self.fail(index, error);
            }
            Event::TimedOut { method, .. } => {
                return self.fail(index, SessionError::Silent(method));
            }
            Event::TryAlternate { server, .. } => {
                return self.fail(index, SessionError::Elsewhere(server));
            }
            Event::AllocationLost => return self.fail(index, SessionError::Lost),
            _ => return,
        }
        self.advance(index);
    }

    fn send_requests(&mut self, index: usize) {
        let server = self.target.address;
        if let Err(error) = transmit(&mut self.list[index], server) {
            self.fail(index, error);
        }
    }

    /// The session is over; why is kept in `failures`, once.
    pub(crate) fn fail(&mut self, index: usize, error: SessionError) {
        let Some(session) = self.list.get_mut(index) else {
            return;
        };
        if session.phase != Phase::Over {
            session.phase = Phase::Over;
            let _ = self.poller.remove(&session.link);
            self.failures.push(error);
        }
    }
}

fn transmit(session: &mut Session, server: SocketAddr) -> Result<(), SessionError> {
    while let Some(packet) = session.client.poll_transmit() {
        // A lost datagram is sent again by the client's timer.
        session
            .link
            .send(server, &packet)
            .map_err(SessionError::Broken)?;
    }
    Ok(())
}

/// A relay of the peer's family. Without the attribute a server gives IPv4 (RFC 8656 §7.2).
fn options_for(peer: SocketAddr) -> AllocateOptions {
    AllocateOptions {
        family: peer.is_ipv6().then_some(Family::V6),
        ..AllocateOptions::default()
    }
}

//! The WebRTC engine and the ways its datagrams take.

use std::sync::Arc;
use std::time::{Duration, Instant};

use str0m::crypto::CryptoProvider;
use str0m::net::{Protocol, Receive};
use str0m::{Candidate, Event, Input, Output, Rtc, RtcConfig, RtcError};

use crate::candidate::{CandidateKind, LocalCandidate, Pair};
use crate::path::{Path, Paths, Way};

/// What may wait inside SCTP to be sent: more than the longest message that an answer says may come.
const SEND_BUFFER: usize = 1 << 20;
/// How long a closing engine may go on telling the other side.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// What the engine wants.
#[expect(
    clippy::large_enum_variant,
    reason = "it is taken apart where it comes from"
)]
pub(crate) enum Wants {
    /// To tell something.
    Heard(Event),
    /// To wait for a datagram, or for this time.
    Wait(Instant),
    /// Nothing any more.
    End,
}

/// One side of a connection.
pub(crate) struct Engine {
    pub(crate) rtc: Rtc,
    paths: Paths,
    selected: Option<Pair>,
}

pub(crate) fn settings(crypto: &Arc<CryptoProvider>) -> RtcConfig {
    RtcConfig::new()
        .set_crypto_provider(Arc::clone(crypto))
        .clear_codecs()
        .set_sctp_max_buffered_amount(SEND_BUFFER)
}

/// Makes the engine know a path; whether it takes it.
pub(crate) fn add(rtc: &mut Rtc, path: &Path) -> bool {
    let LocalCandidate { kind, address, .. } = path.candidate;
    let candidate = match (&path.way, kind) {
        // The transport to the TURN server is of no concern to the peer: between relay and peer it is UDP.
        (Way::Relay(relay), _) => Candidate::relayed(address, relay.local(), "udp"),
        (Way::Socket(_), CandidateKind::Host) => Candidate::host(address, "udp"),
        (Way::Socket(_), _) => return false,
    };
    candidate.is_ok_and(|candidate| rtc.add_local_candidate(candidate).is_some())
}

impl Engine {
    pub(crate) fn start(rtc: Rtc, paths: Vec<Path>) -> Self {
        Engine {
            rtc,
            paths: Paths::open(paths),
            selected: None,
        }
    }

    pub(crate) fn paths(&self) -> &Paths {
        &self.paths
    }

    /// Where data last went.
    pub(crate) fn selected(&self) -> Option<Pair> {
        self.selected
    }

    /// Does what the engine wants until it wants something of its user.
    pub(crate) async fn poll(&mut self) -> Result<Wants, RtcError> {
        loop {
            if !self.rtc.is_alive() {
                return Ok(Wants::End);
            }
            match self.rtc.poll_output()? {
                Output::Timeout(wake) => return Ok(Wants::Wait(wake)),
                Output::Event(event) => return Ok(Wants::Heard(event)),
                Output::Transmit(send) => {
                    // Only DTLS (RFC 7983 §7) goes nowhere but to the selected pair.
                    if send
                        .contents
                        .first()
                        .is_some_and(|first| (20..=63).contains(first))
                    {
                        self.selected = Some(Pair {
                            local: send.source,
                            remote: send.destination,
                        });
                    }
                    let (source, destination) = (send.source, send.destination);
                    self.paths.send(source, destination, &send.contents).await;
                }
            }
        }
    }

    /// Waits for a datagram until a point in time; whether one of this connection came.
    pub(crate) async fn wait(&mut self, until: Instant) -> Result<bool, RtcError> {
        let received = tokio::select! {
            biased;
            datagram = self.paths.receive() => Some(datagram),
            () = tokio::time::sleep_until(until.into()) => None,
        };
        let now = Instant::now();
        let Some(datagram) = received else {
            self.rtc.handle_input(Input::Timeout(now))?;
            return Ok(false);
        };
        // What is none of the protocols that share the socket (RFC 7983) is no reason to end.
        let Ok(contents) = datagram.bytes.as_slice().try_into() else {
            return Ok(false);
        };
        let receive = Receive {
            proto: Protocol::Udp,
            source: datagram.source,
            destination: datagram.local,
            contents,
        };
        let input = Input::Receive(now, receive);
        // Strangers on the socket neither disturb the connection nor keep it alive.
        if !self.rtc.accepts(&input) {
            return Ok(false);
        }
        self.rtc.handle_input(input)?;
        Ok(true)
    }

    /// Tells the other side, as far as one round of datagrams does, and gives back what servers lent.
    pub(crate) async fn close(mut self) {
        let words = async {
            if self.rtc.close().is_err() {
                return;
            }
            while let Ok(Wants::Heard(_)) = self.poll().await {}
        };
        let _ = tokio::time::timeout(LAST_WORDS, words).await;
        self.paths.close().await;
    }
}

//! From an offer to an answer and a session.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use str0m::Rtc;
use str0m::change::SdpOffer;
use str0m::crypto::{CryptoProvider, from_feature_flags};
use tokio::net::UdpSocket;

use crate::candidate::{CandidateKind, LocalCandidate};
use crate::engine::{self, Engine};
use crate::gather::Gathered;
use crate::path::{Path, Way};
use crate::session::{Limits, Session};

/// Answers offers. Cheap to clone; one is enough for a process.
#[derive(Clone)]
pub struct EchoPeer {
    crypto: Arc<CryptoProvider>,
}

impl fmt::Debug for EchoPeer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EchoPeer").finish_non_exhaustive()
    }
}

impl Default for EchoPeer {
    fn default() -> Self {
        EchoPeer {
            crypto: Arc::new(from_feature_flags()),
        }
    }
}

/// Why an offer is not answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OfferError {
    #[error("the offer is no SDP: {0}")]
    Syntax(String),
    #[error("the offer cannot be answered: {0}")]
    Unacceptable(String),
    #[error("the offer has no data channel")]
    NoDataChannel,
    #[error("`{0}` cannot be an ICE candidate")]
    Address(SocketAddr),
}

impl EchoPeer {
    /// Answers an offer and starts to echo on the socket, in a task of the current tokio runtime.
    ///
    /// `address` is how the other side reaches the socket: the one candidate of the answer. It is the socket's own
    /// address unless that is a wildcard. The answer is ICE-lite (RFC 8445 §2.5): the other side does the checks.
    pub fn answer(
        &self,
        offer: &str,
        socket: impl Into<Arc<UdpSocket>>,
        address: SocketAddr,
        limits: Limits,
    ) -> Result<(String, Session), OfferError> {
        let path = Path {
            candidate: LocalCandidate {
                kind: CandidateKind::Host,
                address,
                server: None,
            },
            way: Way::Socket(socket.into()),
        };
        let rtc = engine::settings(&self.crypto).set_ice_lite(true);
        let mut rtc = rtc.build(Instant::now());
        if !engine::add(&mut rtc, &path) {
            return Err(OfferError::Address(address));
        }
        let answer = answer(&mut rtc, offer)?;
        Ok((
            answer,
            Session::start(Engine::start(rtc, vec![path]), limits),
        ))
    }

    /// Answers an offer with all that was gathered, and does checks of its own: a relay lets nobody in whom the peer
    /// behind it has not sent to.
    pub fn answer_from(
        &self,
        offer: &str,
        gathered: Gathered,
        limits: Limits,
    ) -> Result<(String, Session), OfferError> {
        let mut rtc = engine::settings(&self.crypto).build(Instant::now());
        for path in &gathered.paths {
            engine::add(&mut rtc, path);
        }
        let answer = answer(&mut rtc, offer)?;
        let engine = Engine::start(rtc, gathered.paths);
        Ok((answer, Session::start(engine, limits)))
    }

    /// What is wrong with an offer, if anything, before anything is gathered for it.
    pub fn examine(&self, offer: &str) -> Result<(), OfferError> {
        let mut rtc = engine::settings(&self.crypto).build(Instant::now());
        answer(&mut rtc, offer).map(drop)
    }
}

fn answer(rtc: &mut Rtc, offer: &str) -> Result<String, OfferError> {
    let read = SdpOffer::from_sdp_string(offer)
        .map_err(|error| OfferError::Syntax(in_one_line(&error.to_string())))?;
    let answer = rtc
        .sdp_api()
        .accept_offer(read)
        .map_err(|error| OfferError::Unacceptable(in_one_line(&error.to_string())))?
        .to_sdp_string();
    let has_channel = |line: &str| {
        line.strip_prefix("m=application ")
            .is_some_and(|rest| !rest.starts_with("0 "))
    };
    match answer.lines().any(has_channel) {
        true => Ok(for_browsers(&answer, offer)),
        false => Err(OfferError::NoDataChannel),
    }
}

/// The answer as browsers take it where it refuses media. The engine knows no codecs and names none for such media, yet a
/// media line has a format (RFC 8866 §5.14): it is the first that was offered, which means nothing (RFC 3264 §6). And the
/// candidates, which are in the first section, are to be in one that is not refused.
fn for_browsers(answer: &str, offer: &str) -> String {
    let mut offered = offer.lines().filter(|line| line.starts_with("m="));
    let is_candidate = |line: &&str| line.starts_with("a=candidate:");
    let mut candidates: Vec<&str> = answer.lines().filter(is_candidate).collect();
    let mut complete = String::with_capacity(answer.len());
    let mut is_refused = true;
    for line in answer.lines().filter(|line| !is_candidate(line)) {
        complete.push_str(line);
        if line.starts_with("m=") {
            // Media, port, protocol, formats; the answer has the lines of the offer in their order.
            let mut formats = offered.next().unwrap_or_default().split(' ').skip(3);
            if line.ends_with(' ') {
                complete.push_str(formats.next().unwrap_or("0"));
            }
            is_refused = line.split(' ').nth(1) == Some("0");
        }
        complete.push_str("\r\n");
        // The first of the attributes of a section come after its address.
        if line.starts_with("c=") && !is_refused {
            for candidate in candidates.drain(..) {
                complete.push_str(candidate);
                complete.push_str("\r\n");
            }
        }
    }
    complete
}

/// What the engine says of an offer, without the line that tells where: it does so by an address of this process's
/// memory, which is nobody's business.
pub(crate) fn in_one_line(said: &str) -> String {
    let lines = said.lines().map(str::trim);
    let told: Vec<&str> = lines
        .filter(|line| !line.is_empty() && !line.contains("PointerOffset"))
        .collect();
    told.join(", ")
}

//! From an offer to an answer and a session.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use str0m::change::SdpOffer;
use str0m::crypto::{CryptoProvider, from_feature_flags};
use str0m::{Candidate, RtcConfig};
use tokio::net::UdpSocket;

use crate::session::{Limits, Session};

/// What may wait inside SCTP to be sent: more than the longest message that the answer says may come.
const SEND_BUFFER: usize = 1 << 20;

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
    /// address unless that is a wildcard.
    pub fn answer(
        &self,
        offer: &str,
        socket: impl Into<Arc<UdpSocket>>,
        address: SocketAddr,
        limits: Limits,
    ) -> Result<(String, Session), OfferError> {
        let offer = SdpOffer::from_sdp_string(offer)
            .map_err(|error| OfferError::Syntax(in_one_line(&error.to_string())))?;
        let mut rtc = RtcConfig::new()
            .set_crypto_provider(Arc::clone(&self.crypto))
            .clear_codecs()
            .set_ice_lite(true)
            .set_sctp_max_buffered_amount(SEND_BUFFER)
            .build(Instant::now());
        let candidate =
            Candidate::host(address, "udp").map_err(|_| OfferError::Address(address))?;
        if rtc.add_local_candidate(candidate).is_none() {
            return Err(OfferError::Address(address));
        }
        let answer = rtc
            .sdp_api()
            .accept_offer(offer)
            .map_err(|error| OfferError::Unacceptable(in_one_line(&error.to_string())))?
            .to_sdp_string();
        let has_channel = |line: &str| {
            line.strip_prefix("m=application ")
                .is_some_and(|rest| !rest.starts_with("0 "))
        };
        if !answer.lines().any(has_channel) {
            return Err(OfferError::NoDataChannel);
        }
        Ok((answer, Session::start(rtc, socket.into(), address, limits)))
    }
}

/// What the engine says of an offer, without the line that tells where: it does so by an address of this process's
/// memory, which is nobody's business.
fn in_one_line(said: &str) -> String {
    let lines = said.lines().map(str::trim);
    let told: Vec<&str> = lines
        .filter(|line| !line.is_empty() && !line.contains("PointerOffset"))
        .collect();
    told.join(", ")
}

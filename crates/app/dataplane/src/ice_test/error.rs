//! Why there is no test.

use std::io;

use stunner_peer::OfferError;

use super::MAX_TESTS;

/// Why a test was not started or not answered.
#[derive(Debug, thiserror::Error)]
pub enum IceTestError {
    #[error("no listener `{name}`")]
    UnknownListener { name: String, known: Vec<String> },
    #[error("listener `{0}` speaks DTLS, which browsers do not speak to TURN servers")]
    Dtls(String),
    #[error("this gateway serves STUN only")]
    TurnOff,
    #[error("this gateway drains and takes no new clients")]
    Draining,
    #[error("{MAX_TESTS} ICE tests are running already")]
    TooMany,
    #[error("cannot open a socket for the echo peer: {0}")]
    Socket(#[source] io::Error),
    #[error("the gateway has stopped")]
    Stopped,
    #[error("there is no ICE test `{0}`")]
    UnknownTest(String),
    #[error("this ICE test has had its offer")]
    Answered,
    #[error(transparent)]
    Offer(#[from] OfferError),
}

impl IceTestError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::UnknownListener { known, .. } if known.is_empty() => {
                "the gateway has no listener; look at its conditions".to_owned()
            }
            Self::UnknownListener { known, .. } => {
                format!("there are: {}", known.join(", "))
            }
            Self::Dtls(_) => "test a UDP, TCP or TLS listener of the gateway; turncat and other native \
                              clients speak DTLS"
                .to_owned(),
            Self::TurnOff => "authentication is `none`; set credentials to relay traffic".to_owned(),
            Self::Draining => "test the gateway that takes over".to_owned(),
            Self::TooMany => {
                "end one with DELETE /api/v1/ice-tests/{id}, or wait: each ends by itself within two minutes"
                    .to_owned()
            }
            Self::Socket(_) => "look for the limit of open files, and whether the listener's address is \
                                one of this host"
                .to_owned(),
            Self::Stopped => "start it again".to_owned(),
            Self::UnknownTest(_) => {
                "it may have ended; start another with POST /api/v1/ice-tests".to_owned()
            }
            Self::Answered => "start another with POST /api/v1/ice-tests".to_owned(),
            Self::Offer(_) => {
                "send the SDP of an RTCPeerConnection with a data channel, as {\"sdp\":\"v=0…\"}"
                    .to_owned()
            }
        }
    }
}

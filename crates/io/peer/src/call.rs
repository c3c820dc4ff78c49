//! The side that calls.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use str0m::change::{SdpAnswer, SdpPendingOffer};
use str0m::channel::{ChannelConfig, ChannelId, Reliability};
use str0m::crypto::{CryptoProvider, from_feature_flags};
use str0m::{Event, IceConnectionState};

use crate::candidate::{CandidateKind, Pair, RemoteCandidate, candidates_of};
use crate::engine::{self, Engine, Wants};
use crate::gather::Gathered;
use crate::offer::in_one_line;
use crate::probe::{Probe, Progress, Tally};
use crate::report::{Report, RoundTrips};

/// How long after the last packet some may still come back.
const STRAGGLERS: Duration = Duration::from_secs(2);
/// A flood keeps no more than this waiting inside SCTP, so that it measures the way and not the queue.
const FLOOD: usize = 32 << 10;
/// How often a probe tells how far it is.
const TICK: Duration = Duration::from_millis(500);

/// Makes offers. Cheap to clone; one is enough for a process.
#[derive(Clone)]
pub struct Caller {
    crypto: Arc<CryptoProvider>,
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller").finish_non_exhaustive()
    }
}

impl Default for Caller {
    fn default() -> Self {
        Caller {
            crypto: Arc::new(from_feature_flags()),
        }
    }
}

/// How far a connection came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// No pair of candidates passed its check.
    Checks,
    /// ICE is connected, DTLS is not.
    Handshake,
    /// DTLS is connected, the data channel is not open.
    Channel,
}

impl Stage {
    fn missing(self) -> &'static str {
        match self {
            Stage::Checks => "no pair of candidates answers",
            Stage::Handshake => "the DTLS handshake between the two ends does not finish",
            Stage::Channel => "the data channel does not open",
        }
    }
}

/// Why there is no call, or no longer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    #[error("the answer cannot be used: {0}")]
    Answer(String),
    #[error("{} within {} s", .stage.missing(), .after.as_secs())]
    Timeout {
        stage: Stage,
        after: Duration,
        /// Peers that the TURN server does not relay to, and what it said.
        refused: Vec<(SocketAddr, String)>,
        /// The TURN server did not say whether it relays to the peers.
        is_unanswered: bool,
    },
    #[error("the connection broke: {0}")]
    Broken(String),
    #[error("the other side closed the connection")]
    Closed,
}

impl CallError {
    /// Whether a TURN server was asked to relay to the other side and said no.
    pub fn is_refusal(&self) -> bool {
        matches!(self, CallError::Timeout { refused, .. } if !refused.is_empty())
    }

    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            CallError::Answer(_) => "look at the log of the side that answered".to_owned(),
            CallError::Timeout { refused, .. } if !refused.is_empty() => {
                let named: Vec<String> = refused
                    .iter()
                    .map(|(peer, why)| format!("{peer} ({why})"))
                    .collect();
                format!(
                    "the gateway does not relay to {}; a route of the listener has to admit it",
                    named.join(", ")
                )
            }
            CallError::Timeout { is_unanswered: true, .. } => {
                "the gateway gave a relay and then did not answer: look whether it still runs, at its log, and at the way to it"
                    .to_owned()
            }
            CallError::Timeout { stage: Stage::Checks, .. } => {
                "the relay works, its peer does not answer: look for a network policy or firewall between the gateway's pods \
                 and the peer"
                    .to_owned()
            }
            CallError::Timeout { .. } => {
                "small packets pass and larger ones do not: look at the MTU of the way".to_owned()
            }
            CallError::Broken(_) | CallError::Closed => {
                "look at the logs of the gateway and of the other side".to_owned()
            }
        }
    }
}

/// A caller that waits for the answer.
pub struct Offered {
    engine: Engine,
    pending: SdpPendingOffer,
    channel: ChannelId,
}

impl fmt::Debug for Offered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Offered").finish_non_exhaustive()
    }
}

impl Caller {
    /// An offer of a data channel, in SDP, and what waits for its answer.
    ///
    /// The channel repeats nothing and keeps no order, so that what gets lost on the way is seen to be lost.
    pub fn offer(&self, gathered: Gathered) -> Result<(String, Offered), CallError> {
        let mut rtc = engine::settings(&self.crypto).build(Instant::now());
        for path in &gathered.paths {
            engine::add(&mut rtc, path);
        }
        let mut change = rtc.sdp_api();
        let channel = change.add_channel_with_config(ChannelConfig {
            label: "icetest".to_owned(),
            ordered: false,
            reliability: Reliability::MaxRetransmits { retransmits: 0 },
            ..ChannelConfig::default()
        });
        let Some((offer, pending)) = change.apply() else {
            return Err(CallError::Broken("the engine makes no offer".to_owned()));
        };
        let engine = Engine::start(rtc, gathered.paths);
        let offered = Offered {
            engine,
            pending,
            channel,
        };
        Ok((offer.to_sdp_string(), offered))
    }
}

impl Offered {
    /// Takes the answer and connects.
    pub async fn accept(self, answer: &str, timeout: Duration) -> Result<Call, CallError> {
        let Offered {
            mut engine,
            pending,
            channel,
        } = self;
        let accepted = SdpAnswer::from_sdp_string(answer)
            .map_err(|error| in_one_line(&error.to_string()))
            .and_then(|parsed| {
                let sdp = engine.rtc.sdp_api();
                let accepted = sdp.accept_answer(pending, parsed);
                accepted.map_err(|error| in_one_line(&error.to_string()))
            });
        if let Err(said) = accepted {
            engine.close().await;
            return Err(CallError::Answer(said));
        }
        let mut call = Call {
            engine,
            channel,
            remote: candidates_of(answer),
        };
        match call.open(timeout).await {
            Ok(()) => Ok(call),
            Err(error) => {
                call.close().await;
                Err(error)
            }
        }
    }

    /// Gives up, and gives back what servers lent.
    pub async fn close(self) {
        self.engine.close().await;
    }
}

/// A connection with an open data channel.
pub struct Call {
    engine: Engine,
    channel: ChannelId,
    remote: Vec<RemoteCandidate>,
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").finish_non_exhaustive()
    }
}

impl Call {
    /// Where data flows.
    pub fn selected(&self) -> Option<Pair> {
        self.engine.selected()
    }

    async fn open(&mut self, timeout: Duration) -> Result<(), CallError> {
        let until = Instant::now() + timeout;
        let mut stage = Stage::Checks;
        loop {
            match self.poll().await? {
                Next::Heard(Event::ChannelOpen(channel, _)) if channel == self.channel => {
                    return Ok(());
                }
                Next::Heard(Event::Connected) => stage = Stage::Channel,
                Next::Heard(Event::IceConnectionStateChange(state)) if state.is_connected() => {
                    if stage == Stage::Checks {
                        stage = Stage::Handshake;
                    }
                }
                Next::Heard(_) => {}
                Next::Wait(wake) => {
                    if Instant::now() >= until {
                        return Err(CallError::Timeout {
                            stage,
                            after: timeout,
                            refused: self.engine.paths().refusals(),
                            is_unanswered: self.engine.paths().is_unanswered(),
                        });
                    }
                    self.wait(wake.min(until)).await?;
                }
            }
        }
    }

    /// Sends packets and counts what comes back; tells now and then how far it is.
    pub async fn probe(
        &mut self,
        probe: &Probe,
        mut tell: impl FnMut(Progress),
    ) -> Result<Report, CallError> {
        let mut tally = Tally::new(probe, Instant::now());
        let end = tally.started() + probe.duration;
        let mut tick = tally.started() + TICK;
        loop {
            let now = Instant::now();
            if now >= tick {
                tell(tally.progress(now));
                tick = now + TICK;
            }
            if now >= end + STRAGGLERS || (now >= end && tally.is_complete()) {
                break;
            }
            match self.poll().await? {
                Next::Heard(event) => self.heard(&event, &mut tally),
                Next::Wait(wake) => {
                    let now = Instant::now();
                    if now < end && self.send(&mut tally, now)? {
                        continue;
                    }
                    let due = match now < end {
                        true => tally.due().unwrap_or(end).min(end),
                        false => end + STRAGGLERS,
                    };
                    self.wait(wake.min(due).min(tick)).await?;
                }
            }
        }
        let progress = tally.progress(Instant::now());
        tell(progress);
        Ok(Report {
            sent: progress.sent,
            received: progress.received,
            elapsed: probe.duration,
            round_trips: RoundTrips::of(tally.into_times()),
            local: self.engine.paths().candidates(),
            remote: self.remote(),
            selected: self.engine.selected(),
        })
    }

    /// Sends one packet, if one is due and there is room.
    fn send(&mut self, tally: &mut Tally, now: Instant) -> Result<bool, CallError> {
        if tally.due().is_some_and(|due| due > now) {
            return Ok(false);
        }
        let Some(mut channel) = self.engine.rtc.channel(self.channel) else {
            return Err(CallError::Closed);
        };
        if tally.due().is_none() && channel.buffered_amount() > FLOOD {
            return Ok(false);
        }
        let is_sent = channel.write(true, tally.packet(now));
        let is_sent = is_sent.map_err(|error| CallError::Broken(error.to_string()))?;
        if is_sent {
            tally.sent();
        }
        Ok(is_sent)
    }

    fn heard(&self, event: &Event, tally: &mut Tally) {
        if let Event::ChannelData(message) = event
            && message.id == self.channel
        {
            tally.back(&message.data, Instant::now());
        }
    }

    /// The candidates of the other side, with the one that answers where it stands in no answer.
    fn remote(&self) -> Vec<RemoteCandidate> {
        let mut all = self.remote.clone();
        if let Some(Pair { remote, .. }) = self.engine.selected()
            && !all.iter().any(|candidate| candidate.address == remote)
        {
            all.push(RemoteCandidate {
                kind: CandidateKind::PeerReflexive,
                address: remote,
            });
        }
        all
    }

    async fn poll(&mut self) -> Result<Next, CallError> {
        match self.engine.poll().await {
            Ok(Wants::End) | Ok(Wants::Heard(Event::Closed)) => Err(CallError::Closed),
            Ok(Wants::Heard(Event::ChannelClose(channel))) if channel == self.channel => {
                Err(CallError::Closed)
            }
            Ok(Wants::Heard(Event::IceConnectionStateChange(IceConnectionState::Disconnected)))
                if self.engine.selected().is_some() =>
            {
                Err(CallError::Broken("nothing answers any more".to_owned()))
            }
            Ok(Wants::Heard(event)) => Ok(Next::Heard(event)),
            Ok(Wants::Wait(wake)) => Ok(Next::Wait(wake)),
            Err(error) => Err(CallError::Broken(in_one_line(&error.to_string()))),
        }
    }

    async fn wait(&mut self, until: Instant) -> Result<(), CallError> {
        match self.engine.wait(until).await {
            Ok(_) => Ok(()),
            Err(error) => Err(CallError::Broken(in_one_line(&error.to_string()))),
        }
    }

    /// Hangs up, and gives back what servers lent.
    pub async fn close(self) {
        self.engine.close().await;
    }
}

#[expect(
    clippy::large_enum_variant,
    reason = "it is taken apart where it comes from"
)]
enum Next {
    Heard(Event),
    Wait(Instant),
}

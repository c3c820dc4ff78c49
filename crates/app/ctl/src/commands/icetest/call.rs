//! One call: through which server, to which far end, and what came of it.

use std::fmt;
use std::time::Duration;

use stunner_client::ServerTransport;
use stunner_peer::{
    Caller, Gather, GatherError, IceServer, Probe, Progress, Report, TransportPolicy,
};

/// For the two ends to find each other.
const CONNECT: Duration = Duration::from_secs(20);

/// Who goes through the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// This end; the far end is reached directly.
    Asymmetric,
    /// Both ends.
    Symmetric,
}

impl Kind {
    pub(super) const BOTH: [Kind; 2] = [Kind::Asymmetric, Kind::Symmetric];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Kind::Asymmetric => "asymmetric",
            Kind::Symmetric => "symmetric",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where a call ended that did not come about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hop {
    /// Between here and the gateway.
    Gateway,
    /// The way that offer and answer take.
    Signalling,
    /// Between the gateway and the far end.
    Peer,
    /// The connection stands, packets get lost.
    Media,
}

impl Hop {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Hop::Gateway => "gateway",
            Hop::Signalling => "signalling",
            Hop::Peer => "peer",
            Hop::Media => "media",
        }
    }
}

/// What went wrong, where, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) hop: Hop,
    pub(super) error: String,
    pub(super) hint: String,
    /// The gateway was asked to relay to a peer and said no.
    pub(super) is_refusal: bool,
}

impl Problem {
    pub(super) fn new(hop: Hop, error: impl fmt::Display, hint: impl Into<String>) -> Problem {
        Problem {
            hop,
            error: error.to_string(),
            hint: hint.into(),
            is_refusal: false,
        }
    }
}

/// A call to make.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) kind: Kind,
    pub(super) transport: ServerTransport,
    /// The listener, where its name is known.
    pub(super) listener: Option<String>,
    /// The one server with the one URL to go through.
    pub(super) server: IceServer,
}

/// What holds for all calls.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    pub(super) probe: Probe,
    pub(super) insecure: bool,
    /// From 0 to 1.
    pub(super) max_loss: f64,
}

/// How a call went.
#[derive(Debug, Clone)]
pub(super) enum Verdict {
    Passed(Report),
    Failed(Problem, Option<Report>),
    /// It cannot be made here; that is neither good nor bad.
    Skipped(String),
    /// The test ended before it was made, or while it was.
    NotRun,
}

/// A call and how it went.
#[derive(Debug, Clone)]
pub(super) struct Run {
    pub(super) call: Call,
    pub(super) verdict: Verdict,
}

impl Call {
    /// The URL of the server, which has no credentials in it.
    pub(super) fn url(&self) -> &str {
        self.server.urls.first().map_or("", String::as_str)
    }

    /// Makes the call. `answer` takes the offer to the far end and brings its answer.
    pub(super) async fn make(
        &self,
        terms: &Terms,
        answer: impl AsyncFnOnce(&str) -> Result<String, Problem>,
        tell: impl FnMut(Progress),
    ) -> Verdict {
        let report = match self.try_make(terms, answer, tell).await {
            Ok(report) => report,
            Err(problem) => return Verdict::Failed(problem, None),
        };
        let is_flood = terms.probe.rate == 0;
        if report.received == 0 {
            let problem = Problem::new(
                Hop::Media,
                "the two ends are connected, but no packet came back",
                "look at the logs of the gateway and of the far end",
            );
            return Verdict::Failed(problem, Some(report));
        }
        if !is_flood && report.loss() > terms.max_loss {
            let lost = format!("{:.1} % of the packets got lost", report.loss() * 100.0);
            let hint = "the way is overloaded or bad: try a lower --packet-rate, and look at the dataplane's CPU limit";
            let problem = Problem::new(Hop::Media, lost, hint);
            return Verdict::Failed(problem, Some(report));
        }
        Verdict::Passed(report)
    }

    async fn try_make(
        &self,
        terms: &Terms,
        answer: impl AsyncFnOnce(&str) -> Result<String, Problem>,
        tell: impl FnMut(Progress),
    ) -> Result<Report, Problem> {
        let gather = Gather {
            servers: vec![self.server.clone()],
            policy: TransportPolicy::Relay,
            insecure: terms.insecure,
            ..Gather::default()
        };
        let gathered = gather
            .candidates()
            .await
            .map_err(|error| no_relay(&error))?;
        let peer = |error: stunner_peer::CallError| Problem {
            is_refusal: error.is_refusal(),
            ..Problem::new(Hop::Peer, &error, error.hint())
        };
        let (offer, offered) = Caller::default().offer(gathered).map_err(peer)?;
        let answer = match answer(&offer).await {
            Ok(answer) => answer,
            Err(problem) => {
                offered.close().await;
                return Err(problem);
            }
        };
        let mut call = offered.accept(&answer, CONNECT).await.map_err(peer)?;
        let report = call.probe(&terms.probe, tell).await;
        call.close().await;
        report.map_err(|error| Problem::new(Hop::Media, &error, error.hint()))
    }
}

pub(super) fn no_relay(error: &GatherError) -> Problem {
    Problem::new(Hop::Gateway, error, error.hint())
}

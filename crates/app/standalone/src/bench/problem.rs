//! What is wrong, and what can be done about it.

use stunner_load::FailureKind;
use stunner_process::say;

use super::tally::Tally;

/// Why there is nothing to measure, or why what was measured is not well.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) what: String,
    pub(super) hint: String,
}

impl Problem {
    pub(super) fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Problem {
            what: what.into(),
            hint: hint.into(),
        }
    }

    pub(super) fn tell(&self) {
        say(&format!("error: {}\nhint: {}\n", self.what, self.hint));
    }
}

impl From<stunner_client::ClientError> for Problem {
    fn from(error: stunner_client::ClientError) -> Self {
        Problem::new(error.to_string(), error.hint())
    }
}

/// What is wrong with a measurement: sessions that failed, more loss in percent than allowed, or nothing at all.
pub(super) fn of(tally: &Tally, max_loss: Option<f64>, peer: &str) -> Vec<Problem> {
    let failures = tally.failures().into_iter().map(|failure| {
        let (failed, asked) = (failure.sessions, tally.asked);
        let what = format!("{failed} of {asked} sessions failed: {}", failure.what);
        Problem::new(what, hint(failure.kind, peer))
    });
    let mut problems: Vec<Problem> = failures.collect();
    let loss = tally.measured.loss() * 100.0;
    if max_loss.is_some_and(|most| loss > most) {
        problems.push(Problem::new(
            format!("{loss:.3} % of the packets were lost, more than --max-loss allows"),
            "try a lower --rate or fewer --sessions; --rate max shows what gets through at most",
        ));
    }
    // Where sessions failed, that says why. An interrupt does not, and no loss of nothing is no success.
    if tally.measured.total().sent == 0 && problems.is_empty() {
        problems.push(Problem::new(
            "nothing was measured: it ended before all sessions were there, or before a packet was due",
            "packets count once --ramp is over: shorten it, or give a longer --duration or a higher --rate",
        ));
    }
    problems
}

/// What can be done about sessions that failed.
fn hint(kind: FailureKind, peer: &str) -> String {
    match kind {
        FailureKind::Local => {
            "this machine is the limit: fewer sessions, or a higher `ulimit -n`".to_owned()
        }
        FailureKind::Connection => {
            "check address, transport and certificate; the server may limit connections per source"
                .to_owned()
        }
        FailureKind::Refused(403) => format!(
            "the server admits no peer at {peer}: add it to a route (a StaticService with its prefix), \
             or name another with --peer-address or --echo"
        ),
        FailureKind::Refused(401 | 441) => "check --username, --password or --secret".to_owned(),
        FailureKind::Refused(486) => {
            "the user's quota is used up: raise it, or ask for fewer sessions".to_owned()
        }
        FailureKind::Refused(508) => {
            "the server has no relay ports left, or is draining: look at its port range and status"
                .to_owned()
        }
        FailureKind::Refused(300) => "the server drains; load the other one".to_owned(),
        FailureKind::Refused(_) => "the server's log says more".to_owned(),
        FailureKind::Silence => {
            "a firewall, a rate limit of the server for one source, or too steep a --ramp"
                .to_owned()
        }
        FailureKind::NothingPasses => format!(
            "packets from the server do not reach {peer}: a firewall between them, or an address that only \
             this machine knows; see --peer-address and --echo"
        ),
        FailureKind::Lost => {
            "the server ended the session, or is gone itself; its log says why".to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use stunner_load::{Failure, Sample};

    use super::*;

    /// Two sessions, of which so many packets come back.
    fn tally(is_measured: bool, sent: u64, received: u64) -> Tally {
        let mut tally = Tally::new(2);
        let mut sample = Sample {
            is_measured,
            ready: 2,
            ..Sample::default()
        };
        sample.outcome.to_peer.sent = sent;
        sample.outcome.to_peer.received = received;
        tally.add(sample, Duration::from_secs(1));
        tally
    }

    #[track_caller]
    fn assert_one(problems: &[Problem], what: &str, hint: &str) {
        let [problem] = problems else {
            panic!("{problems:?}");
        };
        assert!(problem.what.contains(what), "{problem:?}");
        assert!(problem.hint.contains(hint), "{problem:?}");
    }

    #[test]
    fn loss_is_a_problem_above_the_bound_only() {
        let half = tally(true, 100, 50);
        assert_eq!(of(&half, None, "192.0.2.9"), []);
        assert_eq!(of(&half, Some(50.0), "192.0.2.9"), []);
        let problems = of(&half, Some(49.0), "192.0.2.9");
        assert_one(
            &problems,
            "50.000 % of the packets were lost",
            "lower --rate",
        );
    }

    #[test]
    fn what_ends_before_the_ramp_does_has_measured_nothing() {
        let connecting = tally(false, 100, 100);
        for max_loss in [None, Some(100.0)] {
            let problems = of(&connecting, max_loss, "192.0.2.9");
            assert_one(&problems, "nothing was measured", "--ramp");
        }
    }

    #[test]
    fn failed_sessions_say_themselves_why_nothing_was_measured() {
        let mut tally = tally(false, 0, 0);
        let sample = Sample {
            failures: vec![Failure {
                what: "the server refuses ChannelBind with 403".to_owned(),
                kind: FailureKind::Refused(403),
                sessions: 2,
            }],
            ..Sample::default()
        };
        tally.add(sample, Duration::from_secs(1));
        let problems = of(&tally, Some(0.0), "192.0.2.9");
        assert_one(&problems, "2 of 2 sessions failed", "192.0.2.9");
    }
}

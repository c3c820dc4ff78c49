//! What is told of the calls, to people and to programs.

use std::fmt::Write;
use std::time::Duration;

use serde_json::{Value, json};
use stunner_peer::Report;

use super::call::{Run, Verdict};
use crate::failure::Failure;

/// Everything, for programs.
pub(super) fn value(runs: &[Run], stopped_by: Option<&Failure>) -> Value {
    let mut value = json!({
        "passed": stopped_by.is_none() && is_good(runs),
        "runs": runs.iter().map(run_value).collect::<Vec<_>>(),
    });
    if let Some(failure) = stopped_by {
        value["error"] = json!(failure.to_string());
        value["hint"] = json!(failure.hint().unwrap_or_default());
    }
    value
}

/// Whether no call failed or is missing, and one was made.
pub(super) fn is_good(runs: &[Run]) -> bool {
    let failed = |run: &Run| matches!(run.verdict, Verdict::Failed(..) | Verdict::NotRun);
    let passed = |run: &Run| matches!(run.verdict, Verdict::Passed(_));
    runs.iter().any(passed) && !runs.iter().any(failed)
}

fn run_value(run: &Run) -> Value {
    let mut value = json!({
        "test": run.call.kind.as_str(),
        "transport": run.call.transport.to_string().to_lowercase(),
        "server": run.call.url(),
    });
    if let Some(listener) = &run.call.listener {
        value["listener"] = json!(listener);
    }
    let report = match &run.verdict {
        Verdict::Passed(report) => {
            value["result"] = json!("passed");
            Some(report)
        }
        Verdict::Failed(problem, report) => {
            value["result"] = json!("failed");
            value["hop"] = json!(problem.hop.as_str());
            value["error"] = json!(problem.error);
            value["hint"] = json!(problem.hint);
            report.as_ref()
        }
        Verdict::Skipped(why) => {
            value["result"] = json!("skipped");
            value["reason"] = json!(why);
            None
        }
        Verdict::NotRun => {
            value["result"] = json!("notRun");
            None
        }
    };
    if let Some(report) = report {
        statistics(&mut value, report);
    }
    value
}

fn statistics(value: &mut Value, report: &Report) {
    value["sent"] = json!(report.sent);
    value["received"] = json!(report.received);
    value["loss"] = json!(report.loss());
    value["packetsPerSecond"] = json!((report.rate() * 10.0).round() / 10.0);
    if let Some(times) = &report.round_trips {
        value["roundTripMs"] = json!({
            "mean": ms(times.mean), "median": ms(times.median), "p95": ms(times.p95), "p99": ms(times.p99),
            "min": ms(times.min), "max": ms(times.max),
        });
    }
    let selected = report.selected;
    let local = report.local.iter().map(|candidate| {
        json!({
            "type": candidate.kind.as_str(),
            "address": candidate.address.to_string(),
            "selected": selected.is_some_and(|pair| pair.local == candidate.address),
        })
    });
    let remote = report.remote.iter().map(|candidate| {
        json!({
            "type": candidate.kind.as_str(),
            "address": candidate.address.to_string(),
            "selected": selected.is_some_and(|pair| pair.remote == candidate.address),
        })
    });
    value["candidates"] = json!({
        "local": local.collect::<Vec<_>>(),
        "remote": remote.collect::<Vec<_>>(),
    });
}

/// To the microsecond, which is finer than anybody needs.
fn ms(time: Duration) -> f64 {
    time.as_micros() as f64 / 1000.0
}

/// Everything, for people.
pub(super) fn text(runs: &[Run]) -> String {
    let mut text = String::new();
    for run in runs {
        // Writing to a String cannot fail.
        let _ = describe(&mut text, run);
    }
    let count =
        |wanted: fn(&Verdict) -> bool| runs.iter().filter(|run| wanted(&run.verdict)).count();
    let passed = count(|verdict| matches!(verdict, Verdict::Passed(_)));
    let failed = count(|verdict| matches!(verdict, Verdict::Failed(..)));
    let skipped = count(|verdict| matches!(verdict, Verdict::Skipped(_)));
    let not_run = count(|verdict| matches!(verdict, Verdict::NotRun));
    let _ = write!(text, "{passed} passed, {failed} failed");
    if skipped > 0 {
        let _ = write!(text, ", {skipped} not possible here");
    }
    if not_run > 0 {
        let _ = write!(text, ", {not_run} not run");
    }
    text.push('\n');
    text
}

fn describe(text: &mut String, run: &Run) -> std::fmt::Result {
    let call = &run.call;
    let via = call.listener.as_deref().unwrap_or(call.url());
    let name = format!("{} over {} ({via})", call.kind, call.transport);
    let report = match &run.verdict {
        Verdict::Passed(report) => {
            writeln!(text, "{name}: passed")?;
            Some(report)
        }
        Verdict::Failed(problem, report) => {
            writeln!(text, "{name}: FAILED at the hop `{}`", problem.hop.as_str())?;
            writeln!(text, "  error: {}", problem.error)?;
            if !problem.hint.is_empty() {
                writeln!(text, "  hint: {}", problem.hint)?;
            }
            report.as_ref()
        }
        Verdict::Skipped(why) => return writeln!(text, "{name}: not possible here\n  {why}"),
        Verdict::NotRun => return writeln!(text, "{name}: not run"),
    };
    let Some(report) = report else { return Ok(()) };
    writeln!(
        text,
        "  packets: {} sent, {} back, {:.2} % lost, {:.1}/s",
        report.sent,
        report.received,
        report.loss() * 100.0,
        report.rate()
    )?;
    if let Some(times) = &report.round_trips {
        writeln!(
            text,
            "  round trip: mean {:.2} ms, median {:.2} ms, p95 {:.2} ms, p99 {:.2} ms",
            ms(times.mean),
            ms(times.median),
            ms(times.p95),
            ms(times.p99)
        )?;
    }
    let star = |is_selected: bool| if is_selected { '*' } else { ' ' };
    for candidate in &report.local {
        let is_selected = report
            .selected
            .is_some_and(|pair| pair.local == candidate.address);
        writeln!(
            text,
            "  {} here {} {}",
            star(is_selected),
            candidate.kind,
            candidate.address
        )?;
    }
    for candidate in &report.remote {
        let is_selected = report
            .selected
            .is_some_and(|pair| pair.remote == candidate.address);
        writeln!(
            text,
            "  {} there {} {}",
            star(is_selected),
            candidate.kind,
            candidate.address
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use stunner_client::ServerTransport;
    use stunner_peer::{
        CandidateKind, IceServer, LocalCandidate, Pair, RemoteCandidate, RoundTrips,
    };

    use super::super::call::{Call, Hop, Kind, Problem};
    use super::*;

    fn call(kind: Kind) -> Call {
        Call {
            kind,
            transport: ServerTransport::Tls,
            listener: None,
            server: IceServer {
                urls: vec!["turns:192.0.2.1:443?transport=tcp".to_owned()],
                username: "user".to_owned(),
                credential: "hidden".to_owned(),
            },
        }
    }

    fn runs() -> Vec<Run> {
        let (local, remote) = ("192.0.2.1:50000", "10.0.0.7:4000");
        let pair = Pair {
            local: local.parse().expect("an address"),
            remote: remote.parse().expect("an address"),
        };
        let time = Duration::from_micros(1500);
        let report = Report {
            sent: 100,
            received: 99,
            elapsed: Duration::from_secs(2),
            round_trips: Some(RoundTrips {
                mean: time,
                median: time,
                p95: time,
                p99: time,
                min: time,
                max: time,
            }),
            local: vec![LocalCandidate {
                kind: CandidateKind::Relay,
                address: pair.local,
                server: None,
            }],
            remote: vec![RemoteCandidate {
                kind: CandidateKind::Host,
                address: pair.remote,
            }],
            selected: Some(pair),
        };
        let problem = Problem::new(
            Hop::Peer,
            "no pair of candidates answers",
            "open the firewall",
        );
        vec![
            Run {
                call: call(Kind::Asymmetric),
                verdict: Verdict::Passed(report),
            },
            Run {
                call: call(Kind::Symmetric),
                verdict: Verdict::Failed(problem, None),
            },
            Run {
                call: call(Kind::Symmetric),
                verdict: Verdict::Skipped("the guest reaches the echo peer only".to_owned()),
            },
        ]
    }

    #[test]
    fn people_read_numbers_candidates_and_what_to_do() {
        assert_eq!(
            text(&runs()),
            "asymmetric over TLS (turns:192.0.2.1:443?transport=tcp): passed\n\
             \x20 packets: 100 sent, 99 back, 1.00 % lost, 49.5/s\n\
             \x20 round trip: mean 1.50 ms, median 1.50 ms, p95 1.50 ms, p99 1.50 ms\n\
             \x20 * here relay 192.0.2.1:50000\n\
             \x20 * there host 10.0.0.7:4000\n\
             symmetric over TLS (turns:192.0.2.1:443?transport=tcp): FAILED at the hop `peer`\n\
             \x20 error: no pair of candidates answers\n\
             \x20 hint: open the firewall\n\
             symmetric over TLS (turns:192.0.2.1:443?transport=tcp): not possible here\n\
             \x20 the guest reaches the echo peer only\n\
             1 passed, 1 failed, 1 not possible here\n"
        );
    }

    #[test]
    fn programs_get_all_of_it_and_no_secret() {
        let value = value(&runs(), None);
        assert_eq!(value["passed"], false);
        assert_eq!(value["runs"][0]["roundTripMs"]["p99"], 1.5);
        assert_eq!(
            value["runs"][0]["candidates"]["remote"][0]["selected"],
            true
        );
        assert_eq!(value["runs"][1]["hop"], "peer");
        assert_eq!(value["runs"][2]["result"], "skipped");
        assert!(!value.to_string().contains("hidden"));
    }

    #[test]
    fn what_is_not_possible_is_no_failure_and_no_success() {
        let all = runs();
        assert!(is_good(&[all[0].clone(), all[2].clone()]));
        assert!(!is_good(&all));
        assert!(!is_good(&all[2..]));
    }
}

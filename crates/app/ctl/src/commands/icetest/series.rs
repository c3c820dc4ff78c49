//! Several calls, one after another, within the time there is.

use std::time::Duration;

use futures_util::FutureExt;
use stunner_process::Signals;

use super::call::{Call, Run, Terms, Verdict};
use super::far_end::FarEnd;
use crate::failure::Failure;
use crate::output::Output;

/// How often it is told how far a call is.
const TELL: Duration = Duration::from_secs(5);

/// Makes one call to a far end and tells of it.
pub(super) async fn call(call: Call, far_end: &FarEnd, terms: &Terms, out: &mut Output<'_>) -> Run {
    let name = format!("{} ICE test over {}", call.kind, call.transport);
    out.note(&format!(
        "Running {name} ({} s)...",
        terms.probe.duration.as_secs_f32()
    ));
    let mut held = None;
    let mut told = Duration::ZERO;
    let verdict = call
        .make(
            terms,
            async |offer| {
                let (answer, kept) = far_end.answer(&call, offer).await?;
                held = Some(kept);
                Ok(answer)
            },
            |progress| {
                if progress.elapsed >= told + TELL {
                    told = progress.elapsed;
                    out.note(&format!(
                        "  {:>3} s: {} packets sent, {} back",
                        told.as_secs(),
                        progress.sent,
                        progress.received
                    ));
                }
            },
        )
        .await;
    if let Some(held) = held {
        far_end.end(held).await;
    }
    out.note(&match &verdict {
        Verdict::Passed(_) => format!("Running {name}... completed"),
        Verdict::Failed(problem, _) => format!("Running {name}... failed: {}", problem.error),
        Verdict::Skipped(why) => format!("Running {name}... not possible: {why}"),
        Verdict::NotRun => format!("Running {name}... not run"),
    });
    Run { call, verdict }
}

pub(super) fn signals() -> Result<Signals, Failure> {
    Signals::listen().map_err(|error| {
        Failure::new(
            format!("cannot wait for signals: {error}"),
            "look at the limits of this process",
        )
    })
}

/// Waits for a signal after those that have come.
pub(super) async fn next(signals: &Signals) {
    match signals.at_least(1).now_or_never() {
        Some(()) => signals.at_least(2).await,
        None => signals.at_least(1).await,
    }
}

/// Does something until it is done, its time is over, or the user has had enough.
pub(super) async fn within<T>(
    timeout: Duration,
    signals: &Signals,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    tokio::select! {
        done = tokio::time::timeout(timeout, work) => done.unwrap_or_else(|_| Err(Failure::new(
            format!("the test is not done after {} s", timeout.as_secs()),
            "give it longer with --timeout, or let each call send for less with --duration",
        ))),
        () = signals.at_least(1) => Err(Failure::Problem { error: "interrupted".into(), hint: None }),
    }
}

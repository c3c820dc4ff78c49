//! The program at work.

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use stunner_flags::{EXIT_PROBLEM, report};
use stunner_http::HttpServer;
use stunner_process::{Signals, block_on, say};
use stunner_telemetry::logging::{Format, init_on};
use tokio::runtime::Builder;

use super::Options;
use crate::whip::Whip;

/// How long TURN servers may take to release allocations at the end.
const GOODBYE: Duration = Duration::from_secs(3);

pub(super) fn fail(error: &dyn Error, hint: &str) -> ExitCode {
    say(&report(error, Some(hint)));
    ExitCode::from(EXIT_PROBLEM)
}

pub(super) fn run(options: Options) -> ExitCode {
    let log = init_on(Format::Text, &options.log, std::io::stderr());
    let runtime = &mut Builder::new_multi_thread();
    let code = block_on(runtime.worker_threads(2), serve(options))
        .unwrap_or_else(|error| fail(&error, "look at the limits of processes and memory"));
    if let Ok(log) = log {
        log.flush(Duration::from_secs(1));
    }
    code
}

async fn serve(options: Options) -> ExitCode {
    let Ok(signals) = Signals::listen() else {
        return ExitCode::from(EXIT_PROBLEM);
    };
    let hint = "is it in use? give another one with --addr";
    let bound = match HttpServer::bind(&options.address) {
        Ok(bound) => bound,
        Err(error) => return fail(&NotListening(options.address.to_string(), error), hint),
    };
    if options.settings.bearer_token.is_empty() {
        tracing::warn!(
            scope = "icetester",
            "BEARER_TOKEN is not set: everybody who reaches this port may call"
        );
    }
    let whip = Whip::new(options.settings, options.max_sessions, options.insecure);
    let whip = whip.at(&options.address);
    let address = bound.local_addr();
    let running = match bound.serve(whip.router()) {
        Ok(running) => running,
        Err(error) => return fail(&NotListening(options.address.to_string(), error), hint),
    };
    if let Ok(address) = address {
        // To standard error, where the log is: what waits for it needs no log level.
        let endpoint = whip.endpoint();
        say(&format!(
            "icetester: listening at http://{address}{endpoint}\n"
        ));
    }
    signals.at_least(1).await;
    running.stop().await;
    let _ = tokio::time::timeout(GOODBYE, whip.hang_up()).await;
    ExitCode::SUCCESS
}

#[derive(Debug, thiserror::Error)]
#[error("cannot listen at `{0}`")]
struct NotListening(String, #[source] std::io::Error);

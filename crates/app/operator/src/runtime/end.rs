//! The end: within ten seconds of the signal, whatever the API server does.

use std::time::Duration;

use crate::cds::RunningServers;
use crate::cli::Options;
use crate::engine::Engine;
use crate::lease::Leadership;

/// For writes under way, or for the last statuses.
const WRITE_PATIENCE: Duration = Duration::from_secs(5);

pub(super) async fn end(
    options: &Options,
    mut engine: Engine,
    leadership: Leadership,
    servers: Option<RunningServers>,
) {
    let last_words = async {
        if options.enable_finalizer {
            engine.farewell(options.finalizer_delete).await;
        } else {
            engine.settle().await;
        }
    };
    if tokio::time::timeout(WRITE_PATIENCE, last_words)
        .await
        .is_err()
    {
        tracing::warn!(
            scope = "operator",
            "not everything was written before the end"
        );
    }
    // Nothing is written any more once the lease is given up.
    drop(engine);
    let stop_serving = async {
        if let Some(servers) = servers {
            servers.stop().await;
        }
    };
    tokio::join!(leadership.resign(), stop_serving);
}

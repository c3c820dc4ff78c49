//! Standard input and output as the one client.

use std::sync::Arc;

use tokio::sync::watch;

use super::streams::read_into;
use crate::tunnel::{Origin, Outlet, Route, Session, SessionError, inbox};

/// Returns when the input has ended and no more answers come, or when told to stop.
pub(super) async fn serve(
    route: Arc<Route>,
    stop: watch::Receiver<bool>,
) -> Result<(), SessionError> {
    let (queue, inbox) = inbox();
    let session = Session {
        route,
        client: "standard input".to_owned(),
        origin: Origin::Stdio,
        inbox,
        outlet: Outlet::stream(Box::new(tokio::io::stdout())),
    };
    let reading = tokio::spawn(read_into(tokio::io::stdin(), queue));
    let ended = session.run(stop).await;
    reading.abort();
    ended.map(drop)
}

//! The stream of ticks: a number each time there is something new to ask for.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use futures_util::stream;
use tokio::sync::{OwnedSemaphorePermit, watch};

/// Proxies and browsers give up on a silent stream.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Server-sent events named `state`, whose data is the generation. Nothing else is in them, so they need no token,
/// which an `EventSource` could not send.
///
/// `place` is held for as long as the stream is open.
pub(crate) fn stream_of(
    mut changed: watch::Receiver<u64>,
    place: OwnedSemaphorePermit,
) -> Response {
    // The first tick comes at once and tells the page that it is subscribed.
    changed.mark_changed();
    let chunks = stream::unfold((changed, place), |(mut changed, place)| async {
        let chunk = match tokio::time::timeout(KEEP_ALIVE, changed.changed()).await {
            Ok(Ok(())) => {
                let generation = *changed.borrow_and_update();
                format!("event: state\ndata: {generation}\n\n")
            }
            // The source is gone, and with it the program.
            Ok(Err(_)) => return None,
            Err(_) => ": still here\n\n".to_owned(),
        };
        Some((Ok::<_, Infallible>(chunk), (changed, place)))
    });
    let mut response = Response::new(Body::from_stream(chunks));
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/event-stream"),
    );
    response
}

//! The event stream: one JSON object per line, or server-sent events for a browser.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use futures_util::stream;
use tokio::sync::broadcast::{Receiver, error::RecvError};

use super::respond;
use super::{Event, EventKind};

/// Proxies and browsers give up on a silent stream.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    Lines,
    ServerSent,
}

pub(super) fn stream_of(events: Receiver<Event>, headers: &HeaderMap) -> Response {
    let accept = headers
        .get(header::ACCEPT)
        .and_then(|accept| accept.to_str().ok())
        .unwrap_or_default();
    let (framing, content_type) = if accept.contains("text/event-stream") {
        (Framing::ServerSent, "text/event-stream")
    } else {
        (Framing::Lines, "application/x-ndjson")
    };
    let chunks = stream::unfold((events, true), move |(mut events, first)| async move {
        let chunk = match (first, framing) {
            // Something to send at once tells the client that it is subscribed.
            (true, Framing::ServerSent) => ": connected\n\n".to_owned(),
            _ => next_chunk(&mut events, framing).await?,
        };
        Some((Ok::<_, Infallible>(chunk), (events, false)))
    });
    let mut response = respond(StatusCode::OK, content_type, Body::from_stream(chunks));
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

async fn next_chunk(events: &mut Receiver<Event>, framing: Framing) -> Option<String> {
    let event = match tokio::time::timeout(KEEP_ALIVE, events.recv()).await {
        Ok(Ok(event)) => event,
        Ok(Err(RecvError::Lagged(missed))) => Event::now(EventKind::Lagged { missed }),
        Ok(Err(RecvError::Closed)) => return None,
        Err(_) => {
            return Some(
                if framing == Framing::ServerSent {
                    ": still here\n\n"
                } else {
                    "\n"
                }
                .to_owned(),
            );
        }
    };
    let text = serde_json::to_string(&event).unwrap_or_default();
    Some(match framing {
        Framing::Lines => text + "\n",
        Framing::ServerSent => format!("data: {text}\n\n"),
    })
}

#[cfg(test)]
pub(super) async fn next_line(events: &mut Receiver<Event>) -> Option<String> {
    next_chunk(events, Framing::Lines).await
}

//! Who answers the console's questions.

use std::fmt;

use axum::http::StatusCode;
use futures_util::future::BoxFuture;
use tokio::sync::watch;

use crate::{IceTest, Refusal, State};

/// The program behind a console.
pub trait Source: Send + Sync + 'static {
    fn state<'a>(&'a self, visitor: &'a Visitor) -> BoxFuture<'a, State>;

    /// A number that grows when manifests or conditions have changed. Traffic is no change: the page polls for it.
    fn changed(&self) -> watch::Receiver<u64>;

    /// Mints a credential for one minute, for one listener, that reaches the echo peer and nothing else.
    /// `gateway` is `namespace/name`, `listener` the name of one of its listeners.
    fn start_ice_test<'a>(
        &'a self,
        visitor: &'a Visitor,
        gateway: String,
        listener: String,
    ) -> BoxFuture<'a, Result<IceTest, Refusal>>;

    /// The echo peer's answer to the browser's offer, both SDP.
    fn answer_ice_test<'a>(
        &'a self,
        visitor: &'a Visitor,
        id: String,
        offer: String,
    ) -> BoxFuture<'a, Result<String, Refusal>>;

    /// Frees the echo peer before its time. Ending a test that has ended is fine.
    fn end_ice_test<'a>(
        &'a self,
        visitor: &'a Visitor,
        id: String,
    ) -> BoxFuture<'a, Result<(), Refusal>>;

    /// Ends an allocation. Those who can also say so in [`Live::can_end_sessions`](crate::Live::can_end_sessions).
    fn end_session<'a>(
        &'a self,
        _visitor: &'a Visitor,
        _id: String,
    ) -> BoxFuture<'a, Result<(), Refusal>> {
        Box::pin(async {
            Err(Refusal::new(
                StatusCode::NOT_IMPLEMENTED,
                "allocations cannot be ended from here",
                "use the admin API of the dataplane: DELETE /api/v1/sessions/ID",
            ))
        })
    }
}

/// Who asks.
#[derive(Clone, Default)]
pub struct Visitor {
    /// The bearer token that the visitor typed into the page. What the operator does for the visitor it does with this,
    /// never with rights of its own.
    pub token: Option<String>,
}

impl fmt::Debug for Visitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Visitor")
            .field("token", &self.token.as_ref().map(|_| "…"))
            .finish()
    }
}

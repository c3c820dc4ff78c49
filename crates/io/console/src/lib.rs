//! The web console: one page, and the API behind it.
//!
//! **What it is.** A router with the page at `/`, everything the page shows at `GET /api/v1/state`, a stream of ticks
//! that say when to ask again, and the requests of the ICE test. It is served on loopback unless the user says
//! otherwise, and guarded against other web sites and DNS rebinding.
//!
//! **What it is not.** It knows neither Kubernetes nor dataplanes: whoever serves it (the standalone gateway, the
//! operator) answers its questions as a [`Source`]. It holds no secret, and none passes through it but the one-minute
//! credential of an ICE test.
//!
//! The central types are [`Source`], the [`State`] that it answers with, and [`Refusal`].

#![forbid(unsafe_code)]

mod answer;
mod events;
mod model;
mod page;
mod server;
mod source;

pub use answer::Refusal;
pub use model::{
    Denial, IceServer, IceTest, Live, LiveCluster, LiveGateway, LiveListener, Mode, Note, Phase,
    Problem, Session, State, Token, Traffic, Volume,
};
pub use server::router;
pub use source::{Source, Visitor};
pub use stunner_http::HostNames;

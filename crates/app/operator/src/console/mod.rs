//! The web console of the operator: the hierarchy of Gateways from the engine, and what their dataplanes say by the API
//! server, with the visitor's own token.
//!
//! The operator lends nobody its rights. Without a token the page shows what the operator knows anyway, and only to
//! those who reach its loopback address; metrics come by the API server's pod proxy and the admin APIs by
//! port-forward, both as the visitor. A console that strangers can reach shows nothing without a token that may list
//! Gateways.

mod admin;
mod guest;
mod ice;
mod live;
mod metrics;
mod place;
mod pods;
mod source;
mod tunnel;
mod world;

use std::sync::Arc;

use axum::Router;
use kube::Config;
use stunner_console::HostNames;
use stunner_http::{BindAddress, Bound, HttpServer};
use tokio::sync::{mpsc, oneshot, watch};

use self::source::Operator;
use crate::engine::Sight;

/// Visitors who may wait for the engine's answer; more wait to be let in.
const ONLOOKERS: usize = 8;

/// A console that is bound and not served yet.
#[derive(Debug)]
pub struct Console {
    bound: Bound,
    names: HostNames,
    /// Not only on loopback.
    exposed: bool,
}

/// The engine's ends of what the console asks and hears.
#[derive(Debug)]
pub struct EngineEnds {
    pub onlookers: mpsc::Receiver<oneshot::Sender<Sight>>,
    pub generation: watch::Sender<u64>,
}

/// The console's ends.
#[derive(Debug)]
pub struct ConsoleEnds {
    engine: mpsc::Sender<oneshot::Sender<Sight>>,
    generation: watch::Receiver<u64>,
}

/// The way between engine and console, whether there is a console or not.
pub fn ends() -> (EngineEnds, ConsoleEnds) {
    let (engine, onlookers) = mpsc::channel(ONLOOKERS);
    let (sender, generation) = watch::channel(0);
    let engines = EngineEnds {
        onlookers,
        generation: sender,
    };
    (engines, ConsoleEnds { engine, generation })
}

impl Console {
    /// Opens the console's socket. One that cannot be opened is warned about: nothing else depends on it.
    pub fn bind(address: Option<&BindAddress>) -> Option<Console> {
        let address = address?;
        match HttpServer::bind(address) {
            Ok(bound) => {
                let local = bound.local_addr().ok();
                Some(Console {
                    bound,
                    names: HostNames::of(address),
                    exposed: !local.is_some_and(|local| local.ip().is_loopback()),
                })
            }
            Err(error) => {
                tracing::warn!(
                    scope = "console",
                    "there is no console: cannot listen at `{address}` of --console-address: {error}; \
                     give another address, or `off`"
                );
                None
            }
        }
    }

    /// Starts to serve. `config` tells the way to the API server; its credentials are not used.
    pub fn serve(
        self,
        config: &Config,
        namespaces: Vec<String>,
        ends: ConsoleEnds,
    ) -> std::io::Result<stunner_http::Running> {
        let Console {
            bound,
            names,
            exposed,
        } = self;
        let source = Operator::new(config, namespaces, exposed, ends);
        let router: Router = stunner_console::router(Arc::new(source), names);
        let running = bound.serve(router)?;
        match running.local_addr() {
            Ok(address) if exposed => tracing::info!(
                scope = "console",
                "the console is at http://{address}/, for those whose token may list Gateways"
            ),
            Ok(address) => tracing::info!(scope = "console", "the console is at http://{address}/"),
            Err(_) => {}
        }
        Ok(running)
    }
}

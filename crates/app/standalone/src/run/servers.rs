//! The HTTP servers beside the gateways: one of each kind, however many Gateways there are.

use std::io;
use std::sync::Arc;

use axum::Router;
use serde::Serialize;
use stunner_console::Source;
use stunner_dataplane::embed::{admin_router, health_router, metrics_router};
use stunner_http::{BindAddress, HostNames, HttpServer, Running};

use crate::cli::RunOptions;
use crate::local::Roster;

/// Where the servers are; `None` where one is off or could not be started.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Urls {
    pub console: Option<String>,
    pub health: Option<String>,
    pub metrics: Option<String>,
    pub admin: Option<String>,
}

/// A server that could not be started.
#[derive(Debug, thiserror::Error)]
#[error("no {what}: cannot listen on {address}: {cause}")]
pub struct NotServed {
    what: &'static str,
    flag: &'static str,
    address: BindAddress,
    cause: io::Error,
}

impl NotServed {
    /// The flag that would help.
    pub fn flag(&self) -> &'static str {
        self.flag
    }

    /// What to do about it.
    pub fn hint(&self) -> String {
        format!("choose another address with {}, or `off`", self.flag)
    }
}

#[derive(Debug, Default)]
pub struct Servers {
    running: Vec<Running>,
    pub urls: Urls,
    /// The gateways do without them.
    pub missing: Vec<NotServed>,
}

impl Servers {
    pub fn open(options: &RunOptions, roster: &Roster, source: Arc<dyn Source>) -> Servers {
        let mut servers = Servers::default();
        let admin = options.admin_address.map(BindAddress::from);
        servers.urls = Urls {
            health: servers.start(
                "health server",
                "--health-address",
                &options.health_address,
                |_| health_router(roster.serving()),
            ),
            metrics: servers
                .start(
                    "metrics server",
                    "--metrics-address",
                    &options.metrics_address,
                    |_| metrics_router(roster.all()),
                )
                .map(|url| format!("{url}/metrics")),
            admin: servers.start("admin API", "--admin-address", &admin, |_| {
                admin_router(roster.all())
            }),
            console: servers.start(
                "console",
                "--console-address",
                &options.console_address,
                |address| {
                    let names = HostNames::of(address).and(&options.console_hosts);
                    stunner_console::router(source, names)
                },
            ),
        };
        servers
    }

    fn start(
        &mut self,
        what: &'static str,
        flag: &'static str,
        address: &Option<BindAddress>,
        router: impl FnOnce(&BindAddress) -> Router,
    ) -> Option<String> {
        let address = address.as_ref()?;
        let served = HttpServer::bind(address).and_then(|bound| {
            let local = bound.local_addr()?;
            let running = bound.serve(router(address))?;
            Ok((local, running))
        });
        match served {
            Ok((local, running)) => {
                self.running.push(running);
                let host = match address {
                    BindAddress::Name { host, .. } => host.clone(),
                    // Every address is this one too.
                    _ if local.ip().is_unspecified() => "127.0.0.1".to_owned(),
                    _ if local.is_ipv6() => format!("[{}]", local.ip()),
                    _ => local.ip().to_string(),
                };
                Some(format!("http://{host}:{}", local.port()))
            }
            Err(cause) => {
                self.missing.push(NotServed {
                    what,
                    flag,
                    address: address.clone(),
                    cause,
                });
                None
            }
        }
    }

    pub async fn stop(self) {
        for server in self.running {
            server.stop().await;
        }
    }
}

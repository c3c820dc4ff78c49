//! Through the dataplanes of one process, such as a local `stunner run`, to the echo peer of their ICE tests.

use std::time::Duration;

use stunner_client::ServerTransport;
use stunner_cluster::{Admin, Http};

use super::call::{Call, Kind, Run, Verdict};
use super::far_end::{FarEnd, start};
use super::ledger::Ledger;
use super::{Options, direct, series};
use crate::cli::Globals;
use crate::failure::Failure;
use crate::output::Output;
use crate::output::document::transport;

/// An ICE test of a dataplane ends after two minutes; what it begins with has to fit too.
const LONGEST: Duration = Duration::from_secs(90);

/// A listener of the process.
#[derive(Debug, PartialEq, Eq)]
struct Listener {
    name: String,
    transport: ServerTransport,
}

pub(super) async fn run(
    address: &str,
    options: &Options,
    globals: &Globals,
    ledger: &Ledger,
    out: &mut Output<'_>,
) -> Result<(), Failure> {
    let admin = Admin::direct(address)?;
    let http = Http::new(admin.place().clone()).by("stunnerctl");
    let mut terms = options.terms;
    if terms.probe.duration > LONGEST {
        out.note(&format!(
            "each call sends for {} s: ICE tests of a dataplane end after two minutes",
            LONGEST.as_secs()
        ));
        terms.probe.duration = LONGEST;
    }
    out.note("Looking for listeners...");
    let statistics = admin.statistics().await?;
    let mut listeners = Vec::new();
    for gateway in &statistics.gateways {
        for listener in &gateway.listeners {
            listeners.extend(
                listener
                    .protocol
                    .as_deref()
                    .and_then(transport)
                    .map(|transport| Listener {
                        name: listener.name.clone(),
                        transport,
                    }),
            );
        }
    }
    let namespace = globals.namespace.as_deref();
    let listeners = choose(listeners, &options.transports, namespace)?;
    let call = |kind, listener: &Listener| Call {
        kind,
        transport: listener.transport,
        listener: Some(listener.name.clone()),
        server: nobody(),
    };
    let asymmetric: Vec<Call> = listeners
        .iter()
        .map(|listener| call(Kind::Asymmetric, listener))
        .collect();
    let symmetric: Vec<Call> = match &options.ice_servers {
        Some(servers) => direct::choose(servers, &options.transports)?
            .into_iter()
            .map(|(transport, server)| Call {
                kind: Kind::Symmetric,
                transport,
                listener: None,
                server,
            })
            .collect(),
        None => listeners
            .iter()
            .map(|listener| call(Kind::Symmetric, listener))
            .collect(),
    };
    ledger.plan(&asymmetric);
    ledger.plan(&symmetric);
    for (call, listener) in asymmetric.into_iter().zip(&listeners) {
        ledger.record(through_echo(&http, call, &listener.name, &terms, out).await);
    }
    for call in symmetric {
        ledger.record(match options.ice_servers {
            Some(_) => through_relays(call, &terms, out).await,
            None => no_credential(call),
        });
    }
    Ok(())
}

fn choose(
    mut listeners: Vec<Listener>,
    wanted: &[ServerTransport],
    namespace: Option<&str>,
) -> Result<Vec<Listener>, Failure> {
    let all: Vec<&str> = listeners
        .iter()
        .map(|listener| listener.name.as_str())
        .collect();
    let there_are = match all.is_empty() {
        true => "it has no listeners; look at the conditions of its Gateways".to_owned(),
        false => format!("there are: {}", all.join(", ")),
    };
    listeners.retain(|listener| {
        let is_there =
            namespace.is_none_or(|wanted| listener.name.split('/').next() == Some(wanted));
        is_there && (wanted.is_empty() || wanted.contains(&listener.transport))
    });
    for transport in wanted {
        if !listeners
            .iter()
            .any(|listener| listener.transport == *transport)
        {
            return Err(Failure::new(
                format!("no listener speaks {transport}"),
                there_are,
            ));
        }
    }
    match listeners.is_empty() {
        true => Err(Failure::new("there is no listener to test", there_are)),
        false => Ok(listeners),
    }
}

/// With a credential that the dataplane makes for the test, and that reaches its echo peer and nothing else.
async fn through_echo(
    admin: &Http,
    mut call: Call,
    listener: &str,
    terms: &super::Terms,
    out: &mut Output<'_>,
) -> Run {
    let started = match start(admin, listener).await {
        Ok(started) => started,
        Err(problem) => {
            return Run {
                call,
                verdict: Verdict::Failed(problem, None),
            };
        }
    };
    let far_end = FarEnd::Echo {
        admin: admin.clone(),
        id: started.id,
    };
    if let Some(server) = started.ice_servers.into_iter().next() {
        call.server = server;
    }
    let run = series::call(call, &far_end, terms, out).await;
    // The gateway forgets the credential with the test, also where there was no call.
    far_end.end(super::far_end::Held::Nothing).await;
    run
}

fn nobody() -> stunner_peer::IceServer {
    stunner_peer::IceServer {
        urls: Vec::new(),
        username: String::new(),
        credential: String::new(),
    }
}

/// The credential of an ICE test does not reach other relays.
fn no_credential(call: Call) -> Run {
    let why = "the credential of a dataplane's ICE test reaches its echo peer and no other relay; give one of \
               your own with --ice-servers, for a listener with a route that admits the gateway's relay address";
    Run {
        call,
        verdict: Verdict::Skipped(why.to_owned()),
    }
}

/// Where the user gives a credential that may, and the routes admit relays, both ends go through the gateway.
async fn through_relays(call: Call, terms: &super::Terms, out: &mut Output<'_>) -> Run {
    let far_end = FarEnd::Here {
        insecure: terms.insecure,
    };
    let mut run = series::call(call, &far_end, terms, out).await;
    if let Verdict::Failed(problem, _) = &run.verdict
        && problem.is_refusal
    {
        let why = format!(
            "no route admits the gateway's relay address: {}",
            problem.hint
        );
        run.verdict = Verdict::Skipped(why);
    }
    run
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listeners() -> Vec<Listener> {
        ["TURN-UDP", "TURN-DTLS", "turn-tcp"]
            .iter()
            .filter_map(|protocol| {
                Some(Listener {
                    name: format!("ns/gw/{}", protocol.to_lowercase()),
                    transport: transport(protocol)?,
                })
            })
            .collect()
    }

    #[test]
    fn listeners_are_chosen_by_transport_and_namespace() {
        assert_eq!(choose(listeners(), &[], None).expect("all").len(), 3);
        let dtls = choose(listeners(), &[ServerTransport::Dtls], Some("ns")).expect("one");
        assert_eq!(dtls[0].name, "ns/gw/turn-dtls");
        let error = choose(listeners(), &[ServerTransport::Tls], None).expect_err("none");
        assert!(
            error.report().contains("there are: ns/gw/turn-udp"),
            "{}",
            error.report()
        );
        assert!(choose(listeners(), &[], Some("other")).is_err());
        assert!(choose(Vec::new(), &[], None).is_err());
    }
}

//! Servers that have nothing to do with a cluster: any TURN server, and a local `stunner run`.

use serde_json::Value;
use stunner_api::names::port;
use stunner_cluster::Place;
use stunner_config::Protocol;

use super::finding::{Finding, Hop};
use super::gather::{Network, now, status, uri_trial};
use super::judge::trials;
use super::options::Options;
use super::walk::Walk;
use crate::failure::Failure;

pub(super) async fn walks(options: &Options) -> Result<Vec<Walk>, Failure> {
    let network = options.network();
    let servers = options.servers()?;
    let mut walks = Vec::new();
    if let Some(admin) = &options.admin {
        walks.push(local(admin, &network, options.listener.as_deref()).await?);
    }
    for uri in &servers {
        let trial = uri_trial(&network, uri).await;
        walks.push(Walk {
            title: format!("Server {uri}"),
            findings: trials(&[trial], now(), None),
        });
    }
    Ok(walks)
}

/// What a dataplane beside its admin API says about its listeners, each of them tried.
async fn local(admin: &str, network: &Network, only: Option<&str>) -> Result<Walk, Failure> {
    let place = Place::direct(admin, port::ADMIN).map_err(super::in_the_way)?;
    let health = place.with_port(port::HEALTH);
    let title = format!("Server {}", place.authority());
    let documents = match status(health.clone()).await {
        super::facts::Asked::Known(Value::Array(documents)) => documents,
        super::facts::Asked::Known(document) => vec![document],
        super::facts::Asked::Failed(why) => {
            return Ok(Walk {
                title,
                findings: vec![
                    Finding::dead(Hop::Pods, format!("nobody answers at {}", health.authority()))
                        .why(why)
                        .hint("see whether `stunner run` or `stunnerd` runs there, with health checks on port 8086"),
                ],
            });
        }
        _ => Vec::new(),
    };
    let mut findings = vec![Finding::ok(
        Hop::Pods,
        format!("a dataplane answers at {}", health.authority()),
    )];
    let mut tried = Vec::new();
    for listener in documents.iter().flat_map(|document| listeners(document)) {
        if only.is_some_and(|only| {
            listener.name != only && !listener.name.ends_with(&format!("/{only}"))
        }) {
            continue;
        }
        findings.push(Finding::ok(
            Hop::Listener,
            format!(
                "listener `{}`: {} on port {}",
                listener.name, listener.protocol, listener.port
            ),
        ));
        tried.push(
            network
                .trial(
                    &listener.name,
                    listener.protocol,
                    &listener.host,
                    listener.port,
                    None,
                    None,
                )
                .await,
        );
    }
    if tried.is_empty() {
        findings.push(
            Finding::dead(Hop::Listener, "the dataplane has no listeners")
                .why("nothing opens a port for clients")
                .hint("see what it said when it started: `stunner check` finds what is wrong with a folder"),
        );
    }
    findings.sort_by_key(|finding| finding.hop);
    findings.extend(trials(&tried, now(), None));
    Ok(Walk { title, findings })
}

struct Listener {
    name: String,
    protocol: Protocol,
    host: String,
    port: u16,
}

fn listeners(document: &Value) -> Vec<Listener> {
    let listed = document["listeners"].as_array();
    listed.into_iter().flatten().filter_map(listener).collect()
}

fn listener(value: &Value) -> Option<Listener> {
    let text = |key: &str| value[key].as_str().filter(|text| !text.is_empty());
    let number = |key: &str| u16::try_from(value[key].as_u64()?).ok();
    let address = text("address").and_then(|list| list.split(',').next());
    // A wildcard is everywhere, this machine included.
    let address = address.filter(|address| !["0.0.0.0", "::", "[::]"].contains(address));
    Some(Listener {
        name: text("name")?.to_owned(),
        protocol: stunner_translate::listener_protocol(text("protocol")?)?,
        host: text("public_address")
            .or(address)
            .unwrap_or("127.0.0.1")
            .to_owned(),
        port: number("public_port")
            .filter(|&port| port > 0)
            .or_else(|| number("port"))?,
    })
}

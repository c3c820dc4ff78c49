//! Servers that have nothing to do with a cluster: any TURN server, and a local `stunner run`.

use serde_json::Value;
use stunner_cluster::{Admin, GatewayStatistics};
use stunner_config::Protocol;

use super::finding::{Finding, Hop};
use super::gather::{Network, now, uri_trial};
use super::judge::trials;
use super::options::Options;
use super::walk::Walk;
use crate::cli::Globals;
use crate::dataplanes::Wanted;
use crate::failure::Failure;

pub(super) async fn walks(options: &Options, globals: &Globals) -> Result<Vec<Walk>, Failure> {
    let network = options.network();
    let servers = options.servers()?;
    let mut walks = Vec::new();
    if let Some(admin) = &options.admin {
        let wanted = Wanted::read(
            options.gateway.as_deref(),
            globals.namespace.as_deref(),
            globals.all_namespaces,
        )?;
        walks.push(local(admin, options, &wanted, &network).await?);
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

/// A dataplane by its admin API: whether it serves, and each of its listeners tried.
async fn local(
    address: &str,
    options: &Options,
    wanted: &Wanted,
    network: &Network,
) -> Result<Walk, Failure> {
    let admin = Admin::direct(address).map_err(super::in_the_way)?;
    let admin = admin.with_health(options.health_port);
    let authority = admin.place().authority();
    let mut walk = Walk {
        title: format!("Server {authority}"),
        findings: Vec::new(),
    };
    let gateways = match admin.statistics().await {
        Ok(statistics) => statistics.gateways,
        Err(error) => {
            let dead = Finding::dead(Hop::Pods, format!("no admin API answers at {authority}"))
                .why(error.to_string())
                .hint("see whether `stunner run` or `stunnerd` runs there; its `--admin-address` must be this one");
            walk.findings.push(dead);
            return Ok(walk);
        }
    };
    // One that is named is the one that is meant, as are those of a namespace.
    if options.gateway.is_some() {
        let served: Vec<String> = gateways.iter().map(|it| it.gateway.clone()).collect();
        wanted.among(&authority, &served)?;
    }
    let is_meant = |gateway: &str| !gateway.contains('/') || wanted.covers(gateway);
    let gateways = gateways.iter().filter(|it| is_meant(&it.gateway));
    walk.findings.extend(gateways.map(gateway));
    let documents = match admin.status().await {
        Ok(documents) => documents,
        Err(error) => {
            let skipped = Finding::skipped(
                Hop::Listener,
                "the addresses of the listeners are not known",
            )
            .why(error.to_string())
            .hint(
                "say where the status page is with `--health-port`, or what to try with `--turn`",
            );
            walk.findings.push(skipped);
            return Ok(walk);
        }
    };
    let mut tried = Vec::new();
    for listener in documents.iter().flat_map(listeners) {
        if !wanted.covers_listener(&listener.name) {
            continue;
        }
        let is_wanted =
            |only: &String| listener.name == *only || listener.name.ends_with(&format!("/{only}"));
        if !options.listener.as_ref().is_none_or(is_wanted) {
            continue;
        }
        walk.findings.push(Finding::ok(
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
        walk.findings.push(match &options.listener {
            Some(only) => Finding::dead(Hop::Listener, format!("there is no listener `{only}`"))
                .hint("leave `--listener` out to see all of them"),
            None => Finding::dead(Hop::Listener, "there are no listeners")
                .why("nothing opens a port for clients")
                .hint("see what it said when it started; `stunner check` finds what is wrong with a folder"),
        });
    }
    walk.findings.sort_by_key(|finding| finding.hop);
    walk.findings.extend(trials(&tried, now(), None));
    Ok(walk)
}

fn gateway(gateway: &GatewayStatistics) -> Finding {
    let name = &gateway.gateway;
    match gateway.status.as_str() {
        "NOT-READY" => Finding::dead(Hop::Pods, format!("{name} is not ready"))
            .why("it has no configuration so far")
            .hint("see its log: it cannot reach where its configuration comes from, or refuses what it got"),
        "TERMINATING" => Finding::dead(Hop::Pods, format!("{name} is being drained"))
            .why("sessions go on, and new ones are refused")
            .hint("wait for the next process, or start one"),
        _ => Finding::ok(Hop::Pods, format!("{name} is ready")),
    }
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

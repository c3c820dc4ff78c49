//! Servers that have nothing to do with a cluster: any TURN server, and a local `stunner run`.

use std::net::IpAddr;

use stunner_client::{ServerUri, UriError};
use stunner_cluster::{Admin, GatewayStatistics, ListenerStatistics};

use super::facts::Trial;
use super::finding::{Finding, Hop};
use super::gather::{Network, now, uri_trial};
use super::judge::{Way, trials};
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
        let trial = uri_trial(&network, uri, None).await;
        walks.push(Walk {
            title: format!("Server {uri}"),
            findings: trials(&[trial], now(), Way::Unknown),
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
    let gateways: Vec<&GatewayStatistics> = (gateways.iter())
        .filter(|it| is_meant(&it.gateway))
        .collect();
    walk.findings.extend(gateways.iter().map(|it| gateway(it)));
    let listeners = gateways.iter().flat_map(|it| &it.listeners);
    let is_wanted = |listener: &&ListenerStatistics| {
        (options.listener.as_ref()).is_none_or(|only| {
            listener.name == *only || listener.name.ends_with(&format!("/{only}"))
        })
    };
    let mut tried = Vec::new();
    for listener in listeners.filter(is_wanted) {
        // One that is gone while its sessions go on has none.
        let Some(uri) = &listener.uri else { continue };
        match trial(&admin, network, &listener.name, uri).await {
            Ok(trial) => {
                walk.findings.push(Finding::ok(
                    Hop::Listener,
                    format!("listener `{}`: {uri}", listener.name),
                ));
                tried.push(trial);
            }
            Err(why) => walk.findings.push(
                Finding::dead(
                    Hop::Listener,
                    format!("listener `{}` tells clients {uri}", listener.name),
                )
                .why(why)
                .hint("correct the address of the listener"),
            ),
        }
    }
    if !walk.findings.iter().any(|it| it.hop == Hop::Listener) {
        walk.findings.push(match &options.listener {
            Some(only) => Finding::dead(Hop::Listener, format!("there is no listener `{only}`"))
                .hint("leave `--listener` out to see all of them"),
            None => Finding::dead(Hop::Listener, "there are no listeners")
                .why("nothing opens a port for clients")
                .hint("see what it said when it started; `stunner check` finds what is wrong with a folder"),
        });
    }
    walk.findings.sort_by_key(|finding| finding.hop);
    walk.findings.extend(trials(&tried, now(), Way::Unknown));
    Ok(walk)
}

/// Tries a listener: with the credentials that were given, or as a guest of the process for that long.
async fn trial(admin: &Admin, network: &Network, name: &str, uri: &str) -> Result<Trial, String> {
    let mut uri: ServerUri = uri.parse().map_err(|error: UriError| error.to_string())?;
    // A wildcard is everywhere, also where the admin API is.
    if uri.host.parse().is_ok_and(|ip: IpAddr| ip.is_unspecified()) {
        uri.host = admin.place().host().to_owned();
    }
    let guest = match network.auth {
        Some(_) => None,
        None => admin.start_ice_test(name).await.ok(),
    };
    if let Some(server) = guest.as_ref().and_then(|test| test.ice_servers.first()) {
        uri.credentials = Some((server.username.clone(), server.credential.clone()));
    }
    let peer = guest.as_ref().map(|test| test.peer);
    let mut trial = uri_trial(network, &uri, peer).await;
    name.clone_into(&mut trial.listener);
    if let Some(test) = guest {
        let _ = admin.end_ice_test(&test.id).await;
    }
    Ok(trial)
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

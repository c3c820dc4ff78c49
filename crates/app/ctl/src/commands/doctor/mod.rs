//! `stunnerctl doctor`: walk the path of a client and name the hop that is dead.
//!
//! [`gather`] asks, [`judge`] decides, [`walk`] shows. Between them are plain values: [`facts`] and [`finding`]s.

mod facts;
mod finding;
mod flags;
mod gather;
mod judge;
mod options;
mod server;
mod walk;

use std::collections::BTreeMap;
use std::io::IsTerminal;

use stunner_api::NamespacedName;
use stunner_api::names;
use stunner_cluster::Cluster;
use stunner_flags::{Program, joined};

pub(crate) use options::Options;

use super::{Command, Entry};
use crate::cli::{Globals, flags as global};
use crate::failure::{Failure, Outcome};
use crate::output::{Form, Output};
use facts::Asked;
use gather::Wish;
use walk::Walk;

pub(super) static ENTRY: Entry = Entry {
    name: "doctor",
    aliases: &[],
    usage: "doctor [GATEWAY]",
    summary: "walk the path of a client and name the hop that is dead",
    has_wide: false,
    program: Program {
        name: "stunnerctl doctor",
        flags: joined!(flags::ALL, global::ALL),
        head: "\
Walk the path of a client and name the hop that is dead

Usage:
  stunnerctl doctor [FLAGS] [GATEWAY]
  stunnerctl doctor --admin ADDR [FLAGS] [GATEWAY]
  stunnerctl doctor --turn URI [--username NAME --password PASSWORD | --secret SECRET]

From the GatewayClass to a peer: class, config, gateway, listener, route, backend, endpoints, pods, sync, service,
address, dns, stun, allocate, certificate, peer. GATEWAY is NAME or NAMESPACE/NAME; without it all Gateways of the
namespace are looked at. Nothing is changed, and no secret is printed.
",
        foot: "
Exit codes: 0 no hop is dead, 1 a hop is dead or nothing could be asked, 2 usage.
",
        single_dash: false,
    },
    read: |given| Options::from_given(given).map(Command::Doctor),
};

pub(super) async fn run(
    options: Options,
    globals: Globals,
    out: &mut Output<'_>,
) -> Result<Outcome, Failure> {
    if options.admin.is_some() || !options.turn.is_empty() {
        let walks = server::walks(&options, &globals).await?;
        return show_all(walks, &globals, out);
    }
    let cluster = Cluster::connect(&globals.kubectl)
        .await
        .map_err(in_the_way)?;
    let wish = Wish {
        controller: options.controller.clone(),
        listener: options.listener.clone(),
        network: (!options.no_network).then(|| options.network()),
        cds: globals.cds.clone(),
    };
    let gateways = match &options.gateway {
        Some(gateway) => vec![named(gateway, &globals, &cluster)],
        None => all(&options, &globals, &cluster, out).await?,
    };
    let mut outcome = Outcome::Fine;
    for (index, name) in gateways.into_iter().enumerate() {
        let mut progress = |what: &str| {
            if std::io::stderr().is_terminal() {
                out.note(&format!("... {what}"));
            }
        };
        let facts = gather::gather(&cluster, &name, &wish, &mut progress).await;
        // When not even the Gateway can be read there is nothing to walk.
        match &facts.gateway {
            Asked::Failed(why) => return Err(unreadable(&name, why)),
            Asked::Forbidden { rule } => {
                return Err(forbidden(&format!("read Gateway {name}"), rule));
            }
            Asked::Known(_) | Asked::Unasked => {}
        }
        let walk = Walk {
            title: format!("Gateway {name}"),
            findings: judge::judge(&facts),
        };
        if walk.is_dead() {
            outcome = Outcome::Problem;
        }
        show(&walk, index, &globals, out)?;
    }
    Ok(outcome)
}

fn named(gateway: &str, globals: &Globals, cluster: &Cluster) -> NamespacedName {
    match gateway.split_once('/') {
        Some((namespace, name)) => NamespacedName::new(namespace, name),
        None => {
            let namespace = globals.namespace.as_deref();
            NamespacedName::new(namespace.unwrap_or(cluster.namespace()), gateway)
        }
    }
}

/// All Gateways but those of other controllers, whose classes are there and not ours.
async fn all(
    options: &Options,
    globals: &Globals,
    cluster: &Cluster,
    out: &mut Output<'_>,
) -> Result<Vec<NamespacedName>, Failure> {
    let namespace = globals.namespace.as_deref().unwrap_or(cluster.namespace());
    let namespace = (!globals.all_namespaces).then_some(namespace);
    let place = match namespace {
        Some(namespace) => format!("namespace {namespace}"),
        None => "the cluster".to_owned(),
    };
    let gateways = match gather::gateways(cluster, namespace).await {
        Asked::Known(gateways) => gateways,
        Asked::Forbidden { rule } => {
            return Err(forbidden(&format!("list the Gateways of {place}"), &rule));
        }
        Asked::Failed(why) => {
            return Err(Failure::new(
                format!("cannot list the Gateways of {place}: {why}"),
                "see whether the cluster can be reached (`kubectl get gateway`), and whether it has the Gateway API",
            ));
        }
        Asked::Unasked => Vec::new(),
    };
    let classes = match gather::classes(cluster).await {
        Asked::Known(classes) => classes,
        _ => Vec::new(),
    };
    let controllers: BTreeMap<&str, &str> = classes
        .iter()
        .filter_map(|class| {
            Some((
                class.metadata.name.as_deref()?,
                class.spec.controller_name.as_str(),
            ))
        })
        .collect();
    let domain = names::CONTROLLER_NAME.split('/').next();
    let mut found = Vec::new();
    for gateway in gateways {
        let name = NamespacedName::of(&gateway.metadata);
        match controllers.get(gateway.spec.gateway_class_name.as_str()) {
            Some(other) if *other != options.controller && other.split('/').next() != domain => {
                out.note(&format!(
                    "Gateway {name} is left out: it belongs to `{other}`"
                ));
            }
            _ => found.push(name),
        }
    }
    match found.is_empty() {
        false => Ok(found),
        true => Err(Failure::new(
            format!("there is no Gateway of ours in {place}"),
            "create one, or look elsewhere with `-n NAMESPACE` or `-A`; a Gateway that is named is looked at whoever it belongs to",
        )),
    }
}

fn in_the_way(error: stunner_cluster::ClusterError) -> Failure {
    let hint = error.hint();
    Failure::Problem {
        error: error.into(),
        hint,
    }
}

fn unreadable(name: &NamespacedName, why: &str) -> Failure {
    Failure::new(
        format!("cannot read Gateway {name}: {why}"),
        "see whether the cluster can be reached (`kubectl get gateway`), and whether it has the Gateway API; without a cluster use `--turn URI`",
    )
}

fn forbidden(what: &str, rule: &str) -> Failure {
    Failure::new(
        format!("you are not allowed to {what}"),
        format!("ask for {rule}"),
    )
}

fn show_all(walks: Vec<Walk>, globals: &Globals, out: &mut Output<'_>) -> Result<Outcome, Failure> {
    let mut outcome = Outcome::Fine;
    for (index, walk) in walks.iter().enumerate() {
        if walk.is_dead() {
            outcome = Outcome::Problem;
        }
        show(walk, index, globals, out)?;
    }
    Ok(outcome)
}

/// Prints the walk of this number, as soon as there is one.
fn show(walk: &Walk, index: usize, globals: &Globals, out: &mut Output<'_>) -> Result<(), Failure> {
    match &globals.form {
        Form::Machine(form) => out.value(form, &walk.value()),
        Form::Summary | Form::String => {
            let colours = out.is_terminal() && std::env::var_os("NO_COLOR").is_none();
            let gap = if index > 0 { "\n" } else { "" };
            out.text(&format!("{gap}{}", walk.text(colours)))
        }
    }
}

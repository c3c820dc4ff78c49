//! The status of a Gateway.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use stunner_api::gateway::{Gateway, GatewayStatus, GatewayStatusAddress, ListenerStatus};
use stunner_api::names::{condition as kind, reason};

use super::{Served, listener_status};
use crate::address::{RequestedAddress, live_service, requested_address};
use crate::auth::is_dns_name;
use crate::condition::{State, condition, sentences};
use crate::context::{ListenerPlan, ListenerProblem, PublicAddress};
use crate::listener::known_kinds;
use crate::options::ServiceType;
use crate::plan::WorkloadKind;
use crate::service::exposed;
use crate::settings::Settings;

/// `maxItems` of `status.addresses`.
const ADDRESSES: usize = 16;

/// The status of a Gateway that is served. `notices` are sentences worth saying though nothing is broken.
pub(crate) fn served(served: &Served<'_>, notices: Vec<String>) -> GatewayStatus {
    GatewayStatus {
        addresses: addresses(&served.addresses),
        conditions: vec![accepted(served, notices), programmed(served)],
        listeners: listener_status::listeners(served),
        attached_listener_sets: None,
    }
}

/// The status of a Gateway that never was in order: nothing is served, nothing is known about its listeners.
pub(crate) fn unserved(
    settings: &Settings,
    gateway: &Gateway,
    problems: &[String],
) -> GatewayStatus {
    let meta = &gateway.metadata;
    let why = sentences(problems);
    withdrawn(settings, gateway, |kind_| match kind_ {
        kind::ACCEPTED => condition(
            meta,
            kind_,
            false,
            reason::INVALID_PARAMETERS,
            format!("{why} Nothing is served until then."),
        ),
        _ => condition(meta, kind_, false, reason::INVALID, why.clone()),
    })
}

/// A status whose listeners are in nobody's hands; `own` gives the Gateway's two conditions by type.
pub(crate) fn withdrawn(
    settings: &Settings,
    gateway: &Gateway,
    own: impl Fn(&'static str) -> Condition,
) -> GatewayStatus {
    let meta = &gateway.metadata;
    let pending = |kind_| {
        condition(
            meta,
            kind_,
            State::Unknown,
            reason::PENDING,
            "The listener waits for its Gateway to be accepted.",
        )
    };
    let listeners = gateway
        .spec
        .listeners
        .iter()
        .map(|listener| ListenerStatus {
            name: listener.name.clone(),
            supported_kinds: known_kinds(settings),
            attached_routes: 0,
            conditions: vec![
                pending(kind::ACCEPTED),
                listener_status::no_conflict(meta),
                pending(kind::PROGRAMMED),
                listener_status::resolved(meta, &[]),
            ],
        });
    GatewayStatus {
        addresses: Vec::new(),
        conditions: vec![own(kind::ACCEPTED), own(kind::PROGRAMMED)],
        listeners: listeners.collect(),
        attached_listener_sets: None,
    }
}

/// Each address once, in the order of the listeners.
fn addresses(found: &[Option<PublicAddress>]) -> Vec<GatewayStatusAddress> {
    let mut addresses: Vec<GatewayStatusAddress> = Vec::new();
    for address in found.iter().flatten().filter_map(status_address) {
        if !addresses.contains(&address) && addresses.len() < ADDRESSES {
            addresses.push(address);
        }
    }
    addresses
}

/// `None` for a host name that the schema does not take: it would make the whole status unwritable.
fn status_address(address: &PublicAddress) -> Option<GatewayStatusAddress> {
    let (kind, value) = if address.hostname {
        let name = address.address.trim_end_matches('.').to_ascii_lowercase();
        ("Hostname", Some(name).filter(|name| is_dns_name(name))?)
    } else {
        ("IPAddress", address.address.clone())
    };
    Some(GatewayStatusAddress {
        type_: Some(kind.to_owned()),
        value,
    })
}

fn accepted(served: &Served<'_>, notices: Vec<String>) -> Condition {
    let meta = &served.gateway.metadata;
    let accepted =
        |state: bool, reason_, message| condition(meta, kind::ACCEPTED, state, reason_, message);
    let problems = &served.inputs.problems;
    if !problems.is_empty() {
        let until = "Until then the Gateway is served with the last good settings.".to_owned();
        let message = sentences(problems.iter().chain([&until]));
        return accepted(false, reason::INVALID_PARAMETERS, message);
    }
    if let Some(RequestedAddress::Unusable { type_, value }) = requested_address(served.gateway) {
        return accepted(
            false,
            reason::UNSUPPORTED_ADDRESS,
            format!(
                "The address `{value}` of type `{type_}` is neither an IP address nor a host name and is not used; change `spec.addresses`."
            ),
        );
    }
    let handled = format!(
        "The Gateway is handled by {}.",
        served.settings.controller_name
    );
    let message = sentences(
        [handled]
            .iter()
            .chain(&served.inputs.notices)
            .chain(&served.options.problems)
            .chain(&notices)
            .chain(&external_ips_refused(served))
            .chain(&unused_parameters(served.gateway)),
    );
    accepted(true, reason::ACCEPTED, message)
}

fn external_ips_refused(served: &Served<'_>) -> Option<String> {
    let refused = served
        .snapshot
        .write_failures
        .get(&(served.name.clone(), WorkloadKind::Service))
        .is_some_and(|failure| failure.external_ips_refused);
    refused.then(|| {
        "The cluster does not let Services have `externalIPs`, so the requested address is only set as `loadBalancerIP`."
            .to_owned()
    })
}

fn unused_parameters(gateway: &Gateway) -> Option<String> {
    let infrastructure = gateway.spec.infrastructure.as_ref()?;
    infrastructure.parameters_ref.as_ref().map(|_| {
        "`spec.infrastructure.parametersRef` is not used; settings are those of the GatewayClass."
            .to_owned()
    })
}

fn programmed(served: &Served<'_>) -> Condition {
    let meta = &served.gateway.metadata;
    let programmed =
        |state: bool, reason_, message| condition(meta, kind::PROGRAMMED, state, reason_, message);
    let refused = refused_writes(served);
    if !refused.is_empty() {
        return programmed(false, reason::INVALID, sentences(refused));
    }
    let plans = || served.listeners.iter().zip(&served.addresses);
    let names = |chosen: &dyn Fn(&ListenerPlan, &Option<PublicAddress>) -> bool| {
        let names = plans().filter(|(plan, address)| chosen(plan, address));
        let names: Vec<&str> = names.map(|(plan, _)| plan.name.as_str()).collect();
        names.join(", ")
    };
    // A certificate that is missing shows on its own listener; the Gateway itself is programmed, as in the Go system.
    let awaits_certificate =
        |plan: &ListenerPlan| matches!(plan.problem, Some(ListenerProblem::Certificate { .. }));
    let none_served = !served.listeners.iter().any(ListenerPlan::is_served);
    let left_out =
        names(&|plan, _| !plan.is_served() && (none_served || !awaits_certificate(plan)));
    let unreachable = names(&|plan, address| plan.is_served() && address.is_none());
    let mut message = Vec::new();
    if served.listeners.is_empty() {
        message.push("The Gateway has no listeners; add one.".to_owned());
    }
    if !left_out.is_empty() {
        message.push(format!(
            "Not served, for the reasons in their own conditions: {left_out}."
        ));
    }
    if !unreachable.is_empty() {
        message.push(format!("Without a public address so far: {unreachable}."));
        message.extend(awaited(served));
    }
    if message.is_empty() {
        let waiting = names(&|plan, _| awaits_certificate(plan));
        let done = match waiting.as_str() {
            "" => "Every listener is configured and has a public address.".to_owned(),
            _ => format!(
                "Every listener with a certificate is configured and has a public address; without one: {waiting}."
            ),
        };
        return programmed(true, reason::PROGRAMMED, done);
    }
    programmed(false, reason::ADDRESS_NOT_ASSIGNED, sentences(message))
}

/// What would give an address to the listeners that the Service exposes.
fn awaited(served: &Served<'_>) -> Option<String> {
    let exposed = exposed(&served.options, &served.listeners);
    let mut waiting = exposed.iter().zip(&served.addresses);
    if !waiting.any(|(exposed, address)| *exposed && address.is_none()) {
        return None;
    }
    let name = served.name;
    if live_service(&served.context()).is_none() {
        return Some(format!("Service {name} is not there yet."));
    }
    Some(match served.options.service_type {
        ServiceType::LoadBalancer => format!(
            "The load balancer of Service {name} has given none, and no node has an external address; where there is no load balancer, name an address in `spec.addresses`."
        ),
        ServiceType::NodePort => {
            "No node has an external address; name one in `spec.addresses`.".to_owned()
        }
        ServiceType::ClusterIp => format!("Service {name} has no cluster IP yet."),
    })
}

/// Sentences about objects that the API server does not take.
fn refused_writes(served: &Served<'_>) -> Vec<String> {
    [
        (WorkloadKind::Service, "Service"),
        (WorkloadKind::ConfigMap, "ConfigMap"),
        (WorkloadKind::Deployment, "Deployment"),
        (WorkloadKind::DaemonSet, "DaemonSet"),
    ]
    .into_iter()
    .filter_map(|(workload, label)| {
        let key = (served.name.clone(), workload);
        let failure = served.snapshot.write_failures.get(&key)?;
        (!failure.external_ips_refused).then(|| {
            let message = failure.message.trim_end_matches('.');
            format!(
                "The {label} of Gateway {} cannot be written, which is tried again: {message}.",
                served.name
            )
        })
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reached(address: &str, hostname: bool) -> Option<PublicAddress> {
        Some(PublicAddress {
            address: address.to_owned(),
            port: 3478,
            hostname,
        })
    }

    #[test]
    fn addresses_are_named_once_in_a_form_that_can_be_stored() {
        let found = [
            reached("lb.Example.test.", true),
            None,
            reached("198.51.100.1", false),
            reached("lb.example.test", true),
            reached("not_a_name", true),
        ];
        let values: Vec<String> = addresses(&found).into_iter().map(|a| a.value).collect();
        assert_eq!(values, ["lb.example.test", "198.51.100.1"]);
    }
}

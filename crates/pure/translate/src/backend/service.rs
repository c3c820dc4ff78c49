//! The peers behind a Service.

use std::collections::BTreeSet;
use std::net::IpAddr;

use ipnet::IpNet;
use k8s_openapi::api::core::v1::Service;
use stunner_api::NamespacedName;
use stunner_config::DnsEndpoint;

use super::{BackendProblem, Peers};
use crate::settings::Settings;
use crate::snapshot::Snapshot;

const EXTERNAL_NAME: &str = "ExternalName";
/// `addressType` of EndpointSlices that hold names.
const FQDN: &str = "FQDN";
/// `clusterIP` of a headless Service.
const HEADLESS: &str = "None";

/// `None` when there is no such Service.
pub(super) fn peers(
    snapshot: &Snapshot,
    settings: &Settings,
    name: &NamespacedName,
    problems: &mut Vec<BackendProblem>,
) -> Option<Peers> {
    if !settings.endpoint_discovery {
        // Cluster DNS answers for the Service as soon as it exists, so whether it does is not asked. What is no domain
        // name no Service can have.
        let NamespacedName { namespace, name } = name;
        let domain = &settings.cluster_domain;
        let name = format!("{name}.{namespace}.svc.{domain}");
        let endpoint = name.parse::<DnsEndpoint>().ok()?;
        return Some(Peers::Name(endpoint.name));
    }
    let service = snapshot.services.get(name)?;
    if let Some(external) = external_name(service) {
        return Some(match external.parse::<DnsEndpoint>() {
            Ok(endpoint) => Peers::Name(endpoint.name),
            Err(_) => {
                problems.push(BackendProblem::BadExternalName {
                    service: name.clone(),
                    external_name: external.to_owned(),
                });
                Peers::Addresses {
                    nets: Vec::new(),
                    endpoints: 0,
                }
            }
        });
    }
    let endpoints = if settings.endpoint_slices {
        slice_addresses(snapshot, name, problems)
    } else {
        endpoints_addresses(snapshot, name)
    };
    let mut nets = Vec::new();
    for address in endpoints {
        push_address(&mut nets, name, &address, problems);
    }
    if nets.is_empty() {
        problems.push(BackendProblem::NoEndpoints(name.clone()));
    }
    let endpoints = nets.iter().collect::<BTreeSet<_>>().len();
    if settings.relay_to_cluster_ip {
        for address in cluster_ips(service) {
            push_address(&mut nets, name, &address, problems);
        }
    }
    Some(Peers::Addresses { nets, endpoints })
}

/// Every address that stands for a Service, by slices, Endpoints or its spec.
pub(super) fn addresses(snapshot: &Snapshot, name: &NamespacedName) -> Vec<IpNet> {
    let unsaid = &mut Vec::new();
    let mut found = slice_addresses(snapshot, name, unsaid);
    found.extend(endpoints_addresses(snapshot, name));
    if let Some(service) = snapshot.services.get(name) {
        found.extend(cluster_ips(service));
    }
    let mut nets = Vec::new();
    for address in found {
        push_address(&mut nets, name, &address, unsaid);
    }
    nets
}

fn external_name(service: &Service) -> Option<&str> {
    let spec = service.spec.as_ref()?;
    (spec.type_.as_deref() == Some(EXTERNAL_NAME))
        .then(|| spec.external_name.as_deref().unwrap_or_default())
}

/// Ready or not, serving or terminating: the calls of a pod that goes away are to end in peace.
fn slice_addresses(
    snapshot: &Snapshot,
    service: &NamespacedName,
    problems: &mut Vec<BackendProblem>,
) -> Vec<String> {
    let mut addresses = Vec::new();
    for slice in snapshot.slices_of(service) {
        if slice.address_type == FQDN {
            problems.push(BackendProblem::NamesInSlice {
                service: service.clone(),
                slice: slice.metadata.name.clone().unwrap_or_default(),
            });
            continue;
        }
        for endpoint in &slice.endpoints {
            addresses.extend(endpoint.addresses.iter().cloned());
        }
    }
    addresses
}

fn endpoints_addresses(snapshot: &Snapshot, service: &NamespacedName) -> Vec<String> {
    let subsets = snapshot
        .endpoints
        .get(service)
        .and_then(|endpoints| endpoints.subsets.as_deref())
        .unwrap_or_default();
    let mut addresses = Vec::new();
    for subset in subsets {
        let ready = subset.addresses.iter().flatten();
        let all = ready.chain(subset.not_ready_addresses.iter().flatten());
        addresses.extend(all.map(|address| address.ip.clone()));
    }
    addresses
}

/// Of both families; a headless Service has none, and needs none.
fn cluster_ips(service: &Service) -> Vec<String> {
    let Some(spec) = &service.spec else {
        return Vec::new();
    };
    let one = spec.cluster_ip.iter();
    let all = spec.cluster_ips.iter().flatten();
    one.chain(all)
        .filter(|address| !address.is_empty() && address.as_str() != HEADLESS)
        .cloned()
        .collect()
}

fn push_address(
    nets: &mut Vec<IpNet>,
    service: &NamespacedName,
    address: &str,
    problems: &mut Vec<BackendProblem>,
) {
    match address.parse::<IpAddr>() {
        Ok(address) => nets.push(IpNet::from(address)),
        Err(_) => problems.push(BackendProblem::BadAddress {
            service: service.clone(),
            address: address.to_owned(),
        }),
    }
}

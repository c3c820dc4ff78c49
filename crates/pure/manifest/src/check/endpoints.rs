//! Services as backends: where their addresses come from when there are no pods.

use std::net::IpAddr;

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use stunner_config::DnsEndpoint;
use stunner_translate::{Object, ObjectKey, ObjectKind};

use super::findings::Findings;
use super::reference::{Reference, resolve};
use super::world::{SERVICE_NAME, World, key, service_name};
use crate::problem::Fault;
use crate::reading::Manifest;

pub(super) fn service(
    world: &World<'_>,
    findings: &mut Findings<'_>,
    manifest: &Manifest,
    service: &Service,
) {
    let Some(spec) = &service.spec else {
        return;
    };
    for (number, address) in spec.external_ips.iter().flatten().enumerate() {
        not_an_address(
            findings,
            manifest,
            &format!("spec.externalIPs[{number}]"),
            address,
        );
    }
    let of_cluster = match &spec.cluster_ip {
        Some(address) => vec![("spec.clusterIP".to_owned(), address)],
        None => spec
            .cluster_ips
            .iter()
            .flatten()
            .enumerate()
            .map(|(number, address)| (format!("spec.clusterIPs[{number}]"), address))
            .collect(),
    };
    for (field, address) in of_cluster {
        // A headless Service has none.
        if !address.is_empty() && address != "None" {
            not_an_address(findings, manifest, &field, address);
        }
    }
    let is_external = spec.type_.as_deref() == Some("ExternalName");
    match spec
        .external_name
        .as_deref()
        .filter(|name| !name.is_empty())
    {
        Some(name) => external_name(findings, manifest, name),
        None if is_external && !findings.is_told(manifest, "spec") => findings.error(
            manifest,
            Fault::MissingField,
            "spec.externalName",
            "`type: ExternalName` needs `externalName`",
            "set it to the domain name of the backend",
        ),
        None => {}
    }
    if !world.is_backend(&manifest.key) || findings.is_told(manifest, "spec") {
        return;
    }
    let is_ip = |address: &String| address.parse::<IpAddr>().is_ok();
    let has_address = is_external
        || spec.external_name.is_some()
        || spec.external_ips.iter().flatten().next().is_some()
        || spec.cluster_ip.iter().any(is_ip)
        || world.has(&key(ObjectKind::Endpoints, &manifest.key.name))
        || world.may_miss(ObjectKind::EndpointSlice)
        || !world.slices_of(&manifest.key.name).is_empty();
    if has_address {
        return;
    }
    let has_selector = spec
        .selector
        .as_ref()
        .is_some_and(|labels| !labels.is_empty());
    let (field, message) = if has_selector {
        (
            "spec.selector",
            "in files there are no pods to select, so that this backend has no addresses",
        )
    } else {
        ("spec", "this backend has no addresses")
    };
    findings.warning(
        manifest,
        Fault::Suspicious,
        field,
        message,
        format!(
            "add an EndpointSlice manifest with the label `{SERVICE_NAME}: {}`, or set `externalIPs` or `externalName`",
            manifest.key.name.name
        ),
    );
}

fn external_name(findings: &mut Findings<'_>, manifest: &Manifest, name: &str) {
    let hint = if name.contains("://") {
        "leave out the scheme: write only the name, such as `media.example.com`"
    } else if name.contains(':') {
        "leave out the port: name ports in the route's backendRefs"
    } else if name.parse::<DnsEndpoint>().is_err() {
        "write a name such as `media.example.com`"
    } else {
        return;
    };
    if name.parse::<IpAddr>().is_ok() {
        // An address is understood, whatever a cluster makes of it.
        return;
    }
    findings.error(
        manifest,
        Fault::WrongValue,
        "spec.externalName",
        format!("`{name}` is not a domain name"),
        hint,
    );
}

pub(super) fn slice(
    world: &World<'_>,
    findings: &mut Findings<'_>,
    manifest: &Manifest,
    slice: &EndpointSlice,
) {
    let namespace = &manifest.key.name.namespace;
    match service_name(slice) {
        Some(name) => {
            let reference = Reference {
                to: &ObjectKey::new(ObjectKind::Service, namespace, name),
                field: &format!("metadata.labels[{SERVICE_NAME}]"),
                names_namespace: false,
            };
            resolve(world, findings, manifest, &reference);
        }
        None if !findings.is_told(manifest, "metadata") => findings.warning(
            manifest,
            Fault::Suspicious,
            "metadata.labels",
            "an EndpointSlice without the name of its Service belongs to none",
            format!("add the label `{SERVICE_NAME}: NAME`"),
        ),
        None => {}
    }
    if slice.address_type == "FQDN" {
        findings.warning(
            manifest,
            Fault::Suspicious,
            "addressType",
            "names in an EndpointSlice are not used",
            "use a Service with `type: ExternalName` and `externalName` instead",
        );
        return;
    }
    for (number, endpoint) in slice.endpoints.iter().enumerate() {
        for (index, address) in endpoint.addresses.iter().enumerate() {
            let field = format!("endpoints[{number}].addresses[{index}]");
            not_an_address(findings, manifest, &field, address);
            of_other_family(findings, manifest, &field, address, &slice.address_type);
        }
    }
}

pub(super) fn endpoints(world: &World<'_>, findings: &mut Findings<'_>, manifest: &Manifest) {
    if !world.has(&key(ObjectKind::Service, &manifest.key.name))
        && !world.may_miss(ObjectKind::Service)
    {
        findings.warning(
            manifest,
            Fault::DanglingReference,
            "metadata.name",
            format!(
                "Endpoints belong to the Service of their name, and there is no Service `{}` in the files",
                manifest.key.name
            ),
            "name them like their Service, or add that",
        );
    }
    let Object::Endpoints(endpoints) = &manifest.object else {
        return;
    };
    for (number, subset) in endpoints.subsets.iter().flatten().enumerate() {
        // Those that are not ready are backends too.
        for (list, addresses) in [
            ("addresses", &subset.addresses),
            ("notReadyAddresses", &subset.not_ready_addresses),
        ] {
            for (index, address) in addresses.iter().flatten().enumerate() {
                let field = format!("subsets[{number}].{list}[{index}].ip");
                not_an_address(findings, manifest, &field, &address.ip);
            }
        }
    }
}

/// An API server takes addresses of the slice's own family only.
fn of_other_family(
    findings: &mut Findings<'_>,
    manifest: &Manifest,
    field: &str,
    address: &str,
    family: &str,
) {
    let found = match address.parse() {
        Ok(IpAddr::V4(_)) => "IPv4",
        Ok(IpAddr::V6(_)) => "IPv6",
        Err(_) => return,
    };
    if found != family {
        findings.error(
            manifest,
            Fault::WrongValue,
            field,
            format!("`{address}` is not an address of `addressType: {family}`"),
            format!("write `addressType: {found}`, or put it into an EndpointSlice of its own"),
        );
    }
}

fn not_an_address(findings: &mut Findings<'_>, manifest: &Manifest, field: &str, address: &str) {
    if address.parse::<IpAddr>().is_ok() {
        return;
    }
    let hint = if address.contains('/') {
        "for a prefix use a StaticService"
    } else if address.parse::<std::net::SocketAddr>().is_ok() {
        "leave out the port: name ports in the route's backendRefs"
    } else {
        "write an address such as `192.0.2.1` or `2001:db8::1`"
    };
    findings.error(
        manifest,
        Fault::WrongValue,
        field,
        format!("`{address}` is not an IP address"),
        hint,
    );
}

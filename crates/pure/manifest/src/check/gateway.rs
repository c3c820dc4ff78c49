//! Gateways as a whole.

use std::net::IpAddr;

use stunner_api::gateway::Gateway;
use stunner_translate::{ObjectKey, ObjectKind};

use super::findings::Findings;
use super::listener;
use super::reference::{Reference, resolve};
use super::world::{Owner, World, parent_gateway, route};
use crate::problem::Fault;
use crate::reading::Manifest;

pub(super) fn check(
    world: &World<'_>,
    findings: &mut Findings<'_>,
    manifest: &Manifest,
    gateway: &Gateway,
) {
    if matches!(world.owner(gateway), Owner::SomebodyElse) {
        return;
    }
    let class = &gateway.spec.gateway_class_name;
    let reference = Reference {
        to: &ObjectKey::new(ObjectKind::GatewayClass, "", class),
        field: "spec.gatewayClassName",
        names_namespace: false,
    };
    resolve(world, findings, manifest, &reference);
    listener::check(world, findings, manifest, gateway);
    addresses(findings, manifest, gateway);
    let infrastructure = gateway.spec.infrastructure.as_ref();
    if infrastructure.is_some_and(|infrastructure| infrastructure.parameters_ref.is_some()) {
        findings.warning(
            manifest,
            Fault::Suspicious,
            "spec.infrastructure.parametersRef",
            "`infrastructure.parametersRef` is not used",
            "put settings into the GatewayConfig that the GatewayClass names",
        );
    }
    routes(world, findings, manifest, gateway);
}

fn addresses(findings: &mut Findings<'_>, manifest: &Manifest, gateway: &Gateway) {
    for (number, address) in gateway.spec.addresses.iter().enumerate() {
        let Some(value) = address.value.as_deref() else {
            continue;
        };
        let kind = address.type_.as_deref().unwrap_or("IPAddress");
        if kind == "IPAddress" && value.trim().parse::<IpAddr>().is_err() {
            let looks_like_name = value.contains(|c: char| c.is_ascii_alphabetic());
            let hint = if looks_like_name && !value.contains(':') {
                "for a name set `type: Hostname`"
            } else {
                "write an address such as `192.0.2.1` or `2001:db8::1`"
            };
            findings.error(
                manifest,
                Fault::WrongValue,
                &format!("spec.addresses[{number}].value"),
                format!("`{value}` is not an IP address"),
                hint,
            );
        }
    }
}

/// Through a Gateway without a route nobody reaches anything.
fn routes(world: &World<'_>, findings: &mut Findings<'_>, manifest: &Manifest, gateway: &Gateway) {
    let serves_stun_only = world
        .config(gateway)
        .is_some_and(|config| config.spec.stun_mode == Some(true));
    if serves_stun_only || findings.is_told(manifest, "spec") {
        return;
    }
    // A route that is broken or names its parent wrong is told about by itself.
    let mut in_doubt = world.obscure.is_some();
    for route_manifest in world.routes() {
        let Some(route) = route(route_manifest) else {
            continue;
        };
        let namespace = &route_manifest.key.name.namespace;
        let mut parents = route
            .parents
            .iter()
            .filter_map(|parent| parent_gateway(namespace, parent));
        if parents.any(|parent| parent == manifest.key.name) {
            return;
        }
        in_doubt |= findings.is_told(route_manifest, "spec")
            || route
                .parents
                .iter()
                .filter_map(|parent| parent_gateway(namespace, parent))
                .any(|parent| world.gateway(&parent).is_none());
    }
    in_doubt |= stunner_translate::RouteKind::ALL
        .iter()
        .any(|kind| world.may_miss(ObjectKind::Route(*kind)));
    if !in_doubt {
        findings.warning(
            manifest,
            Fault::Suspicious,
            "metadata.name",
            format!(
                "no route is attached to Gateway `{}`, so that its clients reach nothing",
                manifest.key.name
            ),
            format!(
                "add a UDPRoute manifest with `parentRefs: [{{name: {}}}]`",
                manifest.key.name.name
            ),
        );
    }
}

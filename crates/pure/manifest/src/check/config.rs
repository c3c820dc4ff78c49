//! GatewayConfigs: where credentials come from.

use stunner_api::names::port;
use stunner_api::v1::{GatewayConfig, GatewayConfigSpec};
use stunner_api::{NamespacedName, names};
use stunner_config::HttpEndpoint;
use stunner_translate::{ObjectKey, ObjectKind};

use super::findings::Findings;
use super::reference::{Reference, resolve};
use super::secret;
use super::world::{World, key};
use crate::problem::Fault;
use crate::reading::Manifest;

pub(super) fn check(
    world: &World<'_>,
    findings: &mut Findings<'_>,
    manifest: &Manifest,
    config: &GatewayConfig,
) {
    let spec = &config.spec;
    dataplane(world, findings, manifest, spec);
    relay_ports(findings, manifest, spec);
    endpoints(findings, manifest, spec);
    if let Some(quota) = spec.user_quota.filter(|quota| *quota < 0) {
        findings.error(
            manifest,
            Fault::WrongValue,
            "spec.userQuota",
            format!("`{quota}` is not a number of allocations"),
            "write a number from 1, or 0 for no limit",
        );
    }
    if spec.stun_mode == Some(true) {
        return;
    }
    match auth_secret(&manifest.key.name, spec) {
        Some(to) => {
            let reference = Reference {
                to: &key(ObjectKind::Secret, &to),
                field: "spec.authRef.name",
                names_namespace: true,
            };
            resolve(world, findings, manifest, &reference);
        }
        None if spec.auth_ref.is_some() => secret::not_a_secret(findings, manifest, "spec.authRef"),
        None => inline(findings, manifest, spec),
    }
}

/// The Secret that `authRef` names, if that is what it names.
pub(super) fn auth_secret(
    config: &NamespacedName,
    spec: &GatewayConfigSpec,
) -> Option<NamespacedName> {
    secret::named(spec.auth_ref.as_ref()?, &config.namespace)
}

fn dataplane(
    world: &World<'_>,
    findings: &mut Findings<'_>,
    manifest: &Manifest,
    spec: &GatewayConfigSpec,
) {
    let name = spec.dataplane.as_deref().filter(|name| !name.is_empty());
    // What a Gateway gets without the `default` Dataplane is built in.
    let Some(name) = name.filter(|name| *name != names::DEFAULT_DATAPLANE) else {
        return;
    };
    let reference = Reference {
        to: &ObjectKey::new(ObjectKind::Dataplane, "", name),
        field: "spec.dataplane",
        names_namespace: false,
    };
    resolve(world, findings, manifest, &reference);
}

fn relay_ports(findings: &mut Findings<'_>, manifest: &Manifest, spec: &GatewayConfigSpec) {
    let given = |port: Option<i32>| port.filter(|port| *port != 0);
    if let (Some(first), Some(last)) = (given(spec.min_port), given(spec.max_port))
        && first > last
    {
        findings.error(
            manifest,
            Fault::PortRange,
            "spec.maxPort",
            format!("`maxPort` {last} is below `minPort` {first}"),
            "swap or correct them; without a valid range every port is used",
        );
    }
}

/// Where metrics and health checks are served, as the oldest API says it.
fn endpoints(findings: &mut Findings<'_>, manifest: &Manifest, spec: &GatewayConfigSpec) {
    let endpoints = [
        ("metricsEndpoint", &spec.metrics_endpoint, port::METRICS),
        (
            "healthCheckEndpoint",
            &spec.health_check_endpoint,
            port::HEALTH,
        ),
    ];
    for (field, text, default_port) in endpoints {
        let given = text.as_deref().filter(|text| !text.trim().is_empty());
        if let Some(text) = given
            && let Err(error) = HttpEndpoint::parse(text, default_port)
        {
            findings.error(
                manifest,
                Fault::WrongValue,
                &format!("spec.{field}"),
                error.to_string(),
                format!("write it like `http://:{default_port}`"),
            );
        }
    }
}

/// Credentials in the GatewayConfig itself. Of their values nothing is shown.
fn inline(findings: &mut Findings<'_>, manifest: &Manifest, spec: &GatewayConfigSpec) {
    // What breaks the schema has been left out; it is not missing.
    if findings.is_told(manifest, "spec") {
        return;
    }
    let is_given = |value: &Option<String>| value.as_ref().is_some_and(|value| !value.is_empty());
    let given = spec.auth_type.as_deref().filter(|kind| !kind.is_empty());
    let given = given.unwrap_or(names::DEFAULT_AUTH_TYPE);
    let needed: &[(&str, bool)] = match given {
        "static" | "plaintext" => &[
            (
                "userName",
                is_given(&spec.user_name) || is_given(&spec.username),
            ),
            ("password", is_given(&spec.password)),
        ],
        "ephemeral" | "longterm" | "timewindowed" => {
            &[("sharedSecret", is_given(&spec.shared_secret))]
        }
        _ => return,
    };
    let missing: Vec<&str> = needed
        .iter()
        .filter(|(_, given)| !given)
        .map(|(field, _)| *field)
        .collect();
    let Some(first) = missing.first() else {
        return;
    };
    let says = match spec.auth_type {
        Some(_) => format!("`authType: {given}`"),
        None => format!("`authType: {given}`, which is the default,"),
    };
    findings.error(
        manifest,
        Fault::MissingField,
        &format!("spec.{first}"),
        format!("{says} needs `{}`", missing.join("` and `")),
        "set what is missing, or keep credentials in a Secret and name that in `authRef`",
    );
}

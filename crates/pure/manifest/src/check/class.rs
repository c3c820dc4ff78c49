//! GatewayClasses.

use stunner_api::gateway::GatewayClass;
use stunner_api::names;
use stunner_document::nearest;
use stunner_translate::{ObjectKey, ObjectKind};

use super::findings::Findings;
use super::reference::{Reference, resolve};
use super::world::{World, is_ours};
use crate::problem::Fault;
use crate::reading::Manifest;

pub(super) fn check(
    world: &World<'_>,
    findings: &mut Findings<'_>,
    manifest: &Manifest,
    class: &GatewayClass,
) {
    if !is_ours(class) {
        controller(findings, manifest, &class.spec.controller_name);
        return;
    }
    let Some(reference) = &class.spec.parameters_ref else {
        if !findings.is_told(manifest, "spec") {
            findings.error(
                manifest,
                Fault::MissingField,
                "spec.parametersRef",
                "a GatewayClass of STUNner needs `parametersRef`",
                "name the GatewayConfig with the credentials: `parametersRef: {name: NAME, namespace: NAMESPACE}`",
            );
        }
        return;
    };
    let group = reference.group.as_deref().unwrap_or(names::GROUP);
    let kind = reference.kind.as_deref();
    let kind = kind.unwrap_or(names::GATEWAY_CONFIG_KIND);
    let expected = [
        ("group", group, names::GROUP),
        ("kind", kind, names::GATEWAY_CONFIG_KIND),
    ];
    if let Some((field, given, wanted)) = expected
        .into_iter()
        .find(|(_, given, wanted)| given != wanted)
    {
        findings.error(
            manifest,
            Fault::WrongValue,
            &format!("spec.parametersRef.{field}"),
            format!("`{given}` is not the {field} of a GatewayConfig"),
            format!("write `{wanted}`, or leave out `{field}`"),
        );
        return;
    }
    let Some(namespace) = reference
        .namespace
        .as_deref()
        .filter(|name| !name.is_empty())
    else {
        if !findings.is_told(manifest, "spec.parametersRef") {
            findings.error(
                manifest,
                Fault::MissingField,
                "spec.parametersRef.namespace",
                "`parametersRef` needs `namespace`",
                "set it to the namespace of the GatewayConfig",
            );
        }
        return;
    };
    let to = ObjectKey::new(ObjectKind::GatewayConfig, namespace, &reference.name);
    let reference = Reference {
        to: &to,
        field: "spec.parametersRef.name",
        names_namespace: true,
    };
    resolve(world, findings, manifest, &reference);
}

/// A name that is nearly ours is a slip; any other is another controller's.
fn controller(findings: &mut Findings<'_>, manifest: &Manifest, name: &str) {
    let is_near = nearest(name, &[names::CONTROLLER_NAME]).is_some();
    if is_near || name.starts_with(names::annotation::PREFIX) {
        findings.warning(
            manifest,
            Fault::Suspicious,
            "spec.controllerName",
            format!(
                "`{name}` is another controller: STUNner leaves the Gateways of this class alone"
            ),
            format!("did you mean `{}`?", names::CONTROLLER_NAME),
        );
    }
}

//! What a dataplane may do on its node: as little as it needs, unless its Dataplane says otherwise.
//!
//! A Dataplane wins field by field, so that one that sets, say, a user keeps the rest of the defaults. Where a default
//! contradicts what it says, the default gives way, since Kubernetes would refuse the pod.

use k8s_openapi::api::core::v1::{
    Capabilities, PodSecurityContext, SeccompProfile, SecurityContext, Sysctl,
};
use stunner_api::names::DATAPLANE_USER;
use stunner_api::v1::DataplaneSpec;

/// One of the sysctls that Kubernetes calls safe.
const UNPRIVILEGED_PORT_START: &str = "net.ipv4.ip_unprivileged_port_start";

pub(super) fn pod(dataplane: &DataplaneSpec) -> PodSecurityContext {
    let mut context = dataplane.security_context.clone().unwrap_or_default();
    let container = dataplane.container_security_context.as_ref();
    // An image may say root, or a name that the kubelet cannot judge: a number settles it.
    context.run_as_user.get_or_insert(DATAPLANE_USER);
    let user = container
        .and_then(|container| container.run_as_user)
        .or(context.run_as_user);
    if user != Some(0) {
        context.run_as_group.get_or_insert(DATAPLANE_USER);
        context.run_as_non_root.get_or_insert(true);
    }
    context
        .seccomp_profile
        .get_or_insert_with(|| SeccompProfile {
            type_: "RuntimeDefault".to_owned(),
            localhost_profile: None,
        });
    if dataplane.host_network != Some(true) {
        allow_low_ports(&mut context);
    }
    context
}

/// Lets a process without rights listen on ports such as 443. Always set, whatever the listeners are now, so that
/// adding one changes no template. Kubernetes refuses it in the network of the node.
fn allow_low_ports(context: &mut PodSecurityContext) {
    let sysctls = context.sysctls.get_or_insert_default();
    if !sysctls
        .iter()
        .any(|sysctl| sysctl.name == UNPRIVILEGED_PORT_START)
    {
        sysctls.push(Sysctl {
            name: UNPRIVILEGED_PORT_START.to_owned(),
            value: "0".to_owned(),
        });
    }
}

/// `ours`: our own image, of which it is known that it writes nowhere but to its volumes.
pub(super) fn container(dataplane: &DataplaneSpec, ours: bool) -> SecurityContext {
    let mut context = dataplane
        .container_security_context
        .clone()
        .unwrap_or_default();
    // To a privileged container capabilities mean nothing.
    if context.privileged != Some(true) {
        let capabilities = context.capabilities.get_or_insert_default();
        capabilities
            .drop
            .get_or_insert_with(|| vec!["ALL".to_owned()]);
        if dataplane.host_network == Some(true) {
            capabilities
                .add
                .get_or_insert_with(|| vec!["NET_BIND_SERVICE".to_owned()]);
        }
        if !adds_sys_admin(capabilities) {
            context.allow_privilege_escalation.get_or_insert(false);
        }
    }
    if ours {
        context.read_only_root_filesystem.get_or_insert(true);
    }
    context
}

/// Implies privilege escalation, as far as Kubernetes is concerned.
fn adds_sys_admin(capabilities: &Capabilities) -> bool {
    capabilities
        .add
        .iter()
        .flatten()
        .any(|capability| matches!(capability.as_str(), "SYS_ADMIN" | "CAP_SYS_ADMIN"))
}

//! The Service that exposes a Gateway.
//!
//! Only fields that are ours are in it. The API server fills in the rest, keeps what others set, and takes back what
//! we set before and set no more: that is how a removed annotation takes effect.

use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use stunner_api::names::{HEALTH_CHECK_PORT_NAME, annotation, label};
use stunner_config::PeerTransport;

use crate::address::{RequestedAddress, live_service, requested_address};
use crate::context::{GatewayContext, ListenerPlan, ListenerProblem};
use crate::metadata;
use crate::options::{ServiceOptions, ServiceType};
use crate::plan::WorkloadKind;
use crate::settings::Mode;

/// The Service of a Gateway; `None` when no listener yields a port: a Service without ports cannot exist.
pub(crate) fn service(context: &GatewayContext<'_>) -> Option<Service> {
    let options = context.options;
    let service_type = options.service_type;
    let live = live_service(context);
    let live_spec = live.and_then(|service| service.spec.as_ref());
    let ports = ports(context, live_spec);
    if ports.is_empty() {
        return None;
    }
    let balanced = service_type == ServiceType::LoadBalancer;
    let requested_ip = match requested_address(context.gateway) {
        Some(RequestedAddress::Ip(address)) => Some(address),
        _ => None,
    };
    let affinity = if options.session_affinity_disabled {
        "None"
    } else {
        "ClientIP"
    };
    let spec = ServiceSpec {
        type_: Some(service_type.as_str().to_owned()),
        selector: Some(selector(context)),
        ports: Some(ports),
        session_affinity: Some(affinity.to_owned()),
        external_traffic_policy: (options.local_traffic_policy && service_type.has_node_ports())
            .then(|| "Local".to_owned()),
        load_balancer_ip: requested_ip.clone().filter(|_| balanced),
        external_ips: requested_ip
            .filter(|_| !external_ips_refused(context))
            .map(|address| vec![address]),
        load_balancer_class: load_balancer_class(options, live_spec),
        load_balancer_source_ranges: (balanced && !options.load_balancer_source_ranges.is_empty())
            .then(|| options.load_balancer_source_ranges.clone()),
        ip_family_policy: options.ip_family_policy.clone(),
        ..ServiceSpec::default()
    };
    Some(Service {
        metadata: metadata::service_metadata(context),
        spec: Some(spec),
        status: None,
    })
}

/// Sentences about what the Service cannot be made to be.
pub(crate) fn service_problems(context: &GatewayContext<'_>) -> Vec<String> {
    let mut problems = Vec::new();
    let live = live_service(context).and_then(|service| service.spec.as_ref());
    if let (Some(wanted), Some(live)) = (&context.options.load_balancer_class, live)
        && context.options.service_type == ServiceType::LoadBalancer
        && is_load_balancer(live)
        && live.load_balancer_class.as_ref() != Some(wanted)
    {
        problems.push(format!(
            "Annotation {} asks for load balancer class `{wanted}`, but Kubernetes does not let the class of an \
             existing load balancer change; delete Service {} to have it made anew.",
            annotation::LOAD_BALANCER_CLASS,
            context.name
        ));
    }
    for key in context
        .config
        .spec
        .load_balancer_service_annotations
        .keys()
        .filter(|key| !metadata::is_annotation_key(key))
    {
        problems.push(format!(
            "`{key}` in loadBalancerServiceAnnotations of GatewayConfig {}/{} is not the key of an annotation and is \
             left out.",
            context.config.namespace, context.config.name
        ));
    }
    problems
}

/// Which listeners have a port in the Service.
///
/// Few load balancers take UDP and TCP on one address, so that without leave to mix them only the transport of the
/// first listener is exposed. A listener that waits for its certificate counts as first too: otherwise the Service
/// would change its transport the moment the certificate arrives.
pub(crate) fn exposed(options: &ServiceOptions, listeners: &[ListenerPlan]) -> Vec<bool> {
    let first = listeners
        .iter()
        .find_map(|listener| match listener.problem {
            None | Some(ListenerProblem::Certificate { .. }) => transport(listener),
            _ => None,
        });
    listeners
        .iter()
        .map(|listener| {
            listener.is_served()
                && transport(listener).is_some()
                && (options.mixed_protocols || transport(listener) == first)
        })
        .collect()
}

pub(crate) fn transport(listener: &ListenerPlan) -> Option<PeerTransport> {
    listener.protocol.map(stunner_config::Protocol::socket)
}

fn ports(context: &GatewayContext<'_>, live: Option<&ServiceSpec>) -> Vec<ServicePort> {
    let options = context.options;
    let mut ports: Vec<ServicePort> = context
        .listeners
        .iter()
        .zip(exposed(options, context.listeners))
        .filter_map(|(listener, exposed)| {
            let transport = transport(listener).filter(|_| exposed)?;
            Some(ServicePort {
                name: Some(metadata::port_name(&listener.name, HEALTH_CHECK_PORT_NAME)),
                port: listener.spec_port.into(),
                protocol: Some(transport.as_str().to_owned()),
                target_port: Some(IntOrString::Int(listener.port.into())),
                node_port: options
                    .node_ports
                    .get(&listener.name)
                    .map(|&port| port.into()),
                app_protocol: None,
            })
        })
        .collect();
    if ports.is_empty() {
        return ports;
    }
    ports.extend(health_check_port(options, &ports));
    if options.service_type.has_node_ports() {
        keep_node_ports(&mut ports, live);
    } else {
        for port in &mut ports {
            port.node_port = None;
        }
    }
    ports
}

/// Only a load balancer probes. A listener that has the port already is what it probes then.
fn health_check_port(options: &ServiceOptions, ports: &[ServicePort]) -> Option<ServicePort> {
    let number = i32::from(options.health_check_port?);
    let tcp = PeerTransport::Tcp.as_str();
    let taken = ports
        .iter()
        .any(|port| port.port == number && port.protocol.as_deref() == Some(tcp));
    (options.service_type == ServiceType::LoadBalancer && !taken).then(|| ServicePort {
        name: Some(HEALTH_CHECK_PORT_NAME.to_owned()),
        port: number,
        protocol: Some(tcp.to_owned()),
        target_port: Some(IntOrString::Int(number)),
        ..ServicePort::default()
    })
}

/// A listener keeps its node port, which firewalls and clients may know, also when its port changes: the API server
/// knows Service ports by number and transport and would take the changed one for a new one.
fn keep_node_ports(ports: &mut [ServicePort], live: Option<&ServiceSpec>) {
    let live_ports = live
        .and_then(|spec| spec.ports.as_deref())
        .unwrap_or_default();
    for index in 0..ports.len() {
        if ports[index].node_port.is_some() {
            continue;
        }
        let node_port = live_ports
            .iter()
            .find(|live| live.name == ports[index].name)
            .and_then(|live| live.node_port)
            .filter(|&port| port > 0);
        // Another listener may have been given the number by annotation.
        let taken = ports
            .iter()
            .any(|port| port.node_port == node_port && port.protocol == ports[index].protocol);
        if !taken {
            ports[index].node_port = node_port;
        }
    }
}

fn selector(context: &GatewayContext<'_>) -> std::collections::BTreeMap<String, String> {
    match context.settings.mode {
        Mode::Managed => metadata::pod_labels(context),
        Mode::Legacy => [(label::APP.to_owned(), label::APP_VALUE.to_owned())].into(),
    }
}

/// Immutable while the Service is a load balancer: what is live stays, whoever asked for it.
fn load_balancer_class(options: &ServiceOptions, live: Option<&ServiceSpec>) -> Option<String> {
    if options.service_type != ServiceType::LoadBalancer {
        return None;
    }
    match live {
        Some(live) if is_load_balancer(live) => live.load_balancer_class.clone(),
        _ => options.load_balancer_class.clone(),
    }
}

fn is_load_balancer(spec: &ServiceSpec) -> bool {
    spec.type_.as_deref() == Some(ServiceType::LoadBalancer.as_str())
}

/// Admission in some clusters forbids `externalIPs`; the address still reaches `loadBalancerIP` then.
fn external_ips_refused(context: &GatewayContext<'_>) -> bool {
    context
        .snapshot
        .write_failures
        .get(&(context.name.clone(), WorkloadKind::Service))
        .is_some_and(|failure| failure.external_ips_refused)
}

#[cfg(test)]
mod tests;

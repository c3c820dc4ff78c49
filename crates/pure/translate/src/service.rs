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
mod tests {
    use super::*;
    use crate::fixture::World;
    use crate::snapshot::WriteFailure;
    use serde_json::json;

    fn made(world: &World) -> ServiceSpec {
        world
            .translated(service)
            .and_then(|service| service.spec)
            .expect("a Service")
    }

    /// Ports as `name protocol port>target@node`.
    fn ports(world: &World) -> Vec<String> {
        let target = |port: &ServicePort| match port.target_port {
            Some(IntOrString::Int(target)) => target,
            _ => 0,
        };
        made(world)
            .ports
            .iter()
            .flatten()
            .map(|port| {
                format!(
                    "{} {} {}>{}@{}",
                    port.name.as_deref().unwrap_or_default(),
                    port.protocol.as_deref().unwrap_or_default(),
                    port.port,
                    target(port),
                    port.node_port.unwrap_or_default()
                )
            })
            .collect()
    }

    fn one() -> World {
        World::with_listeners(&["udp TURN-UDP 3478"])
    }

    fn two() -> World {
        World::with_listeners(&["udp TURN-UDP 3478", "tcp TURN-TCP 3478"])
    }

    #[test]
    fn u137_u138_a_listener_gives_a_load_balancer_with_affinity() {
        let spec = made(&one());
        assert_eq!(spec.type_.as_deref(), Some("LoadBalancer"));
        assert_eq!(spec.session_affinity.as_deref(), Some("ClientIP"));
        assert_eq!(spec.external_traffic_policy, None);
        assert_eq!(ports(&one()), ["udp UDP 3478>3478@0"]);
        assert_eq!(
            spec.selector.expect("a selector"),
            [
                ("app".to_owned(), "stunner".to_owned()),
                (
                    "stunner.l7mp.io/related-gateway-name".to_owned(),
                    "gw".to_owned()
                ),
                (
                    "stunner.l7mp.io/related-gateway-namespace".to_owned(),
                    "stunner".to_owned()
                ),
            ]
            .into()
        );
    }

    #[test]
    fn legacy_mode_selects_by_app_only() {
        let mut world = one();
        world.settings.mode = Mode::Legacy;
        assert_eq!(
            made(&world).selector.expect("a selector"),
            [("app".to_owned(), "stunner".to_owned())].into()
        );
    }

    #[test]
    fn u139_no_usable_listener_no_service() {
        let world = World::with_listeners(&["odd SCTP 1", "tls TURN-TLS 443"]);
        assert_eq!(world.translated(service), None);
    }

    #[test]
    fn u140_u141_listeners_of_the_transport_of_the_first_valid_one_are_exposed() {
        assert_eq!(
            ports(&World::with_listeners(&["a UDP 1", "b TURN-UDP 2"])),
            ["a UDP 1>1@0", "b UDP 2>2@0"]
        );
        assert_eq!(
            ports(&World::with_listeners(&["a SCTP 1", "b TCP 2", "c UDP 3"])),
            ["b TCP 2>2@0"]
        );
    }

    #[test]
    fn u142_to_u145_both_transports_are_exposed_only_with_leave() {
        let key = annotation::ENABLE_MIXED_PROTOCOL_LB;
        assert_eq!(ports(&two()), ["udp UDP 3478>3478@0"]);
        assert_eq!(
            ports(&two().annotate(key, "true")),
            ["udp UDP 3478>3478@0", "tcp TCP 3478>3478@0"]
        );
        assert_eq!(
            ports(&two().annotate(key, "dummy")),
            ["udp UDP 3478>3478@0"]
        );
    }

    #[test]
    fn a_listener_that_waits_for_its_certificate_already_sets_the_transport() {
        let world = World::with_listeners(&["tls TURN-TLS 443", "udp UDP 3478", "tcp TCP 3478"]);
        assert_eq!(ports(&world), ["tcp TCP 3478>3478@0"]);
    }

    #[test]
    fn a_conflicting_listener_is_not_in_the_service() {
        let world = World::with_listeners(&["a UDP 3478", "b TURN-UDP 3478"]);
        assert_eq!(ports(&world), ["a UDP 3478>3478@0"]);
    }

    #[test]
    fn u147_the_port_of_health_checks_is_added_to_load_balancers() {
        let probed = |world: World| {
            world
                .annotate("service.beta.kubernetes.io/x-health-port", "8086")
                .annotate("service.beta.kubernetes.io/x-health-protocol", "tcp")
        };
        assert_eq!(
            ports(&probed(one())),
            [
                "udp UDP 3478>3478@0",
                "gateway-health-check TCP 8086>8086@0"
            ]
        );
        assert_eq!(
            ports(&probed(one()).annotate(annotation::SERVICE_TYPE, "NodePort")),
            ["udp UDP 3478>3478@0"]
        );
        assert_eq!(
            ports(&probed(World::with_listeners(&["tcp TCP 8086"]))),
            ["tcp TCP 8086>8086@0"],
            "a port occurs once"
        );
        assert_eq!(
            ports(&probed(World::with_listeners(&[
                "gateway-health-check UDP 1"
            ])))[1],
            "gateway-health-check TCP 8086>8086@0",
            "names are unique"
        );
    }

    #[test]
    fn u160_affinity_can_be_turned_off() {
        let spec = made(&one().annotate(annotation::DISABLE_SESSION_AFFINITY, "true"));
        assert_eq!(spec.session_affinity.as_deref(), Some("None"));
    }

    #[test]
    fn u161_the_first_requested_ip_address_is_asked_of_the_load_balancer() {
        let world = one()
            .ask_for_address(None, "198.51.100.1")
            .ask_for_address(None, "198.51.100.2");
        let spec = made(&world);
        assert_eq!(spec.load_balancer_ip.as_deref(), Some("198.51.100.1"));
        assert_eq!(spec.external_ips, Some(vec!["198.51.100.1".to_owned()]));
        let spec = made(&one().ask_for_address(Some("Hostname"), "turn.example.test"));
        assert_eq!((spec.load_balancer_ip, spec.external_ips), (None, None));
    }

    #[test]
    fn external_ips_are_left_out_where_admission_refuses_them() {
        let mut world = one().ask_for_address(None, "198.51.100.1");
        world.snapshot.write_failures.insert(
            (world.name.clone(), WorkloadKind::Service),
            WriteFailure {
                message: "externalIPs are not allowed".to_owned(),
                external_ips_refused: true,
            },
        );
        let spec = made(&world);
        assert_eq!(spec.load_balancer_ip.as_deref(), Some("198.51.100.1"));
        assert_eq!(spec.external_ips, None);
    }

    #[test]
    fn u162_to_u164_the_traffic_policy_is_set_where_the_type_has_one() {
        let local = one().annotate(annotation::EXTERNAL_TRAFFIC_POLICY, "local");
        assert_eq!(
            made(&local).external_traffic_policy.as_deref(),
            Some("Local")
        );
        let inside = local.annotate(annotation::SERVICE_TYPE, "ClusterIP");
        assert_eq!(made(&inside).external_traffic_policy, None);
    }

    #[test]
    fn u167_u169_node_and_target_ports_are_those_of_the_annotations() {
        let world = World::with_listeners(&["a UDP 1", "b UDP 2", "c UDP 3"])
            .annotate(annotation::NODE_PORT, r#"{"b":30101,"c":30102,"x":1}"#)
            .annotate(annotation::TARGET_PORT, r#"{"a":1001}"#);
        assert_eq!(
            ports(&world),
            ["a UDP 1>1001@0", "b UDP 2>2@30101", "c UDP 3>3@30102"]
        );
        assert_eq!(
            ports(&world.annotate(annotation::SERVICE_TYPE, "ClusterIP"))[1],
            "b UDP 2>2@0",
            "the API server refuses node ports inside the cluster"
        );
    }

    #[test]
    fn u171_node_ports_stay_with_the_name_and_target_ports_follow_the_listener() {
        let live = |world: World| {
            world.with_service(json!({"spec": {"type": "LoadBalancer", "ports": [
                {"name": "a", "port": 9, "protocol": "UDP", "nodePort": 30009, "targetPort": 9},
                {"name": "foreign", "port": 5, "protocol": "UDP", "nodePort": 30005},
            ]}}))
        };
        let world = live(World::with_listeners(&["a UDP 1", "new UDP 2"]));
        assert_eq!(ports(&world), ["a UDP 1>1@30009", "new UDP 2>2@0"]);
        let world = world.annotate(annotation::NODE_PORT, r#"{"new":30009}"#);
        assert_eq!(
            ports(&world),
            ["a UDP 1>1@0", "new UDP 2>2@30009"],
            "a node port that is asked for elsewhere is given up"
        );
    }

    #[test]
    fn a_service_of_somebody_else_lends_nothing() {
        let world = one().with_service(json!({
            "metadata": {"ownerReferences": []},
            "spec": {"type": "LoadBalancer", "loadBalancerClass": "theirs", "ports": [
                {"name": "udp", "port": 3478, "protocol": "UDP", "nodePort": 30009},
            ]},
        }));
        assert_eq!(ports(&world), ["udp UDP 3478>3478@0"]);
        assert_eq!(made(&world).load_balancer_class, None);
    }

    #[test]
    fn the_class_of_a_live_load_balancer_stays_and_the_wish_is_reported() {
        let wish = || one().annotate(annotation::LOAD_BALANCER_CLASS, "example.test/fast");
        let class = |world: &World| made(world).load_balancer_class;
        assert_eq!(class(&wish()).as_deref(), Some("example.test/fast"));
        let live = |spec| wish().with_service(json!({ "spec": spec }));
        assert_eq!(class(&live(json!({"type": "LoadBalancer"}))), None);
        assert_eq!(
            live(json!({"type": "LoadBalancer"}))
                .translated(service_problems)
                .len(),
            1
        );
        assert_eq!(
            class(&live(json!({"type": "ClusterIP"}))).as_deref(),
            Some("example.test/fast")
        );
        let kept = one().with_service(
            json!({"spec": {"type": "LoadBalancer", "loadBalancerClass": "example.test/old"}}),
        );
        assert_eq!(class(&kept).as_deref(), Some("example.test/old"));
        assert!(kept.translated(service_problems).is_empty());
    }

    #[test]
    fn families_and_source_ranges_are_those_of_the_annotations() {
        let world = one()
            .annotate(annotation::IP_FAMILY_POLICY, "PreferDualStack")
            .annotate(annotation::LOAD_BALANCER_SOURCE_RANGES, "192.0.2.0/24");
        let spec = made(&world);
        assert_eq!(spec.ip_family_policy.as_deref(), Some("PreferDualStack"));
        assert_eq!(
            spec.load_balancer_source_ranges,
            Some(vec!["192.0.2.0/24".to_owned()])
        );
        let inside = made(&world.annotate(annotation::SERVICE_TYPE, "ClusterIP"));
        assert_eq!(inside.load_balancer_source_ranges, None);
    }

    #[test]
    fn what_is_no_annotation_key_is_left_out_and_reported() {
        let world = one().annotate_config("not a key", "x");
        assert_eq!(world.translated(service_problems).len(), 1);
    }
}

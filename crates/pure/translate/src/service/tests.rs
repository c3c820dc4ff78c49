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

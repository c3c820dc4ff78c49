use super::*;
use crate::fixture::World;

fn world() -> World {
    World::with_listeners(&["udp TURN-UDP 3478"])
}

#[test]
fn u154_to_u159_the_type_is_taken_from_the_gateway_then_from_the_config() {
    let of = |world: World| world.options().service_type;
    let key = annotation::SERVICE_TYPE;
    assert_eq!(of(world()), ServiceType::LoadBalancer);
    assert_eq!(
        of(world().annotate_config(key, "ClusterIP")),
        ServiceType::ClusterIp
    );
    assert_eq!(
        of(world().annotate_config(key, "NodePort")),
        ServiceType::NodePort
    );
    assert_eq!(
        of(world().annotate(key, "ClusterIP")),
        ServiceType::ClusterIp
    );
    assert_eq!(of(world().annotate(key, "NodePort")), ServiceType::NodePort);
    assert_eq!(
        of(world()
            .annotate(key, "NodePort")
            .annotate_config(key, "ClusterIP")),
        ServiceType::NodePort
    );
}

#[test]
fn an_unknown_type_is_a_load_balancer_and_does_not_bring_back_that_of_the_config() {
    for text in ["nodeport", "ExternalName", "None", ""] {
        let options = world()
            .annotate(annotation::SERVICE_TYPE, text)
            .annotate_config(annotation::SERVICE_TYPE, "ClusterIP")
            .options();
        assert_eq!(options.service_type, ServiceType::LoadBalancer, "{text}");
        assert_eq!(options.problems.len(), 1, "{text}");
        assert!(options.problems[0].contains("Gateway stunner/gw"), "{text}");
    }
}

#[test]
fn u142_to_u145_flags_are_read_in_any_case_and_the_gateway_wins() {
    let key = annotation::ENABLE_MIXED_PROTOCOL_LB;
    let of = |world: World| world.options().mixed_protocols;
    assert!(of(world().annotate(key, "true")));
    assert!(of(world().annotate(key, "TRUE")));
    assert!(!of(world().annotate(key, "dummy")));
    assert!(of(world().annotate_config(key, "true")));
    assert!(!of(world()
        .annotate(key, "false")
        .annotate_config(key, "true")));
    assert_eq!(world().annotate(key, "dummy").options().problems.len(), 1);
    assert!(world().annotate(key, "False").options().problems.is_empty());
}

#[test]
fn what_concerns_the_dataplane_is_read_from_the_gateway_only() {
    let options = world()
        .annotate_config(annotation::DISABLE_MANAGED_DATAPLANE, "true")
        .annotate_config(annotation::ENABLE_RELAY_ADDRESS_DISCOVERY, "true")
        .options();
    assert!(!options.managed_dataplane_disabled && !options.relay_address_discovery);
    let options = world()
        .annotate(annotation::DISABLE_MANAGED_DATAPLANE, "true")
        .annotate(annotation::ENABLE_RELAY_ADDRESS_DISCOVERY, "true")
        .options();
    assert!(options.managed_dataplane_disabled && options.relay_address_discovery);
}

#[test]
fn u166_port_maps_may_lack_braces_and_be_empty() {
    let of = |text: &str| {
        let options = world().annotate(annotation::NODE_PORT, text).options();
        (options.node_ports, options.problems.len())
    };
    let one = BTreeMap::from([("udp".to_owned(), 30478)]);
    assert_eq!(of(r#"{"udp":30478}"#), (one.clone(), 0));
    assert_eq!(of(r#""udp":30478"#), (one.clone(), 0));
    assert_eq!(of(r#" { "udp" : 30478 } "#), (one.clone(), 0));
    assert_eq!(of("{}"), (BTreeMap::new(), 0));
    assert_eq!(of(""), (BTreeMap::new(), 0));
    for text in [
        r#"["udp":30478"#,
        r#""dummy""#,
        r#"{"udp":{"a":1}}"#,
        r#"{"udp":"30478"}"#,
        r#"{"udp":1.5}"#,
        "{udp:30478}",
    ] {
        assert_eq!(of(text), (BTreeMap::new(), 1), "{text}");
    }
    assert_eq!(
        of(r#"{"udp":30478,"a":70000,"b":-1,"c":0}"#),
        (one, 2),
        "a port out of range is left out and reported"
    );
}

#[test]
fn u167_to_u170_a_broken_map_of_the_config_does_not_matter_where_the_gateway_has_one() {
    let options = world()
        .annotate(annotation::NODE_PORT, r#"{"udp":30478}"#)
        .annotate_config(annotation::NODE_PORT, "broken")
        .annotate_config(annotation::TARGET_PORT, r#"{"udp":13478,"unknown":1}"#)
        .options();
    assert_eq!(options.node_ports["udp"], 30478);
    assert_eq!(options.target_ports["udp"], 13478);
    assert_eq!(options.target_ports["unknown"], 1);
    assert!(options.problems.is_empty());
}

#[test]
fn u147_to_u153_the_port_of_health_checks_is_found_in_annotations_of_clouds() {
    const AWS: &str = "service.beta.kubernetes.io/aws-load-balancer-healthcheck";
    const DO: &str = "service.beta.kubernetes.io/do-loadbalancer-healthcheck";
    let probed = |prefix: &str, port: &str, protocol: &str| {
        world()
            .annotate_config(&format!("{prefix}-port"), port)
            .annotate_config(&format!("{prefix}-protocol"), protocol)
    };
    let of = |world: World| world.options().health_check_port;
    assert_eq!(of(probed(AWS, "8080", "TCP")), Some(8080));
    assert_eq!(of(probed(DO, "8080", "http")), Some(8080));
    assert_eq!(
        of(probed(AWS, "8080", "TCP").annotate(annotation::DISABLE_HEALTH_CHECK_EXPOSE, "true")),
        None
    );
    assert_eq!(of(probed(AWS, "traffic-port", "TCP")), None);
    assert_eq!(of(probed(AWS, "0", "TCP")), None);
    assert_eq!(of(probed(AWS, "8080", "UDP")), None);
    assert_eq!(
        of(probed(AWS, "8080", "UDP").annotate(&format!("{AWS}-port"), "8081")),
        None
    );
    assert_eq!(
        of(probed(AWS, "8080", "UDP").annotate(&format!("{AWS}-protocol"), "HTTP")),
        Some(8080)
    );
    assert!(is_health_check(
        "service.beta.kubernetes.io/healthport",
        "port"
    ));
    assert!(!is_health_check("service.beta.kubernetes.io/port", "port"));
    assert!(!is_health_check("example.test/healthcheck-port", "port"));
}

#[test]
fn u162_to_u165_the_traffic_policy_is_local_only_where_it_says_so() {
    let key = annotation::EXTERNAL_TRAFFIC_POLICY;
    let of = |world: World| world.options().local_traffic_policy;
    assert!(of(world().annotate_config(key, "local")));
    assert!(of(world().annotate(key, "Local")));
    assert!(!of(world()
        .annotate(key, "dummy")
        .annotate_config(key, "local")));
    assert!(!of(world()));
}

#[test]
fn a_mistake_in_the_source_ranges_does_not_lift_the_restriction() {
    let key = annotation::LOAD_BALANCER_SOURCE_RANGES;
    let of = |text: &str| {
        let options = world().annotate(key, text).options();
        (options.load_balancer_source_ranges, options.problems.len())
    };
    let ranges = |list: &[&str]| list.iter().map(|&r| r.to_owned()).collect::<Vec<_>>();
    assert_eq!(
        of("192.0.2.0/24, 2001:db8::/32"),
        (ranges(&["192.0.2.0/24", "2001:db8::/32"]), 0)
    );
    assert_eq!(of("192.0.2.0/24,192.0.2"), (ranges(&["192.0.2.0/24"]), 1));
    assert_eq!(of("192.0.2"), (ranges(&["192.0.2"]), 1));
    assert_eq!(of(""), (ranges(&[]), 0));
}

#[test]
fn the_family_policy_is_one_of_kubernetes() {
    let key = annotation::IP_FAMILY_POLICY;
    let options = world().annotate(key, "PreferDualStack").options();
    assert_eq!(options.ip_family_policy.as_deref(), Some("PreferDualStack"));
    let options = world().annotate(key, "DualStack").options();
    assert_eq!(options.ip_family_policy, None);
    assert_eq!(options.problems.len(), 1);
}

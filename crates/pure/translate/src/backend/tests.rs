use super::*;
use crate::settings::ReferenceGrants;
use crate::snapshot::manifest::world_with;

fn render(settings: &Settings, kind: RouteKind, name: &str, text: &str) -> Rendered {
    let snapshot = world_with(text);
    cluster(
        &snapshot,
        settings,
        kind,
        &NamespacedName::new("stunner", name),
    )
}

/// The cluster of the route stunner/r with these backends: its type and endpoints, and the reasons.
fn rendered(settings: &Settings, backends: &str, text: &str) -> (String, Vec<&'static str>) {
    let route = format!(
        "{{kind: UDPRoute, apiVersion: stunner.l7mp.io/v1, metadata: {{namespace: stunner, name: r}},
           spec: {{rules: [{{backendRefs: [{backends}]}}]}}}}\n---\n{text}"
    );
    let rendered = render(settings, RouteKind::Udp, "r", &route);
    let endpoints = rendered.cluster.endpoint_texts().join(" ");
    let reasons = rendered
        .problems
        .iter()
        .filter_map(BackendProblem::reason)
        .collect();
    let kind = rendered.cluster.kind.as_str();
    (format!("{kind} {endpoints}").trim_end().to_owned(), reasons)
}

fn ok(backends: &str, text: &str) -> String {
    let (endpoints, reasons) = rendered(&Settings::default(), backends, text);
    assert!(reasons.is_empty(), "{reasons:?}");
    endpoints
}

const MEDIA: &str = "STATIC 10.244.0.1 10.244.0.2 10.96.0.1";

const STATIC_SERVICE: &str = "{kind: StaticService, metadata: {namespace: stunner, name: static},
  spec: {prefixes: [10.1.2.3/8, '2001:db8::7', '2001:db8:1::/48']}}";

const EXTERNAL: &str = "{kind: Service, metadata: {namespace: stunner, name: external},
  spec: {type: ExternalName, externalName: Media.Example.COM.}}";

#[test]
fn a_service_gives_its_endpoints_ready_or_not_and_its_cluster_ip() {
    assert_eq!(ok("{name: media}", ""), MEDIA);
}

#[test]
fn cluster_ips_of_both_families_are_admitted() {
    let dual = "{kind: Service, metadata: {namespace: stunner, name: media},
      spec: {clusterIP: 10.96.0.1, clusterIPs: [10.96.0.1, 'fd00::1']}}";
    assert_eq!(
        ok("{name: media}", dual),
        "STATIC 10.244.0.1 10.244.0.2 10.96.0.1 fd00::1"
    );
}

#[test]
fn without_relaying_to_cluster_ips_only_endpoints_are_admitted() {
    let settings = Settings {
        relay_to_cluster_ip: false,
        ..Settings::default()
    };
    let (endpoints, _) = rendered(&settings, "{name: media}", "");
    assert_eq!(endpoints, "STATIC 10.244.0.1 10.244.0.2");
}

#[test]
fn a_headless_service_resolves() {
    let headless =
        "{kind: Service, metadata: {namespace: stunner, name: media}, spec: {clusterIP: None}}";
    assert_eq!(
        ok("{name: media}", headless),
        "STATIC 10.244.0.1 10.244.0.2"
    );
}

#[test]
fn several_slices_merge_and_duplicates_collapse() {
    let slice = "{kind: EndpointSlice, addressType: IPv4,
      metadata: {namespace: stunner, name: media-2, labels: {kubernetes.io/service-name: media}},
      endpoints: [{addresses: [10.244.0.2]}, {addresses: [10.244.0.3]}]}
---
{kind: EndpointSlice, addressType: IPv4,
  metadata: {namespace: other, name: media-1, labels: {kubernetes.io/service-name: media}},
  endpoints: [{addresses: [10.244.9.9]}]}";
    assert_eq!(
        ok("{name: media}, {name: media}", slice),
        "STATIC 10.244.0.1 10.244.0.2 10.244.0.3 10.96.0.1"
    );
}

#[test]
fn endpoints_objects_count_where_slices_are_off() {
    let settings = Settings {
        endpoint_slices: false,
        ..Settings::default()
    };
    let endpoints = "{kind: Endpoints, metadata: {namespace: stunner, name: media},
      subsets: [{addresses: [{ip: 10.1.0.1}], notReadyAddresses: [{ip: 10.1.0.2}]}, {addresses: [{ip: 10.1.0.3}]}]}";
    let (found, reasons) = rendered(&settings, "{name: media}", endpoints);
    assert_eq!(found, "STATIC 10.1.0.1 10.1.0.2 10.1.0.3 10.96.0.1");
    assert!(reasons.is_empty());
}

#[test]
fn a_service_without_endpoints_is_resolved_and_remarked_on() {
    let empty = "{kind: Service, metadata: {namespace: stunner, name: empty}, spec: {clusterIP: 10.96.0.9}}";
    assert_eq!(ok("{name: empty}", empty), "STATIC 10.96.0.9");
    let route = format!(
        "{empty}\n---\n{{kind: UDPRoute, apiVersion: stunner.l7mp.io/v1, metadata: {{namespace: stunner, name: r}},
           spec: {{rules: [{{backendRefs: [{{name: empty}}]}}]}}}}"
    );
    let rendered = render(&Settings::default(), RouteKind::Udp, "r", &route);
    let name = NamespacedName::new("stunner", "empty");
    assert_eq!(rendered.problems, [BackendProblem::NoEndpoints(name)]);
}

#[test]
fn one_missing_backend_hides_no_other_whatever_the_order() {
    for backends in ["{name: none}, {name: media}", "{name: media}, {name: none}"] {
        let (endpoints, reasons) = rendered(&Settings::default(), backends, "");
        assert_eq!(endpoints, MEDIA);
        assert_eq!(reasons, ["BackendNotFound"]);
    }
}

#[test]
fn every_rule_counts() {
    let route =
        "{kind: UDPRoute, apiVersion: stunner.l7mp.io/v1, metadata: {namespace: stunner, name: r},
      spec: {rules: [{backendRefs: [{name: media}]}, {},
        {backendRefs: [{group: stunner.l7mp.io, kind: StaticService, name: static}]}]}}";
    let text = format!("{route}\n---\n{STATIC_SERVICE}");
    let rendered = render(&Settings::default(), RouteKind::Udp, "r", &text);
    assert_eq!(rendered.cluster.endpoint_texts().len(), 6);
    assert!(rendered.problems.is_empty());
}

#[test]
fn a_static_service_gives_its_prefixes() {
    let backend =
        "{group: stunner.l7mp.io, kind: StaticService, name: static, port: 1, endPort: 9}";
    assert_eq!(
        ok(backend, STATIC_SERVICE),
        "STATIC 10.0.0.0/8:<1-9> 2001:db8:1::/48:<1-9> 2001:db8::7:<1-9>"
    );
}

#[test]
fn a_bad_prefix_is_left_out_and_told() {
    let bad = "{kind: StaticService, metadata: {namespace: stunner, name: static},
      spec: {prefixes: [not-an-ip, 10.0.0.1, '10.0.0.2:<1-2>', 10.0.0.0/33]}}";
    let backend = "{group: stunner.l7mp.io, kind: StaticService, name: static}";
    let (endpoints, reasons) = rendered(&Settings::default(), backend, bad);
    assert_eq!(endpoints, "STATIC 10.0.0.1");
    assert_eq!(reasons, ["BackendNotFound"; 3]);
}

#[test]
fn other_groups_and_kinds_are_told() {
    for backend in [
        "{group: example.test, kind: Thing, name: media}",
        "{kind: StaticService, name: static}",
        "{group: stunner.l7mp.io, name: static}",
        "{group: v1, kind: Service, name: media}",
    ] {
        let backends = format!("{backend}, {{name: media}}");
        let (endpoints, reasons) = rendered(&Settings::default(), &backends, STATIC_SERVICE);
        assert_eq!(endpoints, MEDIA, "{backend}");
        assert_eq!(reasons, ["InvalidKind"], "{backend}");
    }
}

#[test]
fn names_in_slices_and_broken_addresses_are_left_out_and_told() {
    let slices = "{kind: EndpointSlice, addressType: FQDN,
      metadata: {namespace: stunner, name: media-2, labels: {kubernetes.io/service-name: media}},
      endpoints: [{addresses: [media.example.com]}]}
---
{kind: EndpointSlice, addressType: IPv4,
  metadata: {namespace: stunner, name: media-3, labels: {kubernetes.io/service-name: media}},
  endpoints: [{addresses: [10.0.0.256]}]}";
    let (endpoints, reasons) = rendered(&Settings::default(), "{name: media}", slices);
    assert_eq!(endpoints, MEDIA);
    assert_eq!(reasons, ["BackendNotFound"; 2]);
}

#[test]
fn an_external_name_gives_a_cluster_of_names() {
    let backend = "{name: external, port: 9000}";
    assert_eq!(
        ok(backend, EXTERNAL),
        "STRICT_DNS media.example.com:<9000-9000>"
    );
}

#[test]
fn of_names_and_addresses_the_kind_named_first_stays() {
    let first_addresses = rendered(
        &Settings::default(),
        "{name: media}, {name: external}",
        EXTERNAL,
    );
    assert_eq!(first_addresses, (MEDIA.to_owned(), vec!["BackendNotFound"]));
    let first_names = rendered(
        &Settings::default(),
        "{name: external}, {name: media}",
        EXTERNAL,
    );
    let names = "STRICT_DNS media.example.com".to_owned();
    assert_eq!(first_names, (names, vec!["BackendNotFound"]));
}

#[test]
fn without_endpoint_discovery_services_are_names_that_need_not_exist() {
    let settings = Settings {
        endpoint_discovery: false,
        cluster_domain: "example.test".to_owned(),
        ..Settings::default()
    };
    let backends = "{name: none}, {name: other, namespace: stunner}";
    let (endpoints, reasons) = rendered(&settings, backends, "");
    assert_eq!(
        endpoints,
        "STRICT_DNS none.stunner.svc.example.test other.stunner.svc.example.test"
    );
    assert!(reasons.is_empty());
    let backends = "{group: stunner.l7mp.io, kind: StaticService, name: static}, {name: media}";
    let (endpoints, reasons) = rendered(&settings, backends, STATIC_SERVICE);
    assert!(endpoints.starts_with("STATIC 10.0.0.0/8"));
    assert_eq!(reasons, ["BackendNotFound"]);
}

#[test]
fn a_backend_with_a_senseless_range_admits_nothing() {
    let backends = "{name: media, endPort: 9}, {name: media, port: 9, endPort: 8}";
    let (endpoints, reasons) = rendered(&Settings::default(), backends, "");
    assert_eq!(endpoints, "STATIC");
    assert_eq!(reasons, ["UnsupportedValue"; 2]);
}

#[test]
fn official_routes_admit_all_ports_and_tcp_routes_make_tcp_clusters() {
    let routes = "{kind: UDPRoute, apiVersion: gateway.networking.k8s.io/v1, metadata: {namespace: stunner, name: r},
      spec: {rules: [{backendRefs: [{name: media, port: 9000}]}]}}
---
{kind: TCPRoute, metadata: {namespace: stunner, name: t}, spec: {rules: [{backendRefs: [{name: media, port: 9000}]}]}}";
    let settings = Settings::default();
    let udp = render(&settings, RouteKind::OfficialUdp, "r", routes);
    assert_eq!(udp.cluster.protocol, PeerTransport::Udp);
    assert_eq!(udp.cluster.endpoint_texts()[0], "10.244.0.1");
    let tcp = render(&settings, RouteKind::OfficialTcp, "t", routes);
    assert_eq!(tcp.cluster.name, "stunner/t");
    assert_eq!(tcp.cluster.protocol, PeerTransport::Tcp);
    assert_eq!(tcp.cluster.endpoint_texts()[0], "10.244.0.1");
}

#[test]
fn the_cluster_of_a_tcp_route_gives_way_to_that_of_a_udp_route() {
    let route = "{kind: TCPRoute, metadata: {namespace: stunner, name: media}, spec: {}}";
    let rendered = render(&Settings::default(), RouteKind::OfficialTcp, "media", route);
    assert_eq!(rendered.cluster.name, "stunner/media:tcp");
}

const ELSEWHERE: &str =
    "{kind: Service, metadata: {namespace: other, name: media}, spec: {clusterIP: 10.96.7.7}}";
const GRANT: &str = "\n---\n{kind: ReferenceGrant, metadata: {namespace: other, name: grant}, spec: {
  from: [{group: stunner.l7mp.io, kind: UDPRoute, namespace: stunner}], to: [{group: '', kind: Service}]}}";

#[test]
fn an_enforced_grant_decides_about_backends_of_other_namespaces() {
    let settings = Settings {
        reference_grants: ReferenceGrants::Enforce,
        ..Settings::default()
    };
    let backends = "{name: media, namespace: other}";
    let refused = rendered(&settings, backends, ELSEWHERE);
    assert_eq!(refused, ("STATIC".to_owned(), vec!["RefNotPermitted"]));
    let granted = rendered(&settings, backends, &(ELSEWHERE.to_owned() + GRANT));
    assert_eq!(granted, ("STATIC 10.96.7.7".to_owned(), vec![]));
}

#[test]
fn backends_of_other_namespaces_are_remarked_on_where_grants_are_not_enforced() {
    let route =
        "{kind: UDPRoute, apiVersion: stunner.l7mp.io/v1, metadata: {namespace: stunner, name: r},
      spec: {rules: [{backendRefs: [{name: media, namespace: other}]}]}}";
    let remarks = |text: &str| {
        let rendered = render(&Settings::default(), RouteKind::Udp, "r", text);
        assert_eq!(rendered.cluster.endpoint_texts(), ["10.96.7.7"]);
        let remark = |problem: &BackendProblem| matches!(problem, BackendProblem::WithoutGrant(_));
        rendered
            .problems
            .iter()
            .filter(|problem| remark(problem))
            .count()
    };
    assert_eq!(remarks(&format!("{route}\n---\n{ELSEWHERE}")), 1);
    assert_eq!(remarks(&format!("{route}\n---\n{ELSEWHERE}{GRANT}")), 0);
}

#[test]
fn a_name_that_cluster_dns_cannot_have_is_no_backend() {
    let settings = Settings {
        endpoint_discovery: false,
        ..Settings::default()
    };
    for backend in ["{name: $X}", "{name: media, namespace: a b}"] {
        let (endpoints, reasons) = rendered(&settings, backend, "");
        assert_eq!(endpoints, "STATIC", "{backend}");
        assert_eq!(reasons, ["BackendNotFound"], "{backend}");
    }
}

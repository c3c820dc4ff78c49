//! What depends on more than one file, and what nothing is to be said about.

use super::check;
use crate::read;

/// What is said about files that are named `a.yaml`, `b.yaml` and so on.
fn said(files: &[&str]) -> Vec<String> {
    let named = files.iter().zip('a'..='z');
    let readings: Vec<_> = named
        .map(|(text, letter)| read(&format!("{letter}.yaml"), text.as_bytes()))
        .collect();
    check(&readings)
        .iter()
        .map(|problem| {
            format!(
                "{}:{} {}: {}",
                problem.file,
                problem.line,
                problem.severity.as_str(),
                problem.message
            )
        })
        .collect()
}

const CLASS: &str = "
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: stunner}
spec:
  controllerName: stunner.l7mp.io/gateway-operator
  parametersRef: {name: config, namespace: stunner}
";

const CONFIG: &str = "
apiVersion: stunner.l7mp.io/v1
kind: GatewayConfig
metadata: {name: config, namespace: stunner}
spec: {userName: user, password: pass}
";

const GATEWAY: &str = "
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: gw, namespace: stunner}
spec:
  gatewayClassName: stunner
  listeners: [{name: udp, port: 3478, protocol: TURN-UDP}]
";

const ROUTE: &str = "
apiVersion: stunner.l7mp.io/v1
kind: UDPRoute
metadata: {name: media, namespace: stunner}
spec:
  parentRefs: [{name: gw}]
  rules: [{backendRefs: [{name: media}]}]
";

const SERVICE: &str = "
apiVersion: v1
kind: Service
metadata: {name: media, namespace: stunner}
spec: {externalIPs: [192.0.2.7]}
";

#[test]
fn files_may_be_in_any_order() {
    assert_eq!(said(&[ROUTE, SERVICE, GATEWAY, CONFIG, CLASS]), [""; 0]);
}

#[test]
fn namespaces_and_the_default_dataplane_need_no_manifest() {
    let config = CONFIG.replace("userName", "dataplane: default, userName");
    assert_eq!(said(&[CLASS, &config, GATEWAY, ROUTE, SERVICE]), [""; 0]);
}

#[test]
fn gateways_of_other_controllers_are_left_alone() {
    let class = CLASS.replace("stunner.l7mp.io/", "example.com/");
    let gateway = "
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: gw, namespace: stunner, annotations: {stunner.l7mp.io/nonsense: x}}
spec:
  gatewayClassName: stunner
  listeners: [{name: http, port: 80, protocol: HTTP}, {name: https, port: 80, protocol: HTTPS}]
";
    let route = "
apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {name: media, namespace: stunner}
spec:
  parentRefs: [{name: gw, sectionName: nothing}]
  rules: [{backendRefs: [{name: nobody, port: 1}]}]
";
    assert_eq!(said(&[&class, gateway, route]), [""; 0]);
}

#[test]
fn a_gateway_that_only_serves_stun_needs_no_route() {
    let config = CONFIG.replace("userName: user, password: pass", "stunMode: true");
    assert_eq!(said(&[CLASS, &config, GATEWAY]), [""; 0]);
}

#[test]
fn every_source_of_addresses_is_enough() {
    let slice = "
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: media-1, namespace: stunner, labels: {kubernetes.io/service-name: media}}
addressType: IPv4
endpoints: [{addresses: [10.0.0.1]}]
";
    let endpoints = "
apiVersion: v1
kind: Endpoints
metadata: {name: media, namespace: stunner}
subsets: [{addresses: [{ip: 10.0.0.1}]}]
";
    let of = |spec: &str| SERVICE.replace("externalIPs: [192.0.2.7]", spec);
    let selecting = of("selector: {app: media}");
    let base = [CLASS, CONFIG, GATEWAY, ROUTE];
    let with = |more: &[&str]| said(&[&base, more].concat());
    assert_eq!(with(&[&selecting]).len(), 1);
    assert_eq!(with(&[&selecting, slice]), [""; 0]);
    assert_eq!(with(&[&selecting, endpoints]), [""; 0]);
    let named = of("type: ExternalName, externalName: media.example.com");
    assert_eq!(with(&[&named]), [""; 0]);
    assert_eq!(with(&[&of("clusterIP: 10.96.0.9")]), [""; 0]);
}

#[test]
fn what_is_there_but_broken_is_not_missing() {
    let broken = GATEWAY.replace("port: 3478", "port: many");
    let found = said(&[CLASS, CONFIG, &broken, ROUTE, SERVICE]);
    assert_eq!(
        found,
        ["c.yaml:7 error: expected integer, found string \"many\""]
    );
}

#[test]
fn what_may_be_in_an_unreadable_part_is_a_warning() {
    let found = said(&[CLASS, CONFIG, "kind: [Gateway", ROUTE, SERVICE]);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("c.yaml:1 error: not valid YAML"));
    assert_eq!(
        found[1],
        "d.yaml:6 warning: there is no Gateway `stunner/gw` in the files"
    );
}

#[test]
fn one_mistake_is_told_once() {
    // Class, Gateway and route all suffer from a Secret without a password.
    let config = CONFIG.replace("userName: user, password: pass", "authRef: {name: auth}");
    let secret = "
apiVersion: v1
kind: Secret
metadata: {name: auth, namespace: stunner}
stringData: {username: user}
";
    let found = said(&[CLASS, &config, GATEWAY, ROUTE, SERVICE, secret]);
    assert_eq!(
        found,
        ["f.yaml:5 error: `static` authentication needs the key `password`"]
    );
}

#[test]
fn of_two_files_with_one_object_the_later_is_at_fault() {
    let found = said(&[CLASS, CONFIG, GATEWAY, ROUTE, SERVICE, GATEWAY]);
    assert_eq!(
        found,
        ["f.yaml:4 error: Gateway `stunner/gw` is already defined at c.yaml:4:18"]
    );
}

#[test]
fn problems_are_told_by_file_and_line() {
    let route = ROUTE.replace("name: gw", "name: gone");
    let gateway = GATEWAY.replace("TURN-UDP", "SCTP");
    let found = said(&[&route, &gateway, CLASS, CONFIG, SERVICE]);
    let places: Vec<&str> = found
        .iter()
        .filter_map(|line| line.split_once(' '))
        .map(|(place, _)| place)
        .collect();
    assert_eq!(places, ["a.yaml:6", "b.yaml:7"]);
}

#[test]
fn a_service_that_the_operator_made_carries_its_gateways_annotations() {
    let service = SERVICE.replace(
        "name: media,",
        "name: media, annotations: {stunner.l7mp.io/service-type: NodePort},",
    );
    let base = [CLASS, CONFIG, GATEWAY, ROUTE];
    let with = |service: &str| said(&[&base[..], &[service]].concat());
    assert_eq!(with(&service).len(), 1, "{service}");
    let exported = service.replace(
        "annotations: {",
        "annotations: {stunner.l7mp.io/related-gateway-name: stunner/gw, ",
    );
    assert_eq!(with(&exported), [""; 0]);
}

#[test]
fn a_cluster_ip_is_an_address_or_none() {
    let base = [CLASS, CONFIG, GATEWAY, ROUTE];
    let of = |spec: &str| {
        let spec = format!("externalIPs: [192.0.2.7], {spec}");
        let service = SERVICE.replace("externalIPs: [192.0.2.7]", &spec);
        said(&[&base[..], &[&service]].concat())
    };
    for fine in [
        "clusterIP: None, clusterIPs: [None]",
        "clusterIP: \"\"",
        "clusterIP: 10.96.0.1, clusterIPs: [10.96.0.1, \"fd00::1\"]",
    ] {
        assert_eq!(of(fine), [""; 0], "{fine}");
    }
    assert_eq!(
        of("clusterIP: 10.96.0.x, clusterIPs: [10.96.0.x]"),
        ["e.yaml:5 error: `10.96.0.x` is not an IP address"]
    );
    assert_eq!(
        of("clusterIPs: [10.96.0.0/16]"),
        ["e.yaml:5 error: `10.96.0.0/16` is not an IP address"]
    );
}

#[test]
fn a_certificate_that_no_listener_serves_is_no_error() {
    let secret = "
apiVersion: v1
kind: Secret
metadata: {name: web, namespace: stunner}
type: kubernetes.io/tls
stringData: {tls.crt: later, tls.key: later}
";
    assert_eq!(
        said(&[secret]),
        ["a.yaml:6 warning: this is not a chain of X.509 certificates in PEM"]
    );
}

#[test]
fn slips_are_guessed_for_the_first_references_only() {
    let route = |number: usize| {
        ROUTE
            .replace("{name: media, ", &format!("{{name: r-{number}, "))
            .replace("{name: media}", &format!("{{name: medai-{number}}}"))
    };
    let routes: Vec<String> = (10..400).map(route).collect();
    let text = format!("{GATEWAY}---{CLASS}---{CONFIG}---{}", routes.join("---"));
    let service = SERVICE.replace("name: media,", "name: media-10,");
    let readings = [
        read("a.yaml", text.as_bytes()),
        read("b.yaml", service.as_bytes()),
    ];
    let problems = check(&readings);
    assert_eq!(problems.len(), 390);
    let guesses = |problem: &&crate::Problem| {
        let hint = problem.hint.as_deref().unwrap_or_default();
        hint == "did you mean `media-10`?"
    };
    assert!(problems.first().is_some_and(|first| guesses(&first)));
    assert!(problems.last().is_some_and(|last| !guesses(&last)));
}

#[test]
fn items_are_counted_as_they_are_written() {
    let route = "
apiVersion: stunner.l7mp.io/v1
kind: UDPRoute
metadata: {name: media, namespace: stunner}
spec:
  parentRefs: [{name: gw}]
  rules:
    - {backendRefs: [{name: media}, {name: gone-1}]}
    - none
    - {backendRefs: [{name: media, port: x}, {name: media}, {port: 1}, {name: gone-2}, {name: gone-3}]}
";
    let readings =
        [CLASS, CONFIG, GATEWAY, SERVICE, route].map(|text| read("a.yaml", text.as_bytes()));
    let problems = check(&readings);
    let dangling = problems
        .iter()
        .filter(|problem| problem.message.contains("gone-"));
    let dangling: Vec<(&str, u32)> = dangling
        .map(|problem| (problem.field.as_str(), problem.column))
        .collect();
    assert_eq!(
        dangling,
        [
            ("spec.rules[0].backendRefs[1].name", 44),
            ("spec.rules[2].backendRefs[3].name", 79),
            ("spec.rules[2].backendRefs[4].name", 95),
        ]
    );
}

//! Older versions.

use super::{only, problems, reading};

#[test]
fn older_versions_are_read_as_the_current_one_with_a_notice() {
    for (group, kind, old, spec) in [
        (
            "gateway.networking.k8s.io",
            "GatewayClass",
            "v1alpha2",
            "{controllerName: stunner.l7mp.io/gateway-operator}",
        ),
        (
            "gateway.networking.k8s.io",
            "GatewayClass",
            "v1beta1",
            "{controllerName: stunner.l7mp.io/gateway-operator}",
        ),
        (
            "gateway.networking.k8s.io",
            "Gateway",
            "v1alpha2",
            "{gatewayClassName: a, listeners: [{name: a, port: 1, protocol: UDP}]}",
        ),
        (
            "stunner.l7mp.io",
            "GatewayConfig",
            "v1alpha1",
            "{authType: plaintext, userName: a, password: b, minPort: 1, maxPort: 2}",
        ),
        (
            "stunner.l7mp.io",
            "StaticService",
            "v1alpha1",
            "{prefixes: [192.0.2.0/24]}",
        ),
        (
            "stunner.l7mp.io",
            "Dataplane",
            "v1alpha1",
            "{image: a, healthCheckPort: 8086}",
        ),
        (
            "stunner.l7mp.io",
            "UDPRoute",
            "v1alpha1",
            "{parentRefs: [{name: a}], rules: [{backendRefs: [{name: b}]}]}",
        ),
    ] {
        let text = format!(
            "apiVersion: {group}/{old}\nkind: {kind}\nmetadata: {{name: a}}\nspec: {spec}\n"
        );
        assert_eq!(
            problems(&text),
            [format!(
                "1:13 warning: apiVersion: `{group}/{old}` is an older version of {kind}, read as `{group}/v1` (write `apiVersion: {group}/v1`)"
            )]
        );
        assert_eq!(only(&text)["apiVersion"], format!("{group}/v1"));
        assert!(!reading(&text).manifests[0].repaired);
    }
}

#[test]
fn an_older_endpoint_slice_loses_its_topology() {
    let text = "apiVersion: discovery.k8s.io/v1beta1
kind: EndpointSlice
metadata: {name: a}
addressType: IPv4
endpoints: [{addresses: [10.0.0.1], topology: {a: b}}]
";
    assert_eq!(problems(text).len(), 1, "only the notice");
    assert_eq!(only(text)["endpoints"][0]["addresses"][0], "10.0.0.1");
}

#[test]
fn versions_that_clusters_serve_today_give_no_notice() {
    for (group, kind, version, spec) in [
        (
            "gateway.networking.k8s.io",
            "UDPRoute",
            "v1alpha2",
            "{rules: [{backendRefs: [{name: b, port: 1}]}]}",
        ),
        (
            "gateway.networking.k8s.io",
            "ReferenceGrant",
            "v1beta1",
            "{from: [{group: '', kind: Secret, namespace: a}], to: [{group: '', kind: Service}]}",
        ),
    ] {
        let text = format!(
            "apiVersion: {group}/{version}\nkind: {kind}\nmetadata: {{name: a}}\nspec: {spec}\n"
        );
        assert_eq!(super::objects(&text).len(), 1);
    }
}

//! Faults of what serves: pods, Services, addresses.

use super::*;

fn pods(facts: &mut Facts) -> &mut Vec<PodFacts> {
    match &mut facts.pods {
        Asked::Known(pods) => pods,
        _ => unreachable!("the fixture has pods"),
    }
}

#[test]
fn pods_and_what_they_run() {
    names(Hop::Pods, "ImagePullBackOff", |facts| {
        pods(facts)[0].ready = false;
        pods(facts)[0].trouble = Some("ImagePullBackOff: no such image".to_owned());
    });
    names(Hop::Pods, "has no pods", |facts| pods(facts).clear());
    names(Hop::Pods, "scaled to 0", |facts| {
        pods(facts).clear();
        facts.workload = Asked::Known(Some(WorkloadFacts {
            id: "Deployment media/gw".to_owned(),
            ..WorkloadFacts::default()
        }));
    });
    names(Hop::Pods, "being drained", |facts| {
        pods(facts)[0].terminating = true
    });
    names(Hop::Sync, "no configuration", |facts| {
        facts.served = Asked::Known(None)
    });
}

#[test]
fn a_pod_with_an_older_configuration_is_a_warning() {
    let mut facts = healthy();
    if let Asked::Known(status) = &mut pods(&mut facts)[0].status {
        status["clusters"][0]["endpoints"] = json!(["10.0.0.8"]);
    }
    let findings = judge(&facts);
    let sync = findings
        .iter()
        .find(|finding| finding.hop == Hop::Sync)
        .expect("a line");
    assert_eq!(sync.verdict, Verdict::Warn);
    assert!(sync.what.starts_with("gw-1 runs an older"), "{sync:?}");
    // Another program's document is not judged.
    pods(&mut facts)[0].status = Asked::Known(json!({"status": "READY"}));
    let findings = judge(&facts);
    let sync = findings
        .iter()
        .find(|finding| finding.hop == Hop::Sync)
        .expect("a line");
    assert_eq!(sync.verdict, Verdict::Ok);
}

#[test]
fn services_and_addresses() {
    names(Hop::Service, "does not exist", |facts| {
        facts.service = Asked::Known(None)
    });
    names(Hop::Service, "not this Gateway's", |facts| {
        let mut service = service();
        service["metadata"]["labels"] = Value::Null;
        facts.service = known(service);
    });
    names(Hop::Service, "no UDP port 3478", |facts| {
        let mut service = service();
        service["spec"]["ports"][0]["protocol"] = json!("TCP");
        facts.service = known(service);
    });
    let pending = |facts: &mut Facts| {
        let mut service = service();
        service["status"] = json!({"loadBalancer": {}});
        service["metadata"]["creationTimestamp"] = json!("2027-01-15T07:30:00Z");
        facts.service = known(service);
        facts.served = Asked::Known(Some(config("")));
        facts.trials.clear();
    };
    names(Hop::Address, "for 30 minutes", pending);
    names(Hop::Address, "MetalLB", pending);
    names(Hop::Address, "quota exceeded", |facts| {
        pending(facts);
        facts.events = vec!["SyncLoadBalancerFailed: quota exceeded".to_owned()];
    });
    for (provider, word) in [
        (Provider::Aws, "aws-load-balancer-type"),
        (Provider::Azure, "public addresses"),
        (Provider::Google, "forwarding rules"),
        (Provider::Hetzner, "no UDP"),
        (Provider::DigitalOcean, "healthcheck-port"),
        (Provider::OpenStack, "Octavia"),
        (Provider::Kind, "cloud-provider-kind"),
        (Provider::Minikube, "minikube tunnel"),
        (Provider::K3s, "svclb"),
    ] {
        names(Hop::Address, word, |facts| {
            pending(facts);
            facts.provider = Some(provider);
        });
    }
}

#[test]
fn without_config_discovery_the_address_follows_from_the_objects() {
    let mut facts = healthy();
    facts.served = Asked::Failed("no pod".to_owned());
    let gateway = object::<Gateway>(gateway());
    let found = place(&facts, &gateway, &gateway.spec.listeners[0]).expect("a place");
    assert_eq!((found.host.as_str(), found.port), ("192.0.2.1", 3478));
    let mut node_port = service();
    node_port["spec"]["type"] = json!("NodePort");
    node_port["status"] = Value::Null;
    facts.service = known(node_port);
    let gateway =
        known_gateway(|gateway| gateway["status"]["addresses"] = json!([{"value": "192.0.2.7"}]));
    let gateway = gateway.known().and_then(Option::clone).expect("a Gateway");
    let found = place(&facts, &gateway, &gateway.spec.listeners[0]).expect("a place");
    assert_eq!((found.host.as_str(), found.port), ("192.0.2.7", 30001));
}

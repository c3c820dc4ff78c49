//! Faults of what users write.

use super::*;

#[test]
fn classes() {
    names(Hop::Class, "does not exist", |facts| {
        facts.class = Asked::Known(None)
    });
    names(Hop::Class, "example.test/other", |facts| {
        let mut class = class();
        class["spec"]["controllerName"] = json!("example.test/other");
        facts.class = known(class);
    });
    names(Hop::Class, "no operator", |facts| {
        let mut class = class();
        class["status"] = Value::Null;
        facts.class = known(class);
    });
    // Another name under our domain is an operator of ours that says so by accepting the class.
    let mut facts = healthy();
    let mut class = class();
    class["spec"]["controllerName"] = json!("stunner.l7mp.io/staging");
    facts.class = known(class);
    assert_eq!(first_dead(&judge(&facts)), None);
}

#[test]
fn configs() {
    names(Hop::Config, "stunner/config does not exist", |facts| {
        facts.config = Asked::Known(None);
        let mut class = class();
        class["status"]["conditions"] =
            json!([condition("Accepted", "False", "InvalidParameters", "No.")]);
        facts.class = known(class);
    });
    names(Hop::Config, "parametersRef", |facts| {
        let mut class = class();
        class["spec"]["parametersRef"] = Value::Null;
        facts.class = known(class);
    });
    names(Hop::Config, "password", |facts| {
        facts.config = known(
            json!({"metadata": {"name": "config", "namespace": "stunner"}, "spec": {"userName": "u"}}),
        );
    });
    let secret = |found| SecretFacts {
        name: NamespacedName::new("stunner", "creds"),
        found,
    };
    names(Hop::Config, "stunner/creds", |facts| {
        facts.secret = Some(secret(Asked::Known(None)));
    });
    names(Hop::Config, "lacks the key", |facts| {
        facts.secret = Some(secret(Asked::Known(Some(Some(
            "it lacks the key `password`".to_owned(),
        )))));
    });
    // Who may not read Secrets is not told that they are broken.
    let mut facts = healthy();
    facts.secret = Some(secret(Asked::Forbidden {
        rule: "get on secrets".to_owned(),
    }));
    assert_eq!(first_dead(&judge(&facts)), None);
}

#[test]
fn what_follows_from_a_dead_hop_is_set_aside() {
    let mut facts = healthy();
    facts.class = Asked::Known(None);
    facts.gateway = known_gateway(|gateway| gateway["status"] = json!({"conditions": []}));
    facts.service = Asked::Known(None);
    facts.served = Asked::Known(None);
    facts.trials.clear();
    facts.backends[0].found = Asked::Known(None);
    let findings = judge(&facts);
    let dead = findings
        .iter()
        .filter(|finding| finding.verdict == Verdict::Dead);
    let dead: Vec<Hop> = dead.map(|finding| finding.hop).collect();
    // The backend is missing whatever the operator does.
    assert_eq!(dead, [Hop::Class, Hop::Backend], "{findings:#?}");
    let service = findings.iter().find(|finding| finding.hop == Hop::Service);
    let service = service.expect("a line");
    assert_eq!(service.what, "Service media/gw does not exist (see class)");
}

#[test]
fn gateways_and_listeners() {
    names(Hop::Gateway, "has a and b", |facts| {
        facts.gateway = Asked::Known(None);
        facts.others = vec!["a".to_owned(), "b".to_owned()];
    });
    names(Hop::Gateway, "no operator", |facts| {
        facts.gateway = known_gateway(|gateway| gateway["status"] = json!({"conditions": []}));
    });
    names(Hop::Gateway, "port is taken", |facts| {
        facts.gateway = known_gateway(|gateway| {
            gateway["status"]["conditions"][1] =
                condition("Programmed", "False", "Invalid", "The port is taken.");
        });
    });
    names(Hop::Listener, "no listeners", |facts| {
        facts.gateway = known_gateway(|gateway| gateway["spec"]["listeners"] = json!([]));
    });
    names(Hop::Listener, "it has `udp`", |facts| {
        facts.only = Some("tcp".to_owned())
    });
    names(Hop::Listener, "HTTP", |facts| {
        facts.gateway =
            known_gateway(|gateway| gateway["spec"]["listeners"][0]["protocol"] = json!("HTTP"));
    });
    names(Hop::Listener, "enable-mixed-protocol-lb", |facts| {
        facts.gateway = known_gateway(|gateway| {
            gateway["status"]["listeners"][0]["conditions"][2] =
                condition("Programmed", "False", "Invalid", "One transport.");
        });
    });
    names(Hop::Listener, "tls.crt", |facts| {
        facts.gateway = known_gateway(|gateway| {
            let conditions = &mut gateway["status"]["listeners"][0]["conditions"];
            conditions[1] = condition(
                "ResolvedRefs",
                "False",
                "InvalidCertificateRef",
                "No Secret.",
            );
            conditions[2] = condition("Programmed", "False", "Invalid", "Left out.");
        });
    });
}

fn routes(facts: &mut Facts) -> &mut Routes {
    match &mut facts.routes {
        Asked::Known(routes) => routes,
        _ => unreachable!("the fixture has routes"),
    }
}

#[test]
fn routes_backends_and_endpoints() {
    names(Hop::Route, "no route names", |facts| {
        routes(facts).ours.clear()
    });
    names(Hop::Route, "Gateway media/gateway instead", |facts| {
        let other = (
            "UDPRoute media/route".to_owned(),
            NamespacedName::new("media", "gateway"),
        );
        routes(facts).ours.clear();
        routes(facts).elsewhere.push(other);
    });
    names(Hop::Route, "own namespace only", |facts| {
        routes(facts).ours[0].accepted = Some((
            false,
            "Listener `udp` takes routes of its own namespace only.".to_owned(),
        ));
    });
    names(
        Hop::Backend,
        "Service media/server does not exist",
        |facts| {
            facts.backends[0].found = Asked::Known(None);
            routes(facts).ours[0].resolved = Some((false, "Not there.".to_owned()));
        },
    );
    names(Hop::Backend, "ReferenceGrant", |facts| {
        routes(facts).ours[0].resolved = Some((false, "Add a ReferenceGrant.".to_owned()));
    });
    names(Hop::Endpoints, "no endpoints", |facts| {
        facts.backends[0].found = Asked::Known(Some(BackendState::Service {
            ready: 0,
            not_ready: 0,
        }));
    });
    names(Hop::Endpoints, "no prefixes", |facts| {
        facts.backends[0].found = Asked::Known(Some(BackendState::Static { prefixes: 0 }));
    });
}

#[test]
fn routes_that_nobody_may_read_are_no_fault() {
    let mut facts = healthy();
    routes(&mut facts).ours.clear();
    routes(&mut facts).unseen = vec!["UDPRoutes of other namespaces".to_owned()];
    assert_eq!(first_dead(&judge(&facts)), None);
    facts.routes = Asked::Forbidden {
        rule: "list on udproutes.stunner.l7mp.io".to_owned(),
    };
    let findings = judge(&facts);
    let route = findings
        .iter()
        .find(|finding| finding.hop == Hop::Route)
        .expect("a line");
    assert_eq!(route.verdict, Verdict::Skipped);
    assert!(
        route
            .hint
            .as_ref()
            .is_some_and(|hint| hint.contains("list on udproutes")),
        "{route:?}"
    );
}

#[test]
fn a_route_that_nobody_has_looked_at_is_a_matter_of_the_operator() {
    let mut facts = healthy();
    if let Asked::Known(routes) = &mut facts.routes {
        routes.ours[0].accepted = None;
    }
    let findings = judge(&facts);
    let found = findings.iter().find(|it| it.hop == Hop::Route);
    let found = found.expect("a line");
    assert!(
        found.what.starts_with("no operator has looked at"),
        "{found:?}"
    );
    let hint = found.hint.as_deref().unwrap_or_default();
    assert!(hint.contains("whether the operator runs"), "{hint}");
}

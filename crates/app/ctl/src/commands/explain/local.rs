//! The answer of a configuration that need not run anywhere.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use stunner_cluster::{Explanation, Grounds};
use stunner_config::admission::{
    Admission, ClusterId, OwnAddresses, RelayPorts, Rule, Verdict, listener_rules,
};
use stunner_config::{ClusterKind, Config, Listener};

use super::question::Question;

/// What a dataplane with this configuration would say. It has no relays yet, and of its addresses only those are known
/// that the configuration names.
pub(super) fn explain(config: &Config, listener: &Listener, question: &Question) -> Explanation {
    let ids: HashMap<&str, ClusterId> = (0..)
        .zip(&config.clusters)
        .map(|(id, cluster)| (cluster.name.as_str(), ClusterId(id)))
        .collect();
    let name = |id: ClusterId| {
        let cluster = config.clusters.get(id.0 as usize);
        cluster.map_or_else(String::new, |cluster| cluster.name.clone())
    };
    let own = OwnAddresses {
        addresses: config
            .listeners
            .iter()
            .flat_map(|listener| listener.addresses.fixed())
            .collect(),
        listeners: config
            .listeners
            .iter()
            .map(|listener| (listener.protocol.socket(), listener.port))
            .collect(),
    };
    // Names are resolved where the dataplane runs; see `unresolved`.
    let rules = listener_rules(
        config,
        listener,
        |name| ids.get(name).copied().unwrap_or(ClusterId(u32::MAX)),
        |_| Vec::new(),
    );
    let admission = Admission::compile(rules, Arc::new(own), Arc::new(RelayPorts::new()), false);
    let transport = question.transport;
    let (verdict, rule) = match question.port {
        Some(port) => {
            let explained = admission.explain(transport, SocketAddr::new(question.peer, port));
            let rule = explained.matched.map(|(_, rule)| rule);
            (explained.verdict, rule.or(explained.nearest))
        }
        None => {
            let explained = admission.explain(transport, SocketAddr::new(question.peer, 0));
            (
                admission.admit_address(transport, question.peer),
                explained.nearest,
            )
        }
    };
    let words = |rule: &Rule| {
        let cluster = name(rule.cluster);
        format!(
            "cluster {cluster}, {} ports {} ({})",
            rule.net, rule.ports, rule.transport
        )
    };
    let grounds = rule.as_ref().map(|rule| Grounds {
        cluster: name(rule.cluster),
        prefix: rule.net.to_string(),
        ports: rule.ports.to_string(),
        transport: rule.transport.to_string(),
    });
    let base = Explanation {
        listener: listener.name.clone(),
        peer: question.peer_text(),
        admitted: verdict.is_admitted(),
        cluster: None,
        rule: None,
        reason: None,
        nearest: None,
        grounds,
        generation: None,
        relays: match listener.addresses.wildcard {
            true => Vec::new(),
            false => listener.addresses.fixed().collect(),
        },
    };
    match verdict {
        Verdict::Admitted { cluster, .. } => Explanation {
            cluster: Some(name(cluster)),
            rule: rule.as_ref().map(words),
            ..base
        },
        Verdict::Denied(reason) => Explanation {
            reason: Some(reason.as_str().to_owned()),
            nearest: rule.as_ref().map(words),
            ..base
        },
    }
}

/// The names in the routes of a listener: only a dataplane knows what they resolve to.
pub(super) fn unresolved(config: &Config, listener: &Listener) -> Vec<String> {
    let clusters = listener.routes.iter();
    clusters
        .filter_map(|route| config.cluster(route))
        .flat_map(|cluster| match &cluster.kind {
            ClusterKind::StrictDns(endpoints) => endpoints.as_slice(),
            ClusterKind::Static(_) => &[],
        })
        .map(|endpoint| endpoint.name.clone())
        .collect()
}

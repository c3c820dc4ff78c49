//! From a config to what the TURN servers enforce.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use stunner_config::admission::{Admission, OwnAddresses, RelayPorts, Rule, listener_rules};
use stunner_config::{ClusterKind, Config, PeerTransport, PortRange};
use stunner_turn::ListenerId;
use stunner_turn::server::{AuthPolicy, Credentials, Draining, Guest, ListenerPolicy, Policy};

use super::dns::Answers;
use super::names::Names;
use crate::ice_test::Visitor;

/// What traffic of ICE tests is counted under.
const ICE_TEST_CLUSTER: &str = "ice-test";

/// What a policy is made from, besides the config.
#[derive(Debug)]
pub struct Surroundings<'a> {
    pub answers: &'a Answers,
    pub visitors: &'a [Visitor],
    /// Addresses of this host.
    pub local_addresses: Vec<IpAddr>,
    /// Every listening port, those that drain included.
    pub listening: Vec<(PeerTransport, u16)>,
    pub relay_ports: Arc<RelayPorts>,
    pub allow_loopback: bool,
    pub max_ephemeral_lifetime: Option<u64>,
    /// The credentials before the last change, and until when they are good.
    pub previous: Option<(Arc<Credentials>, u64)>,
    pub draining: Option<Draining>,
    pub generation: u64,
}

/// Compiles a config. Cannot fail: what a config may say wrong is found when it is read.
pub fn build(config: &Config, names: &mut Names, around: &Surroundings<'_>) -> Policy {
    let mut addresses = around.local_addresses.clone();
    addresses.extend(
        config
            .listeners
            .iter()
            .flat_map(|listener| listener.addresses.fixed()),
    );
    let own = Arc::new(OwnAddresses {
        addresses,
        listeners: around.listening.clone(),
    });
    let cluster_ids: HashMap<&str, _> = config
        .clusters
        .iter()
        .map(|cluster| (cluster.name.as_str(), names.cluster(&cluster.name)))
        .collect();
    let resolve = |name: &str| -> Vec<IpAddr> {
        around
            .answers
            .get(name)
            .into_iter()
            .flatten()
            .copied()
            .collect()
    };
    let listeners: HashMap<ListenerId, ListenerPolicy> = config
        .listeners
        .iter()
        .map(|listener| {
            let rules = listener_rules(config, listener, |name| cluster_ids[name], resolve);
            let admission = Admission::compile(
                rules,
                Arc::clone(&own),
                Arc::clone(&around.relay_ports),
                around.allow_loopback,
            );
            let policy = ListenerPolicy {
                name: listener.name.as_str().into(),
                admission: Arc::new(admission),
                addresses: listener.addresses,
            };
            (names.listener(&listener.name), policy)
        })
        .collect();
    Policy {
        generation: around.generation,
        auth: AuthPolicy {
            current: Arc::new(credentials(config, around.max_ephemeral_lifetime)),
            previous: around.previous.clone(),
        },
        listeners,
        guests: around
            .visitors
            .iter()
            .map(|visitor| guest(visitor, names, &own, around))
            .collect(),
        draining: around.draining,
    }
}

/// A visitor as TURN knows it: one who reaches one peer. The own-address rules hold, and admit the peer, since its rule
/// names its address alone.
fn guest(
    visitor: &Visitor,
    names: &mut Names,
    own: &Arc<OwnAddresses>,
    around: &Surroundings<'_>,
) -> Guest {
    let peer = visitor.peer;
    let rule = Rule {
        cluster: names.cluster(ICE_TEST_CLUSTER),
        transport: PeerTransport::Udp,
        net: peer.ip().into(),
        ports: PortRange::new(peer.port(), peer.port()),
        named: false,
    };
    let admission = Admission::compile(
        vec![rule],
        Arc::clone(own),
        Arc::clone(&around.relay_ports),
        around.allow_loopback,
    );
    Guest::new(
        Arc::clone(&visitor.username),
        &visitor.password,
        visitor.expires,
        Arc::new(admission),
    )
}

/// The credentials that new allocations need.
pub fn credentials(config: &Config, max_ephemeral_lifetime: Option<u64>) -> Credentials {
    Credentials::new(
        config.auth.realm.as_str(),
        config.auth.method.clone(),
        max_ephemeral_lifetime,
    )
}

/// The names that STRICT_DNS clusters want resolved.
pub fn names_to_resolve(config: &Config) -> impl Iterator<Item = &str> {
    config
        .clusters
        .iter()
        .flat_map(|cluster| match &cluster.kind {
            ClusterKind::StrictDns(endpoints) => endpoints.as_slice(),
            ClusterKind::Static(_) => &[],
        })
        .map(|endpoint| endpoint.name.as_str())
}

//! From the routes of a listener to rules.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::model::{ClusterKind, Config, Listener};

use super::{ClusterId, Rule};

/// The rules of a listener in route order: `id_of` numbers clusters, `resolve` gives the current answers to a name.
///
/// Routes without a cluster yield nothing.
pub fn listener_rules(
    config: &Config,
    listener: &Listener,
    id_of: impl Fn(&str) -> ClusterId,
    resolve: impl Fn(&str) -> Vec<IpAddr>,
) -> Vec<Rule> {
    let mut rules = Vec::new();
    for cluster in listener
        .routes
        .iter()
        .filter_map(|route| config.cluster(route))
    {
        let (id, transport) = (id_of(&cluster.name), cluster.protocol);
        match &cluster.kind {
            ClusterKind::Static(endpoints) => rules.extend(endpoints.iter().map(|endpoint| Rule {
                cluster: id,
                transport,
                net: endpoint.net,
                ports: endpoint.ports,
                named: false,
            })),
            ClusterKind::StrictDns(endpoints) => {
                for endpoint in endpoints {
                    rules.extend(resolve(&endpoint.name).into_iter().map(|address| Rule {
                        cluster: id,
                        transport,
                        net: IpNet::from(address),
                        ports: endpoint.ports,
                        named: true,
                    }));
                }
            }
        }
    }
    rules
}

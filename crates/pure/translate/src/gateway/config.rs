//! The listeners and clusters of a dataplane configuration.

use std::collections::{BTreeMap, BTreeSet};

use stunner_api::names;
use stunner_config::{Cluster, Listener, Pem, RelayAddresses, SecretPem};

use super::Served;
use crate::backend;
use crate::context::{ListenerPlan, PublicAddress};

/// The listeners that can be served, in the order of the spec.
pub(crate) fn listeners(served: &Served<'_>) -> Vec<Listener> {
    let plans = served.listeners.iter().zip(&served.addresses);
    plans
        .enumerate()
        .filter_map(|(place, (plan, address))| listener(served, place, plan, address.as_ref()))
        .collect()
}

fn listener(
    served: &Served<'_>,
    place: usize,
    plan: &ListenerPlan,
    address: Option<&PublicAddress>,
) -> Option<Listener> {
    let protocol = plan.protocol.filter(|_| plan.is_served())?;
    let host = |address: &PublicAddress| plan.hostname.clone().unwrap_or(address.address.clone());
    let certificate = plan.certificate.as_ref();
    let relay_address = if served.options.relay_address_discovery {
        names::NODE_ADDRESS_PLACEHOLDER
    } else {
        names::POD_ADDRESS_PLACEHOLDER
    };
    Some(Listener {
        name: format!("{}/{}", served.name, plan.name),
        protocol,
        // Only the dataplane knows: it puts its own address, or that of its node, in place of the text.
        addresses: RelayAddresses::WILDCARD,
        address_text: relay_address.to_owned(),
        port: plan.port,
        public_address: address.map_or_else(String::new, host),
        public_port: address.map_or(0, |address| address.port),
        cert: certificate.map(|certificate| Pem::new(certificate.cert.as_str())),
        key: certificate.map(|certificate| SecretPem::new(certificate.key.as_str())),
        routes: routes(served, place),
    })
}

/// The names of the clusters that clients of a listener may reach: sorted, each once.
fn routes(served: &Served<'_>, place: usize) -> Vec<String> {
    let attached = served.routes.iter();
    let names: BTreeSet<String> = attached
        .filter(|route| route.listeners.contains(&place))
        .map(|route| backend::cluster_name(served.snapshot, route.kind, &route.name))
        .collect();
    names.into_iter().collect()
}

/// The clusters of some Gateways: sorted by name, each once.
pub(crate) fn clusters<'a>(served: impl IntoIterator<Item = &'a Served<'a>>) -> Vec<Cluster> {
    let mut clusters = BTreeMap::new();
    for served in served {
        for route in &served.routes {
            let rendered =
                backend::cluster(served.snapshot, served.settings, route.kind, &route.name);
            clusters
                .entry(rendered.cluster.name.clone())
                .or_insert(rendered.cluster);
        }
    }
    clusters.into_values().collect()
}

//! Which backend an address belongs to, or may have been meant by it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;
use serde::Serialize;
use stunner_api::NamespacedName;

use crate::backend::{BackendTarget, addresses_of, target};
use crate::snapshot::Snapshot;

/// Shared leading bits from which two addresses count as near: a /8 of IPv4, a /32 of IPv6.
const NEAR_V4: u8 = 8;
const NEAR_V6: u8 = 32;

/// A Service or StaticService.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NearestBackend {
    pub kind: String,
    pub namespace: String,
    pub name: String,
    /// The address is one of its own; otherwise it is merely close.
    pub holds: bool,
}

/// `Service media/media-server`.
impl fmt::Display for NearestBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NearestBackend {
            kind,
            namespace,
            name,
            ..
        } = self;
        write!(f, "{kind} {namespace}/{name}")
    }
}

/// The backend that has an address, else the one of a route that comes closest to it.
///
/// Whoever asks for many addresses makes [`BackendAddresses`] once.
pub fn nearest_backend(snapshot: &Snapshot, address: IpAddr) -> Option<NearestBackend> {
    BackendAddresses::of(snapshot).nearest(address)
}

/// The addresses of all Services and StaticServices, to be looked up.
#[derive(Debug, Clone, Default)]
pub struct BackendAddresses {
    targets: Vec<BackendTarget>,
    /// By length of the prefix and its first address; the target is an index.
    by_prefix: BTreeMap<(u8, IpAddr), usize>,
    /// The lengths that occur, per family.
    lengths_v4: BTreeSet<u8>,
    lengths_v6: BTreeSet<u8>,
    /// First addresses of what routes name, with the target.
    routed: BTreeMap<IpAddr, usize>,
}

impl BackendAddresses {
    pub fn of(snapshot: &Snapshot) -> Self {
        let routed = routed_targets(snapshot);
        let statics = snapshot.static_services.keys().cloned();
        let services = snapshot.services.keys().cloned();
        // What a route names goes first: of two that have an address, it is the likelier one.
        let mut targets: Vec<BackendTarget> = routed.iter().cloned().collect();
        targets.extend(
            statics
                .map(BackendTarget::StaticService)
                .chain(services.map(BackendTarget::Service))
                .filter(|target| !routed.contains(target)),
        );
        let mut found = BackendAddresses::default();
        for target in targets {
            let is_routed = routed.contains(&target);
            let nets = addresses_of(snapshot, &target);
            found.add(target, &nets, is_routed);
        }
        found
    }

    fn add(&mut self, target: BackendTarget, nets: &[IpNet], is_routed: bool) {
        let place = self.targets.len();
        self.targets.push(target);
        for net in nets {
            let (length, first) = (net.prefix_len(), net.network());
            match first {
                IpAddr::V4(_) => self.lengths_v4.insert(length),
                IpAddr::V6(_) => self.lengths_v6.insert(length),
            };
            self.by_prefix.entry((length, first)).or_insert(place);
            if is_routed {
                self.routed.entry(first).or_insert(place);
            }
        }
    }

    /// The backend that has an address, else the one of a route that shares the longest prefix with it.
    pub fn nearest(&self, address: IpAddr) -> Option<NearestBackend> {
        let address = address.to_canonical();
        if let Some(place) = self.holder(address) {
            return self.backend(place, true);
        }
        self.backend(self.closest(address)?, false)
    }

    /// By the longest prefix that has the address.
    fn holder(&self, address: IpAddr) -> Option<usize> {
        let lengths = match address {
            IpAddr::V4(_) => &self.lengths_v4,
            IpAddr::V6(_) => &self.lengths_v6,
        };
        lengths.iter().rev().find_map(|&length| {
            let net = IpNet::new(address, length).ok()?;
            self.by_prefix.get(&(length, net.network())).copied()
        })
    }

    /// In order of addresses, the one with the longest common prefix is a neighbour.
    fn closest(&self, address: IpAddr) -> Option<usize> {
        let below = self.routed.range(..address).next_back();
        let above = self.routed.range(address..).next();
        let mut candidates: Vec<(u8, usize)> = below
            .into_iter()
            .chain(above)
            .filter_map(|(other, &place)| Some((common_prefix(address, *other)?, place)))
            .collect();
        candidates.sort_by_key(|&(bits, place)| (u8::MAX - bits, place));
        let &(bits, place) = candidates.first()?;
        let near = match address {
            IpAddr::V4(_) => NEAR_V4,
            IpAddr::V6(_) => NEAR_V6,
        };
        (bits >= near).then_some(place)
    }

    fn backend(&self, place: usize, holds: bool) -> Option<NearestBackend> {
        let target = self.targets.get(place)?;
        let NamespacedName { namespace, name } = target.name().clone();
        Some(NearestBackend {
            kind: target.kind().to_owned(),
            namespace,
            name,
            holds,
        })
    }
}

fn routed_targets(snapshot: &Snapshot) -> BTreeSet<BackendTarget> {
    let routes = snapshot
        .route_ids()
        .filter_map(|(kind, name)| Some((name, snapshot.route(kind, name)?)));
    routes
        .flat_map(|(name, route)| {
            let backends = route.backends.into_iter();
            backends.filter_map(|backend| target(&name.namespace, backend))
        })
        .collect()
}

/// The number of leading bits that two addresses of one family share.
fn common_prefix(one: IpAddr, other: IpAddr) -> Option<u8> {
    let bits = match (one, other) {
        (IpAddr::V4(one), IpAddr::V4(other)) => (one.to_bits() ^ other.to_bits()).leading_zeros(),
        (IpAddr::V6(one), IpAddr::V6(other)) => (one.to_bits() ^ other.to_bits()).leading_zeros(),
        _ => return None,
    };
    u8::try_from(bits).ok()
}

//! The ports that clients may reach on a backend.

use stunner_api::gateway::BackendRef;
use stunner_config::PortRange;

use super::{BackendProblem, name_of};
use crate::key::RouteKind;

/// `None` when the ports make no sense: such a backend admits nothing, since admitting too much cannot be taken back.
pub(super) fn ports(
    kind: RouteKind,
    route_namespace: &str,
    backend: &BackendRef,
    problems: &mut Vec<BackendProblem>,
) -> Option<PortRange> {
    // In an official route `port` names a port of the Service, not of the peers, and there is no `endPort`.
    if kind != RouteKind::Udp {
        return Some(PortRange::ALL);
    }
    let range = match (backend.port, backend.end_port) {
        (None, None) => Some(PortRange::ALL),
        (None, Some(_)) => None,
        (Some(port), end_port) => range(port, end_port.unwrap_or(port)),
    };
    if range.is_none() {
        problems.push(BackendProblem::BadPorts {
            name: name_of(route_namespace, backend),
            port: backend.port,
            end_port: backend.end_port,
        });
    }
    range
}

fn range(first: i32, last: i32) -> Option<PortRange> {
    let first = u16::try_from(first).ok().filter(|&port| port > 0)?;
    let last = u16::try_from(last).ok()?;
    (first <= last).then(|| PortRange::new(first, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kind: RouteKind, port: Option<i32>, end_port: Option<i32>) -> Option<String> {
        let backend = BackendRef {
            name: "media".to_owned(),
            port,
            end_port,
            ..BackendRef::default()
        };
        let mut problems = Vec::new();
        let range = ports(kind, "stunner", &backend, &mut problems);
        assert_eq!(range.is_none(), !problems.is_empty());
        range.map(|range| range.to_string())
    }

    #[test]
    fn port_and_end_port_make_a_range() {
        let own = |port, end_port| of(RouteKind::Udp, port, end_port);
        assert_eq!(own(None, None).as_deref(), Some("1-65535"));
        assert_eq!(own(Some(9000), None).as_deref(), Some("9000-9000"));
        assert_eq!(own(Some(9000), Some(9100)).as_deref(), Some("9000-9100"));
        assert_eq!(own(Some(9000), Some(9000)).as_deref(), Some("9000-9000"));
    }

    #[test]
    fn an_end_port_without_a_port_or_below_it_admits_nothing() {
        let own = |port, end_port| of(RouteKind::Udp, port, end_port);
        assert_eq!(own(None, Some(9100)), None);
        assert_eq!(own(Some(9100), Some(9000)), None);
        assert_eq!(own(Some(0), None), None);
        assert_eq!(own(Some(70_000), None), None);
        assert_eq!(own(Some(1), Some(70_000)), None);
        assert_eq!(own(Some(-1), None), None);
    }

    #[test]
    fn ports_of_official_routes_do_not_count() {
        for kind in [RouteKind::OfficialUdp, RouteKind::OfficialTcp] {
            assert_eq!(of(kind, Some(9000), None).as_deref(), Some("1-65535"));
        }
    }
}

//! A denial in words.

/// One sentence that says who was refused what and why, and what came nearest:
/// "client 192.0.2.9:4711 was refused peer 10.0.0.7:5000: not in any route of `default/udp-gateway/udp`; nearest:
/// Service media/media-server".
///
/// `reason` is a label of `stunner_denials_total`, `listener` is `namespace/gateway/listener`.
pub fn sentence(
    client: &str,
    peer: &str,
    reason: &str,
    listener: &str,
    nearest: Option<&str>,
) -> String {
    let why = match reason {
        "no_route" => format!("not in any route of `{listener}`"),
        "port" => format!("a route of `{listener}` holds the address, but not the port"),
        "transport" => {
            format!("a route of `{listener}` holds the address and port for the other transport")
        }
        "loopback" => format!("a loopback address that no route of `{listener}` names"),
        "link_local" => {
            format!("a link-local or cloud metadata address that no route of `{listener}` names")
        }
        "multicast" => format!("a multicast address that no route of `{listener}` names"),
        "unspecified" => "the unspecified address is no peer".to_owned(),
        "broadcast" => "the broadcast address is no peer".to_owned(),
        "own_address" => "a port of the gateway itself that is no live relay".to_owned(),
        "own_listener" => "one of the gateway's own listeners".to_owned(),
        other => format!("{other} at `{listener}`"),
    };
    let nearest = nearest.map(|nearest| format!("; nearest: {nearest}"));
    format!(
        "client {client} was refused peer {peer}: {why}{}",
        nearest.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_denial_names_client_peer_listener_and_the_nearest_backend() {
        assert_eq!(
            sentence(
                "192.0.2.9:4711",
                "10.0.0.7:5000",
                "no_route",
                "default/udp-gateway/udp",
                Some("Service media/media-server")
            ),
            "client 192.0.2.9:4711 was refused peer 10.0.0.7:5000: not in any route of \
             `default/udp-gateway/udp`; nearest: Service media/media-server"
        );
    }

    #[test]
    fn a_reason_of_a_newer_dataplane_is_shown_as_it_is() {
        assert_eq!(
            sentence("192.0.2.9:4711", "10.0.0.7:5000", "bad_moon", "a/b/c", None),
            "client 192.0.2.9:4711 was refused peer 10.0.0.7:5000: bad_moon at `a/b/c`"
        );
    }
}

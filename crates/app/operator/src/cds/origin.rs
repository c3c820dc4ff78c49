//! Where dataplanes are told to find config discovery.
//!
//! It must be the same for every replica and after every restart: it is part of pod templates, and a change of it rolls
//! every dataplane.

use std::net::IpAddr;

use stunner_api::names::{cds, port};
use stunner_translate::CdsAccess;

/// The host: what the environment says, unless that is a bare IP address (the original chart gives the pod's own) and
/// there is a Service with a name that lasts.
pub fn advertised_host(said: Option<&str>, service_exists: bool, namespace: &str) -> String {
    let name = || format!("{}.{namespace}.svc", cds::SERVICE);
    match said.map(str::trim) {
        None | Some("") => name(),
        Some(host) if is_address(host) && service_exists => name(),
        Some(host) => host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .to_owned(),
    }
}

fn is_address(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare.parse::<IpAddr>().is_ok()
}

/// What translation puts into workloads. A port that is off is still told by its usual number: somebody may forward it.
pub fn access(host: &str, plain: Option<u16>, tls: Option<(u16, String)>) -> CdsAccess {
    let (tls_port, ca_certificate) = match tls {
        Some((port, ca)) => (Some(port), Some(ca)),
        None => (None, None),
    };
    CdsAccess {
        plain_origin: origin("http", host, plain.unwrap_or(port::CDS)),
        tls_origin: tls_port.map(|port| origin("https", host, port)),
        ca_certificate,
    }
}

fn origin(scheme: &str, host: &str, port: u16) -> String {
    match host.contains(':') {
        true => format!("{scheme}://[{host}]:{port}"),
        false => format!("{scheme}://{host}:{port}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_the_service_outlives_the_pod() {
        let name = "stunner-config-discovery.sys.svc";
        assert_eq!(advertised_host(None, true, "sys"), name);
        assert_eq!(advertised_host(None, false, "sys"), name);
        assert_eq!(advertised_host(Some("10.0.0.1"), true, "sys"), name);
        assert_eq!(advertised_host(Some("fd00::1"), true, "sys"), name);
        assert_eq!(advertised_host(Some("10.0.0.1"), false, "sys"), "10.0.0.1");
        assert_eq!(
            advertised_host(Some("cds.example"), true, "sys"),
            "cds.example"
        );
    }

    #[test]
    fn origins_are_urls() {
        let plain = access("h", Some(13478), None);
        assert_eq!(plain.plain_origin, "http://h:13478");
        assert_eq!(plain.tls_origin, None);
        let both = access("fd00::1", None, Some((13479, "PEM".into())));
        assert_eq!(both.plain_origin, "http://[fd00::1]:13478");
        assert_eq!(both.tls_origin.as_deref(), Some("https://[fd00::1]:13479"));
        assert_eq!(both.ca_certificate.as_deref(), Some("PEM"));
    }
}

//! Reading `clusters`.

use std::collections::{BTreeSet, HashMap};
use std::str::FromStr;

use crate::model::{
    Cluster, ClusterKind, DnsEndpoint, Endpoint, EndpointError, PeerTransport, PortRange,
};
use crate::problem::Severity;

use super::fields::{Fields, Text};
use super::{At, Reader};

const KEYS: &[&str] = &["name", "type", "protocol", "endpoints"];

impl Reader<'_> {
    pub(super) fn clusters(&mut self, root: &Fields<'_>) -> Vec<Cluster> {
        let mut clusters = Vec::new();
        let mut places_by_name: HashMap<String, At> = HashMap::new();
        for (node, at) in root.list(self, "clusters") {
            let Some(fields) = Fields::of(self, node, at, KEYS) else {
                continue;
            };
            let cluster = self.cluster(&fields);
            if let Some(first) = places_by_name.get(&cluster.name) {
                let message = format!("the name `{}` is taken by {}", cluster.name, first.path);
                self.error(
                    fields.at(),
                    message,
                    "give each cluster a name of its own, or merge the two",
                );
            } else if !cluster.name.is_empty() {
                places_by_name.insert(cluster.name.clone(), fields.at().clone());
            }
            clusters.push(cluster);
        }
        clusters
    }

    fn cluster(&mut self, fields: &Fields<'_>) -> Cluster {
        let name = self.required_name(fields, "a cluster");
        let protocol = self.peer_transport(fields);
        let is_dns = self.is_dns(fields);
        let texts = fields.texts(self, "endpoints");
        let kind = if is_dns {
            let ports_of = |endpoint: &DnsEndpoint| endpoint.ports;
            ClusterKind::StrictDns(self.endpoints(texts, Severity::Warning, ports_of))
        } else {
            let ports_of = |endpoint: &Endpoint| endpoint.ports;
            ClusterKind::Static(self.endpoints(texts, Severity::Error, ports_of))
        };
        Cluster {
            name,
            kind,
            protocol,
        }
    }

    fn peer_transport(&mut self, fields: &Fields<'_>) -> PeerTransport {
        let Some(text) = fields.text(self, "protocol") else {
            return PeerTransport::Udp;
        };
        match text.value.to_ascii_uppercase().as_str() {
            "" | "UDP" => PeerTransport::Udp,
            "TCP" => PeerTransport::Tcp,
            _ => {
                self.error(
                    &text.at,
                    format!("unknown cluster protocol {}", text.shown()),
                    "write `UDP` or `TCP`",
                );
                PeerTransport::Udp
            }
        }
    }

    fn is_dns(&mut self, fields: &Fields<'_>) -> bool {
        let Some(text) = fields.text(self, "type") else {
            return false;
        };
        match text.value.to_ascii_uppercase().as_str() {
            "" | "STATIC" => false,
            "STRICT_DNS" => true,
            _ => {
                self.error(
                    &text.at,
                    format!("unknown cluster type {}", text.shown()),
                    "write `STATIC` or `STRICT_DNS`",
                );
                false
            }
        }
    }

    /// Parses the endpoints, each once and in order. What is wrong with an address fails the configuration; what is
    /// wrong with a name only costs that name, since the Go system takes anything for one.
    fn endpoints<E: Ord + FromStr<Err = EndpointError>>(
        &mut self,
        texts: Vec<Text>,
        severity: Severity,
        ports_of: impl Fn(&E) -> PortRange,
    ) -> Vec<E> {
        let mut endpoints = BTreeSet::new();
        for text in texts {
            match text.value.trim().parse() {
                Ok(endpoint) => {
                    if ports_of(&endpoint).is_empty() {
                        let shown = text.shown();
                        let message = format!(
                            "the port range of {shown} ends before it begins and admits nothing"
                        );
                        self.warn(&text.at, message, "write the smaller port first");
                    }
                    endpoints.insert(endpoint);
                }
                Err(error) => {
                    let ignored = if severity == Severity::Warning {
                        ", ignored"
                    } else {
                        ""
                    };
                    let message = format!("bad endpoint {}{ignored}: {error}", text.shown());
                    self.report(severity, &text.at, message, Some(error.hint().to_owned()));
                }
            }
        }
        endpoints.into_iter().collect()
    }
}

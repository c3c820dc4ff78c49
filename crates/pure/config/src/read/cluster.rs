//! Reading `clusters`.

use std::collections::HashMap;

use crate::model::{Cluster, ClusterKind, DnsEndpoint, Endpoint, PeerTransport, PortRange};

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
            ClusterKind::StrictDns(self.endpoints(texts, |text| {
                text.parse::<DnsEndpoint>().map(|e| (e.ports, e))
            }))
        } else {
            ClusterKind::Static(
                self.endpoints(texts, |text| text.parse::<Endpoint>().map(|e| (e.ports, e))),
            )
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

    /// Parses the endpoints, each once and in order. A bad name only fails itself, since the Go system takes any name;
    /// a bad address fails the configuration.
    fn endpoints<E: Ord>(
        &mut self,
        texts: Vec<Text>,
        parse: impl Fn(&str) -> Result<(PortRange, E), crate::EndpointError>,
    ) -> Vec<E> {
        let mut endpoints = Vec::with_capacity(texts.len());
        for text in texts {
            match parse(text.value.trim()) {
                Ok((ports, endpoint)) => {
                    if ports.is_empty() {
                        let message = format!(
                            "the port range of {} ends before it begins and admits nothing",
                            text.shown()
                        );
                        self.warn(&text.at, message, "write the smaller port first");
                    }
                    endpoints.push(endpoint);
                }
                Err(error) if error.is_bad_name() => {
                    let message = format!("{} is no domain name and is ignored", text.shown());
                    self.warn(&text.at, message, error.hint());
                }
                Err(error) => {
                    self.error(
                        &text.at,
                        format!("bad endpoint {}: {error}", text.shown()),
                        error.hint(),
                    );
                }
            }
        }
        endpoints.sort();
        endpoints.dedup();
        endpoints
    }
}

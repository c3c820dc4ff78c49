//! What annotations ask of a Gateway's Service and dataplane.
//!
//! Annotations of the Gateway win over `loadBalancerServiceAnnotations` of its GatewayConfig, also where their value is
//! no good: a value that cannot be used counts as none, is reported, and does not bring the other one back.

use std::collections::BTreeMap;

use ipnet::IpNet;
use stunner_api::NamespacedName;
use stunner_api::gateway::Gateway;
use stunner_api::names::annotation;

use crate::last_good::EffectiveConfig;

/// Type of the Service that exposes a Gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ServiceType {
    ClusterIp,
    NodePort,
    #[default]
    LoadBalancer,
}

impl ServiceType {
    /// As Kubernetes spells it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            ServiceType::ClusterIp => "ClusterIP",
            ServiceType::NodePort => "NodePort",
            ServiceType::LoadBalancer => "LoadBalancer",
        }
    }

    /// Nodes forward a port of their own to the Service.
    pub(crate) fn has_node_ports(self) -> bool {
        self != ServiceType::ClusterIp
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ServiceOptions {
    pub(crate) service_type: ServiceType,
    /// UDP and TCP listeners are both exposed.
    pub(crate) mixed_protocols: bool,
    /// `externalTrafficPolicy: Local`, where the type of the Service has such a policy.
    pub(crate) local_traffic_policy: bool,
    /// By listener name.
    pub(crate) node_ports: BTreeMap<String, u16>,
    /// By listener name: where the dataplane listens, if not on the port of the listener.
    pub(crate) target_ports: BTreeMap<String, u16>,
    /// The port that a load balancer probes, where it is to be exposed.
    pub(crate) health_check_port: Option<u16>,
    pub(crate) session_affinity_disabled: bool,
    pub(crate) managed_dataplane_disabled: bool,
    pub(crate) relay_address_discovery: bool,
    pub(crate) ip_family_policy: Option<String>,
    pub(crate) load_balancer_class: Option<String>,
    pub(crate) load_balancer_source_ranges: Vec<String>,
    /// Sentences about values that cannot be used.
    pub(crate) problems: Vec<String>,
}

impl ServiceOptions {
    pub(crate) fn read(gateway: &Gateway, config: &EffectiveConfig) -> Self {
        let mut reader = Reader::new(gateway, config);
        ServiceOptions {
            service_type: reader.service_type(),
            mixed_protocols: reader.flag(annotation::ENABLE_MIXED_PROTOCOL_LB),
            local_traffic_policy: reader.local_traffic_policy(),
            node_ports: reader.ports(annotation::NODE_PORT),
            target_ports: reader.ports(annotation::TARGET_PORT),
            health_check_port: reader.health_check_port(),
            session_affinity_disabled: reader.flag(annotation::DISABLE_SESSION_AFFINITY),
            managed_dataplane_disabled: reader
                .flag_of_gateway(annotation::DISABLE_MANAGED_DATAPLANE),
            relay_address_discovery: reader
                .flag_of_gateway(annotation::ENABLE_RELAY_ADDRESS_DISCOVERY),
            ip_family_policy: reader.ip_family_policy(),
            load_balancer_class: reader.load_balancer_class(),
            load_balancer_source_ranges: reader.load_balancer_source_ranges(),
            problems: reader.problems,
        }
    }
}

/// The value of an annotation and the object that says it.
struct Value<'a> {
    text: &'a str,
    source: String,
}

struct Reader<'a> {
    of_gateway: Option<&'a BTreeMap<String, String>>,
    of_config: &'a BTreeMap<String, String>,
    /// What reaches the Service though it does not steer us: a load balancer reads it there.
    of_infrastructure: Option<&'a BTreeMap<String, String>>,
    gateway: NamespacedName,
    config: NamespacedName,
    problems: Vec<String>,
}

impl<'a> Reader<'a> {
    fn new(gateway: &'a Gateway, config: &'a EffectiveConfig) -> Self {
        Reader {
            of_gateway: gateway.metadata.annotations.as_ref(),
            of_config: &config.spec.load_balancer_service_annotations,
            of_infrastructure: gateway
                .spec
                .infrastructure
                .as_ref()
                .map(|infrastructure| &infrastructure.annotations),
            gateway: NamespacedName::of(&gateway.metadata),
            config: NamespacedName::new(&config.namespace, &config.name),
            problems: Vec::new(),
        }
    }

    fn value_of_gateway(&self, key: &str) -> Option<Value<'a>> {
        let text = self.of_gateway?.get(key)?.trim();
        let source = format!("Gateway {}", self.gateway);
        Some(Value { text, source })
    }

    fn value(&self, key: &str) -> Option<Value<'a>> {
        self.value_of_gateway(key).or_else(|| {
            let text = self.of_config.get(key)?.trim();
            let source = format!(
                "GatewayConfig {} (loadBalancerServiceAnnotations)",
                self.config
            );
            Some(Value { text, source })
        })
    }

    fn report(&mut self, key: &str, value: &Value<'_>, what: &str) {
        self.problems
            .push(format!("Annotation {key} of {} {what}.", value.source));
    }

    fn flag(&mut self, key: &str) -> bool {
        let value = self.value(key);
        self.read_flag(key, value)
    }

    fn flag_of_gateway(&mut self, key: &str) -> bool {
        let value = self.value_of_gateway(key);
        self.read_flag(key, value)
    }

    fn read_flag(&mut self, key: &str, value: Option<Value<'_>>) -> bool {
        let Some(value) = value else { return false };
        if value.text.eq_ignore_ascii_case("true") {
            return true;
        }
        if !value.text.eq_ignore_ascii_case("false") {
            let what = format!(
                "is `{}`, which is neither `true` nor `false`, and counts as `false`",
                value.text
            );
            self.report(key, &value, &what);
        }
        false
    }

    fn service_type(&mut self) -> ServiceType {
        let key = annotation::SERVICE_TYPE;
        let Some(value) = self.value(key) else {
            return ServiceType::default();
        };
        match value.text {
            "ClusterIP" => ServiceType::ClusterIp,
            "NodePort" => ServiceType::NodePort,
            "LoadBalancer" => ServiceType::LoadBalancer,
            other => {
                let what = format!(
                    "is `{other}`, which is not `ClusterIP`, `NodePort` or `LoadBalancer`, and counts as `LoadBalancer`"
                );
                self.report(key, &value, &what);
                ServiceType::LoadBalancer
            }
        }
    }

    fn local_traffic_policy(&mut self) -> bool {
        let key = annotation::EXTERNAL_TRAFFIC_POLICY;
        let Some(value) = self.value(key) else {
            return false;
        };
        if value.text.eq_ignore_ascii_case("local") {
            return true;
        }
        if !value.text.eq_ignore_ascii_case("cluster") {
            let what = format!(
                "is `{}`, which is neither `Local` nor `Cluster`, and counts as `Cluster`",
                value.text
            );
            self.report(key, &value, &what);
        }
        false
    }

    /// A JSON map from listener to port; the braces may be missing.
    fn ports(&mut self, key: &str) -> BTreeMap<String, u16> {
        let Some(value) = self.value(key) else {
            return BTreeMap::new();
        };
        let Some(map) = integer_map(value.text) else {
            self.report(
                key,
                &value,
                "is ignored: write a JSON map from listener names to port numbers, like {\"udp-listener\":30478}",
            );
            return BTreeMap::new();
        };
        let mut ports = BTreeMap::new();
        for (listener, number) in map {
            match u16::try_from(number) {
                // Zero is how a map says that any port will do.
                Ok(0) => {}
                Ok(port) => {
                    ports.insert(listener, port);
                }
                Err(_) => {
                    let what = format!(
                        "gives listener {listener} the port {number}, which is not between 1 and 65535 and is ignored"
                    );
                    self.report(key, &value, &what);
                }
            }
        }
        ports
    }

    /// Some load balancers deliver UDP only where the port of their TCP health check is in the Service too. Which port
    /// that is they are told by annotations of their own, whose names differ by cloud.
    fn health_check_port(&mut self) -> Option<u16> {
        let disabled = self.flag(annotation::DISABLE_HEALTH_CHECK_EXPOSE);
        let on_service = self.on_service();
        let port = on_service
            .iter()
            .filter(|(key, _)| is_health_check(key, annotation::CLOUD_PORT_SUFFIX))
            .find_map(|(_, value)| value.trim().parse::<u16>().ok().filter(|&port| port > 0))?;
        let tcp = on_service
            .iter()
            .filter(|(key, _)| is_health_check(key, annotation::CLOUD_PROTOCOL_SUFFIX))
            .any(|(_, value)| {
                let value = value.trim();
                value.eq_ignore_ascii_case("tcp") || value.eq_ignore_ascii_case("http")
            });
        (tcp && !disabled).then_some(port)
    }

    /// The annotations that the Service is going to have.
    fn on_service(&self) -> BTreeMap<&'a str, &'a str> {
        let layers = [
            Some(self.of_config),
            self.of_gateway,
            self.of_infrastructure,
        ];
        layers
            .into_iter()
            .flatten()
            .flatten()
            .map(|(key, value)| (key.as_str(), value.as_str()))
            .collect()
    }

    fn ip_family_policy(&mut self) -> Option<String> {
        const POLICIES: [&str; 3] = ["SingleStack", "PreferDualStack", "RequireDualStack"];
        let key = annotation::IP_FAMILY_POLICY;
        let value = self.value(key)?;
        let policy = POLICIES.iter().find(|policy| **policy == value.text);
        if policy.is_none() {
            let what = format!(
                "is `{}`, which is not `SingleStack`, `PreferDualStack` or `RequireDualStack`, and is ignored",
                value.text
            );
            self.report(key, &value, &what);
        }
        policy.map(|&policy| policy.to_owned())
    }

    fn load_balancer_class(&mut self) -> Option<String> {
        let value = self.value(annotation::LOAD_BALANCER_CLASS)?;
        (!value.text.is_empty()).then(|| value.text.to_owned())
    }

    /// What is no address range is left out. Where nothing is left the text goes to the API server as it is, which
    /// refuses it: a mistake in a restriction must not lift the restriction.
    fn load_balancer_source_ranges(&mut self) -> Vec<String> {
        let key = annotation::LOAD_BALANCER_SOURCE_RANGES;
        let Some(value) = self.value(key) else {
            return Vec::new();
        };
        let (ranges, bad): (Vec<&str>, Vec<&str>) = value
            .text
            .split(',')
            .map(str::trim)
            .filter(|range| !range.is_empty())
            .partition(|range| range.parse::<IpNet>().is_ok());
        for range in &bad {
            let what = format!("holds `{range}`, which is not an address range like 192.0.2.0/24");
            self.report(key, &value, &what);
        }
        let kept = if ranges.is_empty() { bad } else { ranges };
        kept.into_iter().map(str::to_owned).collect()
    }
}

/// `service.beta.kubernetes.io/`, anything, `health`, anything, the suffix.
fn is_health_check(key: &str, suffix: &str) -> bool {
    key.strip_prefix(annotation::CLOUD_PREFIX)
        .and_then(|rest| rest.strip_suffix(suffix))
        .is_some_and(|rest| rest.contains(annotation::CLOUD_HEALTH))
}

fn integer_map(text: &str) -> Option<BTreeMap<String, i64>> {
    if text.starts_with('{') {
        serde_json::from_str(text).ok()
    } else {
        serde_json::from_str(&format!("{{{text}}}")).ok()
    }
}

#[cfg(test)]
mod tests;

//! `admin` of a dataplane configuration.

use stunner_api::names::{self, annotation, port};
use stunner_api::v1::{DataplaneSpec, GatewayConfigSpec};
use stunner_config::{Admin, HttpEndpoint, HttpHost, OffloadEngine, PortRange};

use crate::context::ListenerPlan;
use crate::listener::wants_socket_of;
use crate::settings::Mode;

/// Lowest port that relayed traffic takes when only the highest is given: those below are for privileged processes.
const LOWEST_RELAY_PORT: i32 = 1024;

/// Process settings, and sentences about values that cannot be used.
pub(crate) fn admin(
    name: String,
    config: &GatewayConfigSpec,
    dataplane: Option<&DataplaneSpec>,
    mode: Mode,
) -> (Admin, Vec<String>) {
    let mut problems = Vec::new();
    let dataplane = dataplane.filter(|_| mode == Mode::Managed);
    let log_level = config
        .log_level
        .as_deref()
        .filter(|level| !level.is_empty());
    let admin = Admin {
        name,
        loglevel: log_level.unwrap_or(names::DEFAULT_LOG_LEVEL).to_owned(),
        metrics_endpoint: metrics(config, dataplane, &mut problems),
        healthcheck_endpoint: health(config, dataplane, mode, &mut problems),
        user_quota: quota(config, &mut problems),
        offload_engine: offload_engine(dataplane, &mut problems),
        offload_interfaces: offload_interfaces(dataplane),
        license: None,
        relay_port_range: relay_ports(config, &mut problems),
    };
    (admin, problems)
}

fn metrics(
    config: &GatewayConfigSpec,
    dataplane: Option<&DataplaneSpec>,
    problems: &mut Vec<String>,
) -> Option<HttpEndpoint> {
    let given = endpoint(
        "metricsEndpoint",
        &config.metrics_endpoint,
        port::METRICS,
        problems,
    );
    let enabled =
        dataplane.is_some_and(|dataplane| dataplane.enable_metrics_endpoint == Some(true));
    let default =
        || HttpEndpoint::parse(&format!("http://:{}/metrics", port::METRICS), port::METRICS).ok();
    given.or_else(|| enabled.then(default).flatten())
}

fn health(
    config: &GatewayConfigSpec,
    dataplane: Option<&DataplaneSpec>,
    mode: Mode,
    problems: &mut Vec<String>,
) -> Option<HttpEndpoint> {
    if dataplane.is_some_and(|dataplane| dataplane.disable_health_check == Some(true)) {
        return None;
    }
    let field = "healthCheckEndpoint";
    let given = endpoint(field, &config.health_check_endpoint, port::HEALTH, problems);
    let default = HttpEndpoint::default_health();
    match given {
        // The probes of the pods that we make ask there and nowhere else.
        Some(given) if mode == Mode::Managed && !is_probed(&given) => {
            problems.push(format!(
                "`{field}` of the GatewayConfig is ignored because the pods are probed on port {} of their own address; remove it.",
                port::HEALTH
            ));
            Some(default)
        }
        Some(given) => Some(given),
        None => Some(default),
    }
}

/// Whether the kubelet reaches it, which asks at the address of the pod.
fn is_probed(health: &HttpEndpoint) -> bool {
    let is_reachable = match &health.host {
        HttpHost::Any => true,
        HttpHost::Ip(address) => address.is_unspecified(),
        HttpHost::Name(_) => false,
    };
    is_reachable && health.port == port::HEALTH
}

/// Takes the metrics away where a listener has their port: clients come before whoever watches them. The answer is a
/// sentence about it.
pub(crate) fn make_way_for_listeners<'a>(
    admin: &mut Admin,
    listeners: impl IntoIterator<Item = &'a ListenerPlan>,
) -> Option<String> {
    let metrics = admin.metrics_endpoint.as_ref()?;
    let mut served = listeners.into_iter().filter(|plan| plan.is_served());
    let listener = served.find(|plan| wants_socket_of(plan, metrics))?;
    let sentence = format!(
        "There are no metrics because listener {} has their port {} in the pod; give it another one by the annotation `{}`.",
        listener.name,
        metrics.port,
        annotation::TARGET_PORT
    );
    admin.metrics_endpoint = None;
    Some(sentence)
}

fn endpoint(
    field: &str,
    text: &Option<String>,
    default_port: u16,
    problems: &mut Vec<String>,
) -> Option<HttpEndpoint> {
    let text = text.as_deref().filter(|text| !text.trim().is_empty())?;
    HttpEndpoint::parse(text, default_port)
        .inspect_err(|error| {
            problems.push(format!(
                "`{field}` of the GatewayConfig is ignored: {error}; write it like `http://:{default_port}`."
            ));
        })
        .ok()
}

fn quota(config: &GatewayConfigSpec, problems: &mut Vec<String>) -> u32 {
    let quota = config.user_quota.unwrap_or(0);
    if quota < 0 {
        problems.push(
            "`userQuota` of the GatewayConfig is negative and therefore ignored; set it to 0 for no limit."
                .to_owned(),
        );
    }
    u32::try_from(quota.max(0)).unwrap_or(u32::MAX)
}

fn offload_engine(dataplane: Option<&DataplaneSpec>, problems: &mut Vec<String>) -> OffloadEngine {
    let text = dataplane.and_then(|dataplane| dataplane.offload_engine.as_deref());
    match text.unwrap_or_default().to_ascii_lowercase().as_str() {
        "" | "none" => OffloadEngine::None,
        "xdp" => OffloadEngine::Xdp,
        "tc" => OffloadEngine::Tc,
        "auto" => OffloadEngine::Auto,
        _ => {
            problems.push(
                "`offloadEngine` of the Dataplane is unknown and therefore ignored; set it to `None`, `XDP`, `TC` or `Auto`."
                    .to_owned(),
            );
            OffloadEngine::None
        }
    }
}

fn offload_interfaces(dataplane: Option<&DataplaneSpec>) -> Vec<String> {
    let mut interfaces =
        dataplane.map_or_else(Vec::new, |dataplane| dataplane.offload_interfaces.clone());
    interfaces.sort();
    interfaces.dedup();
    interfaces
}

/// `minPort` and `maxPort` of the oldest API; 0 is unset.
fn relay_ports(config: &GatewayConfigSpec, problems: &mut Vec<String>) -> Option<PortRange> {
    let given = |port: Option<i32>| port.filter(|&port| port != 0);
    let (first, last) = match (given(config.min_port), given(config.max_port)) {
        (None, None) => return None,
        (first, last) => (
            first.unwrap_or(LOWEST_RELAY_PORT),
            last.unwrap_or(i32::from(u16::MAX)),
        ),
    };
    match (u16::try_from(first), u16::try_from(last)) {
        (Ok(first), Ok(last)) if first <= last => Some(PortRange::new(first, last)),
        _ => {
            problems.push(
                "`minPort` and `maxPort` of the GatewayConfig are ignored because they are no range of ports; correct or remove them."
                    .to_owned(),
            );
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::World;

    fn rendered(config: GatewayConfigSpec, dataplane: DataplaneSpec) -> (Admin, Vec<String>) {
        admin("a/b".to_owned(), &config, Some(&dataplane), Mode::Managed)
    }

    #[test]
    fn an_empty_config_gives_the_defaults() {
        let (admin, problems) = rendered(GatewayConfigSpec::default(), DataplaneSpec::default());
        assert_eq!(admin.loglevel, "all:INFO");
        assert_eq!(admin.metrics_endpoint, None);
        assert_eq!(admin.healthcheck_endpoint.unwrap().text, "http://:8086");
        assert_eq!(admin.offload_engine, OffloadEngine::None);
        assert_eq!(admin.relay_port_range, None);
        assert_eq!(problems, [] as [&str; 0]);
    }

    #[test]
    fn the_dataplane_turns_metrics_on_and_health_off() {
        let dataplane = DataplaneSpec {
            enable_metrics_endpoint: Some(true),
            disable_health_check: Some(true),
            offload_engine: Some("XDP".to_owned()),
            offload_interfaces: vec!["lo".to_owned(), "eth0".to_owned()],
            ..DataplaneSpec::default()
        };
        let (admin, _) = rendered(GatewayConfigSpec::default(), dataplane.clone());
        assert_eq!(admin.metrics_endpoint.unwrap().text, "http://:8080/metrics");
        assert_eq!(admin.healthcheck_endpoint, None);
        assert_eq!(admin.offload_engine, OffloadEngine::Xdp);
        assert_eq!(admin.offload_interfaces, ["eth0", "lo"]);

        let config = GatewayConfigSpec::default();
        let (legacy, _) = super::admin("x".to_owned(), &config, Some(&dataplane), Mode::Legacy);
        assert_eq!(legacy.metrics_endpoint, None);
        assert!(legacy.healthcheck_endpoint.is_some());
    }

    #[test]
    fn fields_of_the_oldest_api_count() {
        let config = GatewayConfigSpec {
            metrics_endpoint: Some("http://0.0.0.0:9090/m".to_owned()),
            health_check_endpoint: Some("http://0.0.0.0:8086".to_owned()),
            min_port: Some(10_000),
            max_port: Some(20_000),
            user_quota: Some(3),
            ..GatewayConfigSpec::default()
        };
        let (admin, problems) = rendered(config, DataplaneSpec::default());
        assert_eq!(
            admin.metrics_endpoint.unwrap().text,
            "http://0.0.0.0:9090/m"
        );
        assert_eq!(
            admin.healthcheck_endpoint.unwrap().text,
            "http://0.0.0.0:8086"
        );
        assert_eq!(admin.relay_port_range, Some(PortRange::new(10_000, 20_000)));
        assert_eq!(admin.user_quota, 3);
        assert_eq!(problems, [] as [&str; 0]);
    }

    #[test]
    fn a_health_endpoint_that_the_probes_would_miss_is_ignored_and_reported() {
        for missed in [
            "http://:9999",
            "http://127.0.0.1:8086",
            "http://[::1]",
            "http://localhost:8086",
        ] {
            let config = GatewayConfigSpec {
                health_check_endpoint: Some(missed.to_owned()),
                ..GatewayConfigSpec::default()
            };
            let (admin, problems) = rendered(config, DataplaneSpec::default());
            assert_eq!(admin.healthcheck_endpoint.unwrap().text, "http://:8086");
            assert_eq!(problems.len(), 1, "{missed}");
        }
    }

    #[test]
    fn metrics_make_way_for_a_listener_on_their_port() {
        let dataplane = DataplaneSpec {
            enable_metrics_endpoint: Some(true),
            ..DataplaneSpec::default()
        };
        for (listener, makes_way) in [
            ("tcp TCP 8080", true),
            ("udp UDP 8080", false),
            ("tcp TCP 8081", false),
        ] {
            let (mut admin, _) = rendered(GatewayConfigSpec::default(), dataplane.clone());
            let sentence = World::with_listeners(&[listener])
                .translated(|context| make_way_for_listeners(&mut admin, context.listeners));
            assert_eq!(sentence.is_some(), makes_way, "{listener}");
            assert_eq!(admin.metrics_endpoint.is_none(), makes_way, "{listener}");
        }
    }

    #[test]
    fn what_cannot_be_used_is_reported_and_left_out() {
        let config = GatewayConfigSpec {
            metrics_endpoint: Some("https://x".to_owned()),
            min_port: Some(20),
            max_port: Some(10),
            user_quota: Some(-1),
            ..GatewayConfigSpec::default()
        };
        let dataplane = DataplaneSpec {
            offload_engine: Some("Warp".to_owned()),
            ..DataplaneSpec::default()
        };
        let (admin, problems) = rendered(config, dataplane);
        assert_eq!(admin.metrics_endpoint, None);
        assert_eq!(admin.relay_port_range, None);
        assert_eq!(admin.user_quota, 0);
        assert_eq!(admin.offload_engine, OffloadEngine::None);
        assert_eq!(problems.len(), 4);
    }
}

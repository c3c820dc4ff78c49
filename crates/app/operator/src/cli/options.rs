//! What an operator is to do, in types.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::Duration;

use stunner_api::NamespacedName;
use stunner_api::names::{self, env, port};
use stunner_flags::{Environment, Flag, Given, UsageError, Wrong, values};
use stunner_http::BindAddress;
use stunner_translate::{Mode, ReferenceGrants};

use super::{Logs, flags};

/// Everything that flags and environment say, with defaults filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    pub controller_name: String,
    pub mode: Mode,
    pub dataplane_image: String,
    pub endpoint_discovery: bool,
    /// Endpoints come from EndpointSlices; otherwise from Endpoints objects.
    pub endpoint_slices: bool,
    pub relay_to_cluster_ip: bool,
    pub cluster_domain: String,
    pub reference_grants: ReferenceGrants,
    pub label_filter: BTreeSet<String>,
    pub kubeconfig: Option<PathBuf>,
    /// Empty means all.
    pub watch_namespaces: BTreeSet<String>,
    pub throttle_timeout: Duration,
    pub leader_elect: bool,
    /// Not checked yet: an address that cannot be used is a problem, not wrong usage. `None` means off.
    pub cds_address: Option<String>,
    pub cds_tls_address: Option<String>,
    /// Nobody asked for that address.
    pub cds_tls_is_default: bool,
    /// `None` means the default, which depends on the operator's namespace.
    pub cds_readers: Option<BTreeSet<NamespacedName>>,
    /// `None` means off.
    pub metrics_address: Option<BindAddress>,
    pub health_address: Option<BindAddress>,
    pub console_address: Option<BindAddress>,
    pub enable_finalizer: bool,
    pub finalizer_delete: bool,
    pub logs: Logs,
    /// What the environment says dataplanes are to be told.
    pub advertised_host: Option<String>,
    pub pod_namespace: Option<String>,
    pub pod_name: Option<String>,
    /// Things to warn about once logging works.
    pub warnings: Vec<String>,
}

impl Options {
    pub(super) fn from_given(
        given: &Given<'_>,
        env: Environment<'_>,
    ) -> Result<Options, UsageError> {
        let mut warnings = Vec::new();
        let on_by_default = |flag| {
            let said = given.value(flag, values::boolean)?;
            Ok::<_, UsageError>(said.unwrap_or(true))
        };
        let text = |flag: &Flag| given.text(flag).unwrap_or_else(|| flag.default.to_owned());
        let list = |flag| given.text(flag).map(|text| items(&text).collect());
        let finalizer_delete = given.switch(&flags::FINALIZER_DELETE)?;
        let enable_finalizer = given.switch(&flags::ENABLE_FINALIZER)?;
        if finalizer_delete && !enable_finalizer {
            warnings.push("--finalizer-delete does nothing without --enable-finalizer".to_owned());
        }
        if let Some(address) = pprof(given) {
            warnings.push(format!(
                "nothing is served at `{address}`: --pprof-bind-address is accepted for compatibility only"
            ));
        }
        Ok(Options {
            controller_name: text(&flags::CONTROLLER_NAME),
            mode: mode(given, &mut warnings),
            dataplane_image: text(&flags::DATAPLANE_IMAGE),
            endpoint_discovery: on_by_default(&flags::ENDPOINT_DISCOVERY)?,
            endpoint_slices: !given.switch(&flags::DISABLE_ENDPOINTSLICE)?
                && !given.switch(&flags::DISABLE_ENDPONTSLICE)?,
            relay_to_cluster_ip: on_by_default(&flags::RELAY_TO_CLUSTER_IP)?,
            cluster_domain: text(&flags::CLUSTER_DOMAIN).trim_matches('.').to_owned(),
            reference_grants: given
                .value(&flags::REFERENCE_GRANTS, reference_grants)?
                .unwrap_or(ReferenceGrants::Allow),
            // Set and empty is an answer too: copy every label.
            label_filter: match env(env::LABEL_FILTER) {
                Some(filter) => items(&filter).collect(),
                None => names::DEFAULT_LABEL_FILTER
                    .iter()
                    .map(|&label| label.to_owned())
                    .collect(),
            },
            // From the environment it may be a list of files, which the client library reads.
            kubeconfig: given
                .text(&flags::KUBECONFIG)
                .filter(|_| given.on_command_line(&flags::KUBECONFIG))
                .map(PathBuf::from),
            watch_namespaces: list(&flags::WATCH_NAMESPACES).unwrap_or_default(),
            throttle_timeout: given
                .value(&flags::THROTTLE_TIMEOUT, values::duration)?
                .unwrap_or(Duration::from_millis(250)),
            leader_elect: given.switch(&flags::LEADER_ELECT)?,
            cds_address: unless_off(text(&flags::CONFIG_DISCOVERY_ADDRESS)),
            cds_tls_address: unless_off(text(&flags::CONFIG_DISCOVERY_TLS_ADDRESS)),
            cds_tls_is_default: given.text(&flags::CONFIG_DISCOVERY_TLS_ADDRESS).is_none(),
            cds_readers: given.value(&flags::CONFIG_DISCOVERY_READERS, readers)?,
            metrics_address: address(given, &flags::METRICS_BIND_ADDRESS, all(port::METRICS))?,
            health_address: address(
                given,
                &flags::HEALTH_PROBE_BIND_ADDRESS,
                all(port::OPERATOR_HEALTH),
            )?,
            console_address: address(
                given,
                &flags::CONSOLE_ADDRESS,
                BindAddress::Socket((Ipv4Addr::LOCALHOST, port::CONSOLE).into()),
            )?,
            enable_finalizer,
            finalizer_delete,
            logs: Logs::from_given(given)?,
            advertised_host: given.variable(env::OPERATOR_ADDRESS),
            pod_namespace: given.variable(env::POD_NAMESPACE),
            pod_name: given.variable(env::POD_NAME),
            warnings,
        })
    }
}

/// The items of a comma list.
fn items(text: &str) -> impl Iterator<Item = String> {
    text.split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
        .map(str::to_owned)
}

/// Addresses are switched off by `off`, and by `0` as the Go libraries have it.
fn is_off(text: &str) -> bool {
    text == "0" || text.eq_ignore_ascii_case("off")
}

fn unless_off(text: String) -> Option<String> {
    (!is_off(&text)).then_some(text)
}

fn address(
    given: &Given<'_>,
    flag: &Flag,
    default: BindAddress,
) -> Result<Option<BindAddress>, UsageError> {
    let read = |text: &str| match is_off(text) {
        true => Ok(None),
        false => match text.parse() {
            Ok(address) => Ok(Some(address)),
            Err(_) => Err(Wrong {
                why: "it is no address to listen at".to_owned(),
                hint: "give for example `:8080`, `127.0.0.1:8080` or `off`",
            }),
        },
    };
    let said = given.value(flag, read)?;
    Ok(said.unwrap_or(Some(default)))
}

fn all(port: u16) -> BindAddress {
    BindAddress::Any { port }
}

/// An unknown mode means legacy, as it always did; the variable fills in for the default.
fn mode(given: &Given<'_>, warnings: &mut Vec<String>) -> Mode {
    let is_managed = |text: &String| text.trim().eq_ignore_ascii_case("managed");
    let said = given
        .text(&flags::DATAPLANE_MODE)
        .filter(|text| !is_managed(text))
        .or_else(|| given.variable(env::DATAPLANE_MODE))
        .filter(|text| !is_managed(text));
    match said {
        None => Mode::Managed,
        Some(text) => {
            if !text.trim().eq_ignore_ascii_case("legacy") {
                warnings.push(format!(
                    "unknown dataplane mode `{text}` means `legacy`; the modes are managed and legacy"
                ));
            }
            Mode::Legacy
        }
    }
}

fn pprof(given: &Given<'_>) -> Option<String> {
    let on = |text: &String| !is_off(text);
    given
        .text(&flags::PPROF_BIND_ADDRESS)
        .filter(on)
        .or_else(|| given.variable(env::PPROF_BIND_ADDRESS).filter(on))
}

fn reference_grants(text: &str) -> Result<ReferenceGrants, Wrong> {
    match text.to_ascii_lowercase().as_str() {
        "allow" => Ok(ReferenceGrants::Allow),
        "enforce" => Ok(ReferenceGrants::Enforce),
        _ => Err(Wrong {
            why: "there is no such rule".to_owned(),
            hint: "give `allow` or `enforce`",
        }),
    }
}

fn readers(text: &str) -> Result<BTreeSet<NamespacedName>, Wrong> {
    items(text)
        .map(|item| {
            item.parse().map_err(|_| Wrong {
                why: format!("`{item}` is no ServiceAccount"),
                hint: "give NAMESPACE/NAME, several separated by commas",
            })
        })
        .collect()
}

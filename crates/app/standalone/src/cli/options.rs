//! What a command is to do, in types.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use stunner_dataplane::cli::serving;
use stunner_flags::{Flag, Given, UsageError, Wrong, values};
use stunner_http::BindAddress;
use stunner_telemetry::logging::Format;

use super::flags;
use crate::input::Sources;

/// How `stunner run` tells what happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RunOutput {
    #[default]
    Text,
    /// One object per line.
    Json,
}

/// `stunner run`, with defaults filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOptions {
    pub sources: Sources,
    /// At most one of each family; empty means that they are to be found.
    pub addresses: Vec<IpAddr>,
    pub port_offset: i32,
    /// For this and the following addresses, `None` means off.
    pub health_address: Option<BindAddress>,
    pub metrics_address: Option<BindAddress>,
    pub console_address: Option<BindAddress>,
    /// Further names by which the console may be called.
    pub console_hosts: Vec<String>,
    pub admin_address: Option<SocketAddr>,
    /// 0 means as many as CPUs are granted.
    pub udp_thread_num: u32,
    pub relay_port_range: Option<(u16, u16)>,
    pub allow_loopback_peers: bool,
    pub credential_grace: Duration,
    pub max_ephemeral_lifetime: Option<Duration>,
    /// For this and the following two, `None` means no limit.
    pub unauth_rate_limit: Option<u32>,
    pub max_connections_per_source: Option<u32>,
    pub max_handshakes: Option<u32>,
    pub output: RunOutput,
    pub drain_timeout: Duration,
    pub stale_allocation_timeout: Duration,
    /// Log levels by scope.
    pub log: String,
    pub log_format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TranslateOutput {
    #[default]
    Yaml,
    Json,
    Table,
}

/// `stunner translate`, with defaults filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct TranslateOptions {
    pub sources: Sources,
    pub output: TranslateOutput,
    /// Show the difference to what these give.
    pub diff: Option<Sources>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CheckOutput {
    #[default]
    Text,
    Json,
}

/// `stunner check`, with defaults filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckOptions {
    pub sources: Sources,
    pub strict: bool,
    pub output: CheckOutput,
}

/// `stunner init`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InitOptions {
    pub folder: PathBuf,
}

impl RunOptions {
    pub(super) fn from_given(given: &Given<'_>) -> Result<RunOptions, UsageError> {
        use flags::run as flags;
        let addresses = match given.value(&flags::ADDRESS, host_addresses)? {
            Some(addresses) => addresses,
            // The variable that listeners' addresses in manifests refer to.
            None => {
                let env = Some(stunner_api::names::env::STUNNER_ADDR);
                let named = Flag {
                    env,
                    ..flags::ADDRESS
                };
                given.value(&named, host_addresses)?.unwrap_or_default()
            }
        };
        Ok(RunOptions {
            sources: sources(given, &flags::RECURSIVE)?,
            addresses,
            port_offset: given.value(&flags::PORT_OFFSET, offset)?.unwrap_or(0),
            health_address: server(given, &flags::HEALTH_ADDRESS, 8086)?,
            metrics_address: server(given, &flags::METRICS_ADDRESS, 8080)?,
            console_address: server(given, &flags::CONSOLE_ADDRESS, 8090)?,
            console_hosts: given
                .text(&flags::CONSOLE_HOST)
                .map(|text| items(&text).map(str::to_owned).collect())
                .unwrap_or_default(),
            admin_address: serving::admin_address(given)?,
            udp_thread_num: serving::udp_thread_num(given)?,
            relay_port_range: given.value(&flags::RELAY_PORT_RANGE, values::port_range)?,
            allow_loopback_peers: given.switch(&flags::ALLOW_LOOPBACK_PEERS)?,
            credential_grace: serving::credential_grace(given)?,
            max_ephemeral_lifetime: serving::max_ephemeral_lifetime(given)?,
            unauth_rate_limit: serving::unauth_rate_limit(given)?,
            max_connections_per_source: serving::max_connections_per_source(given)?,
            max_handshakes: serving::max_handshakes(given)?,
            output: given
                .value(&flags::OUTPUT, |text| match text {
                    "text" => Ok(RunOutput::Text),
                    "json" => Ok(RunOutput::Json),
                    _ => no_such_output("give `text` or `json`"),
                })?
                .unwrap_or_default(),
            drain_timeout: given
                .value(&flags::DRAIN_TIMEOUT, values::duration)?
                .unwrap_or(Duration::from_secs(10)),
            stale_allocation_timeout: serving::stale_allocation_timeout(given)?,
            log: serving::log_spec(given, &flags::LOG)?
                .unwrap_or_else(|| flags::LOG.default.to_owned()),
            log_format: given
                .value(&flags::LOG_FORMAT, |text| match text {
                    "text" => Ok(Format::Text),
                    "json" => Ok(Format::Json),
                    _ => Err(Wrong {
                        why: "there is no such format".to_owned(),
                        hint: "give `text` or `json`",
                    }),
                })?
                .unwrap_or_default(),
        })
    }
}

impl TranslateOptions {
    pub(super) fn from_given(given: &Given<'_>) -> Result<TranslateOptions, UsageError> {
        use flags::translate as flags;
        let sources = sources(given, &flags::RECURSIVE)?;
        // As from `--diff "$UNSET"`: without the comparison that was asked for nothing would ever differ.
        if given.texts(&flags::DIFF).iter().any(String::is_empty) {
            return Err(UsageError::new(
                "`--diff` needs a value",
                "name the file or folder to compare with",
            ));
        }
        Ok(TranslateOptions {
            output: given
                .value(&flags::OUTPUT, |text| match text {
                    "yaml" => Ok(TranslateOutput::Yaml),
                    "json" => Ok(TranslateOutput::Json),
                    "table" => Ok(TranslateOutput::Table),
                    _ => no_such_output("give `yaml`, `json` or `table`"),
                })?
                .unwrap_or_default(),
            diff: given.text(&flags::DIFF).map(|path| Sources {
                paths: vec![path],
                recursive: sources.recursive,
            }),
            sources,
        })
    }
}

impl CheckOptions {
    pub(super) fn from_given(given: &Given<'_>) -> Result<CheckOptions, UsageError> {
        use flags::check as flags;
        Ok(CheckOptions {
            sources: sources(given, &flags::RECURSIVE)?,
            strict: given.switch(&flags::STRICT)?,
            output: given
                .value(&flags::OUTPUT, |text| match text {
                    "text" => Ok(CheckOutput::Text),
                    "json" => Ok(CheckOutput::Json),
                    _ => no_such_output("give `text` or `json`"),
                })?
                .unwrap_or_default(),
        })
    }
}

impl InitOptions {
    pub(super) fn from_given(given: &Given<'_>) -> Result<InitOptions, UsageError> {
        match given.positionals() {
            [folder] if !folder.is_empty() => Ok(InitOptions {
                folder: PathBuf::from(folder),
            }),
            [] | [_] => Err(UsageError::new(
                "`init` needs a folder",
                "for example `stunner init my-gateway`",
            )),
            [_, extra, ..] => Err(UsageError::new(
                format!("unexpected argument `{extra}`"),
                "`init` takes one folder",
            )),
        }
    }
}

fn sources(given: &Given<'_>, recursive: &Flag) -> Result<Sources, UsageError> {
    Ok(Sources {
        paths: given.positionals().to_vec(),
        recursive: given.switch(recursive)?,
    })
}

/// The address of a server beside the gateways: on this host only, unless said otherwise.
fn server(given: &Given<'_>, flag: &Flag, port: u16) -> Result<Option<BindAddress>, UsageError> {
    let said = given.value(flag, |text| {
        values::unless_off(text, |text| {
            text.parse().map_err(|_| Wrong {
                why: "it is no address to listen at".to_owned(),
                hint: "give for example `127.0.0.1:8080`, `:8080` or `off`",
            })
        })
    })?;
    let default = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port);
    Ok(said.unwrap_or(Some(default.into())))
}

fn no_such_output<T>(hint: &'static str) -> Result<T, Wrong> {
    Err(Wrong {
        why: "there is no such output".to_owned(),
        hint,
    })
}

/// The items of a comma list.
fn items(text: &str) -> impl Iterator<Item = &str> {
    text.split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
}

fn host_addresses(text: &str) -> Result<Vec<IpAddr>, Wrong> {
    const HINT: &str = "give an IPv4 address, an IPv6 address, or one of each separated by a comma";
    let wrong = |why: &str| Wrong {
        why: why.to_owned(),
        hint: HINT,
    };
    let mut addresses: Vec<IpAddr> = Vec::new();
    for item in items(text) {
        let item = item.trim_start_matches('[').trim_end_matches(']');
        let address: IpAddr = item.parse().map_err(|_| wrong("it is no IP address"))?;
        if address.is_unspecified() || address.is_multicast() {
            return Err(wrong("no client could be told this address"));
        }
        if addresses
            .iter()
            .any(|other| other.is_ipv4() == address.is_ipv4())
        {
            return Err(wrong("it has two addresses of one family"));
        }
        addresses.push(address);
    }
    match addresses.is_empty() {
        true => Err(wrong("it is no IP address")),
        false => Ok(addresses),
    }
}

fn offset(text: &str) -> Result<i32, Wrong> {
    match text.parse() {
        Ok(offset @ -65534..=65534) => Ok(offset),
        _ => Err(Wrong {
            why: "it is no number of ports to move by".to_owned(),
            hint: "give a whole number from -65534 to 65534, such as `10000`",
        }),
    }
}

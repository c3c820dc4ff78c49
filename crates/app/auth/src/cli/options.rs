//! What an auth service is to do, in types.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use stunner_api::names::port;
use stunner_cluster::{CdsFlags, Kubectl};
use stunner_flags::{Flag, Given, UsageError, Wrong, values};
use stunner_http::BindAddress;
use stunner_telemetry::logging::{Format, LogSpec};

use super::flags;
use crate::answer::{Host, Settings};
use crate::http::{Accounts, Cors};

const DEFAULT_MAX_TTL: Duration = Duration::from_secs(30 * 24 * 3600);

/// Everything that flags and environment say, with defaults filled in.
#[derive(Debug, Clone)]
pub struct Options {
    /// Files instead of config discovery.
    pub config: Option<PathBuf>,
    pub listen: BindAddress,
    pub settings: Settings,
    pub token_file: Option<PathBuf>,
    pub review: Option<Review>,
    /// Requests a second from one address; 0 is no limit.
    pub rate_limit: u32,
    pub cors: Cors,
    pub cds: CdsFlags,
    pub kubectl: Kubectl,
    pub log: String,
    pub log_format: Format,
}

/// Whose tokens are good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    pub audiences: Vec<String>,
    pub accounts: Accounts,
}

impl Options {
    pub(super) fn from_given(given: &Given<'_>) -> Result<Options, UsageError> {
        let max_ttl = given.value(&flags::MAX_TTL, lifetime)?;
        let port = given
            .value(&flags::PORT, values::port)?
            .unwrap_or(port::AUTH);
        let address = given.value(&flags::ADDRESS, ip)?;
        Ok(Options {
            config: given.text(&flags::CONFIG).map(|text| path(&text)),
            listen: match address {
                Some(address) => BindAddress::Socket((address, port).into()),
                None => BindAddress::Any { port },
            },
            settings: Settings {
                max_ttl: max_ttl.unwrap_or(DEFAULT_MAX_TTL).as_secs(),
                public_address: given.value(&flags::PUBLIC_ADDRESS, host)?,
            },
            token_file: given.text(&flags::TOKEN_FILE).map(PathBuf::from),
            review: review(given)?,
            rate_limit: given.value(&flags::RATE_LIMIT, values::count)?.unwrap_or(0),
            cors: cors(given)?,
            cds: CdsFlags::read(given)?,
            kubectl: Kubectl::read(given)?,
            log: log(given)?,
            log_format: given
                .value(&flags::LOG_FORMAT, log_format)?
                .unwrap_or_default(),
        })
    }
}

fn path(text: &str) -> PathBuf {
    PathBuf::from(text.strip_prefix("file://").unwrap_or(text))
}

fn ip(text: &str) -> Result<IpAddr, Wrong> {
    // It works for every address that can be done without.
    if text.eq_ignore_ascii_case("off") {
        return Err(Wrong {
            why: "a service that listens nowhere serves nobody".to_owned(),
            hint: "leave it out to listen at all addresses, or give one such as `127.0.0.1`",
        });
    }
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    bare.parse().map_err(|_| Wrong {
        why: "it is not an IP address".to_owned(),
        hint: "give for example `127.0.0.1` or `::1`; the port is given by --port",
    })
}

fn host(text: &str) -> Result<Host, Wrong> {
    Host::parse(text).ok_or_else(|| Wrong {
        why: "clients cannot reach such a host".to_owned(),
        hint: Host::HINT,
    })
}

fn lifetime(text: &str) -> Result<Duration, Wrong> {
    let lifetime = values::duration(text)?;
    match lifetime.as_secs() {
        0 => Err(Wrong {
            why: "it is less than a second".to_owned(),
            hint: "give a duration such as `3600s` or `24h`",
        }),
        _ => Ok(lifetime),
    }
}

fn review(given: &Given<'_>) -> Result<Option<Review>, UsageError> {
    let accounts = given.value(&flags::TOKEN_ACCOUNTS, |text| {
        let items = text
            .split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty());
        let names = items.map(|item| {
            item.parse().map_err(|_| Wrong {
                why: format!("`{item}` is no ServiceAccount"),
                hint: "give NAMESPACE/NAME, several separated by commas",
            })
        });
        names.collect::<Result<_, _>>().map(Accounts::These)
    })?;
    let audiences = given.texts(&flags::TOKEN_AUDIENCE);
    if given.switch(&flags::TOKEN_REVIEW)? {
        return Ok(Some(Review {
            audiences,
            accounts: accounts.unwrap_or(Accounts::Any),
        }));
    }
    // On its own it would look like a protection, and be none.
    let alone = |flag: &Flag| {
        let message = format!("`--{}` does nothing without `--token-review`", flag.long);
        UsageError::new(message, "add --token-review, or leave it out")
    };
    match (accounts, audiences.as_slice()) {
        (Some(_), _) => Err(alone(&flags::TOKEN_ACCOUNTS)),
        (None, [_, ..]) => Err(alone(&flags::TOKEN_AUDIENCE)),
        (None, []) => Ok(None),
    }
}

fn cors(given: &Given<'_>) -> Result<Cors, UsageError> {
    let origins = given.texts(&flags::CORS_ORIGIN);
    for origin in &origins {
        if Cors::new([origin.trim()]).is_err() {
            return Err(UsageError::new(
                format!("invalid value `{origin}` for `--cors-origin`: it is not an origin"),
                "give scheme, host and, where it is not the usual one, port, such as `https://app.example`, or `*`",
            ));
        }
    }
    let origins = origins.iter().map(|origin| origin.trim());
    Ok(Cors::new(origins).unwrap_or_default())
}

/// Levels by scope. The Kubernetes client logs what it cannot read, which may hold secrets: whoever wants that has to name
/// it.
fn log(given: &Given<'_>) -> Result<String, UsageError> {
    let said = given.value(&flags::LOG, |text| match LogSpec::parse(text).1.first() {
        None => Ok(text.to_owned()),
        Some(problem) => Err(Wrong {
            why: problem.to_string(),
            hint: "give scope:LEVEL items such as `all:INFO,auth:DEBUG`",
        }),
    })?;
    let spec = match (said, given.switch(&flags::VERBOSE)?) {
        (Some(spec), _) => spec,
        (None, true) => "all:DEBUG".to_owned(),
        (None, false) => "all:INFO".to_owned(),
    };
    Ok(match spec.contains("kube_client") {
        true => spec,
        false => spec + ",kube_client:DISABLE",
    })
}

fn log_format(text: &str) -> Result<Format, Wrong> {
    match text.to_ascii_lowercase().as_str() {
        "text" => Ok(Format::Text),
        "json" => Ok(Format::Json),
        _ => Err(Wrong {
            why: "there is no such format".to_owned(),
            hint: "give `text` or `json`",
        }),
    }
}

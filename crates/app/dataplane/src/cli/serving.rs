//! What every program with a dataplane in it can be told alike, `stunnerd` as well as `stunner run`: the flags for the
//! tables of both, and how they are read.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use stunner_flags::Takes::{Switch, Value};
use stunner_flags::{Flag, Given, UsageError, flag, shared_flags, short, values};

use crate::embed::defaults;

pub const SERVING: &str = "Serving";
const LIMITS: &str = "Limits";
pub(super) const LIFE: &str = "Health, drain and administration";
pub(super) const LOGS: &str = "Logs";

shared_flags! {
    UDP_THREAD_NUM = short('u', flag(SERVING, "udp-thread-num", Value("N"), "STUNNER_UDP_THREAD_NUM", "0",
        "Number of shards, at most the CPUs granted; 0 is all of them"));
    CREDENTIAL_GRACE = flag(SERVING, "credential-grace", Value("DURATION"), "STUNNER_CREDENTIAL_GRACE", "0",
        "How long new allocations may still use the previous credential after a change");
    MAX_EPHEMERAL_LIFETIME = flag(SERVING, "max-ephemeral-lifetime", Value("DURATION"), "STUNNER_MAX_EPHEMERAL_LIFETIME", "",
        "Refuse ephemeral credentials that expire later than this from now; 0 is no limit");

    UNAUTH_RATE_LIMIT = flag(LIMITS, "unauth-rate-limit", Value("N"), "STUNNER_UNAUTH_RATE_LIMIT", "1000",
        "Challenges per second and source address (IPv6: /64), the excess is dropped; 0 is no limit");
    MAX_CONNECTIONS_PER_SOURCE = flag(LIMITS, "max-connections-per-source", Value("N"), "STUNNER_MAX_CONNECTIONS_PER_SOURCE", "4096",
        "TCP and TLS connections and DTLS sessions per source address; 0 is no limit");
    MAX_HANDSHAKES = flag(LIMITS, "max-handshakes", Value("N"), "STUNNER_MAX_HANDSHAKES", "100",
        "Unfinished TLS and DTLS handshakes per source address; 0 is no limit");

    ADMIN_ADDRESS = flag(LIFE, "admin-address", Value("ADDR:PORT"), "STUNNER_ADMIN_ADDRESS", "127.0.0.1:8087",
        "Loopback address of the admin API, or `off`");
    STALE_ALLOCATION_TIMEOUT = flag(LIFE, "stale-allocation-timeout", Value("DURATION"), "STUNNER_STALE_ALLOCATION_TIMEOUT", "60s",
        "An allocation without traffic for this long does not hold up a drain");

    VERBOSE = short('v', flag(LOGS, "verbose", Switch, "STUNNER_VERBOSE", "",
        "The same as `--log all:DEBUG`, unless --log is given"));
    LOG_FORMAT = flag(LOGS, "log-format", Value("text|json"), "STUNNER_LOG_FORMAT", "text",
        "How log lines are written");
}

const DEFAULT_ADMIN_ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8087);

/// 0 means as many as CPUs are granted.
pub fn udp_thread_num(given: &Given<'_>) -> Result<u32, UsageError> {
    let said = given.value(&UDP_THREAD_NUM, values::count)?;
    Ok(said.unwrap_or(0))
}

pub fn credential_grace(given: &Given<'_>) -> Result<Duration, UsageError> {
    let said = given.value(&CREDENTIAL_GRACE, values::duration)?;
    Ok(said.unwrap_or(Duration::ZERO))
}

/// `None` means no limit.
pub fn max_ephemeral_lifetime(given: &Given<'_>) -> Result<Option<Duration>, UsageError> {
    let said = given.value(&MAX_EPHEMERAL_LIFETIME, values::duration)?;
    Ok(said.filter(|lifetime| !lifetime.is_zero()))
}

/// `None` means no limit.
pub fn unauth_rate_limit(given: &Given<'_>) -> Result<Option<u32>, UsageError> {
    limit(given, &UNAUTH_RATE_LIMIT, defaults::UNAUTH_RATE_LIMIT)
}

/// `None` means no limit.
pub fn max_connections_per_source(given: &Given<'_>) -> Result<Option<u32>, UsageError> {
    let default = defaults::MAX_CONNECTIONS_PER_SOURCE;
    limit(given, &MAX_CONNECTIONS_PER_SOURCE, default)
}

/// `None` means no limit.
pub fn max_handshakes(given: &Given<'_>) -> Result<Option<u32>, UsageError> {
    limit(given, &MAX_HANDSHAKES, defaults::MAX_HANDSHAKES)
}

fn limit(given: &Given<'_>, flag: &Flag, default: u32) -> Result<Option<u32>, UsageError> {
    let said = given.value(flag, values::count)?.unwrap_or(default);
    Ok((said != 0).then_some(said))
}

/// `None` means off.
pub fn admin_address(given: &Given<'_>) -> Result<Option<SocketAddr>, UsageError> {
    let said = given.value(&ADMIN_ADDRESS, |text| {
        values::unless_off(text, values::loopback_address)
    })?;
    Ok(said.unwrap_or(Some(DEFAULT_ADMIN_ADDRESS)))
}

pub fn stale_allocation_timeout(given: &Given<'_>) -> Result<Duration, UsageError> {
    let said = given.value(&STALE_ALLOCATION_TIMEOUT, values::duration)?;
    Ok(said.unwrap_or(defaults::STALE_ALLOCATION_TIMEOUT))
}

/// What `--log`, described by the program itself, and `--verbose` say together, if anything: `--log` beats `--verbose`,
/// and what stands on the command line beats the environment.
pub fn log_spec(given: &Given<'_>, log: &Flag) -> Result<Option<String>, UsageError> {
    let verbose = given.switch(&VERBOSE)?;
    let spec = given.text(log);
    let verbose_first = given.on_command_line(&VERBOSE) && !given.on_command_line(log);
    match (spec, verbose) {
        (Some(spec), verbose) if !(verbose && verbose_first) => Ok(Some(spec)),
        (_, true) => Ok(Some("all:DEBUG".to_owned())),
        (spec, false) => Ok(spec),
    }
}

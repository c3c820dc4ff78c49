//! What was said, with defaults filled in.

use std::net::IpAddr;
use std::time::Duration;

use stunner_cluster::{CdsFlags, Kubectl};
use stunner_credentials::Secret;
use stunner_flags::{Given, UsageError, Wrong, values};
use stunner_telemetry::logging::LogSpec;

use super::flags;
use crate::ends::{LocalEnd, PeerEnd, PeerTransport};
use crate::server::ServerEnd;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(8);
const IDLE_TIMEOUT: Duration = Duration::from_secs(300);
const RECONNECT_TIMEOUT: Duration = Duration::from_secs(60);
/// A UDP peer that answers at all answers within a round trip or two; a TCP peer says itself when it is done.
const LINGER_UDP: Duration = Duration::from_secs(1);
const LINGER_TCP: Duration = Duration::from_secs(10);

#[derive(Debug, Clone)]
pub struct Options {
    pub local: LocalEnd,
    pub server: ServerEnd,
    pub peer: PeerEnd,
    pub secret: Option<Secret>,
    pub sni: Option<String>,
    pub insecure: bool,
    pub connect_timeout: Duration,
    pub check: bool,
    /// `None` is never.
    pub idle_timeout: Option<Duration>,
    pub reconnect_timeout: Duration,
    pub linger: Duration,
    /// `None` is as much as the transport carries.
    pub max_datagram: Option<usize>,
    pub kubectl: Kubectl,
    pub cds: CdsFlags,
    pub log: String,
}

impl Options {
    pub(super) fn from_given(
        given: &Given<'_>,
        local: LocalEnd,
        server: ServerEnd,
        peer: PeerEnd,
    ) -> Result<Options, UsageError> {
        let duration = |flag| given.value(flag, values::duration);
        let linger = match peer.transport {
            PeerTransport::Udp => LINGER_UDP,
            PeerTransport::Tcp => LINGER_TCP,
        };
        let idle = duration(&flags::IDLE_TIMEOUT)?.unwrap_or(IDLE_TIMEOUT);
        Ok(Options {
            secret: secret(given, &server)?,
            sni: given.value(&flags::SNI, server_name)?,
            insecure: given.switch(&flags::INSECURE)?,
            connect_timeout: given
                .value(&flags::CONNECT_TIMEOUT, some_time)?
                .unwrap_or(CONNECT_TIMEOUT),
            check: !given.switch(&flags::NO_CHECK)?,
            idle_timeout: (!idle.is_zero()).then_some(idle),
            reconnect_timeout: duration(&flags::RECONNECT_TIMEOUT)?.unwrap_or(RECONNECT_TIMEOUT),
            linger: duration(&flags::LINGER)?.unwrap_or(linger),
            max_datagram: given.value(&flags::MAX_DATAGRAM, datagram_size)?,
            kubectl: Kubectl::read(given)?,
            cds: CdsFlags::read(given)?,
            log: log(given)?,
            local,
            server,
            peer,
        })
    }
}

/// A password in the URI beats a secret in the environment, which may be there for other servers.
fn secret(given: &Given<'_>, server: &ServerEnd) -> Result<Option<Secret>, UsageError> {
    let has_password = matches!(server, ServerEnd::Uri(uri)
        if uri.credentials.as_ref().is_some_and(|(_, password)| !password.is_empty()));
    match has_password {
        true if given.on_command_line(&flags::SECRET) => Err(UsageError::new(
            "the server's URI has a password, and `--secret` is given too",
            "leave out one of them; with `--secret` the URI may have a user: `turn://USER@HOST:PORT`",
        )),
        true => Ok(None),
        false => Ok(given.text(&flags::SECRET).map(Secret::from)),
    }
}

/// A flag on the command line beats the other one's variable; of two flags `--log` says more.
fn log(given: &Given<'_>) -> Result<String, UsageError> {
    let verbose = given.switch(&flags::VERBOSE)?;
    let verbose_first =
        given.on_command_line(&flags::VERBOSE) && !given.on_command_line(&flags::LOG);
    let said = given.value(&flags::LOG, |text| match LogSpec::parse(text).1.first() {
        None => Ok(text.to_owned()),
        Some(problem) => Err(Wrong {
            why: problem.to_string(),
            hint: "give scope:LEVEL items such as `all:WARN,turncat:DEBUG`",
        }),
    })?;
    Ok(match said {
        Some(spec) if !(verbose && verbose_first) => spec,
        _ if verbose => "all:DEBUG".to_owned(),
        _ => flags::LOG.default.to_owned(),
    })
}

fn some_time(text: &str) -> Result<Duration, Wrong> {
    match values::duration(text)? {
        Duration::ZERO => Err(Wrong {
            why: "no server answers in no time".to_owned(),
            hint: "give a duration such as `8s`",
        }),
        time => Ok(time),
    }
}

/// What a certificate can be made out to.
fn server_name(text: &str) -> Result<String, Wrong> {
    let is_label = |label: &str| {
        let known = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        (1..=63).contains(&label.len()) && label.bytes().all(known)
    };
    let name = text.strip_suffix('.').unwrap_or(text);
    let is_name = name.len() <= 253 && name.split('.').all(is_label);
    match is_name || text.parse::<IpAddr>().is_ok() {
        true => Ok(text.to_owned()),
        false => Err(Wrong {
            why: "it is no name of a host".to_owned(),
            hint: "give the name in the server's certificate, such as `turn.example.com`",
        }),
    }
}

fn datagram_size(text: &str) -> Result<usize, Wrong> {
    match text.parse() {
        Ok(size @ 1..=65_507) => Ok(size),
        _ => Err(Wrong {
            why: "it is no size of a datagram".to_owned(),
            hint: "give a number of bytes from 1 to 65507, such as `1200`",
        }),
    }
}

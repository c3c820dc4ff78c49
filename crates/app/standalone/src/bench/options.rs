//! What `stunner bench` is to do, in types.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use stunner_client::{ServerTransport, ServerUri};
use stunner_flags::{Given, UsageError, Wrong, values};
use stunner_load::{Direction, STAMP_LEN};

use crate::cli::flags::bench as flags;

/// What a UDP datagram carries, less the ChannelData header.
const LARGEST: usize = 65_507 - 4;
/// What a DTLS record carries (RFC 6347 §4.1.1, RFC 8446 §5.1), less the same.
const LARGEST_OVER_DTLS: usize = 16_384 - 4;
const MOST_SESSIONS: u32 = 100_000;

/// `stunner bench`, with defaults filled in.
#[derive(Clone)]
pub struct BenchOptions {
    /// As written; parsed when the command runs, as a malformed URI is a problem and not wrong usage.
    pub server: String,
    pub sessions: usize,
    /// Packets per second of each client in each direction; `None` for as fast as they arrive.
    pub rate: Option<f64>,
    pub size: usize,
    pub direction: Direction,
    pub duration: Duration,
    pub ramp: Duration,
    pub window: usize,
    pub threads: usize,
    pub peer_address: Option<IpAddr>,
    /// `HOST:PORT`.
    pub echo: Option<String>,
    pub username: Option<String>,
    pub password: Option<String>,
    pub secret: Option<String>,
    pub sni: Option<String>,
    pub insecure: bool,
    pub json: bool,
    /// In percent.
    pub max_loss: Option<f64>,
    pub quiet: bool,
}

impl fmt::Debug for BenchOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BenchOptions")
            .field("sessions", &self.sessions)
            .field("rate", &self.rate)
            .field("size", &self.size)
            .field("direction", &self.direction)
            .finish_non_exhaustive()
    }
}

impl BenchOptions {
    pub(crate) fn from_given(given: &Given<'_>) -> Result<BenchOptions, UsageError> {
        let server = match given.positionals() {
            [server] => server.clone(),
            [] => {
                return Err(UsageError::new(
                    "`bench` needs a server",
                    "for example `stunner bench turn://user:password@192.0.2.7:3478?transport=udp`",
                ));
            }
            [_, extra, ..] => {
                return Err(UsageError::new(
                    format!("unexpected argument `{extra}`"),
                    "`bench` takes one server",
                ));
            }
        };
        let echo = given.text(&flags::ECHO);
        let direction = given.value(&flags::DIRECTION, direction)?;
        if echo.is_some() && direction.is_some_and(|direction| direction != Direction::ToPeer) {
            return Err(UsageError::new(
                "`--echo` and `--direction` exclude each other",
                "with `--echo` packets go to the peer and back; leave `--direction` out",
            ));
        }
        let size = given.value(&flags::SIZE, size)?.unwrap_or(160);
        let uri = server.parse::<ServerUri>();
        let is_dtls = uri.is_ok_and(|uri| uri.transport == ServerTransport::Dtls);
        if is_dtls && size > LARGEST_OVER_DTLS {
            return Err(UsageError::new(
                format!("invalid value `{size}` for `--size`: no packet over DTLS has this size"),
                format!(
                    "give a number of bytes from {STAMP_LEN} to {LARGEST_OVER_DTLS}, or try another transport"
                ),
            ));
        }
        Ok(BenchOptions {
            server,
            sessions: given.value(&flags::SESSIONS, sessions)?.unwrap_or(10),
            rate: given.value(&flags::RATE, rate)?.unwrap_or(Some(50.0)),
            size,
            direction: match echo {
                Some(_) => Direction::ToPeer,
                None => direction.unwrap_or(Direction::Both),
            },
            duration: given
                .value(&flags::DURATION, some_time)?
                .unwrap_or(Duration::from_secs(10)),
            ramp: given
                .value(&flags::RAMP, values::duration)?
                .unwrap_or_default(),
            window: given.value(&flags::WINDOW, at_least_one)?.unwrap_or(8),
            threads: given.value(&flags::THREADS, at_least_one)?.unwrap_or(1),
            peer_address: given.value(&flags::PEER_ADDRESS, address)?,
            echo,
            username: given.text(&flags::USERNAME),
            password: given.text(&flags::PASSWORD),
            secret: given.text(&flags::SECRET),
            sni: given.text(&flags::SNI),
            insecure: given.switch(&flags::INSECURE)?,
            json: given.switch(&flags::JSON)?,
            max_loss: given.value(&flags::MAX_LOSS, percent)?,
            quiet: given.switch(&flags::QUIET)?,
        })
    }

    /// The credential that was given beside the URI or in it.
    pub(super) fn credential(&self, uri: &ServerUri) -> (Option<String>, Option<String>) {
        let (user, password) = uri.credentials.clone().unzip();
        (
            self.username.clone().or(user),
            self.password.clone().or(password),
        )
    }
}

fn wrong<T>(why: &str, hint: &'static str) -> Result<T, Wrong> {
    Err(Wrong {
        why: why.to_owned(),
        hint,
    })
}

fn sessions(text: &str) -> Result<usize, Wrong> {
    match text.parse() {
        Ok(count @ 1..=MOST_SESSIONS) => Ok(count as usize),
        _ => wrong(
            "it is no number of clients",
            "give a whole number from 1 to 100000",
        ),
    }
}

fn at_least_one(text: &str) -> Result<usize, Wrong> {
    match text.parse() {
        Ok(count @ 1..=65_536_usize) => Ok(count),
        _ => wrong("it is no such number", "give a whole number from 1 up"),
    }
}

fn rate(text: &str) -> Result<Option<f64>, Wrong> {
    if text == "max" {
        return Ok(None);
    }
    match text.parse::<f64>() {
        Ok(rate) if rate.is_finite() && rate > 0.0 && rate <= 10_000_000.0 => Ok(Some(rate)),
        _ => wrong(
            "it is no rate",
            "give packets per second, such as `50`, or `max`",
        ),
    }
}

fn size(text: &str) -> Result<usize, Wrong> {
    match text.parse() {
        Ok(size) if (STAMP_LEN..=LARGEST).contains(&size) => Ok(size),
        _ => wrong(
            "no packet has this size",
            "give a number of bytes from 24 to 65503",
        ),
    }
}

fn direction(text: &str) -> Result<Direction, Wrong> {
    match text {
        "both" => Ok(Direction::Both),
        "to-peer" => Ok(Direction::ToPeer),
        "to-client" => Ok(Direction::ToClient),
        _ => wrong(
            "there is no such direction",
            "give `both`, `to-peer` or `to-client`",
        ),
    }
}

fn some_time(text: &str) -> Result<Duration, Wrong> {
    let duration = values::duration(text)?;
    match duration < Duration::from_millis(100) {
        true => wrong("that is too short to measure", "give at least `100ms`"),
        false => Ok(duration),
    }
}

fn address(text: &str) -> Result<IpAddr, Wrong> {
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    match bare.parse::<IpAddr>() {
        Ok(address) if !address.is_unspecified() => Ok(address),
        _ => wrong(
            "no server can send there",
            "give an address of this host, such as `192.0.2.7`",
        ),
    }
}

fn percent(text: &str) -> Result<f64, Wrong> {
    match text.trim_end_matches('%').parse::<f64>() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent),
        _ => wrong("it is no share", "give a percentage, such as `0.1`"),
    }
}

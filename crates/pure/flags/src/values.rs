//! The kinds of values that flags take. Each reader says what is wrong and what it wants instead.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use crate::duration::parse_duration;

/// What is wrong with a value.
#[derive(Debug)]
pub struct Wrong {
    /// The end of the sentence "invalid value `x` for `--flag`: …".
    pub why: String,
    pub hint: &'static str,
}

fn wrong<T>(why: impl Into<String>, hint: &'static str) -> Result<T, Wrong> {
    Err(Wrong {
        why: why.into(),
        hint,
    })
}

/// The spellings Go accepts.
pub fn boolean(text: &str) -> Result<bool, Wrong> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => wrong("it is neither true nor false", "give `true` or `false`"),
    }
}

pub fn count(text: &str) -> Result<u32, Wrong> {
    match text.parse() {
        Ok(number) => Ok(number),
        Err(_) => wrong("it is not a count", "give a whole number from 0"),
    }
}

pub fn port(text: &str) -> Result<u16, Wrong> {
    match text.parse() {
        Ok(port) if port != 0 => Ok(port),
        _ => wrong("it is not a port", "give a number from 1 to 65535"),
    }
}

pub fn duration(text: &str) -> Result<Duration, Wrong> {
    parse_duration(text).or_else(|error| {
        wrong(
            error.to_string(),
            "give a duration such as `250ms`, `90s` or `1h30m`; a bare number is seconds",
        )
    })
}

/// `LO-HI`, both ends included.
pub fn port_range(text: &str) -> Result<(u16, u16), Wrong> {
    const HINT: &str = "give LO-HI with ports from 1 to 65535, such as `50000-50999`";
    let ends = text
        .split_once('-')
        .and_then(|(low, high)| Some((port(low.trim()).ok()?, port(high.trim()).ok()?)));
    match ends {
        Some((low, high)) if low <= high => Ok((low, high)),
        Some(_) => wrong("the range ends below its beginning", HINT),
        None => wrong("it is not a range of ports", HINT),
    }
}

/// An address that can be switched off.
pub fn unless_off<T>(
    text: &str,
    read: impl Fn(&str) -> Result<T, Wrong>,
) -> Result<Option<T>, Wrong> {
    match text.eq_ignore_ascii_case("off") {
        true => Ok(None),
        false => read(text).map(Some),
    }
}

pub fn socket_address(text: &str) -> Result<SocketAddr, Wrong> {
    match text.parse::<SocketAddr>() {
        Ok(address) if address.port() != 0 => Ok(address),
        _ => wrong(
            "it is not an IP address with a port",
            "give for example `203.0.113.1:3478` or `[2001:db8::1]:3478`, or `off`",
        ),
    }
}

/// An address that only this host can reach: what stands behind it is not protected otherwise. Port 0 is a free one.
pub fn loopback_address(text: &str) -> Result<SocketAddr, Wrong> {
    let address = match text.strip_prefix("localhost:") {
        Some(port) => port
            .parse()
            .ok()
            .map(|port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)),
        None => text.parse::<SocketAddr>().ok(),
    };
    const HINT: &str = "give a loopback address such as `127.0.0.1:8087`, or `off`; a port-forward reaches it from outside";
    match address {
        Some(address) if address.ip().to_canonical().is_loopback() => Ok(address),
        Some(_) => wrong("it is not a loopback address", HINT),
        None => wrong("it is not an IP address with a port", HINT),
    }
}

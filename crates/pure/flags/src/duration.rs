//! Durations in Go's syntax.

use std::time::Duration;

/// Why a text is not a duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    #[error("it is empty")]
    Empty,
    #[error("it is not a number with a unit (ns, us, ms, s, m or h)")]
    Malformed,
    #[error("it is negative")]
    Negative,
    #[error("it is too long")]
    Overflow,
}

const NANOS_PER_SECOND: u128 = 1_000_000_000;

/// Units by their spelling, with their length in nanoseconds. Both spellings of the micro sign are in use.
const UNITS: [(&str, u128); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", NANOS_PER_SECOND),
    ("m", 60 * NANOS_PER_SECOND),
    ("h", 3600 * NANOS_PER_SECOND),
];

/// Reads a duration such as `250ms`, `1h30m` or `1.5s`; a number without a unit is seconds.
pub fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    let text = text.trim();
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest.is_empty() {
        return match text.is_empty() {
            true => Err(DurationError::Empty),
            false => Err(DurationError::Malformed),
        };
    }
    let mut nanos: u128 = 0;
    let whole = rest;
    while !rest.is_empty() {
        let number_end = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let (number, after) = rest.split_at(number_end);
        let unit_end = after
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(after.len());
        let (unit, next) = after.split_at(unit_end);
        let unit = match unit {
            // Only a number that stands alone is seconds: in `1h30`, Go too asks for a unit.
            "" if number.len() == whole.len() => NANOS_PER_SECOND,
            unit => UNITS
                .iter()
                .find(|(name, _)| *name == unit)
                .map(|(_, nanos)| *nanos)
                .ok_or(DurationError::Malformed)?,
        };
        nanos = nanos
            .checked_add(scaled(number, unit)?)
            .ok_or(DurationError::Overflow)?;
        rest = next;
    }
    if negative && nanos != 0 {
        return Err(DurationError::Negative);
    }
    // Go's limit, about 292 years; what is longer could not be added to a clock either.
    match i64::try_from(nanos) {
        Ok(nanos) => Ok(Duration::from_nanos(nanos.unsigned_abs())),
        Err(_) => Err(DurationError::Overflow),
    }
}

/// `number`, which may have a fraction, times `unit` nanoseconds; what is below a nanosecond is cut off.
fn scaled(number: &str, unit: u128) -> Result<u128, DurationError> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return Err(DurationError::Malformed);
    }
    let whole = match whole {
        "" => 0,
        digits => digits
            .parse::<u128>()
            .map_err(|_| DurationError::Overflow)?,
    };
    // Digits beyond the 15th are below a nanosecond even of an hour.
    let digits = &fraction[..fraction.len().min(15)];
    let part = match digits {
        "" => 0,
        digits => digits
            .parse::<u128>()
            .map_err(|_| DurationError::Malformed)?,
    };
    let part = part * unit / 10u128.pow(digits.len() as u32);
    whole
        .checked_mul(unit)
        .and_then(|nanos| nanos.checked_add(part))
        .ok_or(DurationError::Overflow)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_durations_and_bare_seconds_are_read() {
        for (text, nanos) in [
            ("0", 0),
            ("-0", 0),
            ("0s", 0),
            ("250ms", 250_000_000),
            ("1h30m", 5_400_000_000_000),
            ("1h30m0.5s", 5_400_500_000_000),
            ("3600", 3_600_000_000_000),
            ("2.5", 2_500_000_000),
            ("1.5h", 5_400_000_000_000),
            (".5s", 500_000_000),
            ("1.s", 1_000_000_000),
            ("+5s", 5_000_000_000),
            ("10us", 10_000),
            ("10µs", 10_000),
            ("10μs", 10_000),
            ("7ns", 7),
            ("1.9ns", 1),
            (" 5s ", 5_000_000_000),
            ("0.0000000000000000000000001h", 0),
        ] {
            assert_eq!(
                parse_duration(text),
                Ok(Duration::from_nanos(nanos)),
                "{text}"
            );
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for (text, error) in [
            ("", DurationError::Empty),
            ("-", DurationError::Malformed),
            ("s", DurationError::Malformed),
            (".", DurationError::Malformed),
            (".s", DurationError::Malformed),
            ("1.2.3s", DurationError::Malformed),
            ("1h30", DurationError::Malformed),
            ("5 s", DurationError::Malformed),
            ("5d", DurationError::Malformed),
            ("5S", DurationError::Malformed),
            ("1e3s", DurationError::Malformed),
            ("-5s", DurationError::Negative),
            ("9999999999h", DurationError::Overflow),
            (
                "999999999999999999999999999999999999999999",
                DurationError::Overflow,
            ),
        ] {
            assert_eq!(parse_duration(text), Err(error), "{text}");
        }
    }
}

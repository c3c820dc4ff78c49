//! Numbers for people.

use std::time::Duration;

/// `1,234,567`.
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

pub(super) fn sessions(number: usize) -> String {
    match number {
        1 => "1 session".to_owned(),
        number => format!("{} sessions", count(number as u64)),
    }
}

/// Bits per second with a unit.
pub(super) fn bits(rate: f64) -> String {
    let units = [(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")];
    match units.iter().find(|(size, _)| rate >= *size) {
        Some((size, unit)) => format!("{:.1} {unit}", rate / size),
        None => format!("{rate:.0} bit/s"),
    }
}

/// Milliseconds with as many digits as say something.
pub(super) fn millis(latency: Duration) -> String {
    let millis = latency.as_secs_f64() * 1000.0;
    match millis {
        m if m < 1.0 => format!("{m:.3} ms"),
        m if m < 10.0 => format!("{m:.2} ms"),
        m => format!("{m:.1} ms"),
    }
}

/// A share in percent.
pub(super) fn percent(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0 %".to_owned(),
        p if p < 0.01 => "< 0.01 %".to_owned(),
        p => format!("{p:.2} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(
            (sessions(1), sessions(2)),
            ("1 session".into(), "2 sessions".into())
        );
        assert_eq!(bits(950.0), "950 bit/s");
        assert_eq!(bits(6_400_000.0), "6.4 Mbit/s");
        assert_eq!(millis(Duration::from_micros(120)), "0.120 ms");
        assert_eq!(millis(Duration::from_micros(12_345)), "12.3 ms");
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(percent(0.00001), "< 0.01 %");
        assert_eq!(percent(0.0123), "1.23 %");
    }
}

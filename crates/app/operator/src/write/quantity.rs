//! Kubernetes quantities: `1`, `1000m` and `1e0` are the same, and the API server stores one form of them.

/// Whether two texts are the same amount. Texts that are no quantities are not.
pub(super) fn same_quantity(one: &str, other: &str) -> bool {
    match (nanos(one), nanos(other)) {
        (Some(one), Some(other)) => one == other,
        _ => false,
    }
}

/// In units of 10⁻⁹, the smallest that Kubernetes knows.
fn nanos(text: &str) -> Option<i128> {
    let digits = text
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '+' | '-')))
        .unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    let scale = scale(suffix)?;
    let (negative, number) = match number.strip_prefix('-') {
        Some(number) => (true, number),
        None => (false, number.strip_prefix('+').unwrap_or(number)),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut amount = part(whole)?.checked_mul(scale)?;
    if !fraction.is_empty() {
        let denominator = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
        amount = amount.checked_add(part(fraction)?.checked_mul(scale)? / denominator)?;
    }
    Some(if negative { -amount } else { amount })
}

fn part(digits: &str) -> Option<i128> {
    if digits.is_empty() {
        return Some(0);
    }
    digits
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| digits.parse().ok())?
}

fn scale(suffix: &str) -> Option<i128> {
    const NANO: i128 = 1_000_000_000;
    let binary = |power: u32| 1024_i128.checked_pow(power)?.checked_mul(NANO);
    match suffix {
        "n" => Some(1),
        "u" => Some(1_000),
        "m" => Some(1_000_000),
        "" => Some(NANO),
        "k" => Some(NANO * 1_000),
        "M" => Some(NANO * 1_000_000),
        "G" => Some(NANO * 1_000_000_000),
        "T" => Some(NANO * 1_000_000_000_000),
        "P" => Some(NANO * 1_000_000_000_000_000),
        "E" => Some(NANO * 1_000_000_000_000_000_000),
        "Ki" => binary(1),
        "Mi" => binary(2),
        "Gi" => binary(3),
        "Ti" => binary(4),
        "Pi" => binary(5),
        "Ei" => binary(6),
        _ => {
            let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
            let power = u32::try_from(exponent.checked_add(9)?).ok()?;
            10_i128.checked_pow(power)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_amount_in_other_words_is_the_same() {
        for (one, other) in [
            ("1", "1000m"),
            ("0.5", "500m"),
            ("1.5Gi", "1536Mi"),
            ("1e3", "1k"),
            ("1E3", "1000"),
            ("100M", "100000k"),
            ("0", "0m"),
            ("+2", "2"),
            ("-1", "-1000m"),
            (".5", "500m"),
            ("12e-3", "12m"),
        ] {
            assert!(same_quantity(one, other), "{one} {other}");
        }
    }

    #[test]
    fn other_amounts_and_other_texts_are_not() {
        for (one, other) in [
            ("1", "2"),
            ("1M", "1Mi"),
            ("", ""),
            ("abc", "abc"),
            ("1x", "1x"),
            (".", "0"),
            ("1e99999", "1"),
            ("1-2", "1"),
        ] {
            assert!(!same_quantity(one, other), "{one} {other}");
        }
    }
}

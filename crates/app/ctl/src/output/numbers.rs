//! Numbers as people read them.

/// At most five characters: `0`, `0.5`, `12`, `999`, `1.23k`, `45.6M`.
pub(crate) fn scaled(number: f64) -> String {
    const UNITS: [&str; 6] = ["", "k", "M", "G", "T", "P"];
    let mut number = number.max(0.0);
    let mut unit = 0;
    // 999.95 would be written as 1000.
    while number >= 999.5 && unit + 1 < UNITS.len() {
        number /= 1000.0;
        unit += 1;
    }
    let unit_text = UNITS[unit];
    match number {
        _ if unit == 0 && (number == 0.0 || number >= 9.95) => format!("{number:.0}"),
        _ if unit == 0 => {
            let text = format!("{number:.1}");
            text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
        }
        number if number < 9.995 => format!("{number:.2}{unit_text}"),
        number if number < 99.95 => format!("{number:.1}{unit_text}"),
        _ => format!("{number:.0}{unit_text}"),
    }
}

/// `12s`, `4m05s`, `3h12m`, `2d04h`.
pub(crate) fn age(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{}h{:02}m", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{}d{:02}h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_whatever_their_size() {
        for (number, text) in [
            (0.0, "0"),
            (0.04, "0"),
            (0.5, "0.5"),
            (1.0, "1"),
            (9.96, "10"),
            (12.3, "12"),
            (999.4, "999"),
            (999.6, "1.00k"),
            (1234.0, "1.23k"),
            (12_345.0, "12.3k"),
            (123_456.0, "123k"),
            (999_999.0, "1.00M"),
            (1e9, "1.00G"),
            (2.5e16, "25.0P"),
            (1e20, "100000P"),
        ] {
            assert_eq!(scaled(number), text, "{number}");
        }
    }

    #[test]
    fn ages_have_two_units() {
        for (seconds, text) in [
            (0, "0s"),
            (59, "59s"),
            (245, "4m05s"),
            (11_520, "3h12m"),
            (187_200, "2d04h"),
        ] {
            assert_eq!(age(seconds), text);
        }
    }
}

//! Which texts need no quotes.

/// Whether readers take the plain text for a text, and not for a number, a switch, nothing, or a point in time.
pub(super) fn reads_as_text(text: &str) -> bool {
    const OTHERS: &[&str] = &[
        "", "~", "null", "true", "false", "y", "n", "yes", "no", "on", "off", "<<", "=", ".nan",
    ];
    let lower = text.to_ascii_lowercase();
    let unsigned = lower.strip_prefix(['+', '-']).unwrap_or(&lower);
    let is_other = OTHERS.contains(&lower.as_str())
        || [".inf", ".nan", "inf", "infinity", "nan"].contains(&unsigned);
    !(is_other || is_number(unsigned) || is_sexagesimal(unsigned) || is_date(&lower))
}

/// Of any base, with the separators of YAML 1.1. The sign and capitals are gone.
fn is_number(text: &str) -> bool {
    let text = text.replace('_', "");
    for (prefix, base) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(digits) = text.strip_prefix(prefix) {
            // Hexadecimal fractions are rare, and no names.
            return digits
                .chars()
                .all(|c| c.is_digit(base) || "+-.p".contains(c));
        }
    }
    text.starts_with(|c: char| c.is_ascii_digit() || c == '.') && text.parse::<f64>().is_ok()
}

/// `1:30` is 90 to YAML 1.1.
fn is_sexagesimal(text: &str) -> bool {
    let (text, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_digits = |text: &str| text.chars().all(|c| c.is_ascii_digit() || c == '_');
    let mut parts = text.split(':');
    let first = parts.next().unwrap_or_default();
    let is_part = |part: &str| {
        let value = part.parse::<u8>();
        part.len() <= 2 && value.is_ok_and(|value| value < 60)
    };
    text.contains(':')
        && first.starts_with(|c: char| c.is_ascii_digit())
        && is_digits(first)
        && is_digits(fraction)
        && parts.all(is_part)
}

/// `2026-1-2`, alone or with a time of day behind it.
fn is_date(text: &str) -> bool {
    let mut parts = text.splitn(3, '-');
    let mut digits = |least: usize, most: usize| {
        let part = parts.next().unwrap_or_default();
        let end = part.find(|c: char| !c.is_ascii_digit());
        let (number, rest) = part.split_at(end.unwrap_or(part.len()));
        (least..=most).contains(&number.len()).then_some(rest)
    };
    let (year, month) = (digits(4, 4), digits(1, 2));
    let day = digits(1, 2);
    year == Some("")
        && month == Some("")
        && day.is_some_and(|rest| rest.is_empty() || rest.starts_with(['t', ' ', '\t']))
}

/// Whether the plain text ends where it should, and starts nothing but a text.
pub(super) fn is_plain(text: &str) -> bool {
    let begins_other = text.starts_with(|c: char| "#,[]{}&*!|>'\"%@` ".contains(c))
        || text.starts_with("---")
        || text.starts_with("...");
    let chars: Vec<char> = text.chars().collect();
    let is_blank = |place: usize| chars.get(place).is_none_or(|c| matches!(c, ' ' | '\t'));
    let is_indicator = |place: usize| match chars[place] {
        ':' => is_blank(place + 1),
        '-' | '?' => place == 0 && is_blank(1),
        '#' => place > 0 && is_blank(place - 1),
        _ => false,
    };
    !begins_other && !text.ends_with(' ') && !(0..chars.len()).any(is_indicator)
}

/// Whether a character may stand for itself.
pub(super) fn is_printable(c: char) -> bool {
    let is_separator = matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}');
    let is_none = matches!(c, '\u{feff}' | '\u{fffe}' | '\u{ffff}');
    !c.is_control() && !is_separator && !is_none
}

//! Reading metrics: as much of the Prometheus text format as dataplanes write.

/// All samples of a page, in its order. Comments, and what is no sample, are passed over.
pub fn samples(page: &str) -> impl Iterator<Item = Sample<'_>> {
    page.lines().filter_map(Sample::read)
}

/// One line: `name{label="value",...} number`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample<'a> {
    pub name: &'a str,
    labels: &'a str,
    pub value: f64,
}

impl<'a> Sample<'a> {
    /// `None` for comments, and for what is no sample.
    pub fn read(line: &'a str) -> Option<Self> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return None;
        }
        let end = line.find(['{', ' ', '\t'])?;
        let (name, rest) = line.split_at(end);
        let (labels, rest) = match rest.strip_prefix('{') {
            Some(rest) => rest.split_at(end_of_labels(rest)?),
            None => ("", rest),
        };
        let rest = rest.strip_prefix('}').unwrap_or(rest);
        let value: f64 = rest.split_whitespace().next()?.parse().ok()?;
        Some(Sample {
            name,
            labels,
            value,
        })
    }

    /// The value of a counter. Counters are whole and not negative; beyond 2^53 neither side is exact.
    pub fn count(&self) -> Option<u64> {
        let is_count = self.value.is_finite() && self.value >= 0.0;
        is_count.then_some(self.value as u64)
    }

    /// The value of a label.
    pub fn label(&self, wanted: &str) -> Option<String> {
        let mut rest = self.labels;
        loop {
            let (name, after) = rest.split_once("=\"")?;
            let (value, after) = quoted(after)?;
            if name.trim_matches([',', ' ']) == wanted {
                return Some(value);
            }
            rest = after;
        }
    }
}

/// Where the labels end: at the brace that is not inside quotes.
fn end_of_labels(text: &str) -> Option<usize> {
    let (mut quoted, mut escaped) = (false, false);
    for (place, character) in text.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '}' if !quoted => return Some(place),
            _ => {}
        }
    }
    None
}

/// The value up to the closing quote, and what comes after it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((place, character)) = characters.next() {
        match character {
            '"' => return Some((value, &text[place + 1..])),
            '\\' => match characters.next()?.1 {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests;

//! "Did you mean": the known word nearest to an unknown one.

/// The nearest of `known`, if near enough to be a slip of the hand.
pub fn nearest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    // Compared without case and separators, so that `publicAddress` and `public-address` find `public_address`.
    let plain = |text: &str| -> Vec<u8> {
        text.bytes()
            .filter(u8::is_ascii_alphanumeric)
            .map(|byte| byte.to_ascii_lowercase())
            .take(64)
            .collect()
    };
    let word = plain(word);
    known
        .iter()
        .map(|&candidate| (distance(&word, &plain(candidate)), candidate))
        .filter(|&(distance, candidate)| distance <= 1 + candidate.len() / 5)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// Edit distance with swaps of neighbours counted as one (optimal string alignment).
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut previous: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut current = vec![i];
        for j in 1..=b.len() {
            let change = previous[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = change.min(previous[j] + 1).min(current[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            current.push(best);
        }
        before = std::mem::replace(&mut previous, current);
    }
    previous[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[&str] = &[
        "name",
        "protocol",
        "public_address",
        "public_port",
        "address",
        "port",
        "routes",
    ];

    #[test]
    fn a_slip_finds_the_word_and_a_stranger_does_not() {
        assert_eq!(nearest("portocol", KNOWN), Some("protocol"));
        assert_eq!(nearest("publicAddress", KNOWN), Some("public_address"));
        assert_eq!(nearest("route", KNOWN), Some("routes"));
        assert_eq!(nearest("bandwidth", KNOWN), None);
        assert_eq!(nearest("", KNOWN), None);
    }
}

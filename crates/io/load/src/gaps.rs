//! When bursts of a fixed rate leave.

/// Gaps between independent senders' bursts: exponential, and the same in every run, so that all
/// servers get the same traffic.
#[derive(Debug)]
pub(crate) struct Gaps {
    state: u64,
}

impl Gaps {
    pub(crate) fn new() -> Self {
        Gaps {
            state: 0x9e37_79b9_7f4a_7c15,
        }
    }

    /// Nanoseconds until the next burst, `mean` of them on average.
    pub(crate) fn next(&mut self, mean: f64) -> u64 {
        // xorshift64: quality enough for gaps, and nothing to seed.
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        let uniform = ((self.state >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        (-uniform.ln() * mean) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_have_the_mean_asked_for_and_repeat() {
        let mut gaps = Gaps::new();
        let drawn: Vec<u64> = (0..100_000).map(|_| gaps.next(50_000.0)).collect();
        let mean = drawn.iter().sum::<u64>() as f64 / drawn.len() as f64;
        assert!((49_000.0..51_000.0).contains(&mean), "{mean}");
        let short = drawn.iter().filter(|gap| **gap < 5_000).count() as f64 / drawn.len() as f64;
        assert!(
            (0.085..0.105).contains(&short),
            "a tenth is shorter than a tenth: {short}"
        );
        assert_eq!(Gaps::new().next(50_000.0), drawn[0]);
    }
}

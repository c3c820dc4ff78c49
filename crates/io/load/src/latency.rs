//! Times of flight of packets, in memory that does not grow with their number.

use std::time::Duration;

use hdrhistogram::Histogram;

/// Anything above counts as this.
const LONGEST: u64 = 60_000_000_000;
/// Values are kept to three digits.
const DIGITS: u8 = 3;

/// How long packets took.
#[derive(Clone, Debug)]
pub struct Latencies {
    nanos: Histogram<u64>,
}

impl Default for Latencies {
    fn default() -> Self {
        // The only way to fail is a bound below two or digits above five.
        let nanos = Histogram::new_with_bounds(1, LONGEST, DIGITS)
            .unwrap_or_else(|_| unreachable!("the bounds are constants"));
        Latencies { nanos }
    }
}

impl Latencies {
    /// Adds one packet.
    pub fn record(&mut self, nanos: u64) {
        self.nanos.saturating_record(nanos.clamp(1, LONGEST));
    }

    /// Adds all packets of another.
    pub fn merge(&mut self, other: &Latencies) {
        // Both have the same bounds, so that every value fits.
        let _ = self.nanos.add(&other.nanos);
    }

    pub fn count(&self) -> u64 {
        self.nanos.len()
    }

    /// The smallest latency that `percent` of the packets do not exceed (nearest rank).
    pub fn percentile(&self, percent: f64) -> Option<Duration> {
        let any = !self.nanos.is_empty();
        any.then(|| Duration::from_nanos(self.nanos.value_at_percentile(percent)))
    }

    pub fn mean(&self) -> Option<Duration> {
        let any = !self.nanos.is_empty();
        any.then(|| Duration::from_nanos(self.nanos.mean() as u64))
    }

    pub fn max(&self) -> Option<Duration> {
        let any = !self.nanos.is_empty();
        any.then(|| Duration::from_nanos(self.nanos.max()))
    }

    /// How many packets took longer than the bound before and at most this bound, for each bound; what is above the last
    /// one comes last. The bounds ascend.
    pub fn buckets(&self, bounds: &[Duration]) -> Vec<u64> {
        let mut counts = vec![0; bounds.len() + 1];
        for value in self.nanos.iter_recorded() {
            let latency = Duration::from_nanos(value.value_iterated_to());
            let at = bounds.partition_point(|bound| *bound < latency);
            counts[at] += value.count_at_value();
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_ranks_to_three_digits() {
        let mut latencies = Latencies::default();
        for micros in (1..=100).rev() {
            latencies.record(micros * 1000);
        }
        for (percent, micros) in [(50.0, 50.0), (99.0, 99.0), (100.0, 100.0), (0.0, 1.0)] {
            let found = latencies.percentile(percent).expect("packets").as_nanos() as f64 / 1000.0;
            assert!((found / micros - 1.0).abs() < 0.001, "{percent}: {found}");
        }
        assert_eq!(latencies.count(), 100);
    }

    #[test]
    fn without_packets_there_is_nothing_to_tell() {
        let latencies = Latencies::default();
        assert_eq!(latencies.percentile(50.0), None);
        assert_eq!(latencies.mean(), None);
        assert_eq!(latencies.max(), None);
    }

    #[test]
    fn merged_ones_count_as_if_recorded_in_one() {
        let (mut left, mut right) = (Latencies::default(), Latencies::default());
        left.record(1_000);
        right.record(3_000_000);
        left.merge(&right);
        assert_eq!(left.count(), 2);
        let bounds = [Duration::from_micros(10), Duration::from_millis(1)];
        assert_eq!(left.buckets(&bounds), [1, 0, 1]);
    }
}

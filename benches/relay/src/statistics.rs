//! Medians of rounds and percentiles of packets.

/// The middle of the values; the mean of the two middle ones for an even count.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

/// Times of flight of single packets, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct Latencies {
    nanos: Vec<u32>,
    sorted: bool,
}

impl Latencies {
    /// Room for `packets` samples, so that recording does not allocate.
    pub fn with_capacity(packets: usize) -> Self {
        Latencies {
            nanos: Vec::with_capacity(packets),
            sorted: true,
        }
    }

    /// Adds one packet; anything above four seconds counts as that.
    pub fn record(&mut self, nanos: u64) {
        self.nanos.push(u32::try_from(nanos).unwrap_or(u32::MAX));
        self.sorted = false;
    }

    /// The smallest latency that `percent` of the packets do not exceed (nearest rank), in µs.
    pub fn percentile_us(&mut self, percent: f64) -> Option<f64> {
        if !self.sorted {
            self.nanos.sort_unstable();
            self.sorted = true;
        }
        let count = self.nanos.len();
        let rank = (percent / 100.0 * count as f64).ceil() as usize;
        let nanos = self
            .nanos
            .get(rank.clamp(1, count.max(1)).checked_sub(1)?)?;
        Some(f64::from(*nanos) / 1000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_ignores_order_and_outliers() {
        assert_eq!(median(&[9.0, 1.0, 2.0, 1000.0, 3.0]), Some(3.0));
        assert_eq!(median(&[4.0, 1.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn percentiles_are_nearest_ranks() {
        let mut latencies = Latencies::default();
        for micros in (1..=100).rev() {
            latencies.record(micros * 1000);
        }
        assert_eq!(latencies.percentile_us(50.0), Some(50.0));
        assert_eq!(latencies.percentile_us(99.0), Some(99.0));
        assert_eq!(latencies.percentile_us(100.0), Some(100.0));
        assert_eq!(latencies.percentile_us(0.0), Some(1.0));
    }

    #[test]
    fn without_packets_there_is_no_percentile() {
        assert_eq!(Latencies::default().percentile_us(50.0), None);
    }

    #[test]
    fn a_single_packet_is_every_percentile() {
        let mut latencies = Latencies::with_capacity(1);
        latencies.record(7000);
        assert_eq!(latencies.percentile_us(50.0), Some(7.0));
        assert_eq!(latencies.percentile_us(99.0), Some(7.0));
    }
}

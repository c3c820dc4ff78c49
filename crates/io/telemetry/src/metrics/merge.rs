//! Several registries of one process as one.

use super::registry::Series;
use super::{Family, Kind, Merge, Registry};

impl Registry {
    /// A registry that shows what these show together: series of equal labels become one, as their family says.
    pub fn merged(parts: &[Registry]) -> Registry {
        let whole = Registry::new(0);
        for part in parts {
            part.each(|family, labels, series| whole.join(family, labels, series.clone()));
        }
        whole
    }

    /// Takes over the counts of a registry that nobody counts in any more. A counter must not fall when the part of
    /// the process that had it is gone; its gauges stay, at zero.
    pub fn absorb(&self, ended: &Registry) {
        ended.each(|family, labels, series| match family.kind {
            _ if family.merge == Merge::Max => {}
            Kind::Counter => {
                let counted = series.whole(family).unwrap_or(0);
                self.counter(family, labels).add(counted);
            }
            Kind::Gauge => {
                self.gauge(family, labels);
            }
            Kind::Histogram => self.histogram(family, labels).absorb(series),
        });
    }
}

impl Series {
    /// The value where all of it is counted in cells.
    pub(super) fn whole(&self, family: &Family) -> Option<u64> {
        match self {
            Series::Computed(_) => None,
            Series::Cells { block, word } => {
                let sum = block.sum(*word);
                // Opened on one shard and closed on another are read at different instants.
                Some(match family.kind {
                    Kind::Gauge => (sum as i64).max(0) as u64,
                    Kind::Counter | Kind::Histogram => sum,
                })
            }
            Series::Merged(parts) => {
                let values = parts.iter().map(|part| part.whole(family));
                values.reduce(|a, b| {
                    Some(match family.merge {
                        Merge::Add => a?.wrapping_add(b?),
                        Merge::Max => a?.max(b?),
                    })
                })?
            }
        }
    }

    /// The value, wherever it comes from.
    pub(super) fn number(&self, family: &Family) -> f64 {
        match self {
            Series::Computed(value) => value(),
            Series::Cells { .. } => self.whole(family).unwrap_or(0) as f64,
            Series::Merged(parts) => {
                let values = parts.iter().map(|part| part.number(family));
                match family.merge {
                    Merge::Add => values.sum(),
                    Merge::Max => values.fold(0.0, f64::max),
                }
            }
        }
    }

    /// One bucket of a histogram.
    pub(super) fn bucket(&self, bucket: usize) -> u64 {
        match self {
            Series::Computed(_) => 0,
            Series::Cells { block, .. } => block.sum(bucket),
            Series::Merged(parts) => parts.iter().map(|part| part.bucket(bucket)).sum(),
        }
    }

    /// The sum of what a histogram observed, which stands after `+Inf`.
    pub(super) fn observed(&self, buckets: usize) -> f64 {
        match self {
            Series::Computed(_) => 0.0,
            Series::Cells { block, .. } => block.sum_f64(buckets + 1),
            Series::Merged(parts) => parts.iter().map(|part| part.observed(buckets)).sum(),
        }
    }
}

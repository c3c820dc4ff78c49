//! Handles to series. The shared ones may be used from any thread; the `Local…` ones belong to one writer thread.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::block::Block;
use super::registry::Series;
use super::{Family, Registry};

/// A counter that any thread may add to.
#[derive(Clone, Debug)]
pub struct Counter {
    pub(super) block: Arc<Block>,
    pub(super) word: usize,
}

impl Counter {
    pub fn add(&self, n: u64) {
        self.block
            .word(self.block.shared_row(), self.word)
            .fetch_add(n, Relaxed);
    }

    /// The handle for writer thread `writer`; there must be no other user of that number.
    pub fn writer(&self, writer: usize) -> LocalCounter {
        LocalCounter {
            row: self.block.row_of(writer),
            block: Arc::clone(&self.block),
            word: self.word,
        }
    }

    /// The total over all writers.
    pub fn value(&self) -> u64 {
        self.block.sum(self.word)
    }
}

/// A counter cell with a single writer.
#[derive(Debug)]
pub struct LocalCounter {
    block: Arc<Block>,
    row: usize,
    word: usize,
}

impl LocalCounter {
    pub fn add(&self, n: u64) {
        self.block.add_alone(self.row, self.word, n);
    }

    /// Publishes a total counted elsewhere by the same thread. Never lowers the cell: a counter only grows.
    pub fn set_total(&self, total: u64) {
        let cell = self.block.word(self.row, self.word);
        if total > cell.load(Relaxed) {
            cell.store(total, Relaxed);
        }
    }
}

/// A gauge; its value is the sum over the writers, and never shown below zero.
#[derive(Clone, Debug)]
pub struct Gauge {
    pub(super) block: Arc<Block>,
    pub(super) word: usize,
}

impl Gauge {
    /// Sets the shared cell. A gauge is either set here or through its writers.
    pub fn set(&self, value: u64) {
        self.block
            .word(self.block.shared_row(), self.word)
            .store(value, Relaxed);
    }

    pub fn add(&self, n: i64) {
        self.block
            .word(self.block.shared_row(), self.word)
            .fetch_add(n as u64, Relaxed);
    }

    /// The handle for writer thread `writer`; there must be no other user of that number.
    pub fn writer(&self, writer: usize) -> LocalGauge {
        LocalGauge {
            row: self.block.row_of(writer),
            block: Arc::clone(&self.block),
            word: self.word,
        }
    }

    /// The sum over all writers, at least zero.
    pub fn value(&self) -> u64 {
        u64::try_from(self.block.sum(self.word) as i64).unwrap_or(0)
    }
}

/// A gauge cell with a single writer.
#[derive(Debug)]
pub struct LocalGauge {
    block: Arc<Block>,
    row: usize,
    word: usize,
}

impl LocalGauge {
    pub fn set(&self, value: u64) {
        self.block.word(self.row, self.word).store(value, Relaxed);
    }

    pub fn add(&self, n: i64) {
        self.block.add_alone(self.row, self.word, n as u64);
    }
}

/// A histogram; observations go through its writers.
#[derive(Clone, Debug)]
pub struct Histogram {
    pub(super) block: Arc<Block>,
    pub(super) buckets: &'static [f64],
}

impl Histogram {
    /// The handle for writer thread `writer`; there must be no other user of that number.
    pub fn writer(&self, writer: usize) -> LocalHistogram {
        LocalHistogram {
            row: self.block.row_of(writer),
            block: Arc::clone(&self.block),
            buckets: self.buckets,
        }
    }

    /// Adds what another histogram of the same family has counted.
    pub(super) fn absorb(&self, other: &Series) {
        let row = self.block.shared_row();
        for bucket in 0..=self.buckets.len() {
            let cell = self.block.word(row, bucket);
            cell.fetch_add(other.bucket(bucket), Relaxed);
        }
        let more = other.observed(self.buckets.len());
        let sum = self.block.word(row, self.buckets.len() + 1);
        let _ = sum.fetch_update(Relaxed, Relaxed, |bits| {
            Some((f64::from_bits(bits) + more).to_bits())
        });
    }

    pub fn count(&self) -> u64 {
        (0..=self.buckets.len())
            .map(|bucket| self.block.sum(bucket))
            .sum()
    }
}

/// Histogram cells with a single writer: one word per bucket, one for `+Inf`, one for the sum.
#[derive(Debug)]
pub struct LocalHistogram {
    block: Arc<Block>,
    row: usize,
    buckets: &'static [f64],
}

impl LocalHistogram {
    pub fn observe(&self, value: f64) {
        let bucket = self.buckets.partition_point(|bound| *bound < value);
        self.block.add_alone(self.row, bucket, 1);
        let sum = self.block.word(self.row, self.buckets.len() + 1);
        sum.store(
            (f64::from_bits(sum.load(Relaxed)) + value).to_bits(),
            Relaxed,
        );
    }

    pub fn observe_seconds(&self, duration: std::time::Duration) {
        self.observe(duration.as_secs_f64());
    }
}

/// One writer's cells of a counter family with one label. Values not seen before become new series.
///
/// Found by comparing strings: for counts taken now and then, not per relayed packet.
#[derive(Debug)]
pub struct LabelledCounter {
    registry: Registry,
    family: &'static Family,
    writer: usize,
    cells: Vec<(Box<str>, LocalCounter)>,
}

impl LabelledCounter {
    pub(super) fn new(registry: &Registry, family: &'static Family, writer: usize) -> Self {
        let mut this = LabelledCounter {
            registry: registry.clone(),
            family,
            writer,
            cells: Vec::new(),
        };
        for (value, _) in family.labels.iter().flat_map(|label| label.values) {
            this.cell(value);
        }
        this
    }

    pub fn add(&mut self, value: &str, n: u64) {
        self.cell(value).add(n);
    }

    /// Publishes a total that this thread counted elsewhere.
    pub fn set_total(&mut self, value: &str, total: u64) {
        self.cell(value).set_total(total);
    }

    fn cell(&mut self, value: &str) -> &LocalCounter {
        let at = self
            .cells
            .iter()
            .position(|(known, _)| **known == *value)
            .unwrap_or_else(|| {
                let cell = self
                    .registry
                    .counter(self.family, &[value])
                    .writer(self.writer);
                self.cells.push((value.into(), cell));
                self.cells.len() - 1
            });
        &self.cells[at].1
    }
}

/// One writer's cells of a gauge family with one label.
#[derive(Debug)]
pub struct LabelledGauge {
    registry: Registry,
    family: &'static Family,
    writer: usize,
    cells: Vec<(Box<str>, LocalGauge)>,
}

impl LabelledGauge {
    pub(super) fn new(registry: &Registry, family: &'static Family, writer: usize) -> Self {
        let mut this = LabelledGauge {
            registry: registry.clone(),
            family,
            writer,
            cells: Vec::new(),
        };
        for (value, _) in family.labels.iter().flat_map(|label| label.values) {
            this.cell(value);
        }
        this
    }

    pub fn set(&mut self, label: &str, value: u64) {
        self.cell(label).set(value);
    }

    pub fn add(&mut self, label: &str, n: i64) {
        self.cell(label).add(n);
    }

    fn cell(&mut self, value: &str) -> &LocalGauge {
        let at = self
            .cells
            .iter()
            .position(|(known, _)| **known == *value)
            .unwrap_or_else(|| {
                let cell = self
                    .registry
                    .gauge(self.family, &[value])
                    .writer(self.writer);
                self.cells.push((value.into(), cell));
                self.cells.len() - 1
            });
        &self.cells[at].1
    }
}

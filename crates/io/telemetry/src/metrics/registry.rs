use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::block::Block;
use super::{Counter, Family, Gauge, Histogram, Kind, exposition, process};

/// All series of a process. Cloning gives another handle to the same registry.
///
/// A series, once asked for, stays for the life of the process: a scraper that sees a series vanish and come back
/// would take it for a restart.
#[derive(Clone)]
pub struct Registry {
    inner: Arc<Inner>,
}

struct Inner {
    writers: usize,
    families: Mutex<BTreeMap<&'static str, Entry>>,
}

pub(super) struct Entry {
    pub(super) family: &'static Family,
    pub(super) series_by_labels: BTreeMap<Box<[Box<str>]>, Series>,
}

#[derive(Clone)]
pub(super) enum Series {
    Cells {
        block: Arc<Block>,
        word: usize,
    },
    /// Computed at scrape time, for what the kernel or another part already counts.
    Computed(Arc<dyn Fn() -> f64 + Send + Sync>),
    /// The same series of several registries.
    Merged(Vec<Series>),
}

impl Registry {
    /// A registry for `writers` threads that each own a cell of every series, numbered from 0.
    pub fn new(writers: usize) -> Self {
        Registry {
            inner: Arc::new(Inner {
                writers,
                families: Mutex::default(),
            }),
        }
    }

    pub fn writers(&self) -> usize {
        self.inner.writers
    }

    /// The counter of a family with these label values, in the order of the family's labels.
    pub fn counter(&self, family: &'static Family, labels: &[&str]) -> Counter {
        let (block, word) = self.cells(family, labels, 1);
        Counter { block, word }
    }

    pub fn gauge(&self, family: &'static Family, labels: &[&str]) -> Gauge {
        let (block, word) = self.cells(family, labels, 1);
        Gauge { block, word }
    }

    pub fn histogram(&self, family: &'static Family, labels: &[&str]) -> Histogram {
        let (block, _) = self.cells(family, labels, family.buckets.len() + 2);
        Histogram {
            block,
            buckets: family.buckets,
        }
    }

    /// A series whose value is computed at every scrape.
    pub fn computed(
        &self,
        family: &'static Family,
        labels: &[&str],
        value: impl Fn() -> f64 + Send + Sync + 'static,
    ) {
        self.insert(family, labels, Series::Computed(Arc::new(value)));
    }

    /// Series that are counted together and so share each writer's cache line; word `i` is series `i`.
    pub(super) fn block(&self, series: &[(&'static Family, Vec<&str>)]) -> Arc<Block> {
        let block = Arc::new(Block::new(self.inner.writers, series.len()));
        for (word, (family, labels)) in series.iter().enumerate() {
            self.insert(
                family,
                labels,
                Series::Cells {
                    block: Arc::clone(&block),
                    word,
                },
            );
        }
        block
    }

    /// The series of a family of counters or gauges: label values, and what they count.
    pub fn values(&self, family: &Family) -> Vec<(Vec<String>, u64)> {
        let families = self.families();
        let Some(entry) = families.get(family.name) else {
            return Vec::new();
        };
        let series = entry.series_by_labels.iter();
        series
            .map(|(labels, series)| {
                let labels = labels.iter().map(|value| value.to_string());
                (labels.collect(), series.number(entry.family) as u64)
            })
            .collect()
    }

    /// The whole registry in Prometheus text format 0.0.4, with the `process_*` families.
    pub fn render(&self) -> String {
        let mut text = String::with_capacity(16 * 1024);
        exposition::write(&mut text, &self.families());
        process::write(&mut text);
        text
    }

    fn cells(&self, family: &'static Family, labels: &[&str], words: usize) -> (Arc<Block>, usize) {
        debug_assert_eq!(
            family.kind == Kind::Histogram,
            words > 1,
            "kind of {}",
            family.name
        );
        let series = self.entry(family, labels, || Series::Cells {
            block: Arc::new(Block::new(self.inner.writers, words)),
            word: 0,
        });
        match series {
            Series::Cells { block, word } => (block, word),
            // The same series is both computed and counted: a bug in the caller. Count into cells that nobody reads.
            _ => (Arc::new(Block::new(self.inner.writers, words)), 0),
        }
    }

    pub(super) fn each(&self, mut look: impl FnMut(&'static Family, &[&str], &Series)) {
        for entry in self.families().values() {
            for (labels, series) in &entry.series_by_labels {
                let labels: Vec<&str> = labels.iter().map(|value| &**value).collect();
                look(entry.family, &labels, series);
            }
        }
    }

    /// Adds a part to a series, which may have others.
    pub(super) fn join(&self, family: &'static Family, labels: &[&str], part: Series) {
        let mut families = self.families();
        let entry = families.entry(family.name).or_insert_with(|| Entry {
            family,
            series_by_labels: BTreeMap::new(),
        });
        let parts = entry
            .series_by_labels
            .entry(key(family, labels))
            .or_insert_with(|| Series::Merged(Vec::new()));
        if let Series::Merged(parts) = parts {
            parts.push(part);
        }
    }

    fn insert(&self, family: &'static Family, labels: &[&str], series: Series) {
        let mut families = self.families();
        let entry = families.entry(family.name).or_insert_with(|| Entry {
            family,
            series_by_labels: BTreeMap::new(),
        });
        entry.series_by_labels.insert(key(family, labels), series);
    }

    fn entry(
        &self,
        family: &'static Family,
        labels: &[&str],
        make: impl FnOnce() -> Series,
    ) -> Series {
        let mut families = self.families();
        let entry = families.entry(family.name).or_insert_with(|| Entry {
            family,
            series_by_labels: BTreeMap::new(),
        });
        entry
            .series_by_labels
            .entry(key(family, labels))
            .or_insert_with(make)
            .clone()
    }

    fn families(&self) -> MutexGuard<'_, BTreeMap<&'static str, Entry>> {
        // Nothing under this lock leaves the map half-changed.
        self.inner
            .families
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(family: &Family, labels: &[&str]) -> Box<[Box<str>]> {
    debug_assert_eq!(
        labels.len(),
        family.labels.len(),
        "labels of {}",
        family.name
    );
    labels.iter().map(|value| Box::from(*value)).collect()
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("writers", &self.inner.writers)
            .field("families", &self.families().len())
            .finish()
    }
}

/// What a family measures, in the exposition format's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Counter,
    Gauge,
    Histogram,
}

impl Kind {
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        }
    }
}

/// What one series is made of where several registries of a process have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    Add,
    /// They all describe the same thing: the process, not one of its parts.
    Max,
}

/// A label and, where the set is closed, its values with their meaning.
#[derive(Clone, Copy, Debug)]
pub struct Label {
    pub name: &'static str,
    pub meaning: &'static str,
    pub values: &'static [(&'static str, &'static str)],
}

/// One metric family: everything the exposition and the reference page need to know.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    pub name: &'static str,
    pub help: &'static str,
    pub kind: Kind,
    /// In alphabetical order, which is also the order of exposition.
    pub labels: &'static [Label],
    /// Upper bounds of a histogram, ascending, without `+Inf`.
    pub buckets: &'static [f64],
    /// Whether the series carry the `otel_scope_*` labels that dashboards for the original system select by.
    pub scoped: bool,
    pub merge: Merge,
}

//! How large a text may be.

/// How keys of one mapping are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keys {
    Exact,
    /// `Name` and `name` are one key.
    AnyCase,
}

/// Bounds on a text and its trees.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// What messages call the text, such as `the file`.
    pub what: &'static str,
    /// Longest text that is read.
    pub bytes: usize,
    /// Most nodes in a text, counting what aliases stand for.
    pub nodes: usize,
    /// Deepest nesting.
    pub depth: usize,
    /// Most keys in one mapping.
    pub keys_per_mapping: usize,
    /// Which keys of a mapping hide those that a YAML merge key brings in.
    pub keys: Keys,
}

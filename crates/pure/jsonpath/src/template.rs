//! What a template consists of.

use serde_json::Value;

use crate::parse::{self, ParseError};
use crate::render::{self, RenderError};

/// A template that can be filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    parts: Vec<Part>,
}

impl Template {
    pub fn parse(text: &str) -> Result<Template, ParseError> {
        parse::template(text).map(|parts| Template { parts })
    }

    /// The text for a value.
    pub fn render(&self, value: &Value) -> Result<String, RenderError> {
        render::render(&self.parts, value)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Part {
    Text(String),
    /// `{…}`: its results, joined by spaces.
    Path(Path),
    /// `{range …}…{end}`: the parts once for every result.
    Range(Path, Vec<Part>),
}

/// Steps from a value to results. No step at all is the value itself: `@` and `$` both mean it, as in kubectl, where
/// inside a range neither reaches out of it.
pub(crate) type Path = Vec<Step>;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    Field(String),
    /// `.*`
    Wildcard,
    /// `..`
    Descent,
    /// `[2]`, `[*]`, `[1:5:2]`
    Slice(Slice),
    /// `[0,2]` or `['a','b']`: the results of each.
    Union(Vec<Path>),
    Filter(Filter),
    /// Text, a number or a boolean; what comes before it in the path is forgotten.
    Literal(Value),
}

/// Where a slice begins and ends; negative numbers count from the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slice {
    pub(crate) from: i64,
    pub(crate) to: SliceEnd,
    pub(crate) step: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SliceEnd {
    /// A single index: one after the beginning.
    One,
    At(i64),
    Last,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Filter {
    /// `?(@.a)`
    Exists(Path),
    Compare(Path, Comparison, Path),
    All(Vec<Filter>),
    Any(Vec<Filter>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

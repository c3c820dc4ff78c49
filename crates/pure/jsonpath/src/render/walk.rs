//! Follows a path from values to results.

use serde_json::Value;

use super::{RenderError, compare};
use crate::template::{Filter, Path, Slice, SliceEnd, Step};

/// Follows paths, and counts, so that a small template cannot ask for endless work.
#[derive(Debug)]
pub(super) struct Walk {
    left: usize,
    /// In a filter: what is not there is no match.
    lenient: bool,
}

impl Walk {
    pub(super) fn new(most: usize) -> Walk {
        Walk {
            left: most,
            lenient: false,
        }
    }

    pub(super) fn count(&mut self, steps: usize) -> Result<(), RenderError> {
        self.left = self.left.checked_sub(steps).ok_or(RenderError::TooMuch)?;
        Ok(())
    }

    pub(super) fn path<'v>(
        &mut self,
        path: &'v [Step],
        mut values: Vec<&'v Value>,
    ) -> Result<Vec<&'v Value>, RenderError> {
        for step in path {
            values = self.step(step, values)?;
            self.count(values.len() + 1)?;
        }
        Ok(values)
    }

    fn step<'v>(
        &mut self,
        step: &'v Step,
        values: Vec<&'v Value>,
    ) -> Result<Vec<&'v Value>, RenderError> {
        match step {
            Step::Field(name) => self.field(name, &values),
            Step::Wildcard => Ok(values.into_iter().flat_map(children).collect()),
            Step::Descent => {
                let mut found = Vec::new();
                for value in values {
                    self.descend(value, &mut found)?;
                }
                Ok(found)
            }
            Step::Slice(slice) => {
                let mut found = Vec::new();
                for value in values {
                    match self.sliced(*slice, value) {
                        Ok(items) => found.extend(items),
                        Err(_) if self.lenient => {}
                        Err(error) => return Err(error),
                    }
                }
                Ok(found)
            }
            Step::Union(paths) => {
                let mut found = Vec::new();
                for path in paths {
                    found.extend(self.path(path, values.clone())?);
                }
                Ok(found)
            }
            Step::Filter(filter) => self.filtered(filter, values),
            // Text stands once, however many results there were before it; numbers stand for each of them.
            Step::Literal(literal @ Value::String(_)) => Ok(vec![literal]),
            Step::Literal(literal) => Ok(vec![literal; values.len()]),
        }
    }

    /// Those values that have the field. It is missing if no value has it; nothing is missing where there is no value.
    fn field<'v>(&self, name: &str, values: &[&'v Value]) -> Result<Vec<&'v Value>, RenderError> {
        let found: Vec<&Value> = values
            .iter()
            .filter_map(|value| member(value, name))
            .collect();
        if found.is_empty() && !values.is_empty() && !self.lenient {
            return Err(RenderError::Missing {
                field: name.to_owned(),
            });
        }
        Ok(found)
    }

    /// The value and everything below it that has an inside. To kubectl, texts have one.
    fn descend<'v>(
        &mut self,
        value: &'v Value,
        found: &mut Vec<&'v Value>,
    ) -> Result<(), RenderError> {
        let has_inside = match value {
            Value::Object(fields) => !fields.is_empty(),
            Value::Array(items) => !items.is_empty(),
            Value::String(text) => !text.is_empty(),
            _ => false,
        };
        if !has_inside {
            return Ok(());
        }
        self.count(1)?;
        found.push(value);
        for child in children(value) {
            self.descend(child, found)?;
        }
        Ok(())
    }

    fn sliced<'v>(
        &mut self,
        slice: Slice,
        value: &'v Value,
    ) -> Result<Vec<&'v Value>, RenderError> {
        let items = match value {
            Value::Array(items) => items,
            Value::Null => return Ok(Vec::new()),
            other => {
                return Err(RenderError::NotAList {
                    kind: compare::kind(other),
                });
            }
        };
        let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
        let from_end = |at: i64| {
            if at < 0 {
                at.saturating_add(length)
            } else {
                at
            }
        };
        let from = from_end(slice.from);
        let to = match slice.to {
            SliceEnd::One => from.saturating_add(1),
            SliceEnd::At(at) => from_end(at),
            SliceEnd::Last => length,
        };
        // Nothing can be asked for anywhere.
        if from == to {
            return Ok(Vec::new());
        }
        let out_of_bounds = |index| {
            Err(RenderError::OutOfBounds {
                index,
                length: items.len(),
            })
        };
        if !(0..length).contains(&from) {
            return out_of_bounds(slice.from);
        }
        if !(0..=length).contains(&to) {
            return out_of_bounds(to.saturating_sub(1));
        }
        if from > to {
            return Err(RenderError::Backwards { from, to });
        }
        let step = match slice.step {
            None => 1,
            Some(step @ 1..) => usize::try_from(step).unwrap_or(usize::MAX),
            Some(step) => return Err(RenderError::Step { step }),
        };
        let range = usize::try_from(from).unwrap_or(0)..usize::try_from(to).unwrap_or(0);
        Ok(items[range].iter().step_by(step).collect())
    }

    fn filtered<'v>(
        &mut self,
        filter: &'v Filter,
        values: Vec<&'v Value>,
    ) -> Result<Vec<&'v Value>, RenderError> {
        let mut found = Vec::new();
        for value in values {
            let Value::Array(items) = value else {
                if self.lenient {
                    continue;
                }
                return Err(RenderError::NotAList {
                    kind: compare::kind(value),
                });
            };
            for item in items {
                let outside = std::mem::replace(&mut self.lenient, true);
                let admits = self.admits(filter, item);
                self.lenient = outside;
                if admits? {
                    found.push(item);
                }
            }
        }
        Ok(found)
    }

    fn admits<'v>(&mut self, filter: &'v Filter, item: &'v Value) -> Result<bool, RenderError> {
        self.count(1)?;
        match filter {
            Filter::Exists(path) => Ok(!self.path(path, vec![item])?.is_empty()),
            Filter::Compare(left, comparison, right) => {
                let left = self.one(left, item)?;
                let right = self.one(right, item)?;
                match (left, right) {
                    (Some(left), Some(right)) => compare::holds(left, *comparison, right),
                    // What is not there is neither equal nor unequal to anything.
                    _ => Ok(false),
                }
            }
            Filter::All(members) => {
                for member in members {
                    if !self.admits(member, item)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Filter::Any(members) => {
                for member in members {
                    if self.admits(member, item)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
        }
    }

    fn one<'v>(
        &mut self,
        path: &'v Path,
        item: &'v Value,
    ) -> Result<Option<&'v Value>, RenderError> {
        match self.path(path, vec![item])?.as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(one)),
            _ => Err(RenderError::SeveralCompared),
        }
    }
}

fn children(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().collect(),
        // By name: that the order of fields carries no meaning should not show.
        Value::Object(fields) => {
            let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            fields.into_iter().map(|(_, value)| value).collect()
        }
        _ => Vec::new(),
    }
}

/// The field of this name; or, for a name with a capital as fields of Go have it, the one that it stands for: `PublicPort`
/// is `public_port`.
fn member<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    let fields = value.as_object()?;
    if let Some(value) = fields.get(name) {
        return Some(value);
    }
    if !name.starts_with(|c: char| c.is_ascii_uppercase()) {
        return None;
    }
    let letters = |name: &str| -> String {
        name.chars()
            .filter(|c| *c != '_')
            .map(|c| c.to_ascii_lowercase())
            .collect()
    };
    let wanted = letters(name);
    fields
        .iter()
        .find(|(field, _)| letters(field) == wanted)
        .map(|(_, value)| value)
}

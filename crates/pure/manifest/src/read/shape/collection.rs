//! Lists, maps and objects.

use std::collections::HashSet;

use serde_json::{Map as JsonMap, Value as Json};
use stunner_api::names::CONTROLLER_NAME;
use stunner_document::{Entry, Node, Place, Value, nearest};

use crate::problem::Fault;
use crate::schema::{Field, List, Map, Object, Rule, Schema};

use super::super::document::{GIVEN_TWICE, RAN_TOGETHER};
use super::super::scalar::Meaning;
use super::Shaper;
use super::message::{listed, needed};

impl Shaper<'_> {
    pub(super) fn list(&mut self, node: &mut Node, schema: &Schema, list: &List) -> Option<Json> {
        let Value::Sequence(items) = &mut node.value else {
            return self.wrong_type(node, schema);
        };
        let written = items.len();
        let most = list.max.unwrap_or(usize::MAX);
        if let Some(extra) = items.get(most) {
            let message = format!("expected at most {most} items, found {written}");
            self.error(
                extra.place,
                Fault::WrongValue,
                message,
                "remove the items from here on",
            );
            items.truncate(most);
        }
        let (mut values, mut index) = (Vec::with_capacity(items.len()), 0);
        let mut left_out = Vec::new();
        items.retain_mut(|item| {
            let value = self.at_index(index, |shaper| shaper.value(item, &list.items));
            index += 1;
            let kept = value.is_some();
            if !kept {
                left_out.push(values.len());
            }
            values.extend(value);
            kept
        });
        if !left_out.is_empty() {
            self.left_out.insert(self.path.clone(), left_out);
        }
        if values.len() < list.min {
            // Items that were left out have been reported.
            if written < list.min {
                let message = format!(
                    "expected at least {}, found {written}",
                    items_noun(list.min)
                );
                self.error(
                    node.place,
                    Fault::WrongValue,
                    message,
                    "add an item, a line that begins with `- `",
                );
            }
            return None;
        }
        Some(Json::Array(values))
    }

    pub(super) fn map(&mut self, node: &mut Node, schema: &Schema, map: &Map) -> Option<Json> {
        let Value::Mapping(entries) = &mut node.value else {
            return self.wrong_type(node, schema);
        };
        let most = map.max.unwrap_or(usize::MAX);
        if let Some(extra) = entries.get(most) {
            let message = format!("expected at most {most} keys, found {}", entries.len());
            self.error(
                extra.key_place,
                Fault::WrongValue,
                message,
                "remove the keys from here on",
            );
            entries.truncate(most);
        }
        let mut values = JsonMap::with_capacity(entries.len());
        let mut seen: HashSet<String> = HashSet::with_capacity(entries.len());
        entries.retain_mut(
            |Entry {
                 key,
                 key_place,
                 value,
             }| {
                self.at_key(key, |shaper| {
                    if !seen.insert(key.clone()) {
                        shaper.given_twice(*key_place);
                        return false;
                    }
                    let Some(json) = shaper.map_value(value, map) else {
                        return false;
                    };
                    values.insert(key.clone(), json);
                    true
                })
            },
        );
        Some(Json::Object(values))
    }

    fn map_value(&mut self, node: &mut Node, map: &Map) -> Option<Json> {
        let is_text = matches!(*map.values, Schema::Text(_));
        match &node.value {
            // A map of strings takes nothing for the empty string, as Go does.
            Value::Null if is_text => Some(Json::String(String::new())),
            Value::Null => Some(Json::Null),
            Value::Scalar(scalar) if map.annotations && is_text => {
                let meaning = Meaning::of(scalar);
                if meaning != Meaning::Text {
                    let noun = meaning.noun();
                    let message = format!("expected string, found {noun}, which is read as one");
                    let hint = "put it in quotes; an API server refuses it otherwise";
                    self.warning(node.place, Fault::Leniency, message, hint);
                }
                Some(Json::String(scalar.text.clone()))
            }
            _ if map.annotations => {
                let hidden = std::mem::replace(&mut self.hidden, true);
                let value = self.value(node, &map.values);
                self.hidden = hidden;
                value
            }
            _ => self.value(node, &map.values),
        }
    }

    pub(super) fn object(
        &mut self,
        node: &mut Node,
        schema: &Schema,
        object: &Object,
    ) -> Option<Json> {
        let place = node.place;
        let Value::Mapping(entries) = &mut node.value else {
            return self.wrong_type(node, schema);
        };
        let mut state = Fields {
            object,
            seen: vec![None; object.fields.len()],
            meant: Vec::new(),
            values: JsonMap::with_capacity(entries.len()),
            broken: false,
        };
        let repaired_before = std::mem::take(&mut self.repaired);
        entries.retain_mut(|entry| self.at_key_of(entry, &mut state));
        self.missing(place, &mut state);
        state.broken |= object.atomic && self.repaired;
        self.repaired |= repaired_before;
        let values = self.obey(place, entries, state)?;
        Some(Json::Object(values))
    }

    /// Looks at one entry of an object; whether it stays.
    fn at_key_of(&mut self, entry: &mut Entry, state: &mut Fields<'_>) -> bool {
        let object = state.object;
        let index = object
            .fields
            .iter()
            .position(|field| field.name == entry.key);
        let Some(index) = index else {
            let key = &*entry.key;
            self.at_key(key, |shaper| shaper.unknown(key, entry.key_place, state));
            return false;
        };
        let field = &object.fields[index];
        self.at_key(&entry.key, |shaper| {
            if state.seen[index].is_some() {
                shaper.given_twice(entry.key_place);
                return false;
            }
            if entry.value.is_null() {
                return false;
            }
            state.seen[index] = Some(entry.key_place);
            if matches!(field.schema, Schema::Ignored) {
                return false;
            }
            let hidden = shaper.hidden;
            shaper.hidden |= field.secret;
            let value = shaper.value(&mut entry.value, &field.schema);
            shaper.hidden = hidden;
            match value {
                Some(value) => {
                    state.values.insert(entry.key.clone(), value);
                    true
                }
                None => {
                    state.broken |= field.required || field.limiting;
                    false
                }
            }
        })
    }

    fn given_twice(&mut self, place: Place) {
        let hint = match self.path.as_str() {
            "apiVersion" | "kind" => RAN_TOGETHER,
            _ => "keep one of the two",
        };
        self.error(place, Fault::DuplicateKey, GIVEN_TWICE, hint);
    }

    fn unknown<'o>(&mut self, key: &str, place: Place, state: &mut Fields<'o>) {
        if self.report.is_full() {
            // The nearest name is costly to find.
            return self.error(place, Fault::UnknownField, "", "");
        }
        let object: &'o Object = state.object;
        let names: Vec<&'o str> = object.fields.iter().map(|field| &*field.name).collect();
        let hint = match nearest(key, &names) {
            Some(name) => {
                state.meant.push(name);
                format!("did you mean `{name}`?")
            }
            None if key.contains(|c: char| c.is_whitespace() && !c.is_ascii()) => {
                "there is a space before it that is none to YAML; indent with ordinary spaces"
                    .to_owned()
            }
            None if key == "endPort" => {
                "ranges of ports need a UDPRoute of `stunner.l7mp.io/v1`".to_owned()
            }
            None => format!("the fields here are {}", listed(&names)),
        };
        let message = format!("unknown field `{}`", super::message::shown(key));
        self.error(place, Fault::UnknownField, message, hint);
    }

    /// Reports required fields that are not there, unless they are there misspelt.
    fn missing(&mut self, place: Place, state: &mut Fields<'_>) {
        let object = state.object;
        let absent =
            |(index, field): &(usize, &Field)| field.required && state.seen[*index].is_none();
        let absent: Vec<&Field> = object
            .fields
            .iter()
            .enumerate()
            .filter(absent)
            .map(|(_, field)| field)
            .collect();
        for field in absent {
            state.broken = true;
            if state.meant.contains(&&*field.name) {
                continue;
            }
            self.at_key(&field.name, |shaper| {
                let message = format!("missing required field `{}`", field.name);
                let hint = match &*field.name {
                    "metadata" => "add `metadata` with a `name`".to_owned(),
                    "controllerName" => {
                        format!("add `controllerName: {}`", CONTROLLER_NAME)
                    }
                    name => format!("add `{name}`, {}", needed(&field.schema)),
                };
                shaper.error(place, Fault::MissingField, message, hint);
            });
        }
    }

    /// Applies the rule of an object; its fields, unless it is broken.
    fn obey(
        &mut self,
        place: Place,
        entries: &mut Vec<Entry>,
        state: Fields<'_>,
    ) -> Option<JsonMap<String, Json>> {
        let mut values = state.values;
        match state.object.rule {
            Some(Rule::PortRange) if !state.broken => {
                let port = |name: &str| values.get(name).and_then(Json::as_i64);
                let Some(end) = port("endPort") else {
                    return Some(values);
                };
                let (message, hint) = match port("port") {
                    Some(port) if port <= end => return Some(values),
                    Some(port) => (
                        format!("the range of ports ends at {end}, before it begins at {port}"),
                        "`endPort` must not be below `port`".to_owned(),
                    ),
                    None => (
                        "`endPort` needs a `port`".to_owned(),
                        "add `port`, the first port of the range".to_owned(),
                    ),
                };
                let key = entries.iter().find(|entry| entry.key == "endPort");
                let place = key.map_or(place, |entry| entry.value.place);
                self.at_key("endPort", |shaper| {
                    shaper.error(place, Fault::PortRange, message, hint)
                });
                return None;
            }
            Some(Rule::OneUserName)
                if values.contains_key("userName") && values.remove("username").is_some() =>
            {
                let key = entries.iter().find(|entry| entry.key == "username");
                let place = key.map_or(place, |entry| entry.key_place);
                let message = "`username` is another spelling of `userName`, and both are set";
                self.at_key("username", |shaper| {
                    shaper.error(place, Fault::WrongValue, message, "keep one of them");
                });
                entries.retain(|entry| entry.key != "username");
            }
            _ => {}
        }
        (!state.broken).then_some(values)
    }
}

/// An object that is being looked at.
struct Fields<'o> {
    object: &'o Object,
    /// Where each field of the schema was found.
    seen: Vec<Option<Place>>,
    /// Fields that unknown ones were probably meant to be.
    meant: Vec<&'o str>,
    values: JsonMap<String, Json>,
    broken: bool,
}

fn items_noun(number: usize) -> String {
    match number {
        1 => "1 item".to_owned(),
        number => format!("{number} items"),
    }
}

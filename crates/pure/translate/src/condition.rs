//! Conditions as translation states them.
//!
//! They carry no time: whether a condition changed is known only beside the live one, so [`crate::merge`] dates them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta, Time};
use k8s_openapi::jiff::Timestamp;
use stunner_api::names::condition;

/// `maxLength` of `message` in every Gateway API schema; longer ones would make the whole status unwritable.
const MESSAGE_CHARACTERS: usize = 32_768;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    True,
    False,
    Unknown,
}

impl State {
    fn as_str(self) -> &'static str {
        match self {
            State::True => condition::TRUE,
            State::False => condition::FALSE,
            State::Unknown => condition::UNKNOWN,
        }
    }
}

impl From<bool> for State {
    fn from(value: bool) -> Self {
        if value { State::True } else { State::False }
    }
}

/// A condition about the generation of `object` that translation saw.
pub(crate) fn condition(
    object: &ObjectMeta,
    kind: &str,
    state: impl Into<State>,
    reason: &str,
    message: impl Into<String>,
) -> Condition {
    Condition {
        type_: kind.to_owned(),
        status: state.into().as_str().to_owned(),
        reason: reason.to_owned(),
        message: bounded(message.into()),
        observed_generation: object.generation,
        last_transition_time: Time(Timestamp::UNIX_EPOCH),
    }
}

/// Sentences as one message.
pub(crate) fn sentences<T: AsRef<str>>(parts: impl IntoIterator<Item = T>) -> String {
    let mut message = String::new();
    for part in parts {
        if !message.is_empty() {
            message.push(' ');
        }
        message.push_str(part.as_ref());
    }
    message
}

fn bounded(mut message: String) -> String {
    if let Some((end, _)) = message.char_indices().nth(MESSAGE_CHARACTERS) {
        message.truncate(end);
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_never_exceeds_what_the_schema_stores() {
        let long = "ü".repeat(MESSAGE_CHARACTERS + 1);
        let meta = ObjectMeta::default();
        let condition = condition(&meta, "Accepted", true, "Accepted", long);
        assert_eq!(condition.message.chars().count(), MESSAGE_CHARACTERS);
    }

    #[test]
    fn a_condition_is_about_the_generation_that_was_seen() {
        let meta = ObjectMeta {
            generation: Some(7),
            ..ObjectMeta::default()
        };
        let condition = condition(&meta, "Accepted", State::Unknown, "Pending", "Later.");
        assert_eq!(condition.observed_generation, Some(7));
        assert_eq!(condition.status, "Unknown");
    }
}

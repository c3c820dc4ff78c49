//! `$NAME` and `${NAME}` in values.
//!
//! Values are expanded after the text has been parsed, so that the content of a variable can neither change the
//! structure of the document nor need to be quoted, and `port: $STUNNER_PORT` is legal.

use crate::model::defaults;

/// A value after expansion.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Expanded {
    pub value: String,
    /// Variables that the value names, in order.
    pub used: Vec<String>,
    /// Those of them that are not set.
    pub unset: Vec<String>,
}

/// Replaces every variable in `text`; unset ones become nothing. A `$` without a name stands for itself.
pub fn expand(text: &str, env: &dyn Fn(&str) -> Option<String>) -> Expanded {
    let mut expanded = Expanded::default();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        expanded.value.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        match variable(after) {
            Some((name, tail)) => {
                match lookup(name, env) {
                    Some(value) => expanded.value.push_str(&value),
                    None => expanded.unset.push(name.to_owned()),
                }
                expanded.used.push(name.to_owned());
                rest = tail;
            }
            None => {
                expanded.value.push('$');
                rest = after;
            }
        }
    }
    expanded.value.push_str(rest);
    expanded
}

/// The name at the start of `text`, which follows a `$`, and what comes after it.
fn variable(text: &str) -> Option<(&str, &str)> {
    let name_len = |text: &str| {
        text.bytes()
            .take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
            .count()
    };
    let braced = text.strip_prefix('{');
    let inner = braced.unwrap_or(text);
    let (name, tail) = inner.split_at(name_len(inner));
    let tail = if braced.is_some() {
        tail.strip_prefix('}')?
    } else {
        tail
    };
    let starts_like_a_name = name
        .bytes()
        .next()
        .is_some_and(|byte| !byte.is_ascii_digit());
    starts_like_a_name.then_some((name, tail))
}

fn lookup(name: &str, env: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let value = env(name).filter(|value| !is_service_link(name, value));
    if name != "STUNNER_PORT" {
        return value;
    }
    // The Go dataplane sets this variable when nobody else did.
    let is_number = |value: &String| value.parse::<u16>().is_ok();
    let public = || env("STUNNER_PUBLIC_PORT").filter(is_number);
    value
        .filter(is_number)
        .or_else(public)
        .or_else(|| Some(defaults::TURN_PORT.to_string()))
}

/// Kubernetes sets `STUNNER_PORT=tcp://…` and the like in every pod beside a Service named `stunner`.
fn is_service_link(name: &str, value: &str) -> bool {
    name.starts_with("STUNNER_") && name.ends_with("PORT") && value.contains("://")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str, vars: &[(&str, &str)]) -> String {
        let env = |name: &str| {
            vars.iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| (*value).to_owned())
        };
        expand(text, &env).value
    }

    #[test]
    fn both_spellings_are_replaced_and_stray_dollars_stay() {
        let vars = [("A", "1"), ("LONG_NAME2", "two")];
        assert_eq!(value("$A", &vars), "1");
        assert_eq!(value("x${A}y$LONG_NAME2.z", &vars), "x1ytwo.z");
        assert_eq!(
            value("$ $$ $5 ${ ${A ${} a$", &vars),
            "$ $$ $5 ${ ${A ${} a$"
        );
    }

    #[test]
    fn an_unset_variable_is_nothing_and_is_named() {
        let expanded = expand("a${NOPE}b", &|_| None);
        assert_eq!(expanded.value, "ab");
        assert_eq!(expanded.unset, ["NOPE"]);
    }

    #[test]
    fn values_are_not_expanded_again() {
        assert_eq!(value("$A", &[("A", "$B"), ("B", "no")]), "$B");
    }

    #[test]
    fn the_turn_port_falls_back_to_the_public_port_and_then_to_3478() {
        assert_eq!(value("$STUNNER_PORT", &[("STUNNER_PORT", "5000")]), "5000");
        assert_eq!(value("$STUNNER_PORT", &[]), "3478");
        assert_eq!(
            value("$STUNNER_PORT", &[("STUNNER_PUBLIC_PORT", "443")]),
            "443"
        );
        assert_eq!(
            value("$STUNNER_PORT", &[("STUNNER_PORT", "tcp://10.0.0.1:3478")]),
            "3478"
        );
        assert_eq!(
            value(
                "$STUNNER_PORT",
                &[
                    ("STUNNER_PORT", "abc"),
                    ("STUNNER_PUBLIC_PORT", "udp://1.2.3.4:5")
                ]
            ),
            "3478"
        );
        assert_eq!(
            value(
                "[$STUNNER_PUBLIC_PORT]",
                &[("STUNNER_PUBLIC_PORT", "udp://1.2.3.4:5")]
            ),
            "[]"
        );
    }
}

//! Reading `auth`.

use crate::model::{ApiVersion, Auth, AuthMethod, defaults};

use super::Reader;
use super::fields::Fields;

const KEYS: &[&str] = &["type", "realm", "credentials", "lifetime"];
const CREDENTIAL_KEYS: &[&str] = &["username", "password", "secret"];

enum Kind {
    Static,
    Ephemeral,
    None,
}

impl Reader<'_> {
    pub(super) fn auth(&mut self, root: &Fields<'_>, version: ApiVersion) -> Auth {
        let nobody = Auth {
            realm: defaults::REALM.to_owned(),
            method: AuthMethod::None,
            lifetime: None,
        };
        if root.node("auth").is_none() {
            let hint =
                "add `auth` with `type: static` and `credentials` with `username` and `password`";
            self.error(
                &root.place_of("auth"),
                "no authentication is configured",
                hint,
            );
            return nobody;
        }
        let Some(fields) = root.mapping(self, "auth", KEYS) else {
            return nobody;
        };
        let kind = self.auth_kind(&fields, version);
        let realm = fields.text_or(self, "realm", defaults::REALM);
        let lifetime = self.lifetime(&fields);
        let method = match (kind, fields.mapping(self, "credentials", CREDENTIAL_KEYS)) {
            (Some(Kind::None) | None, _) => AuthMethod::None,
            (Some(Kind::Static), credentials) => AuthMethod::Static {
                username: self.credential(&fields, credentials.as_ref(), "static", "username"),
                password: self.credential(&fields, credentials.as_ref(), "static", "password"),
            },
            (Some(Kind::Ephemeral), credentials) => AuthMethod::Ephemeral {
                secret: self.credential(&fields, credentials.as_ref(), "ephemeral", "secret"),
            },
        };
        Auth {
            realm,
            method,
            lifetime,
        }
    }

    fn auth_kind(&mut self, fields: &Fields<'_>, version: ApiVersion) -> Option<Kind> {
        let hint = "write `static` (or `plaintext`), `ephemeral` (or `longterm`, `timewindowed`) or `none`";
        let text = fields.text(self, "type");
        match text
            .as_ref()
            .map(|text| text.value.to_ascii_lowercase())
            .unwrap_or_default()
            .as_str()
        {
            "" if version == ApiVersion::V1Alpha1 => {
                let at = fields.place_of("type");
                self.error(&at, "version v1alpha1 needs an authentication type", hint);
                None
            }
            "" | "static" | "plaintext" => Some(Kind::Static),
            "ephemeral" | "longterm" | "timewindowed" => Some(Kind::Ephemeral),
            "none" => Some(Kind::None),
            _ => {
                if let Some(text) = text {
                    self.error(
                        &text.at,
                        format!("unknown authentication type {}", text.shown()),
                        hint,
                    );
                }
                None
            }
        }
    }

    /// One credential. It must be there; it may be empty, as in the Go system.
    fn credential(
        &mut self,
        auth: &Fields<'_>,
        credentials: Option<&Fields<'_>>,
        kind: &str,
        key: &str,
    ) -> String {
        let Some(credentials) = credentials else {
            // Present but of the wrong kind is reported already.
            if auth.node("credentials").is_none() {
                let at = auth.place_of("credentials");
                let message = format!("{kind} authentication needs a {key}");
                self.error(&at, message, format!("add `credentials` with `{key}`"));
            }
            return String::new();
        };
        let at = credentials.place_of(key);
        match credentials.secret(self, key) {
            Some(text) => {
                if text.value.is_empty() {
                    self.warn(
                        &at,
                        format!("the {key} is empty, so everybody knows it"),
                        format!("set a {key}"),
                    );
                } else if self.options.expand_env && is_whole_variable(&text.value) {
                    let hint = "credentials may contain `$`, so variables are not replaced in them; write the value itself";
                    self.warn(
                        &at,
                        format!("the {key} looks like a variable but is taken literally"),
                        hint,
                    );
                }
                text.value
            }
            None => {
                if credentials.node(key).is_none() {
                    let message = format!("{kind} authentication needs a {key}");
                    self.error(&at, message, format!("add `{key}` to `credentials`"));
                }
                String::new()
            }
        }
    }

    /// `lifetime`: seconds, or a duration such as `24h`.
    fn lifetime(&mut self, fields: &Fields<'_>) -> Option<u64> {
        let text = fields
            .text(self, "lifetime")
            .filter(|text| !text.value.is_empty())?;
        let seconds = seconds(&text.value);
        if seconds.is_none() {
            let message = format!("expected seconds or a duration, found {}", text.shown());
            self.error(&text.at, message, "write for example `86400` or `24h`");
        }
        seconds
    }
}

/// `$NAME` or `${NAME}` and nothing else: hardly a password, more likely a hope for expansion.
fn is_whole_variable(value: &str) -> bool {
    let Some(name) = value.strip_prefix('$') else {
        return false;
    };
    let name = name
        .strip_prefix('{')
        .and_then(|name| name.strip_suffix('}'))
        .unwrap_or(name);
    name.len() > 2
        && name
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
        && !name.as_bytes()[0].is_ascii_digit()
}

/// Whole seconds of a bare number or of a Go duration in hours, minutes and seconds.
fn seconds(text: &str) -> Option<u64> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok();
    }
    let mut total = 0u64;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, tail) = rest.split_at(digits);
        let unit = match tail.bytes().next()? {
            b'h' => 3600,
            b'm' => 60,
            b's' => 1,
            _ => return None,
        };
        total = total.checked_add(number.parse::<u64>().ok()?.checked_mul(unit)?)?;
        rest = &tail[1..];
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifetimes_are_seconds_or_go_durations() {
        assert_eq!(seconds("86400"), Some(86400));
        assert_eq!(seconds("1h30m"), Some(5400));
        assert_eq!(seconds("90s"), Some(90));
        for bad in [
            "h",
            "1d",
            "1h30",
            "-5",
            "1.5h",
            "99999999999999999999s",
            "18446744073709551615h",
        ] {
            assert_eq!(seconds(bad), None, "{bad}");
        }
    }

    #[test]
    fn only_a_whole_variable_in_capitals_looks_like_one() {
        assert!(is_whole_variable("$STUNNER_PASSWORD"));
        assert!(is_whole_variable("${SECRET}"));
        for literal in ["pa$$word", "$abc", "$1", "a$SECRET", "$", "${}", "$X"] {
            assert!(!is_whole_variable(literal), "{literal}");
        }
    }
}

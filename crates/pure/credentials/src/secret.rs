//! A text that must not show.

use std::fmt;

/// A shared secret, a password or a token. `Debug` hides it and there is no `Display`, so that whoever holds one may
/// derive `Debug`.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The text itself, for where it is used.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Secret(text)
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Secret(text.to_owned())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_does_not_show_in_what_holds_it() {
        #[derive(Debug)]
        struct Holder {
            _secret: Option<Secret>,
        }
        let secret = Secret::from("pa55w0rd");
        assert_eq!(secret.expose(), "pa55w0rd");
        let holder = Holder {
            _secret: Some(secret),
        };
        for text in [format!("{holder:?}"), format!("{holder:#?}")] {
            assert!(text.contains("***") && !text.contains("pa55"), "{text}");
        }
    }
}

//! Names of sessions and ICE tests for the page: which pod has it, and what it is called there.

use std::fmt;
use std::str::FromStr;

use stunner_api::NamespacedName;

/// Fits into a path unescaped, and is in no name of Kubernetes.
const SEPARATOR: char = '~';

/// Something in a pod: `namespace~pod~id`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) pod: NamespacedName,
    pub(super) id: String,
}

/// A text that names nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is nothing of this name")]
pub(super) struct NoPlace;

impl Place {
    pub(super) fn new(pod: &NamespacedName, id: &str) -> Self {
        Place {
            pod: pod.clone(),
            id: id.to_owned(),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NamespacedName { namespace, name } = &self.pod;
        write!(f, "{namespace}{SEPARATOR}{name}{SEPARATOR}{}", self.id)
    }
}

/// All three end up in paths of other requests, so that nothing but what such names consist of is taken.
impl FromStr for Place {
    type Err = NoPlace;

    fn from_str(text: &str) -> Result<Self, NoPlace> {
        let mut parts = text.split(SEPARATOR);
        let mut part = |fits: fn(u8) -> bool| {
            let part = parts.next().ok_or(NoPlace)?;
            let is_name = !part.is_empty() && part.len() <= 253 && part.bytes().all(fits);
            is_name.then_some(part).ok_or(NoPlace)
        };
        let lower = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let dotted = |byte: u8| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.')
        };
        let word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let (namespace, pod, id) = (part(lower)?, part(dotted)?, part(word)?);
        if pod.starts_with('.') || text.split(SEPARATOR).count() != 3 {
            return Err(NoPlace);
        }
        Ok(Place::new(&NamespacedName::new(namespace, pod), id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_comes_back_as_it_went() {
        let place = Place::new(&NamespacedName::new("stunner", "udp.gw-5f-x2"), "0-A_b");
        assert_eq!(place.to_string(), "stunner~udp.gw-5f-x2~0-A_b");
        assert_eq!(place.to_string().parse(), Ok(place));
    }

    #[test]
    fn nothing_else_is_taken_for_a_name() {
        for text in [
            "", "a", "a~b", "a~b~", "~b~c", "a~b~c~d", "a~b~c/d", "a~b~..", "A~b~c", "a~b/..~c",
            "a~b~c?d", "a~..~c", "a~b~ü",
        ] {
            assert_eq!(text.parse::<Place>(), Err(NoPlace), "{text}");
        }
    }
}

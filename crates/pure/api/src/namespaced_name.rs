//! `namespace/name`, the way objects are told apart within a kind.

use std::fmt;
use std::str::FromStr;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// Names an object of a namespaced kind. Ordered by namespace, then by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NamespacedName {
    pub namespace: String,
    pub name: String,
}

impl NamespacedName {
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// Of an object's own metadata; what is missing there is empty here.
    pub fn of(metadata: &ObjectMeta) -> Self {
        Self {
            namespace: metadata.namespace.clone().unwrap_or_default(),
            name: metadata.name.clone().unwrap_or_default(),
        }
    }
}

impl fmt::Display for NamespacedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// Not of the form `namespace/name`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not of the form `namespace/name`")]
pub struct ParseNamespacedNameError(String);

impl FromStr for NamespacedName {
    type Err = ParseNamespacedNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('/') {
            Some((namespace, name))
                if !namespace.is_empty() && !name.is_empty() && !name.contains('/') =>
            {
                Ok(Self::new(namespace, name))
            }
            _ => Err(ParseNamespacedNameError(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_prints() {
        let name = NamespacedName::new("stunner", "udp-gateway");
        assert_eq!(name.to_string(), "stunner/udp-gateway");
        assert_eq!(name.to_string().parse(), Ok(name));
    }

    #[test]
    fn refuses_anything_but_two_parts() {
        for text in ["", "/", "name", "/name", "namespace/", "a/b/c"] {
            assert!(text.parse::<NamespacedName>().is_err(), "{text}");
        }
    }
}

//! The name under which a dataplane asks for its configuration.

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::origin::OriginError;

/// `NAMESPACE/NAME`, the identity of one configuration at a discovery service.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConfigId {
    pub namespace: String,
    pub name: String,
}

impl ConfigId {
    /// Reads an id, which has exactly one `/` and something on either side of it.
    pub fn parse(text: &str) -> Result<ConfigId, OriginError> {
        match text.split_once('/') {
            Some((namespace, name))
                if !namespace.is_empty() && !name.is_empty() && !name.contains('/') =>
            {
                Ok(ConfigId {
                    namespace: namespace.to_owned(),
                    name: name.to_owned(),
                })
            }
            _ => Err(OriginError::Id {
                id: text.to_owned(),
            }),
        }
    }
}

impl fmt::Display for ConfigId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// Everything but the unreserved characters of RFC 3986 §2.3.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Percent-encodes a path segment or query value.
pub(crate) fn encode(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

/// The id of a dataplane that was given none: `$STUNNER_NAMESPACE/$STUNNER_NAME` where both are set, else
/// `default/stunnerd-HOSTNAME`, with a random UUID where the host has no name.
pub fn default_id(env: &dyn Fn(&str) -> Option<String>, hostname: Option<&str>) -> String {
    let set = |name: &str| env(name).filter(|value| !value.is_empty());
    if let (Some(namespace), Some(name)) = (set("STUNNER_NAMESPACE"), set("STUNNER_NAME")) {
        return format!("{namespace}/{name}");
    }
    match hostname.filter(|name| !name.is_empty()) {
        Some(hostname) => format!("default/stunnerd-{hostname}"),
        None => format!("default/stunnerd-{}", random_uuid()),
    }
}

/// The name of this host.
pub fn hostname() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    let name = name.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

/// A version 4 UUID (RFC 9562 §5.4).
fn random_uuid() -> String {
    let bits = rand::random::<u128>();
    let bits = bits & !(0xf << 76) | (0x4 << 76);
    let bits = bits & !(0x3 << 62) | (0x2 << 62);
    let hex = format!("{bits:032x}");
    format!(
        "{}-{}-{}-{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_exactly_one_slash() {
        let id = ConfigId::parse("stunner/udp-gateway").expect("id");
        assert_eq!(
            (id.namespace.as_str(), id.name.as_str()),
            ("stunner", "udp-gateway")
        );
        for bad in ["", "noslash", "/", "a/", "/b", "a/b/c"] {
            let refused = ConfigId::parse(bad).expect_err(bad);
            assert_eq!(
                refused.to_string(),
                format!("invalid id `{bad}` for a config discovery service")
            );
        }
    }

    #[test]
    fn the_default_id_comes_from_the_environment_then_the_host_name_then_chance() {
        let both = |name: &str| match name {
            "STUNNER_NAMESPACE" => Some("ns".to_owned()),
            "STUNNER_NAME" => Some("gw".to_owned()),
            _ => None,
        };
        assert_eq!(default_id(&both, Some("host")), "ns/gw");
        let one = |name: &str| (name == "STUNNER_NAME").then(|| "gw".to_owned());
        assert_eq!(default_id(&one, Some("host")), "default/stunnerd-host");
        let none = |_: &str| None;
        let (a, b) = (default_id(&none, None), default_id(&none, Some("")));
        assert_ne!(a, b);
        let uuid = a.strip_prefix("default/stunnerd-").expect("prefix");
        assert_eq!(uuid.len(), 36);
        assert_eq!(uuid.as_bytes()[14], b'4');
    }
}

//! What strings have to look like.

use std::net::IpAddr;

use ipnet::IpNet;
use k8s_openapi::jiff::Timestamp;

use crate::base64;

/// A form of string that some field asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Form {
    /// An API group; the core group is empty.
    Group,
    /// A kind, or another name in letters and digits.
    Kind,
    /// RFC 1123 label.
    Label,
    /// RFC 1123 subdomain.
    Subdomain,
    /// A user name or password: characters of an HTTP token.
    Credential,
    /// A host name, which may begin with `*.`.
    Hostname,
    /// A protocol word, or a domain and a word.
    Protocol,
    /// A domain and a path.
    ControllerName,
    /// A word of the Gateway API, or a domain and a word.
    AddressType,
    /// An IP address or a prefix in CIDR notation.
    Prefix,
    IpAddress,
    Base64,
    DateTime,
    OneOf(Vec<String>),
}

impl Form {
    pub(crate) fn admits(&self, text: &str) -> bool {
        match self {
            Form::Group => text.is_empty() || is_subdomain(text),
            Form::Kind => {
                text.starts_with(|c: char| c.is_ascii_alphabetic())
                    && text.ends_with(|c: char| c.is_ascii_alphanumeric())
                    && is_dashed(text)
            }
            Form::Label => is_label(text),
            Form::Subdomain => is_subdomain(text),
            Form::Credential => {
                let other = |c: char| "!#$%&'*+-.^_`|~".contains(c);
                !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || other(c))
            }
            Form::Hostname => is_subdomain(text.strip_prefix("*.").unwrap_or(text)),
            Form::Protocol => is_word(text) || is_domain_and_word(text),
            Form::AddressType => {
                matches!(text, "Hostname" | "IPAddress" | "NamedAddress")
                    || is_domain_and_word(text)
            }
            Form::ControllerName => text.split_once('/').is_some_and(|(domain, path)| {
                let other = |c: char| "/-._~%!$&'()*+,;=:".contains(c);
                is_subdomain(domain)
                    && !path.is_empty()
                    && path.chars().all(|c| c.is_ascii_alphanumeric() || other(c))
            }),
            Form::Prefix => text.parse::<IpAddr>().is_ok() || text.parse::<IpNet>().is_ok(),
            Form::IpAddress => text.parse::<IpAddr>().is_ok(),
            Form::Base64 => base64::decode(text).is_some(),
            Form::DateTime => text.parse::<Timestamp>().is_ok(),
            Form::OneOf(words) => words.iter().any(|word| word == text),
        }
    }

    /// What is expected, after `expected`.
    pub(crate) fn noun(&self) -> String {
        match self {
            Form::Group => "an API group".to_owned(),
            Form::Kind => "a kind".to_owned(),
            Form::Label => "a DNS label".to_owned(),
            Form::Subdomain => "a lower-case DNS name".to_owned(),
            Form::Credential => "a credential of letters, digits and simple signs".to_owned(),
            Form::Hostname => "a host name".to_owned(),
            Form::Protocol => "a protocol".to_owned(),
            Form::ControllerName => "a domain and a path".to_owned(),
            Form::AddressType => "a type of address".to_owned(),
            Form::Prefix => "an IP address or a prefix in CIDR notation".to_owned(),
            Form::IpAddress => "an IP address".to_owned(),
            Form::Base64 => "base64".to_owned(),
            Form::DateTime => "a time in RFC 3339 format".to_owned(),
            Form::OneOf(words) => {
                let words: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
                match words.as_slice() {
                    [word] => word.clone(),
                    words => format!("one of {}", words.join(", ")),
                }
            }
        }
    }

    /// How to write it.
    pub(crate) fn hint(&self) -> String {
        match self {
            Form::Group => "the group is what is before the `/` of an `apiVersion`, such as `stunner.l7mp.io`; empty for Service and Secret",
            Form::Kind => "letters, digits and `-`, beginning with a letter, such as `Gateway`",
            Form::Label => "lower-case letters, digits and `-`, at most 63, beginning and ending with a letter or digit",
            Form::Subdomain => "lower-case letters, digits, `-` and `.`, beginning and ending with a letter or digit",
            Form::Credential => "letters, digits and !#$%&'*+-.^_`|~ are allowed; keep any other value in a Secret and name it in `authRef`",
            Form::Hostname => "a DNS name in lower case, such as `turn.example.com`, without scheme and port",
            Form::Protocol => "write `TURN-UDP`, `TURN-TCP`, `TURN-TLS` or `TURN-DTLS`",
            Form::ControllerName => "write `stunner.l7mp.io/gateway-operator`",
            Form::AddressType => "write `IPAddress` or `Hostname`",
            Form::Prefix => "write it like `192.0.2.1`, `198.51.100.0/24` or `2001:db8::/32`",
            Form::IpAddress => "write it like `192.0.2.1` or `2001:db8::1`",
            Form::Base64 => "write the base64 of the value, as `base64 -w0` prints it, or use `stringData`",
            Form::DateTime => "write it like `2024-01-31T12:00:00Z`, or leave it out",
            Form::OneOf(words) => {
                return match words.as_slice() {
                    [word] => format!("write `{word}`"),
                    [words @ .., last] => {
                        let words: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
                        format!("write {} or `{last}`", words.join(", "))
                    }
                    [] => String::new(),
                };
            }
        }
        .to_owned()
    }
}

pub(crate) fn is_label(text: &str) -> bool {
    let inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    text.bytes().all(inside) && !text.is_empty() && !text.starts_with('-') && !text.ends_with('-')
}

pub(crate) fn is_subdomain(text: &str) -> bool {
    text.split('.').all(is_label)
}

/// Letters, digits and dashes.
fn is_dashed(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn is_word(text: &str) -> bool {
    is_dashed(text) && !text.is_empty() && !text.starts_with('-') && !text.ends_with('-')
}

fn is_domain_and_word(text: &str) -> bool {
    text.split_once('/').is_some_and(|(domain, word)| {
        let alphanumeric = |c: char| c.is_ascii_alphanumeric();
        is_subdomain(domain) && !word.is_empty() && word.chars().all(alphanumeric)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_admit_what_the_patterns_of_kubernetes_do() {
        for (form, good, bad) in [
            (Form::Group, "stunner.l7mp.io", "Stunner"),
            (Form::Group, "", "a..b"),
            (Form::Kind, "GatewayConfig", "9Gateway"),
            (Form::Kind, "a-b", "a-"),
            (Form::Label, "default", "a.b"),
            (Form::Label, "0", "-a"),
            (Form::Subdomain, "a.b-c", "a_b"),
            (Form::Credential, "user-1", "a b"),
            (Form::Hostname, "*.example.com", "example.com:443"),
            (Form::Protocol, "TURN-UDP", "TURN_UDP"),
            (Form::Protocol, "example.com/custom", "/x"),
            (
                Form::ControllerName,
                "stunner.l7mp.io/gateway-operator",
                "stunner",
            ),
            (Form::AddressType, "IPAddress", "Ipaddress"),
            (Form::Prefix, "192.0.2.0/24", "192.0.2.0/33"),
            (Form::Prefix, "2001:db8::1", "192.0.2"),
            (Form::IpAddress, "192.0.2.1", "192.0.2.0/24"),
            (Form::Base64, "cGFzcw==", "pass!"),
            (Form::DateTime, "2024-01-31T12:00:00Z", "yesterday"),
        ] {
            assert!(form.admits(good), "{form:?} {good}");
            assert!(!form.admits(bad), "{form:?} {bad}");
        }
    }
}

use super::spec::{LogLevel, LogSpec};
use tracing::Metadata;

/// The fixed scopes; beside them there are `listener-<name>`, `cluster-<name>` and `relay-<listener>`.
pub const KNOWN_SCOPES: &[&str] = &[
    "stunnerd",
    "stunner",
    "stunner-root",
    "reconciler",
    "admin",
    "auth",
    "health",
    "metrics",
    "license",
    "offload",
    "offload-stats",
    "router",
    "dns-resolver",
    "cds-client",
    "config-file-client",
    "cds-fwd",
    "turn",
    "operator",
    "watch",
    "writer",
    "lease",
    "cds-server",
    "http",
    "turncat",
];

/// The scope of events that do not name one, by module path; the first prefix that fits wins.
const SCOPE_BY_MODULE: &[(&str, &str)] = &[
    ("stunner_turn", "turn"),
    ("stunner_stun", "turn"),
    ("stunner_cds", "cds-client"),
    ("stunner_net", "stunner"),
    ("stunner_config", "stunner"),
    ("stunner_telemetry", "metrics"),
    ("stunner_dataplane", "stunner"),
    ("stunner_operator", "operator"),
    ("stunner_http", "http"),
    ("stunnerd", "stunnerd"),
    ("stunner_client", "turn"),
    ("turncat", "turncat"),
];

/// The scope that an event has by where it stands in the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CodeScope<'a> {
    /// One of our crates.
    Own(&'a str),
    /// A library, under its crate's name.
    Library(&'a str),
}

impl<'a> CodeScope<'a> {
    pub(super) fn of(metadata: &Metadata<'a>) -> Self {
        Self::of_module(metadata.target())
    }

    fn of_module(target: &'a str) -> Self {
        let crate_name = target.split("::").next().unwrap_or(target);
        match SCOPE_BY_MODULE.iter().find(|(name, _)| *name == crate_name) {
            Some((_, scope)) => CodeScope::Own(scope),
            // A target that was given as a scope of ours, or follows the form of one.
            None if KNOWN_SCOPES.contains(&target) || crate_name.contains('-') => {
                CodeScope::Own(target)
            }
            None => CodeScope::Library(crate_name),
        }
    }

    pub(super) fn name(self) -> &'a str {
        match self {
            CodeScope::Own(name) | CodeScope::Library(name) => name,
        }
    }

    pub(super) fn level(self, spec: &LogSpec) -> LogLevel {
        match self {
            CodeScope::Own(name) => spec.level(name),
            // `all:TRACE` is about this program. A library shows its warnings, and more only when named.
            CodeScope::Library(name) => spec
                .named(name)
                .unwrap_or_else(|| spec.level(name).min(LogLevel::Warn)),
        }
    }
}

/// The scope of one event.
#[derive(Debug)]
pub(super) enum Scope<'a> {
    Code(CodeScope<'a>),
    Named(String),
}

impl Scope<'_> {
    pub(super) fn name(&self) -> &str {
        match self {
            Scope::Code(scope) => scope.name(),
            Scope::Named(name) => name,
        }
    }

    pub(super) fn level(&self, spec: &LogSpec) -> LogLevel {
        match self {
            Scope::Code(scope) => scope.level(spec),
            Scope::Named(name) => spec.level(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_without_a_scope_take_that_of_their_crate() {
        assert_eq!(
            CodeScope::of_module("stunner_turn::server::auth"),
            CodeScope::Own("turn")
        );
        assert_eq!(CodeScope::of_module("cds-fwd"), CodeScope::Own("cds-fwd"));
        assert_eq!(
            CodeScope::of_module("listener-ns/gw/udp"),
            CodeScope::Own("listener-ns/gw/udp")
        );
        assert_eq!(
            CodeScope::of_module("hyper::proto::h1"),
            CodeScope::Library("hyper")
        );
    }

    #[test]
    fn libraries_show_warnings_unless_named() {
        let hyper = CodeScope::Library("hyper");
        assert_eq!(hyper.level(&LogSpec::parse("all:TRACE").0), LogLevel::Warn);
        assert_eq!(hyper.level(&LogSpec::parse("all:ERROR").0), LogLevel::Error);
        assert_eq!(
            hyper.level(&LogSpec::parse("all:INFO,hyper:DEBUG").0),
            LogLevel::Debug
        );
    }
}

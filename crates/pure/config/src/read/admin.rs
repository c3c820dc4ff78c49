//! Reading `admin`.

use std::collections::BTreeSet;

use crate::model::{Admin, HttpEndpoint, License, OffloadEngine, PortRange, defaults};

use super::Reader;
use super::fields::{Fields, Text};

const KEYS: &[&str] = &[
    "name",
    "loglevel",
    "metrics_endpoint",
    "healthcheck_endpoint",
    "user_quota",
    "offload_engine",
    "offload_interfaces",
    "license_config",
    "relay_port_range",
];
const LICENSE_KEYS: &[&str] = &["key", "hmac"];
const LEVELS: &[&str] = &["DISABLE", "ERROR", "WARN", "INFO", "DEBUG", "TRACE"];

impl Reader<'_> {
    pub(super) fn admin(&mut self, root: &Fields<'_>) -> Admin {
        let Some(fields) = root.mapping(self, "admin", KEYS) else {
            return Admin::default();
        };
        Admin {
            name: fields.text_or(self, "name", defaults::ADMIN_NAME),
            loglevel: self.loglevel(&fields),
            metrics_endpoint: self.endpoint(&fields, "metrics_endpoint", defaults::METRICS_PORT),
            healthcheck_endpoint: match fields.node("healthcheck_endpoint") {
                None => Some(HttpEndpoint::default_health()),
                Some(_) => {
                    self.endpoint(&fields, "healthcheck_endpoint", defaults::HEALTHCHECK_PORT)
                }
            },
            user_quota: self.user_quota(&fields),
            offload_engine: self.offload_engine(&fields),
            offload_interfaces: sorted(&fields.texts(self, "offload_interfaces")),
            license: self.license(&fields),
            relay_port_range: self.relay_port_range(&fields),
        }
    }

    fn loglevel(&mut self, fields: &Fields<'_>) -> String {
        let Some(text) = fields
            .text(self, "loglevel")
            .filter(|text| !text.value.is_empty())
        else {
            return defaults::LOGLEVEL.to_owned();
        };
        for item in text.value.split(',').map(str::trim) {
            let known = |level: &str| {
                LEVELS
                    .iter()
                    .any(|known| known.eq_ignore_ascii_case(level.trim()))
            };
            let hint = "write `scope:LEVEL` items such as `all:INFO,turn:DEBUG`; \
                        the levels are DISABLE, ERROR, WARN, INFO, DEBUG and TRACE";
            match item.rsplit_once(':') {
                Some((scope, level)) if !scope.trim().is_empty() && known(level) => {}
                _ => self.warn(
                    &text.at,
                    format!("log item `{item}` is not understood and has no effect"),
                    hint,
                ),
            }
        }
        text.value
    }

    fn endpoint(
        &mut self,
        fields: &Fields<'_>,
        key: &str,
        default_port: u16,
    ) -> Option<HttpEndpoint> {
        let text = fields.text(self, key)?;
        if text.value.trim().is_empty() {
            return None;
        }
        match HttpEndpoint::parse(&text.value, default_port) {
            Ok(endpoint) => Some(endpoint),
            Err(error) => {
                let hint = format!("write `http://ADDRESS:{default_port}`, or `\"\"` for none");
                self.error(
                    &text.at,
                    format!("{} is no endpoint: {error}", text.shown()),
                    hint,
                );
                None
            }
        }
    }

    fn user_quota(&mut self, fields: &Fields<'_>) -> u32 {
        let Ok(Some((number, at))) = fields.integer(self, "user_quota") else {
            return 0;
        };
        if number < 0 {
            self.warn(
                &at,
                format!("a quota of {number} means no quota"),
                "write 0 for no quota",
            );
        }
        u32::try_from(number.max(0)).unwrap_or(u32::MAX)
    }

    fn offload_engine(&mut self, fields: &Fields<'_>) -> OffloadEngine {
        let Some(text) = fields.text(self, "offload_engine") else {
            return OffloadEngine::None;
        };
        match text.value.to_ascii_lowercase().as_str() {
            "" | "none" => OffloadEngine::None,
            "xdp" => OffloadEngine::Xdp,
            "tc" => OffloadEngine::Tc,
            "auto" => OffloadEngine::Auto,
            _ => {
                let hint = "write `None`, `XDP`, `TC` or `Auto`";
                self.error(
                    &text.at,
                    format!("unknown offload engine {}", text.shown()),
                    hint,
                );
                OffloadEngine::None
            }
        }
    }

    fn license(&mut self, fields: &Fields<'_>) -> Option<License> {
        let license = fields.mapping(self, "license_config", LICENSE_KEYS)?;
        let mut value = |key| {
            license
                .secret(self, key)
                .map(|text| text.value)
                .unwrap_or_default()
        };
        Some(License {
            key: value("key"),
            hmac: value("hmac"),
        })
    }

    fn relay_port_range(&mut self, fields: &Fields<'_>) -> Option<PortRange> {
        let text = fields
            .text(self, "relay_port_range")
            .filter(|text| !text.value.is_empty())?;
        match text.value.parse() {
            Ok(range) => Some(range),
            Err(error) => {
                let hint = "write the first and the last port, such as `50000-50999`";
                self.error(
                    &text.at,
                    format!("{} is no port range: {error}", text.shown()),
                    hint,
                );
                None
            }
        }
    }
}

/// The values in order, each once, empty ones left out.
pub(super) fn sorted(texts: &[Text]) -> Vec<String> {
    let values: BTreeSet<&String> = texts
        .iter()
        .map(|text| &text.value)
        .filter(|value| !value.is_empty())
        .collect();
    values.into_iter().cloned().collect()
}

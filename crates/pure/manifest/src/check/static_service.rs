//! StaticServices. That prefixes are prefixes, reading has seen to.

use ipnet::IpNet;
use stunner_api::v1::StaticService;

use super::findings::Findings;
use crate::problem::Fault;
use crate::reading::Manifest;

pub(super) fn check(findings: &mut Findings<'_>, manifest: &Manifest, service: &StaticService) {
    for (number, prefix) in service.spec.prefixes.iter().enumerate() {
        let Ok(net) = prefix.trim().parse::<IpNet>() else {
            continue;
        };
        if net.trunc() != net {
            findings.warning(
                manifest,
                Fault::Prefix,
                &format!("spec.prefixes[{number}]"),
                format!("`{prefix}` means all of `{}`", net.trunc()),
                format!(
                    "write `{}`, or `{}` for the one address",
                    net.trunc(),
                    net.addr()
                ),
            );
        }
    }
    if service.spec.prefixes.is_empty() && !findings.is_told(manifest, "") {
        findings.warning(
            manifest,
            Fault::Suspicious,
            "spec.prefixes",
            "a StaticService without prefixes admits nothing",
            "list addresses or prefixes such as `198.51.100.0/24`",
        );
    }
}

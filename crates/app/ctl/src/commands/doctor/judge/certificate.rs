//! What a server shows over TLS or DTLS.

use std::net::IpAddr;

use crate::commands::doctor::facts::{CertificateFacts, Trial};
use crate::commands::doctor::finding::{Finding, Hop};

const DAY: i64 = 86_400;
/// Renewals happen a month ahead; one that is this late has failed.
const SOON: i64 = 14 * DAY;

/// What makes it useless; else all that is to be said about it.
pub(super) fn certificate(trial: &Trial, shown: &CertificateFacts, now: i64) -> Vec<Finding> {
    let name = &trial.listener;
    let of = format!("the certificate of `{name}` ({})", shown.subject);
    if let Some(dead) = useless(trial, shown, &of, now) {
        return vec![dead];
    }
    let mut findings: Vec<Finding> = distrusted(shown, &of).into_iter().collect();
    let left = shown.not_after - now;
    if left < SOON {
        let what = format!("{of} expires in {} days", left / DAY);
        let expiring = Finding::warn(Hop::Certificate, what)
            .why("renewal usually happens long before")
            .hint("see why it has not been renewed; a new Secret is taken over without a restart");
        findings.push(expiring);
    }
    if findings.is_empty() {
        let what = format!("{of} is valid for {} more days", left / DAY);
        findings.push(Finding::ok(Hop::Certificate, what));
    }
    findings
}

fn useless(trial: &Trial, shown: &CertificateFacts, of: &str, now: i64) -> Option<Finding> {
    if shown.not_after <= now {
        let since = (now - shown.not_after) / DAY;
        return Some(Finding::dead(Hop::Certificate, format!("{of} expired {}", ago(since)))
            .why("browsers and every client that checks certificates refuse to connect")
            .hint("renew the Secret in `tls.certificateRefs` of the listener; if cert-manager does that, see `kubectl describe certificate`"));
    }
    if shown.not_before > now {
        return Some(
            Finding::dead(Hop::Certificate, format!("{of} is not valid yet"))
                .why("it begins in the future, or the clock of this machine is behind")
                .hint("check the clocks of this machine and of the issuer"),
        );
    }
    if !is_for(&trial.host, &shown.names) {
        let names = match shown.names.as_slice() {
            [] => "it has no names at all, and common names do not count".to_owned(),
            names => format!("it is made out to {}", super::listed(names)),
        };
        return Some(Finding::dead(Hop::Certificate, format!("{of} is not made out to {}, where clients are told to go", trial.host))
            .why(names)
            .hint("set `hostname` of the listener to a name of the certificate that leads to the address, or issue one for it"));
    }
    None
}

fn distrusted(shown: &CertificateFacts, of: &str) -> Option<Finding> {
    let why = shown.untrusted.as_ref()?;
    let what = match shown.self_signed {
        true => format!("{of} is self-signed"),
        false => format!("{of} is of an issuer that this machine does not trust"),
    };
    Some(
        Finding::warn(Hop::Certificate, what)
            .why(why.clone())
            .hint("browsers refuse it unless the issuer is installed there; use a public issuer, and put its intermediate certificates into `tls.crt` too"),
    )
}

fn ago(days: i64) -> String {
    match days {
        0 => "today".to_owned(),
        1 => "a day ago".to_owned(),
        days => format!("{days} days ago"),
    }
}

/// RFC 6125 §6.4: names without case, `*` for one label on the left; addresses are compared as such.
fn is_for(host: &str, names: &[String]) -> bool {
    if let Ok(address) = host.parse::<IpAddr>() {
        return names.iter().any(|name| name.parse() == Ok(address));
    }
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    names.iter().any(|name| {
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        match name.strip_prefix("*.") {
            Some(rest) => host
                .split_once('.')
                .is_some_and(|(label, tail)| !label.is_empty() && tail == rest),
            None => name == host,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wildcard_stands_for_one_label() {
        let names = ["*.example.test".to_owned(), "192.0.2.1".to_owned()];
        for host in ["turn.example.test", "TURN.Example.test.", "192.0.2.1"] {
            assert!(is_for(host, &names), "{host}");
        }
        for host in [
            "example.test",
            "a.b.example.test",
            "192.0.2.2",
            "2001:db8::1",
        ] {
            assert!(!is_for(host, &names), "{host}");
        }
    }
}

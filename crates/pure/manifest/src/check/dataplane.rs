//! Dataplanes: what an API server would refuse only in the Deployments that are made from them.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use stunner_api::v1::Dataplane;

use super::findings::Findings;
use crate::problem::Fault;
use crate::reading::Manifest;

/// Of quantities; the empty one stands for a plain number.
const SUFFIXES: [&str; 16] = [
    "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei",
];

pub(super) fn check(findings: &mut Findings<'_>, manifest: &Manifest, dataplane: &Dataplane) {
    let Some(resources) = &dataplane.spec.resources else {
        return;
    };
    for (field, amounts) in [
        ("limits", &resources.limits),
        ("requests", &resources.requests),
    ] {
        quantities(findings, manifest, field, amounts.as_ref());
    }
}

fn quantities(
    findings: &mut Findings<'_>,
    manifest: &Manifest,
    field: &str,
    amounts: Option<&BTreeMap<String, Quantity>>,
) {
    for (resource, Quantity(amount)) in amounts.into_iter().flatten() {
        if is_quantity(amount) {
            continue;
        }
        // Resources of extensions have a domain.
        let key = match resource.contains(['.', '/']) {
            true => format!("[{resource}]"),
            false => format!(".{resource}"),
        };
        findings.error(
            manifest,
            Fault::WrongValue,
            &format!("spec.resources.{field}{key}"),
            format!("`{amount}` is not a quantity"),
            "write a number with a suffix of Kubernetes, such as `500m` or `512Mi`",
        );
    }
}

/// A decimal number with a suffix or an exponent.
fn is_quantity(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, suffix) = unsigned.split_at(end.unwrap_or(unsigned.len()));
    let is_number =
        number.contains(|c: char| c.is_ascii_digit()) && number.matches('.').count() < 2;
    let exponent = suffix.strip_prefix(['e', 'E']);
    let is_exponent = exponent.is_some_and(|text| text.parse::<i32>().is_ok());
    is_number && (is_exponent || SUFFIXES.contains(&suffix))
}

#[cfg(test)]
mod tests {
    use super::is_quantity;

    #[test]
    fn quantities_are_those_of_kubernetes() {
        for good in [
            "2", "0.5", ".5", "5.", "500m", "512Mi", "1e3", "1E-3", "+1k", "3E", "2Ei",
        ] {
            assert!(is_quantity(good), "{good}");
        }
        for bad in [
            "", "Mi", "512MiB", "512mb", "1 Gi", "lots", "1..2", "1e", "0x10", "m",
        ] {
            assert!(!is_quantity(bad), "{bad}");
        }
    }
}

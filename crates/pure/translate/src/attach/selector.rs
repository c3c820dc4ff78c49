//! Label selectors, as Kubernetes defines them.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

/// An operator that does not exist, or values where there must be none, or none where there must be some.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BadSelector;

/// Every requirement must hold; a selector without any selects everything.
pub(super) fn matches(
    selector: &LabelSelector,
    labels: &BTreeMap<String, String>,
) -> Result<bool, BadSelector> {
    let mut matched = selector
        .match_labels
        .iter()
        .flatten()
        .all(|(key, value)| labels.get(key) == Some(value));
    // All of them are looked at, so that a bad one is told whatever the labels are.
    for requirement in selector.match_expressions.iter().flatten() {
        matched &= holds(requirement, labels)?;
    }
    Ok(matched)
}

fn holds(
    requirement: &LabelSelectorRequirement,
    labels: &BTreeMap<String, String>,
) -> Result<bool, BadSelector> {
    let label = labels.get(&requirement.key);
    let values = requirement.values.as_deref().unwrap_or_default();
    let is_among = |label: &String| values.contains(label);
    match (requirement.operator.as_str(), values.is_empty()) {
        ("In", false) => Ok(label.is_some_and(is_among)),
        ("NotIn", false) => Ok(!label.is_some_and(is_among)),
        ("Exists", true) => Ok(label.is_some()),
        ("DoesNotExist", true) => Ok(label.is_none()),
        _ => Err(BadSelector),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selects(operator: &str, key: &str, values: &[&str]) -> Result<bool, BadSelector> {
        let values: Vec<String> = values.iter().map(ToString::to_string).collect();
        let selector = LabelSelector {
            match_labels: None,
            match_expressions: Some(vec![LabelSelectorRequirement {
                key: key.to_owned(),
                operator: operator.to_owned(),
                values: Some(values),
            }]),
        };
        matches(&selector, &labels())
    }

    fn labels() -> BTreeMap<String, String> {
        BTreeMap::from([("tier".to_owned(), "media".to_owned())])
    }

    #[test]
    fn operators_mean_what_kubernetes_says() {
        assert_eq!(selects("In", "tier", &["media", "web"]), Ok(true));
        assert_eq!(selects("In", "tier", &["web"]), Ok(false));
        assert_eq!(selects("In", "zone", &["a"]), Ok(false));
        assert_eq!(selects("NotIn", "tier", &["web"]), Ok(true));
        assert_eq!(selects("NotIn", "tier", &["media"]), Ok(false));
        assert_eq!(selects("NotIn", "zone", &["a"]), Ok(true));
        assert_eq!(selects("Exists", "tier", &[]), Ok(true));
        assert_eq!(selects("Exists", "zone", &[]), Ok(false));
        assert_eq!(selects("DoesNotExist", "tier", &[]), Ok(false));
        assert_eq!(selects("DoesNotExist", "zone", &[]), Ok(true));
    }

    #[test]
    fn a_selector_that_kubernetes_would_refuse_is_told_from_one_that_does_not_match() {
        assert_eq!(selects("Like", "tier", &["media"]), Err(BadSelector));
        assert_eq!(selects("In", "tier", &[]), Err(BadSelector));
        assert_eq!(selects("Exists", "tier", &["media"]), Err(BadSelector));
    }

    #[test]
    fn an_empty_selector_selects_everything() {
        assert_eq!(matches(&LabelSelector::default(), &labels()), Ok(true));
    }

    #[test]
    fn labels_and_expressions_must_all_hold() {
        let selector = LabelSelector {
            match_labels: Some(labels()),
            match_expressions: Some(vec![LabelSelectorRequirement {
                key: "zone".to_owned(),
                operator: "Exists".to_owned(),
                values: None,
            }]),
        };
        assert_eq!(matches(&selector, &labels()), Ok(false));
    }
}

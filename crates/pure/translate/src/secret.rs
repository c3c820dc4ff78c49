//! References to Secrets, and what Secrets hold.

use k8s_openapi::api::core::v1::Secret;
use stunner_api::gateway::SecretRef;
use stunner_api::{NamespacedName, names};

/// Whether a reference means a core Secret. `v1` as a group is a common slip that the Go system took, too.
pub(crate) fn is_secret(reference: &SecretRef) -> bool {
    matches!(reference.group.as_deref(), None | Some("" | "v1"))
        && matches!(
            reference.kind.as_deref(),
            None | Some("" | names::SECRET_KIND)
        )
}

/// The Secret that an object of a namespace refers to.
pub(crate) fn name(reference: &SecretRef, namespace: &str) -> NamespacedName {
    let given = reference.namespace.as_deref();
    let namespace = given.filter(|given| !given.is_empty()).unwrap_or(namespace);
    NamespacedName::new(namespace, &reference.name)
}

/// A key's bytes. `stringData` counts too: the API server turns it into `data`, a file does not.
pub(crate) fn value(secret: &Secret, key: &str) -> Option<Vec<u8>> {
    let plain = secret.string_data.as_ref().and_then(|data| data.get(key));
    match plain {
        Some(plain) => Some(plain.clone().into_bytes()),
        None => Some(secret.data.as_ref()?.get(key)?.0.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(group: Option<&str>, kind: Option<&str>, namespace: Option<&str>) -> SecretRef {
        SecretRef {
            group: group.map(str::to_owned),
            kind: kind.map(str::to_owned),
            name: "auth".to_owned(),
            namespace: namespace.map(str::to_owned),
        }
    }

    #[test]
    fn what_is_left_out_or_empty_means_a_secret_beside_the_referrer() {
        for empty in [None, Some("")] {
            let reference = reference(empty, empty, empty);
            assert!(is_secret(&reference));
            assert_eq!(name(&reference, "here").to_string(), "here/auth");
        }
        let elsewhere = reference(Some("v1"), Some("Secret"), Some("there"));
        assert!(is_secret(&elsewhere));
        assert_eq!(name(&elsewhere, "here").to_string(), "there/auth");
    }

    #[test]
    fn other_kinds_and_groups_are_no_secrets() {
        assert!(!is_secret(&reference(None, Some("ConfigMap"), None)));
        assert!(!is_secret(&reference(
            Some("example.test"),
            Some("Secret"),
            None
        )));
    }
}

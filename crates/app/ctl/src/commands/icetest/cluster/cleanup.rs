//! Removing what the test made, now or earlier.

use std::time::{Duration, Instant};

use stunner_api::names::{GATEWAY_GROUP, GROUP};

use super::NAME;
use super::store::{Name, Store, called, kind};
use crate::failure::Failure;

/// For Kubernetes to empty and remove a namespace.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(500);

fn namespace() -> Name {
    Name {
        kind: kind("v1", "Namespace"),
        namespace: None,
        name: NAME.to_owned(),
    }
}

/// What the test makes outside of its namespace, and the namespace.
fn outside() -> [Name; 3] {
    let name = |version: String, kind: &str| Name {
        kind: self::kind(&version, kind),
        namespace: None,
        name: NAME.to_owned(),
    };
    [
        namespace(),
        name(format!("{GATEWAY_GROUP}/v1"), "GatewayClass"),
        name(format!("{GROUP}/v1"), "Dataplane"),
    ]
}

/// What of it exists. What somebody is deleting, as the test before this one may, is waited for.
pub(super) async fn leftovers(store: &Store) -> Result<Vec<String>, Failure> {
    let until = Instant::now() + PATIENCE;
    loop {
        let mut left = Vec::new();
        let mut going = None;
        for name in outside() {
            match store.find(&name).await {
                Ok(None) => {}
                Ok(Some(object)) if !object["metadata"]["deletionTimestamp"].is_null() => {
                    going = Some(name);
                }
                Ok(Some(_)) => left.push(name.to_string()),
                Err(failure) if name == namespace() => return Err(failure),
                // A kind that is not served is told by the check of the installation.
                Err(_) => {}
            }
        }
        match going {
            Some(name) if left.is_empty() => gone(&name, until)?,
            _ => return Ok(left),
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// What is being deleted may take a while, but not for ever.
fn gone(name: &Name, until: Instant) -> Result<(), Failure> {
    match Instant::now() < until {
        true => Ok(()),
        false => Err(Failure::new(
            format!(
                "{name} is being deleted, and not gone after {} s",
                PATIENCE.as_secs()
            ),
            format!(
                "kubectl get {} {NAME} -o yaml says what holds it, such as a finalizer",
                name.kind.resource()
            ),
        )),
    }
}

/// Removes what this test made, the last first, until somebody has had enough. What is left is told.
pub(super) async fn undo(store: &Store, enough: impl Future<Output = ()>) -> Result<(), Failure> {
    let mut made = store.made();
    made.reverse();
    let removed = tokio::select! {
        removed = remove(store, &made) => removed,
        () = enough => Err(Failure::Problem { error: "interrupted".into(), hint: None }),
    };
    match removed {
        Ok(()) => Ok(()),
        Err(failure) => unfinished(&failure, &store.made()),
    }
}

/// What is in a namespace that is being deleted goes with it.
fn unfinished(why: &Failure, left: &[Name]) -> Result<(), Failure> {
    let is_staying = |name: &&Name| name.namespace.is_none() || left.contains(&namespace());
    let left: Vec<&Name> = left.iter().filter(is_staying).collect();
    let outside = left.iter().filter(|name| name.namespace.is_none());
    let outside: Vec<String> = outside
        .map(|name| format!("{}/{}", name.kind.resource(), name.name))
        .collect();
    let names: Vec<String> = left.iter().map(ToString::to_string).collect();
    match names.is_empty() {
        true => Ok(()),
        false => Err(Failure::new(
            format!(
                "not all that the test made is removed: {why}; left: {}",
                names.join(", ")
            ),
            format!("remove it with `kubectl delete {}`", outside.join(" ")),
        )),
    }
}

/// Removes what an earlier test left, and waits until it is gone.
pub(super) async fn all(store: &Store) -> Result<(), Failure> {
    let kinds = [
        (format!("{GROUP}/v1"), "UDPRoute"),
        (format!("{GATEWAY_GROUP}/v1"), "Gateway"),
        ("v1".to_owned(), "Pod"),
        ("v1".to_owned(), "Service"),
        ("v1".to_owned(), "Secret"),
        (format!("{GROUP}/v1"), "GatewayConfig"),
    ];
    let mut names = Vec::new();
    for (version, kind) in kinds {
        let kind = self::kind(&version, kind);
        for object in store.list(&kind, NAME).await {
            names.push(Name {
                kind: kind.clone(),
                namespace: Some(NAME.to_owned()),
                name: called(&object).to_owned(),
            });
        }
    }
    names.extend(outside().into_iter().rev());
    remove(store, &names).await?;
    let until = Instant::now() + PATIENCE;
    while store.find(&namespace()).await?.is_some() {
        gone(&namespace(), until)?;
        tokio::time::sleep(PAUSE).await;
    }
    Ok(())
}

/// Tries all of them; the first failure is told.
async fn remove(store: &Store, names: &[Name]) -> Result<(), Failure> {
    let mut first = None;
    for name in names {
        if let Err(failure) = store.delete(name).await {
            first.get_or_insert(failure);
        }
    }
    first.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_named_with_the_command_that_removes_it() {
        let why = Failure::new("no answer", "");
        let pod = Name {
            kind: kind("v1", "Pod"),
            namespace: Some(NAME.to_owned()),
            name: "icetester".to_owned(),
        };
        let [namespace, class, _] = outside();
        let left = [namespace, class.clone(), pod.clone()];
        let failure = unfinished(&why, &left).expect_err("left");
        assert_eq!(
            failure.to_string(),
            "not all that the test made is removed: no answer; left: Namespace icetest, GatewayClass icetest, \
             Pod icetest/icetester"
        );
        assert_eq!(
            failure.hint(),
            Some(
                "remove it with `kubectl delete namespaces/icetest gatewayclasses.gateway.networking.k8s.io/icetest`"
            )
        );
        // The namespace goes, and the pod with it.
        let failure = unfinished(&why, &[class, pod.clone()]).expect_err("left");
        assert!(!failure.to_string().contains("Pod"), "{failure}");
        assert!(unfinished(&why, &[pod]).is_ok());
    }
}

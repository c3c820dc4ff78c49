//! Removing what the test made, now or earlier.

use std::time::{Duration, Instant};

use stunner_api::names::{GATEWAY_GROUP, GROUP};

use super::NAME;
use super::store::{Name, Store, called, resource};
use crate::failure::Failure;

/// For Kubernetes to empty and remove a namespace.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(500);

fn namespace() -> Name {
    Name {
        resource: resource("v1", "Namespace"),
        namespace: None,
        name: NAME.to_owned(),
    }
}

/// What the test makes outside of its namespace, and the namespace.
fn outside() -> [Name; 3] {
    let name = |version: String, kind| Name {
        resource: resource(&version, kind),
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
                Ok(Some(object)) if object.metadata.deletion_timestamp.is_some() => {
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
                name.resource.kind.to_lowercase()
            ),
        )),
    }
}

/// Removes what this test made, the last first.
pub(super) async fn undo(store: &Store) -> Result<(), Failure> {
    let mut made = store.made();
    made.reverse();
    remove(store, &made).await
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
        let resource = resource(&version, kind);
        for object in store.list(&resource, NAME).await {
            names.push(Name {
                resource: resource.clone(),
                namespace: Some(NAME.to_owned()),
                name: called(&object),
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

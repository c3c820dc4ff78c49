//! Questions to the API server, each with an answer whatever comes of it.

use std::time::Duration;

use serde::de::DeserializeOwned;
use stunner_cluster::{ClusterError, Kind, Objects, Selection};

use super::failed;
use crate::commands::doctor::facts::Asked;

/// For one answer: a walk asks for a dozen things.
const PATIENCE: Duration = Duration::from_secs(15);

/// Reads with the rights of whoever asks.
#[derive(Debug, Clone)]
pub(super) struct Reader {
    objects: Objects,
}

impl Reader {
    pub(super) fn new(objects: Objects) -> Reader {
        Reader {
            objects: objects.within(PATIENCE),
        }
    }

    /// Of a namespace; without one, of the whole cluster.
    pub(super) async fn get<K: DeserializeOwned>(
        &self,
        kind: &Kind,
        namespace: Option<&str>,
        name: &str,
    ) -> Asked<Option<K>> {
        answer(self.objects.get(kind, namespace, name).await)
    }

    /// Of one namespace, or of all.
    pub(super) async fn list<K: DeserializeOwned>(
        &self,
        kind: &Kind,
        namespace: Option<&str>,
        selection: Selection<'_>,
    ) -> Asked<Vec<K>> {
        answer(self.objects.list(kind, namespace, selection).await)
    }

    /// The same for a kind whose version is found by trying; one that is not served has no objects.
    pub(super) async fn list_served<K: DeserializeOwned>(
        &self,
        kind: &Kind,
        namespace: Option<&str>,
    ) -> Asked<Option<Vec<K>>> {
        let list = self.objects.list(kind, namespace, Selection::default());
        match list.await {
            Err(error) if error.is_not_found() => Asked::Known(None),
            list => answer(list.map(Some)),
        }
    }
}

fn answer<T>(answer: Result<T, ClusterError>) -> Asked<T> {
    match answer {
        Ok(value) => Asked::Known(value),
        Err(error) if error.is_not_found() => {
            Asked::Failed(format!("{error}; are the CRDs installed?"))
        }
        Err(error) => failed(&error),
    }
}

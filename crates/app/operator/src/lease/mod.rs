//! Leader election by a Lease, by the rules of client-go: the two understand each other.
//!
//! Nobody trusts the clock of others. A holder is taken for gone when its record has not changed for the lease's
//! duration as measured here; a leader stops by itself when it could not renew in time, well before others take over.

mod election;
mod record;
mod term;

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

pub use self::term::Term;

use self::election::Candidate;

/// Others wait this long after the last change before they take over.
const LEASE_DURATION: Duration = Duration::from_secs(15);
/// A leader that could not renew for this long stops.
const RENEW_DEADLINE: Duration = Duration::from_secs(10);
const RETRY_PERIOD: Duration = Duration::from_secs(2);
/// How long giving up the lease at the end may take.
const RELEASE_PATIENCE: Duration = Duration::from_secs(2);

/// Whether this replica leads, for as long as it is held.
#[derive(Debug)]
pub struct Leadership {
    leads: watch::Receiver<bool>,
    election: Option<Election>,
}

#[derive(Debug)]
struct Election {
    resign: Arc<Notify>,
    task: JoinHandle<()>,
}

impl Leadership {
    /// The only replica leads always.
    pub fn alone() -> Self {
        Leadership {
            leads: watch::channel(true).1,
            election: None,
        }
    }

    /// Stands for election in the namespace of the operator. `identity` must be unique among all processes. `term` tells
    /// when it was won, for how long, and when it is lost.
    pub fn stand(client: Client, namespace: &str, identity: String, term: Term) -> Self {
        let (sender, leads) = watch::channel(false);
        let resign = Arc::new(Notify::new());
        let candidate = Candidate::new(client, namespace, identity, sender, term);
        let task = tokio::spawn(candidate.run(Arc::clone(&resign)));
        Leadership {
            leads,
            election: Some(Election { resign, task }),
        }
    }

    pub fn leads(&self) -> watch::Receiver<bool> {
        self.leads.clone()
    }

    /// Gives up the lease, so that another replica need not wait for it to run out. Nothing may be written any more.
    pub async fn resign(self) {
        if let Some(election) = self.election {
            election.resign.notify_one();
            let _ = tokio::time::timeout(RELEASE_PATIENCE, election.task).await;
        }
    }
}

/// Pod name, or host name outside a cluster, and something that no earlier process of that name had.
pub fn identity(pod_name: Option<&str>) -> String {
    let name = pod_name.map(str::to_owned).or_else(stunner_cds::hostname);
    let name = name.unwrap_or_else(|| "stunner-gateway-operator".to_owned());
    format!("{name}_{:016x}", rand::random::<u64>())
}

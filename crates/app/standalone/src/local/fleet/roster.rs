//! The dataplanes of this moment, for HTTP servers and the console.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stunner_api::NamespacedName;
use stunner_dataplane::embed::Dataplanes;
use stunner_dataplane::http::Dataplane;

/// A dataplane and whose it is.
#[derive(Clone)]
pub struct Member {
    pub gateway: NamespacedName,
    pub dataplane: Arc<dyn Dataplane>,
    /// Its Gateway is gone; it waits for its last sessions.
    pub is_leaving: bool,
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Member({})", self.gateway)
    }
}

/// Cloning gives another handle to the same list.
#[derive(Debug, Clone, Default)]
pub struct Roster {
    members: Arc<Mutex<BTreeMap<NamespacedName, Member>>>,
}

impl Roster {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<NamespacedName, Member>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Comes, or is back.
    pub(super) fn enter(&self, gateway: &NamespacedName, dataplane: Arc<dyn Dataplane>) {
        let member = Member {
            gateway: gateway.clone(),
            dataplane,
            is_leaving: false,
        };
        self.lock().insert(gateway.clone(), member);
    }

    pub(super) fn retire(&self, gateway: &NamespacedName) {
        if let Some(member) = self.lock().get_mut(gateway) {
            member.is_leaving = true;
        }
    }

    pub(super) fn leave(&self, gateway: &NamespacedName) {
        self.lock().remove(gateway);
    }

    /// Those that serve, by Gateway, then those that are leaving.
    pub fn members(&self) -> Vec<Member> {
        let mut members: Vec<Member> = self.lock().values().cloned().collect();
        members.sort_by_key(|member| member.is_leaving);
        members
    }

    /// For probes: whoever is leaving is meant not to be ready.
    pub fn serving(&self) -> Dataplanes {
        let roster = self.clone();
        Arc::new(move || {
            let members = roster.members().into_iter();
            let serving = members.filter(|member| !member.is_leaving);
            serving.map(|member| member.dataplane).collect()
        })
    }

    pub fn all(&self) -> Dataplanes {
        let roster = self.clone();
        Arc::new(move || {
            let members = roster.members().into_iter();
            members.map(|member| member.dataplane).collect()
        })
    }
}

//! Our word into a live status: what others say stays, and nothing is written when nothing differs.
//!
//! `lastTransitionTime` moves only when `status` of a condition does (Kubernetes API conventions, "typical status
//! properties").

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;
use stunner_api::gateway::{
    GatewayClassStatus, GatewayStatus, ListenerStatus, ParentRef, RouteParentStatus, RouteStatus,
};
use stunner_api::names;

/// `maxItems` of `conditions` in every Gateway API schema.
const CONDITIONS: usize = 8;
/// `maxItems` of `status.parents` of a route.
const PARENTS: usize = 32;

/// The status to write, or `None` when the live one says it all already.
pub fn merge_class_status(
    live: Option<&GatewayClassStatus>,
    desired: &GatewayClassStatus,
    now: Timestamp,
) -> Option<GatewayClassStatus> {
    let old = live.cloned().unwrap_or_default();
    let merged = GatewayClassStatus {
        conditions: merge_conditions(&old.conditions, &desired.conditions, now),
        // Not ours to drop where the installed schema kept us from saying anything.
        supported_features: match desired.supported_features.as_slice() {
            [] => old.supported_features.clone(),
            features => features.to_vec(),
        },
    };
    changed(live, merged)
}

/// The status to write, or `None` when the live one says it all already.
pub fn merge_gateway_status(
    live: Option<&GatewayStatus>,
    desired: &GatewayStatus,
    now: Timestamp,
) -> Option<GatewayStatus> {
    let old = live.cloned().unwrap_or_default();
    let listener = |desired: &ListenerStatus| {
        let before = old.listeners.iter().find(|old| old.name == desired.name);
        let conditions = before.map_or(&[] as &[_], |before| &before.conditions);
        ListenerStatus {
            conditions: merge_conditions(conditions, &desired.conditions, now),
            ..desired.clone()
        }
    };
    let merged = GatewayStatus {
        addresses: desired.addresses.clone(),
        conditions: merge_conditions(&old.conditions, &desired.conditions, now),
        listeners: desired.listeners.iter().map(listener).collect(),
        attached_listener_sets: old.attached_listener_sets,
    };
    changed(live, merged)
}

/// The status to write, or `None` when the live one says it all already.
///
/// `status.parents` is one list for all controllers: only entries with `controller_name` are ours to change.
pub fn merge_route_status(
    live: Option<&RouteStatus>,
    ours: &RouteStatus,
    controller_name: &str,
    now: Timestamp,
) -> Option<RouteStatus> {
    let mut wanted: Vec<Option<&RouteParentStatus>> = ours.parents.iter().map(Some).collect();
    let mut parents = Vec::new();
    for old in live.iter().flat_map(|live| &live.parents) {
        if old.controller_name != controller_name {
            parents.push(old.clone());
            continue;
        }
        let same = |entry: &&mut Option<&RouteParentStatus>| {
            entry.is_some_and(|entry| same_parent(&entry.parent_ref, &old.parent_ref))
        };
        if let Some(entry) = wanted.iter_mut().find(same).and_then(Option::take) {
            parents.push(RouteParentStatus {
                // As stored, with the defaults that the API server filled in.
                parent_ref: old.parent_ref.clone(),
                controller_name: controller_name.to_owned(),
                conditions: merge_conditions(&old.conditions, &entry.conditions, now),
            });
        }
    }
    let new = wanted.into_iter().flatten().map(|entry| RouteParentStatus {
        parent_ref: entry.parent_ref.clone(),
        controller_name: controller_name.to_owned(),
        conditions: merge_conditions(&[], &entry.conditions, now),
    });
    parents.extend(new);
    let merged = RouteStatus {
        parents: within_limit(parents, controller_name),
    };
    if live.is_none() && merged.parents.is_empty() {
        return None;
    }
    changed(live, merged)
}

fn changed<T: PartialEq>(live: Option<&T>, merged: T) -> Option<T> {
    (live != Some(&merged)).then_some(merged)
}

/// Ours first, in our order; then those of others, in theirs, as far as there is room.
fn merge_conditions(live: &[Condition], desired: &[Condition], now: Timestamp) -> Vec<Condition> {
    // `metav1.Time` has whole seconds.
    let now = Timestamp::from_second(now.as_second()).unwrap_or(now);
    let dated = |desired: &Condition| {
        let before = live.iter().find(|live| live.type_ == desired.type_);
        let time = match before {
            Some(before) if before.status == desired.status => before.last_transition_time.clone(),
            _ => Time(now),
        };
        Condition {
            last_transition_time: time,
            ..desired.clone()
        }
    };
    let is_foreign = |live: &&Condition| desired.iter().all(|ours| ours.type_ != live.type_);
    let ours = desired.iter().map(dated);
    ours.chain(live.iter().filter(is_foreign).cloned())
        .take(CONDITIONS)
        .collect()
}

/// Where the list is full, others' entries stay and the last of ours go.
fn within_limit(parents: Vec<RouteParentStatus>, controller_name: &str) -> Vec<RouteParentStatus> {
    let is_ours = |parent: &RouteParentStatus| parent.controller_name == controller_name;
    let others = parents.iter().filter(|parent| !is_ours(parent)).count();
    let mut room = PARENTS.saturating_sub(others);
    let fits = |parent: &RouteParentStatus| {
        if !is_ours(parent) {
            return true;
        }
        let fits = room > 0;
        room = room.saturating_sub(1);
        fits
    };
    parents.into_iter().filter(fits).collect()
}

fn same_parent(one: &ParentRef, other: &ParentRef) -> bool {
    fn key(parent: &ParentRef) -> (&str, &str, Option<&str>, &str, Option<&str>, Option<i32>) {
        (
            parent.group.as_deref().unwrap_or(names::GATEWAY_GROUP),
            parent.kind.as_deref().unwrap_or(names::GATEWAY_KIND),
            parent.namespace.as_deref(),
            &parent.name,
            parent.section_name.as_deref(),
            parent.port,
        )
    }
    key(one) == key(other)
}

#[cfg(test)]
mod tests;

//! Taking in what the watches, discovery and the writer report.

use std::collections::BTreeSet;

use stunner_api::NamespacedName;
use stunner_translate::{Dirty, Object, ObjectKind, RouteKind};
use tokio::time::Instant;

use super::Engine;
use super::caches::{Change, Turn};
use crate::cluster::Refusal;
use crate::discovery::Served;
use crate::watch::{Need, Report, WatchEvent, WatchKey, secret_watch, wanted};
use crate::write::Feedback;

impl Engine {
    pub(super) fn take_report(&mut self, event: WatchEvent) {
        if !self.watches.is_current(&event) {
            return;
        }
        match &event.report {
            Report::Unreadable(unreadable) => {
                self.metrics.unreadable(&unreadable.kind.to_string());
                tracing::warn!(
                    scope = "watch",
                    "{unreadable}; what was known of it before stays in force"
                );
            }
            Report::Failed(_) => self.metrics.watch_failed(&event.watch.kind.to_string()),
            _ => {}
        }
        let (changes, turn) =
            self.caches
                .take(&event.watch, event.report, Instant::now().into_std());
        if let Some(turn) = turn {
            self.tell(&event.watch, &turn);
        }
        for change in changes {
            self.change(change);
        }
    }

    pub(super) fn take_feedback(&mut self, feedback: Feedback) {
        let Feedback {
            gateway,
            kind,
            failure,
        } = feedback;
        let dirty = self.snapshot.set_write_failure(&gateway, kind, failure);
        self.touch(dirty);
    }

    /// The cluster serves something else than before: other watches, and perhaps other results.
    pub(super) fn set_served(&mut self, served: &Served) {
        if !served.gateways {
            tracing::warn!(
                scope = "operator",
                "the CRDs of the Gateway API (GatewayClass and Gateway, v1) are not installed: waiting for them"
            );
        }
        let gateway_api = served.gateway_api();
        if self.settings.gateway_api != gateway_api {
            self.settings.gateway_api = gateway_api;
            self.touch_everything();
        }
        self.route_apis
            .set(RouteKind::OfficialUdp, served.udp_routes.clone());
        self.route_apis
            .set(RouteKind::OfficialTcp, served.tcp_routes.clone());
        let wanted = wanted(&self.options, served);
        let unwanted: Vec<_> = self
            .watches
            .keys()
            .filter(|key| key.kind != ObjectKind::Secret && !wanted.contains_key(key))
            .cloned()
            .collect();
        for key in unwanted {
            self.end(&key);
        }
        for (key, wanted) in wanted {
            let need = wanted.need;
            if self.watches.start(key.clone(), wanted).is_some() {
                self.caches.expect(&key, need);
            }
        }
    }

    /// Watches the Secrets that are referred to now, and no others.
    pub(super) fn follow_secrets(&mut self) {
        let changed = self.snapshot.take_changed_secrets();
        // While lists are coming in, references appear and vanish: a Gateway may be seen before its class.
        if !self.loaded {
            return;
        }
        for secret in changed {
            self.follow_secret(&secret);
        }
    }

    fn follow_secret(&mut self, secret: &NamespacedName) {
        let (key, wanted) = secret_watch(secret);
        if !self.snapshot.references_secret(&self.settings, secret) {
            self.end(&key);
        } else {
            let need = wanted.need;
            if self.watches.start(key.clone(), wanted).is_some() {
                self.caches.expect(&key, need);
            }
        }
    }

    /// Looks whether everything is known now, and does the first translation if so. `true` once that is done.
    pub(super) fn load(&mut self) -> bool {
        if self.loaded {
            return true;
        }
        // Nothing was started yet, so nothing can be complete.
        if self.watches.keys().next().is_none() {
            return false;
        }
        if self.caches.is_complete() {
            // Lists that came in later may have taken references away.
            let followed = self.watches.keys().filter_map(WatchKey::secret);
            let mut secrets: BTreeSet<_> = followed.collect();
            secrets.extend(self.snapshot.referenced_secrets(&self.settings));
            for secret in &secrets {
                self.follow_secret(secret);
            }
        }
        if !self.caches.is_complete() {
            self.health.set_waiting_for(self.missing());
            return false;
        }
        self.loaded = true;
        tracing::info!(
            scope = "operator",
            "all caches are complete: {} Gateways, {} Secrets",
            self.snapshot.gateways().count(),
            self.caches.watches(ObjectKind::Secret)
        );
        self.start_writing();
        self.dirty = self.everything();
        self.pass();
        true
    }

    /// What is still to come, with what stands in its way.
    fn missing(&self) -> String {
        let mut missing = BTreeSet::new();
        for (watch, refusal) in self.caches.incomplete().take(5) {
            missing.insert(match refusal {
                Some(refusal) => format!("{watch} ({refusal})"),
                None => watch.to_string(),
            });
        }
        missing.into_iter().collect::<Vec<_>>().join(", ")
    }

    fn change(&mut self, change: Change) {
        let dirty = match change {
            Change::Apply(object) => {
                let restated = self.live.apply(&object);
                let node = match &object {
                    Object::Node(node) => node.metadata.name.clone(),
                    _ => None,
                };
                let mut dirty = self.snapshot.apply(object);
                // What others write on status changes no translation, but what we said there may be gone.
                if self.writer.is_some() {
                    dirty.extend(restated);
                }
                self.set_node_address(node);
                dirty
            }
            Change::Remove(key) => {
                self.live.remove(&key);
                let dirty = self.snapshot.remove(&key);
                self.set_node_address((key.kind == ObjectKind::Node).then_some(key.name.name));
                dirty
            }
        };
        self.touch(dirty);
    }

    /// Config discovery puts addresses of nodes into configurations.
    fn set_node_address(&self, node: Option<String>) {
        if let Some(node) = node {
            let address = self.snapshot.node_external_address(&node);
            self.store.set_node_address(&node, address.as_deref());
        }
    }

    fn end(&mut self, key: &WatchKey) {
        self.watches.end(key);
        for change in self.caches.forget(key) {
            self.change(change);
        }
    }

    pub(super) fn touch_everything(&mut self) {
        let everything = self.everything();
        self.touch(everything);
    }

    fn touch(&mut self, dirty: Dirty) {
        if dirty.is_empty() || !self.loaded {
            return;
        }
        self.dirty.extend(dirty);
        if self.window.open(Instant::now()) {
            self.metrics.events_passed.add(1);
        } else {
            self.metrics.events_throttled.add(1);
        }
    }

    fn tell(&mut self, watch: &WatchKey, turn: &Turn) {
        match turn {
            Turn::Fails(refusal @ Refusal::Unreachable(_)) => {
                if self.outage.failed(Instant::now().into_std()) {
                    tracing::warn!(
                        scope = "watch",
                        "cannot watch {watch}, and perhaps more: {refusal}; what is known stays in force, trying again"
                    );
                } else {
                    tracing::debug!(scope = "watch", "cannot watch {watch}: {refusal}");
                }
            }
            Turn::Works => tracing::debug!(scope = "watch", "watching {watch}"),
            Turn::Fails(Refusal::NotFound(_)) if watch.name.is_none() => tracing::warn!(
                scope = "watch",
                "there is no kind {} in the cluster: waiting for its CRD to be installed",
                watch.kind
            ),
            Turn::Fails(refusal @ Refusal::Forbidden(_)) => match self.need(watch) {
                Need::Optional(lost) => tracing::warn!(
                    scope = "watch",
                    "going on without {watch}: {lost}; {refusal}"
                ),
                Need::Required => tracing::error!(
                    scope = "watch",
                    "cannot watch {watch}, and nothing works without: {refusal}; \
                     grant the operator get, list and watch on it, it is tried again"
                ),
            },
            Turn::Fails(refusal) => tracing::warn!(
                scope = "watch",
                "cannot watch {watch}: {refusal}; trying again"
            ),
        }
    }

    fn need(&self, watch: &WatchKey) -> Need {
        self.caches.need(watch).unwrap_or(Need::Required)
    }
}

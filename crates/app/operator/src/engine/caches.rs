//! Which caches are complete, and what vanished while nobody watched.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use stunner_api::NamespacedName;
use stunner_translate::{Object, ObjectKey, ObjectKind};

use crate::cluster::Refusal;
use crate::watch::{Need, Report, WatchKey};

/// What a report changes.
#[derive(Debug)]
pub(super) enum Change {
    Apply(Object),
    Remove(ObjectKey),
}

/// How a watch stands; worth a line in the log when it changes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Complete for the first time, or working again after a failure.
    Works,
    Fails(Refusal),
}

#[derive(Debug)]
struct Cache {
    need: Need,
    complete: bool,
    failing: Option<Refusal>,
    /// Since when nothing but refusals came.
    refused_since: Option<Instant>,
    known: BTreeSet<NamespacedName>,
    /// What the list under way has shown so far.
    seen: Option<BTreeSet<NamespacedName>>,
}

#[derive(Debug, Default)]
pub(super) struct Caches {
    by_watch: BTreeMap<WatchKey, Cache>,
    incomplete: BTreeSet<WatchKey>,
}

impl Caches {
    /// A watch was started. One that runs already keeps what it knows: its next list tells the difference.
    pub(super) fn expect(&mut self, watch: &WatchKey, need: Need) {
        match self.by_watch.get_mut(watch) {
            Some(cache) => {
                cache.need = need;
                cache.seen = None;
            }
            None => {
                let cache = Cache {
                    need,
                    complete: false,
                    failing: None,
                    refused_since: None,
                    known: BTreeSet::new(),
                    seen: None,
                };
                self.by_watch.insert(watch.clone(), cache);
                self.incomplete.insert(watch.clone());
            }
        }
    }

    /// A watch was ended: nothing is known any more of what it saw.
    pub(super) fn forget(&mut self, watch: &WatchKey) -> Vec<Change> {
        self.incomplete.remove(watch);
        let known = self.by_watch.remove(watch).map(|cache| cache.known);
        removals(watch.kind, known.into_iter().flatten())
    }

    pub(super) fn take(
        &mut self,
        watch: &WatchKey,
        report: Report,
        now: Instant,
    ) -> (Vec<Change>, Option<Turn>) {
        let Some(cache) = self.by_watch.get_mut(watch) else {
            return (Vec::new(), None);
        };
        match report {
            Report::Listing => {
                cache.seen = Some(BTreeSet::new());
                (Vec::new(), None)
            }
            Report::Object(object) => {
                let name = NamespacedName::of(object.metadata());
                cache.see(&name);
                cache.known.insert(name);
                cache.works();
                (vec![Change::Apply(object)], None)
            }
            // It is there, so what is known of it stays.
            Report::Unreadable(unreadable) => {
                cache.see(&unreadable.name);
                (Vec::new(), None)
            }
            Report::Gone(name) => {
                cache.works();
                cache.known.remove(&name);
                (removals(watch.kind, [name]), None)
            }
            Report::Listed => {
                let seen = cache.seen.take().unwrap_or_default();
                let gone: Vec<_> = cache.known.difference(&seen).cloned().collect();
                for name in &gone {
                    cache.known.remove(name);
                }
                let is_news = !cache.complete || cache.failing.is_some();
                cache.complete = true;
                cache.failing = None;
                cache.refused_since = None;
                self.incomplete.remove(watch);
                (removals(watch.kind, gone), is_news.then_some(Turn::Works))
            }
            Report::Failed(refusal) => {
                // Not being reached is told by the engine, for all watches together.
                let is_news = cache.failing.as_ref() != Some(&refusal)
                    || matches!(refusal, Refusal::Unreachable(_));
                cache.failing = Some(refusal.clone());
                // Once something is known it stays in force, whatever happens to the watch.
                if cache.stands_for_nothing(&refusal, now) {
                    cache.complete = true;
                    self.incomplete.remove(watch);
                }
                (Vec::new(), is_news.then_some(Turn::Fails(refusal)))
            }
        }
    }

    /// The watches that have not shown everything yet, and what is in their way.
    pub(super) fn incomplete(&self) -> impl Iterator<Item = (&WatchKey, Option<&Refusal>)> {
        self.incomplete.iter().map(|watch| {
            let cache = self.by_watch.get(watch);
            (watch, cache.and_then(|cache| cache.failing.as_ref()))
        })
    }

    pub(super) fn need(&self, watch: &WatchKey) -> Option<Need> {
        self.by_watch.get(watch).map(|cache| cache.need)
    }

    pub(super) fn is_complete(&self) -> bool {
        self.incomplete.is_empty()
    }

    pub(super) fn watches(&self, kind: ObjectKind) -> usize {
        self.by_watch.keys().filter(|key| key.kind == kind).count()
    }
}

impl Cache {
    fn see(&mut self, name: &NamespacedName) {
        if let Some(seen) = &mut self.seen {
            seen.insert(name.clone());
        }
    }

    /// Beyond lists, a watch that works says nothing until something changes.
    fn works(&mut self) {
        if self.complete {
            self.failing = None;
        }
    }

    /// Whether a refusal is an answer: what may not be read, or is not served, counts as not being there.
    fn stands_for_nothing(&mut self, refusal: &Refusal, now: Instant) -> bool {
        if !matches!(refusal, Refusal::Forbidden(_) | Refusal::NotFound(_)) {
            self.refused_since = None;
            return false;
        }
        let since = *self.refused_since.get_or_insert(now);
        let is_optional = matches!(self.need, Need::Optional(_));
        is_optional && refusal.is_definite(now.saturating_duration_since(since))
    }
}

fn removals(kind: ObjectKind, names: impl IntoIterator<Item = NamespacedName>) -> Vec<Change> {
    names
        .into_iter()
        .map(|name| Change::Remove(ObjectKey { kind, name }))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use k8s_openapi::api::core::v1::Service;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

    use super::*;
    use crate::watch::Unreadable;

    const LOST: Need = Need::Optional("little is lost");

    fn services() -> WatchKey {
        WatchKey {
            kind: ObjectKind::Service,
            namespace: None,
            name: None,
        }
    }

    fn service(name: &str) -> Report {
        Report::Object(Object::Service(Arc::new(Service {
            metadata: ObjectMeta {
                namespace: Some("ns".into()),
                name: Some(name.into()),
                ..ObjectMeta::default()
            },
            ..Service::default()
        })))
    }

    fn listed(caches: &mut Caches, names: &[&str]) -> Vec<String> {
        let mut removed = Vec::new();
        let reports = [Report::Listing]
            .into_iter()
            .chain(names.iter().map(|name| service(name)))
            .chain([Report::Listed]);
        for report in reports {
            for change in caches.take(&services(), report, Instant::now()).0 {
                if let Change::Remove(key) = change {
                    removed.push(key.name.to_string());
                }
            }
        }
        removed
    }

    #[test]
    fn a_cache_is_complete_after_its_first_list() {
        let mut caches = Caches::default();
        caches.expect(&services(), Need::Required);
        assert!(!caches.is_complete());
        caches.take(&services(), Report::Listing, Instant::now());
        caches.take(&services(), service("a"), Instant::now());
        assert!(!caches.is_complete());
        let (_, turn) = caches.take(&services(), Report::Listed, Instant::now());
        assert_eq!(turn, Some(Turn::Works));
        assert!(caches.is_complete());
    }

    #[test]
    fn what_a_new_list_lacks_is_gone() {
        let mut caches = Caches::default();
        caches.expect(&services(), Need::Required);
        assert!(listed(&mut caches, &["a", "b"]).is_empty());
        assert_eq!(listed(&mut caches, &["b", "c"]), ["ns/a"]);
        assert!(listed(&mut caches, &["b", "c"]).is_empty());
    }

    #[test]
    fn a_list_that_breaks_off_removes_nothing() {
        let mut caches = Caches::default();
        caches.expect(&services(), Need::Required);
        listed(&mut caches, &["a"]);
        caches.take(&services(), Report::Listing, Instant::now());
        let failed = Report::Failed(Refusal::Unreachable("refused".into()));
        let (changes, turn) = caches.take(&services(), failed, Instant::now());
        assert!(changes.is_empty() && matches!(turn, Some(Turn::Fails(_))));
        assert!(caches.is_complete(), "what is known stays in force");
        assert!(listed(&mut caches, &["a"]).is_empty());
    }

    #[test]
    fn an_object_that_cannot_be_understood_any_more_is_not_gone() {
        let mut caches = Caches::default();
        caches.expect(&services(), Need::Required);
        listed(&mut caches, &["a"]);
        caches.take(&services(), Report::Listing, Instant::now());
        let unreadable = Unreadable {
            kind: ObjectKind::Service,
            name: NamespacedName::new("ns", "a"),
            why: "odd".into(),
        };
        caches.take(&services(), Report::Unreadable(unreadable), Instant::now());
        let (changes, _) = caches.take(&services(), Report::Listed, Instant::now());
        assert!(changes.is_empty());
    }

    #[test]
    fn what_is_optional_and_forbidden_does_not_hold_us_up() {
        for (need, complete) in [(LOST, true), (Need::Required, false)] {
            let mut caches = Caches::default();
            caches.expect(&services(), need);
            let refusal = Refusal::Forbidden("no".into());
            let now = Instant::now();
            caches.take(&services(), Report::Failed(refusal.clone()), now);
            assert!(!caches.is_complete(), "the server may have just started");
            let later = now + Duration::from_secs(3);
            let (_, again) = caches.take(&services(), Report::Failed(refusal), later);
            assert_eq!(caches.is_complete(), complete);
            assert_eq!(again, None, "said once");
        }
        let mut caches = Caches::default();
        caches.expect(&services(), LOST);
        let unreachable = Report::Failed(Refusal::Unreachable("x".into()));
        caches.take(&services(), unreachable, Instant::now());
        assert!(!caches.is_complete(), "not an answer yet");
    }

    #[test]
    fn a_watch_that_ends_takes_its_objects_along() {
        let mut caches = Caches::default();
        caches.expect(&services(), Need::Required);
        listed(&mut caches, &["a", "b"]);
        assert_eq!(caches.forget(&services()).len(), 2);
        assert!(caches.is_complete());
    }

    #[test]
    fn a_watch_that_starts_anew_keeps_what_it_knows() {
        let mut caches = Caches::default();
        caches.expect(&services(), Need::Required);
        listed(&mut caches, &["a", "b"]);
        caches.expect(&services(), Need::Required);
        assert!(caches.is_complete());
        assert_eq!(listed(&mut caches, &["b"]), ["ns/a"]);
    }
}

//! What a change touches is enough: keeping a plan up to date unit by unit gives the plan of the whole.

use serde_json::Value;
use stunner_translate::{Dirty, Object, ObjectKey, Plan, Settings, Snapshot, Unit};
use stunner_translate::{translate, translate_units};

use crate::support::{object, stored};
use crate::{CASES, Case};

/// A plan that is kept up to date.
struct Kept<'a> {
    settings: &'a Settings,
    snapshot: Snapshot,
    plan: Plan,
}

impl Kept<'_> {
    fn follow(&mut self, dirty: &Dirty) {
        let part = translate_units(&self.snapshot, self.settings, dirty);
        for unit in dirty {
            match unit {
                Unit::Class(name) => drop(self.plan.classes.remove(name)),
                Unit::Gateway(name) => drop(self.plan.gateways.remove(name)),
                Unit::Route(kind, name) => {
                    drop(self.plan.routes.remove(&(*kind, name.clone())));
                }
            }
        }
        self.plan.classes.extend(part.classes);
        self.plan.gateways.extend(part.gateways);
        self.plan.routes.extend(part.routes);
    }

    fn assert_whole(&self, case: &Case, step: &ObjectKey) {
        let whole = translate(&self.snapshot, self.settings);
        assert_eq!(self.plan, whole, "{} after {step:?}", case.name);
    }
}

/// Objects come one by one, from the place `start` on, and go in the same order.
fn follow_a_life(case: &Case, start: usize) {
    let settings = case.settings();
    let objects: Vec<Object> = case
        .documents
        .iter()
        .filter(|document| is_object(document))
        .map(|document| object(&stored(document.clone())).expect("a known kind"))
        .collect();
    let mut kept = Kept {
        settings: &settings,
        snapshot: case.beginning(),
        plan: Plan::default(),
    };
    let order: Vec<&Object> = objects
        .iter()
        .cycle()
        .skip(start)
        .take(objects.len())
        .collect();
    for &object in &order {
        let dirty = kept.snapshot.apply(object.clone());
        kept.follow(&dirty);
        kept.assert_whole(case, &object.key());
    }
    for &object in &order {
        let dirty = kept.snapshot.remove(&object.key());
        kept.follow(&dirty);
        kept.assert_whole(case, &object.key());
    }
    assert_eq!(kept.plan, Plan::default(), "{}", case.name);
}

fn is_object(document: &Value) -> bool {
    document.get("apiVersion").is_some()
}

#[test]
fn a_plan_kept_up_to_date_is_that_of_the_whole() {
    for case in CASES.iter() {
        let objects = case.documents.iter().filter(|d| is_object(d)).count();
        for start in [0, objects / 3, objects * 2 / 3] {
            follow_a_life(case, start);
        }
    }
}

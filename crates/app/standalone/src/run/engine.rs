//! From files to running Gateways: what changed is translated, fulfilled by this host and put in force.

mod conditions;
mod findings;
mod report;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Service;
use stunner_api::NamespacedName;
use stunner_api::gateway::Gateway;
use stunner_manifest::Problem;
use stunner_translate::{
    Dirty, Object, ObjectKey, ObjectKind, Plan, Settings, Snapshot, Unit, Workload, WorkloadKind,
    WriteFailure, merge_class_status, merge_gateway_status, merge_route_status, translate_units,
};

pub use self::conditions::{Flip, is_good};
pub use self::findings::{Findings, Question};
pub use self::report::Report;
use crate::local::{Fleet, HostAddresses, Localised, Round, localise, on_host, overlay, service};
use crate::provider::{Change, News, World};

/// A Service needs one translation to be planned and one to be seen; a third finds nothing new.
const PASSES: usize = 4;

/// Owns the world and what it runs.
#[derive(Debug)]
pub struct Engine {
    settings: Settings,
    host: HostAddresses,
    port_offset: i32,
    /// In seconds: dataplanes refuse ephemeral credentials that live longer.
    max_ephemeral_lifetime: Option<u64>,
    world: World,
    snapshot: Snapshot,
    /// What is: configurations as they run, statuses as they are dated and shown.
    plan: Plan,
    /// The Services that stand for this host, by Gateway.
    services: BTreeMap<NamespacedName, Service>,
    /// What was asked of the fleet, by Gateway.
    localised: BTreeMap<NamespacedName, Localised>,
    fleet: Fleet,
    /// What checking found when it last looked.
    findings: Vec<Problem>,
    problems: Vec<Problem>,
    generation: u64,
    /// Grows with every reading of files.
    edition: u64,
    /// The edition that was last checked.
    checked: u64,
}

impl Engine {
    pub fn new(
        host: HostAddresses,
        port_offset: i32,
        max_ephemeral_lifetime: Option<u64>,
        fleet: Fleet,
    ) -> Self {
        Engine {
            settings: Settings::default(),
            host,
            port_offset,
            max_ephemeral_lifetime,
            world: World::default(),
            snapshot: Snapshot::default(),
            plan: Plan::default(),
            services: BTreeMap::new(),
            localised: BTreeMap::new(),
            fleet,
            findings: Vec::new(),
            problems: Vec::new(),
            generation: 0,
            edition: 0,
            checked: 0,
        }
    }

    pub fn fleet(&self) -> &Fleet {
        &self.fleet
    }

    pub fn fleet_mut(&mut self) -> &mut Fleet {
        &mut self.fleet
    }

    pub fn into_fleet(self) -> Fleet {
        self.fleet
    }

    pub fn gateway(&self, name: &NamespacedName) -> Option<&Gateway> {
        self.world.gateway(name)
    }

    /// What is not as it should be beside Gateways: classes, routes, and Gateways that nobody serves.
    pub fn unmet(&self) -> Vec<Flip> {
        let gateways = self.snapshot.gateways();
        let unattended = gateways.filter(|(name, _)| !self.plan.gateways.contains_key(name));
        let unattended = unattended
            .map(|(name, gateway)| conditions::unattended(name, &gateway.spec.gateway_class_name));
        unattended.chain(conditions::unmet(&self.plan)).collect()
    }

    /// A Gateway that was added or changed, and that nobody serves.
    fn unattended(&self, change: &Change) -> Option<Flip> {
        let Some(Object::Gateway(gateway)) = &change.object else {
            return None;
        };
        let name = &change.key.name;
        let is_served = self.plan.gateways.contains_key(name);
        (!is_served).then(|| conditions::unattended(name, &gateway.spec.gateway_class_name))
    }

    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    pub fn max_ephemeral_lifetime(&self) -> Option<u64> {
        self.max_ephemeral_lifetime
    }

    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Grows with every change of objects or conditions.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Takes in files that were read again and puts in force what they change.
    pub async fn take(&mut self, news: News) -> Report {
        for (file, told) in news {
            self.world.take(&file, told);
        }
        let began = Instant::now();
        let changes = self.world.take_changes();
        let mut dirty = Dirty::new();
        for change in &changes {
            dirty.extend(match &change.object {
                Some(object) => self.snapshot.apply(on_host(object.clone())),
                None => self.snapshot.remove(&change.key),
            });
        }
        let units = dirty.len();
        let mut report = self.pass(dirty).await;
        tracing::debug!(
            scope = "files",
            "{} objects changed; {units} units are in force after {:?}",
            changes.len(),
            began.elapsed()
        );
        for change in &changes {
            report.flips.extend(self.unattended(change));
        }
        report.set_changes(changes);
        self.edition += 1;
        self.tell_problems(&mut report);
        if !report.is_empty() {
            self.generation += 1;
        }
        report
    }

    /// What is to be checked, unless that has been done. It takes its time, and what was edited does not wait for it.
    pub fn question(&self) -> Option<Question> {
        let is_open = self.checked < self.edition;
        is_open.then(|| Question::new(self.edition, self.world.readings()))
    }

    /// Takes in what a check found; nothing when the files have changed since.
    pub fn hear(&mut self, findings: Findings) -> Report {
        let mut report = Report::default();
        if findings.edition != self.edition {
            return report;
        }
        self.checked = findings.edition;
        // Where objects are held, the file does not say any more what was found in it, and nothing is solved yet.
        let held = self.world.files_with_held_objects();
        let is_held = |problem: &Problem| held.contains(problem.file.as_str());
        let mut now = findings.problems;
        now.retain(|problem| !is_held(problem));
        let kept = self.findings.iter().filter(|problem| is_held(problem));
        now.extend(kept.cloned());
        self.findings = now;
        self.tell_problems(&mut report);
        if !report.is_empty() {
            self.generation += 1;
        }
        report
    }

    fn tell_problems(&mut self, report: &mut Report) {
        let problems = self.world.problems(&self.findings);
        report.set_problems(&self.problems, &problems, &self.world);
        self.problems = problems;
    }

    /// Closes what has drained, and tries again what could not be put in force.
    pub async fn retry(&mut self) -> Report {
        let round = self.fleet.retry().await;
        let mut report = Report::default();
        if round.troubled.is_empty() && round.closed.is_empty() {
            return report;
        }
        let units = round.troubled.iter().cloned().map(Unit::Gateway).collect();
        let plan = translate_units(&self.snapshot, &self.settings, &units);
        self.show(units, plan, round, &mut report);
        self.generation += 1;
        report
    }

    async fn pass(&mut self, dirty: Dirty) -> Report {
        let mut asked = Dirty::new();
        let mut plan = Plan::default();
        let mut round = dirty;
        for _ in 0..PASSES {
            if round.is_empty() {
                break;
            }
            let part = translate_units(&self.snapshot, &self.settings, &round);
            self.remember(&part, &round);
            let again = self.fulfil(&part, &round);
            replace(&mut plan, part, &round);
            asked.extend(round);
            round = again;
        }
        let localised = self.localise(&plan, &asked);
        let round = match localised.is_empty() {
            true => Round::default(),
            false => self.fleet.set(localised).await,
        };
        let mut report = Report::default();
        self.show(asked, plan, round, &mut report);
        report
    }

    /// What Gateways fall back to from now on, as the operator's engine keeps it.
    fn remember(&mut self, plan: &Plan, asked: &Dirty) {
        for unit in asked {
            if let Unit::Gateway(name) = unit {
                let gateway = plan.gateways.get(name);
                let last_good = gateway.and_then(|gateway| gateway.last_good.clone());
                self.snapshot.set_last_good(name, last_good);
            }
        }
    }

    /// Gives every planned Service this host's address; what that touches.
    fn fulfil(&mut self, plan: &Plan, asked: &Dirty) -> Dirty {
        let mut dirty = Dirty::new();
        for unit in asked {
            let Unit::Gateway(name) = unit else { continue };
            let gateway = plan.gateways.get(name);
            let planned = gateway.and_then(|gateway| {
                let mut workloads = gateway.workloads.iter();
                workloads.find_map(|workload| match workload {
                    Workload::Service(service) => Some(service.as_ref()),
                    _ => None,
                })
            });
            let key = ObjectKey::new(ObjectKind::Service, &name.namespace, &name.name);
            let is_taken = self.world.contains(&key);
            if let Some(gateway) = gateway {
                // One that was exported together with its Gateway says what the cluster gave it.
                let is_foreign = is_taken && !self.world.is_owned_by(&key, &gateway.uid);
                let failure = (is_foreign && planned.is_some()).then(|| taken(name));
                dirty.extend(
                    self.snapshot
                        .set_write_failure(name, WorkloadKind::Service, failure),
                );
            }
            if is_taken {
                self.services.remove(name);
                continue;
            }
            match planned.map(|planned| service(planned, self.host.first)) {
                Some(service) => {
                    if self.services.get(name) != Some(&service) {
                        self.services.insert(name.clone(), service.clone());
                        let object = Object::Service(Arc::new(service));
                        dirty.extend(self.snapshot.apply(object));
                    }
                }
                None => {
                    if self.services.remove(name).is_some() {
                        dirty.extend(self.snapshot.remove(&key));
                    }
                }
            }
        }
        dirty
    }

    /// The configurations that differ from those asked for before.
    fn localise(
        &mut self,
        plan: &Plan,
        asked: &Dirty,
    ) -> BTreeMap<NamespacedName, Option<Localised>> {
        let mut changed = BTreeMap::new();
        for unit in asked {
            let Unit::Gateway(name) = unit else { continue };
            let gateway = self.world.gateway(name);
            let config = plan.gateways.get(name);
            let config = config.and_then(|gateway| gateway.config.as_ref());
            let wanted = match (gateway, config) {
                (Some(gateway), Some(config)) => {
                    Some(localise(gateway, config, &self.host, self.port_offset))
                }
                _ => None,
            };
            if self.localised.get(name) == wanted.as_ref() {
                continue;
            }
            match &wanted {
                Some(wanted) => drop(self.localised.insert(name.clone(), wanted.clone())),
                None => drop(self.localised.remove(name)),
            }
            changed.insert(name.clone(), wanted);
        }
        changed
    }

    /// Puts a plan beside what is shown: with what became of it here, and dated.
    fn show(&mut self, mut asked: Dirty, mut plan: Plan, round: Round, report: &mut Report) {
        // A port that one Gateway lets go of may help another, which nobody asked about.
        for name in &round.troubled {
            let unit = Unit::Gateway(name.clone());
            if !asked.contains(&unit) {
                let units = Dirty::from([unit.clone()]);
                let part = translate_units(&self.snapshot, &self.settings, &units);
                plan.gateways.extend(part.gateways);
                asked.insert(unit);
            }
        }
        let now = Timestamp::now();
        for unit in &asked {
            let before = conditions::of(&self.plan, unit);
            self.show_unit(unit, &mut plan, now);
            let after = conditions::of(&self.plan, unit);
            report.flips.extend(conditions::flips(before, after));
        }
        report.ended = round.ended;
        report.closed = round.closed;
    }

    fn show_unit(&mut self, unit: &Unit, plan: &mut Plan, now: Timestamp) {
        match unit {
            Unit::Class(name) => match plan.classes.remove(name) {
                Some(mut class) => {
                    let live = self.plan.classes.get(name).map(|live| &live.status);
                    if let Some(dated) = merge_class_status(live, &class.status, now) {
                        class.status = dated;
                    } else if let Some(live) = live {
                        class.status = live.clone();
                    }
                    self.plan.classes.insert(name.clone(), class);
                }
                None => drop(self.plan.classes.remove(name)),
            },
            Unit::Gateway(name) => match plan.gateways.remove(name) {
                Some(mut gateway) => {
                    if let (Some(status), Some(troubles)) =
                        (&mut gateway.status, self.fleet.troubles(name))
                    {
                        overlay(status, troubles);
                    }
                    let live = self.plan.gateways.get(name);
                    let live = live.and_then(|live| live.status.as_ref());
                    gateway.status = gateway.status.map(|status| {
                        let dated = merge_gateway_status(live, &status, now);
                        dated.or_else(|| live.cloned()).unwrap_or(status)
                    });
                    gateway.config = self.fleet.config(name).cloned();
                    self.plan.gateways.insert(name.clone(), gateway);
                }
                None => drop(self.plan.gateways.remove(name)),
            },
            Unit::Route(kind, name) => {
                let key = (*kind, name.clone());
                match plan.routes.remove(&key) {
                    Some(mut route) => {
                        let live = self.plan.routes.get(&key).map(|live| &live.status);
                        let ours = &self.settings.controller_name;
                        if let Some(dated) = merge_route_status(live, &route.status, ours, now) {
                            route.status = dated;
                        } else if let Some(live) = live {
                            route.status = live.clone();
                        }
                        self.plan.routes.insert(key, route);
                    }
                    None => drop(self.plan.routes.remove(&key)),
                }
            }
        }
    }
}

/// A later translation of a unit takes the place of an earlier one.
fn replace(plan: &mut Plan, part: Plan, asked: &Dirty) {
    for unit in asked {
        match unit {
            Unit::Class(name) => drop(plan.classes.remove(name)),
            Unit::Gateway(name) => drop(plan.gateways.remove(name)),
            Unit::Route(kind, name) => drop(plan.routes.remove(&(*kind, name.clone()))),
        }
    }
    plan.classes.extend(part.classes);
    plan.gateways.extend(part.gateways);
    plan.routes.extend(part.routes);
}

fn taken(name: &NamespacedName) -> WriteFailure {
    WriteFailure {
        message: format!(
            "a Service {name} is in the manifests and was not made for this Gateway; give one of the two another name"
        ),
        external_ips_refused: false,
    }
}

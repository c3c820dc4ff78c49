//! One translation and what is done with its result.

use std::sync::Arc;
use std::time::Instant;

use stunner_cds::ConfigId;
use stunner_cds::server::{Change, ConfigText};
use stunner_translate::{Dirty, Mode, Plan, Unit, farewell, translate_units};

use tokio::task::JoinHandle;

use super::Engine;
use crate::write::{Batch, Writer};

impl Engine {
    /// Translates what changed since the last pass.
    pub(super) fn pass(&mut self) {
        self.window.close();
        let asked = std::mem::take(&mut self.dirty);
        if asked.is_empty() {
            return;
        }
        let began = Instant::now();
        let plan = translate_units(&self.snapshot, &self.settings, &asked);
        let took = began.elapsed();
        self.generation += 1;
        self.metrics.rendered(took);
        self.metrics.rendered_units.add(asked.len() as u64);
        self.metrics.generation.set(self.generation);
        let changed = self.publish(&plan, &asked);
        tracing::debug!(
            scope = "operator",
            "translation {} of {} units took {took:?}, {changed} configs changed",
            self.generation,
            asked.len()
        );
        self.remember(&plan, &asked);
        self.submit(plan, asked);
        self.announce.send_replace(self.generation);
    }

    /// Config discovery has the result before anything is written: it is what calls depend on.
    fn publish(&self, plan: &Plan, asked: &Dirty) -> usize {
        // In legacy mode configurations go into ConfigMaps.
        if self.settings.mode == Mode::Legacy {
            return 0;
        }
        let gateways = asked.iter().filter_map(|unit| match unit {
            Unit::Gateway(name) => Some(name),
            Unit::Class(_) | Unit::Route(..) => None,
        });
        self.store.update(gateways.map(|name| {
            let id = ConfigId {
                namespace: name.namespace.clone(),
                name: name.name.clone(),
            };
            let gateway = plan.gateways.get(name);
            match gateway.and_then(|gateway| gateway.config.as_ref()) {
                Some(config) => Change::Put(id, ConfigText::from(config)),
                None => Change::Remove(id),
            }
        }))
    }

    /// What Gateways fall back to from now on, and which were ever ours.
    fn remember(&mut self, plan: &Plan, asked: &Dirty) {
        for unit in asked {
            let Unit::Gateway(name) = unit else { continue };
            match plan.gateways.get(name) {
                Some(gateway) => {
                    self.ours.insert(name.clone());
                    let last_good = gateway.last_good.clone();
                    self.snapshot.set_last_good(name, last_good);
                }
                None => self.snapshot.set_last_good(name, None),
            }
        }
    }

    fn submit(&mut self, plan: Plan, mut asked: Dirty) {
        let Some(writer) = &self.writer else {
            return;
        };
        // Of a Gateway that was never ours there is nothing to take back: it is another controller's.
        asked.retain(|unit| match unit {
            Unit::Gateway(name) => plan.gateways.contains_key(name) || self.ours.contains(name),
            Unit::Class(_) | Unit::Route(..) => true,
        });
        writer.submit(Batch {
            plan: Arc::new(plan),
            asked,
        });
        // One is enough: it waits for what is submitted later too.
        if self
            .acknowledging
            .as_ref()
            .is_none_or(JoinHandle::is_finished)
        {
            let (idle, metrics) = (writer.idle(), self.metrics.clone());
            self.acknowledging = Some(tokio::spawn(async move {
                idle.await;
                if metrics.leader.value() == 1 {
                    let generation = metrics.generation.value();
                    metrics.generation_last_acked.set(generation);
                }
            }));
        }
    }

    /// Everything there is, and everything that may be left of what is gone.
    pub(super) fn everything(&self) -> Dirty {
        let mut units = self.snapshot.units();
        units.extend(self.ours.iter().cloned().map(Unit::Gateway));
        units
    }

    pub(super) fn set_leader(&mut self, leads: bool) {
        self.leads = leads;
        self.metrics.leader.set(u64::from(leads));
        if leads {
            self.start_writing();
        } else {
            // Ends all writes at once: another replica may be writing already.
            self.writer = None;
        }
    }

    /// Nothing is written before everything is known.
    pub(super) fn start_writing(&mut self) {
        if self.leads && self.loaded && self.writer.is_none() {
            self.writer = Some(Writer::start(self.setup.clone()));
            // What was translated while another replica led was not written by this one.
            self.touch_everything();
        }
    }

    /// The end in finalizer mode: says on status that nobody attends any more, and takes back the workloads if asked to.
    /// Only the leader has a say.
    pub async fn farewell(&mut self, delete_workloads: bool) {
        if !self.loaded || self.settings.mode == Mode::Legacy {
            return;
        }
        let Some(writer) = &self.writer else {
            return;
        };
        let plan = farewell(&self.snapshot, &self.settings);
        let classes = plan.classes.keys().cloned().map(Unit::Class);
        let gateways = plan.gateways.keys().cloned().map(Unit::Gateway);
        let asked: Dirty = classes.chain(gateways).collect();
        writer.submit(Batch {
            plan: Arc::new(plan),
            asked,
        });
        writer.idle().await;
        if delete_workloads {
            // A Gateway that is not in the plan has what it has taken back.
            writer.submit(Batch {
                plan: Arc::default(),
                asked: self.ours.iter().cloned().map(Unit::Gateway).collect(),
            });
            writer.idle().await;
        }
    }

    /// Waits until what was submitted is written or has failed.
    pub async fn settle(&self) {
        if let Some(writer) = &self.writer {
            writer.idle().await;
        }
    }
}

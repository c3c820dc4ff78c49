//! What all dataplanes say at one moment.

use std::time::{Duration, Instant};

use stunner_cluster::{Admin, GatewayStatistics, Statistics};

use crate::dataplanes::{Dataplane, Dataplanes, Silence, ask_all};
use crate::failure::Failure;

/// One round of questions.
#[derive(Debug, Clone, Default)]
pub(super) struct Sample {
    /// Since the command began.
    pub(super) at: Duration,
    pub(super) pods: Vec<PodSample>,
}

#[derive(Debug, Clone)]
pub(super) struct PodSample {
    pub(super) name: String,
    /// Whose pod it is, as Kubernetes says; `None` where an address was given.
    pub(super) gateway: Option<String>,
    /// What it said, or why it did not.
    pub(super) told: Result<Vec<GatewayStatistics>, Silence>,
}

impl Sample {
    /// Those that did not answer.
    pub(super) fn silent(&self) -> Vec<&Silence> {
        let told = self.pods.iter().map(|pod| pod.told.as_ref());
        told.filter_map(Result::err).collect()
    }

    /// What a pod said of a gateway. A process that was started since then counts from zero.
    pub(super) fn find(&self, pod: &str, now: &GatewayStatistics) -> Option<&GatewayStatistics> {
        let pod = self.pods.iter().find(|sample| sample.name == pod)?;
        let gateways = pod.told.as_ref().ok()?.iter();
        let same = gateways.filter(|before| before.gateway == now.gateway);
        // A local process may have the same gateway twice: one that drains, and one that was made anew.
        let older = same.filter(|before| before.uptime_seconds <= now.uptime_seconds);
        older.max_by_key(|before| before.uptime_seconds)
    }
}

/// Asks for samples.
#[derive(Debug)]
pub(super) struct Sampler {
    dataplanes: Dataplanes,
    began: Instant,
    /// Kept from sample to sample, and with them the connections.
    known: Vec<Dataplane>,
    /// Samples until pods are looked for again.
    look_in: u32,
}

/// Pods change more slowly than counters.
const LOOK_EVERY: u32 = 5;

impl Sampler {
    pub(super) fn new(dataplanes: Dataplanes) -> Sampler {
        Sampler {
            dataplanes,
            began: Instant::now(),
            known: Vec::new(),
            look_in: 0,
        }
    }

    pub(super) async fn take(&mut self) -> Result<Sample, Failure> {
        if self.look_in == 0 {
            let found = self.dataplanes.some().await?;
            self.learn(found);
        }
        self.look_in -= 1;
        Ok(self.ask().await)
    }

    /// Where pods cannot be looked for now, those that are known are asked.
    pub(super) async fn take_anyway(&mut self) -> Sample {
        match self.take().await {
            Ok(sample) => sample,
            Err(failure) => {
                let mut sample = self.ask().await;
                sample.pods.push(PodSample {
                    name: "the cluster".to_owned(),
                    gateway: None,
                    told: Err(Silence {
                        name: "the cluster".to_owned(),
                        why: failure.to_string(),
                        hint: None,
                    }),
                });
                sample
            }
        }
    }

    fn learn(&mut self, found: Vec<Dataplane>) {
        let known = std::mem::take(&mut self.known);
        self.known = found;
        for dataplane in &mut self.known {
            if let Some(before) = known.iter().find(|known| known.name == dataplane.name) {
                dataplane.admin = before.admin.clone();
            }
        }
        self.look_in = LOOK_EVERY;
    }

    async fn ask(&self) -> Sample {
        let told = ask_all(&self.known, |admin: Admin| async move {
            admin.statistics().await
        })
        .await;
        let wanted = self.dataplanes.wanted();
        let pods = self.known.iter().zip(told).map(|(dataplane, told)| {
            let mine = |mut statistics: Statistics| {
                statistics.gateways.retain(|it| wanted.covers(&it.gateway));
                statistics.gateways
            };
            PodSample {
                name: dataplane.name.clone(),
                gateway: dataplane.gateway.clone(),
                told: told.map(mine),
            }
        });
        Sample {
            pods: pods.collect(),
            at: self.began.elapsed(),
        }
    }
}

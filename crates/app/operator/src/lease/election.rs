//! Standing for election.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use kube::api::{Api, PostParams};
use stunner_api::names::LEASE;
use tokio::sync::{Notify, watch};

use super::record::{Observed, Step, held};
use super::{RELEASE_PATIENCE, RENEW_DEADLINE, RETRY_PERIOD, Term};
use crate::cluster::Refusal;

/// Short enough for two tries within the renewal deadline.
const REQUEST_PATIENCE: Duration = Duration::from_secs(4);

pub(super) struct Candidate {
    api: Api<Lease>,
    namespace: String,
    identity: String,
    observed: Option<Observed>,
    leads: watch::Sender<bool>,
    term: Term,
    /// When the lease was last renewed.
    renewed: Instant,
    /// What was said of failures last.
    told: Option<Refusal>,
}

impl Candidate {
    pub(super) fn new(
        client: Client,
        namespace: &str,
        identity: String,
        leads: watch::Sender<bool>,
        term: Term,
    ) -> Self {
        Candidate {
            api: Api::namespaced(client, namespace),
            namespace: namespace.to_owned(),
            identity,
            observed: None,
            leads,
            term,
            renewed: Instant::now(),
            told: None,
        }
    }

    pub(super) async fn run(mut self, resign: Arc<Notify>) {
        tracing::info!(
            scope = "lease",
            "standing for leader as `{}` by the Lease {}/{}",
            self.identity,
            self.namespace,
            LEASE
        );
        loop {
            tokio::select! {
                () = self.turn() => {}
                () = resign.notified() => break,
            }
        }
        self.release().await;
    }

    /// One try and the time until the next.
    async fn turn(&mut self) {
        let leads = *self.leads.borrow();
        let (began, deadline) = (Instant::now(), self.renewed + RENEW_DEADLINE);
        let attempt = self.attempt();
        let result = match leads {
            // A leader that gets no answer must stop in time, also while it waits for one.
            true => tokio::time::timeout_at(deadline.into(), attempt)
                .await
                .unwrap_or_else(|_| Err(Refusal::Unreachable("no answer in time".to_owned()))),
            false => attempt.await,
        };
        match result {
            Ok(true) => {
                // The record is as old as the request, whenever the answer came.
                self.renewed = began;
                self.term.lasts_until(Some(began + RENEW_DEADLINE));
                self.told = None;
                if !leads {
                    tracing::info!(scope = "lease", "leading from now on");
                    self.leads.send_replace(true);
                }
            }
            Ok(false) => {
                self.told = None;
                self.stop_leading("another replica has taken the Lease");
            }
            Err(refusal) => {
                if self.told.as_ref() != Some(&refusal) {
                    tracing::warn!(
                        scope = "lease",
                        "cannot renew or take the Lease {}/{}: {refusal}; trying again",
                        self.namespace,
                        LEASE
                    );
                    self.told = Some(refusal);
                }
                if Instant::now() >= deadline {
                    self.stop_leading("the Lease could not be renewed in time");
                }
            }
        }
        let jitter = rand::random_range(0.9..1.1);
        tokio::time::sleep(RETRY_PERIOD.mul_f64(jitter)).await;
    }

    fn stop_leading(&mut self, why: &str) {
        self.term.lasts_until(None);
        if self.leads.send_replace(false) {
            tracing::warn!(scope = "lease", "no longer leading: {why}");
        }
    }

    /// `true` when the lease is ours now.
    async fn attempt(&mut self) -> Result<bool, Refusal> {
        // A holder writes over what it wrote; who wants to take over must look first.
        let holds = |observed: &Observed| observed.is_held_by(&self.identity);
        if !self.observed.as_ref().is_some_and(holds) && !self.look().await? {
            return self.create().await;
        }
        let Some(observed) = &mut self.observed else {
            return Ok(false);
        };
        let lease = match observed.step(&self.identity, Instant::now(), Timestamp::now()) {
            Step::Wait => return Ok(false),
            Step::Take(lease) => lease,
        };
        let params = PostParams::default();
        let replaced = self.api.replace(LEASE, &params, &lease);
        match bounded(replaced).await {
            Ok(lease) => {
                observed.update(lease, Instant::now());
                Ok(true)
            }
            Err(Refusal::Conflict) => {
                // Somebody wrote it. If it is ours still, the next try is by the version that was seen now.
                self.look().await?;
                let is_ours = |observed: &Observed| observed.is_held_by(&self.identity);
                match self.observed.as_ref().is_some_and(is_ours) {
                    true => Err(Refusal::Conflict),
                    false => Ok(false),
                }
            }
            Err(Refusal::NotFound(_)) => {
                self.observed = None;
                self.create().await
            }
            Err(refusal) => Err(refusal),
        }
    }

    /// `false` when there is no Lease.
    async fn look(&mut self) -> Result<bool, Refusal> {
        let now = Instant::now();
        match bounded(self.api.get_opt(LEASE)).await? {
            Some(lease) => {
                match &mut self.observed {
                    Some(observed) => observed.update(lease, now),
                    None => self.observed = Some(Observed::new(lease, now)),
                }
                Ok(true)
            }
            None => {
                self.observed = None;
                Ok(false)
            }
        }
    }

    async fn create(&mut self) -> Result<bool, Refusal> {
        let lease = Lease {
            metadata: ObjectMeta {
                name: Some(LEASE.to_owned()),
                namespace: Some(self.namespace.clone()),
                ..ObjectMeta::default()
            },
            spec: Some(held(&self.identity, Timestamp::now())),
        };
        match bounded(self.api.create(&PostParams::default(), &lease)).await {
            Ok(lease) => {
                self.observed = Some(Observed::new(lease, Instant::now()));
                Ok(true)
            }
            Err(Refusal::AlreadyExists) => Ok(false),
            Err(refusal) => Err(refusal),
        }
    }

    async fn release(&mut self) {
        self.term.lasts_until(None);
        if !self.leads.send_replace(false) {
            return;
        }
        let Some(observed) = &self.observed else {
            return;
        };
        let lease = observed.released(Timestamp::now());
        let params = PostParams::default();
        let replaced = self.api.replace(LEASE, &params, &lease);
        match tokio::time::timeout(RELEASE_PATIENCE, replaced).await {
            Ok(Ok(_)) => tracing::info!(scope = "lease", "gave up the Lease"),
            _ => tracing::debug!(scope = "lease", "could not give up the Lease; it runs out"),
        }
    }
}

async fn bounded<T>(request: impl Future<Output = kube::Result<T>>) -> Result<T, Refusal> {
    match tokio::time::timeout(REQUEST_PATIENCE, request).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(Refusal::of(&error)),
        Err(_) => Err(Refusal::Unreachable("no answer in time".to_owned())),
    }
}

//! In a cluster: a namespace with Gateways and an icetester, calls through them, and nothing left behind.

mod cleanup;
mod diagnose;
mod discovery;
mod install;
mod objects;
mod store;
mod wait;

use std::time::{Duration, Instant};

use stunner_client::ServerTransport;
use stunner_cluster::{AuthFlags, Cluster, Place};
use stunner_credentials::Secret;
use stunner_peer::IceServer;
use stunner_process::Signals;

use self::store::Store;
use super::call::Terms;
use super::far_end::FarEnd;
use super::ledger::Ledger;
use super::whip::{ENDPOINT, PORT, Whip};
use super::{direct, series};
use crate::cli::Globals;
use crate::failure::Failure;
use crate::output::Output;

/// The namespace, and the name of all that is outside of it.
const NAME: &str = "icetest";
/// For a Gateway to get an address, and for the icetester to run.
const SETTLE: Duration = Duration::from_secs(120);

/// What is said for tests in clusters alone.
#[derive(Debug, Clone)]
pub(super) struct Options {
    pub(super) image: String,
    pub(super) offload: String,
    pub(super) force_cleanup: bool,
    pub(super) allow_node_port: bool,
    pub(super) turn_credential: bool,
    pub(super) auth: AuthFlags,
}

/// The test at work.
struct Stage<'a> {
    options: &'a super::Options,
    globals: &'a Globals,
    cluster: Cluster,
    store: Store,
    transports: Vec<ServerTransport>,
    /// The icetester's.
    token: Secret,
}

pub(super) async fn run(
    options: &super::Options,
    globals: &Globals,
    signals: &Signals,
    ledger: &Ledger,
    out: &mut Output<'_>,
) -> Result<(), Failure> {
    let cluster = Cluster::connect(&globals.kubectl).await?;
    let transports = match options.transports.as_slice() {
        [] => ServerTransport::ALL.to_vec(),
        some => some.to_vec(),
    };
    let mut stage = Stage {
        options,
        globals,
        store: Store::of(cluster.objects()),
        cluster,
        transports,
        token: objects::random(32).into(),
    };
    let mut test = series::within(options.timeout, signals, stage.test(ledger, out)).await;
    // Whatever happened: the signal that ended the test is not to end the cleaning, but the next one is.
    if !stage.store.has_made_something() {
        return test;
    }
    out.note("Removing what the test made...");
    match (
        &mut test,
        cleanup::undo(&stage.store, series::next(signals)).await,
    ) {
        (Ok(()), Ok(())) => out.note("Removing what the test made... completed"),
        (Err(failure), Ok(())) => {
            out.note("Removing what the test made... completed");
            if let Failure::Problem { hint, .. } = failure {
                hint.get_or_insert_with(|| "what the test made has been removed".to_owned());
            }
        }
        (Ok(()), Err(failure)) => return Err(failure),
        (Err(_), Err(failure)) => out.report(&failure),
    }
    test
}

impl Stage<'_> {
    async fn test(&mut self, ledger: &Ledger, out: &mut Output<'_>) -> Result<(), Failure> {
        step(out, "Initializing", self.initialize()).await?;
        step(out, "Checking installation", install::check(&self.store)).await?;
        let made = objects::all(
            &self.options.cluster,
            &self.transports,
            self.token.expose(),
            install::dataplane(&self.store).await?,
        )?;
        step(
            out,
            "Creating gateways and an icetester",
            self.store.create_all(made),
        )
        .await?;
        // What is missing is to be told before the time of the whole test is over.
        let until = Instant::now() + SETTLE.min(self.options.timeout.mul_f32(0.5));
        let ready = step(
            out,
            "Checking Gateway",
            wait::ready(&self.cluster, &self.store, &self.transports, until),
        )
        .await;
        if let Err(failure) = ready {
            diagnose::tell(&self.cluster, &self.store, out).await;
            return Err(failure);
        }
        let servers = discovery::servers(
            &self.cluster,
            self.options,
            self.globals,
            &self.transports,
            until,
        );
        let servers = step(out, "Obtaining ICE server configuration", servers).await?;
        self.calls(&servers, ledger, out).await?;
        if !ledger.is_good() {
            diagnose::tell(&self.cluster, &self.store, out).await;
        }
        Ok(())
    }

    /// Refuses to meddle with what is there, or removes it if it may.
    async fn initialize(&self) -> Result<(), Failure> {
        let left = cleanup::leftovers(&self.store).await?;
        if left.is_empty() {
            return Ok(());
        }
        if !self.options.cluster.force_cleanup {
            return Err(Failure::new(
                format!("there is already {}", left.join(", ")),
                "if an earlier test left it, remove it with --force-cleanup; the test works nowhere else",
            ));
        }
        cleanup::all(&self.store).await
    }

    async fn calls(
        &self,
        servers: &[IceServer],
        ledger: &Ledger,
        out: &mut Output<'_>,
    ) -> Result<(), Failure> {
        let pod = objects::icetester();
        let place = Place::pod(&self.cluster, &pod, PORT);
        let far_end = FarEnd::Whip(Whip::at(place, ENDPOINT, Some(self.token.clone())));
        // The certificates are those that the test made a minute ago; whom they are for is not what it asks.
        let terms = Terms {
            insecure: true,
            ..self.options.terms
        };
        let calls = direct::both(direct::choose(servers, &self.transports)?);
        ledger.plan(&calls);
        for call in calls {
            ledger.record(series::call(call, &far_end, &terms, out).await);
        }
        Ok(())
    }
}

/// Tells what is being done, and how it ended.
async fn step<T>(
    out: &mut Output<'_>,
    name: &str,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    out.note(&format!("{name}..."));
    let done = work.await;
    out.note(&match &done {
        Ok(_) => format!("{name}... completed"),
        Err(failure) => format!("{name}... failed: {failure}"),
    });
    done
}

//! Putting the parts together and keeping them going.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::header;
use axum::routing::get;
use stunner_cds::server::ConfigStore;
use stunner_http::{BindAddress, Bound, HttpServer};
use stunner_process::Signals;
use stunner_telemetry::metrics::{CONTENT_TYPE, Operator as Metrics, operator_names};
use tokio::sync::{mpsc, oneshot, watch};

use super::{RunError, VERSION, end, open_files, start};
use crate::cds::{BoundServers, CdsError, RunningServers};
use crate::cli::Options;
use crate::cluster::{Connection, connect, make_namespace, operator_namespace, wait_until_ready};
use crate::console::{self, Console};
use crate::discovery;
use crate::engine::{Engine, Inputs, Parts};
use crate::health::{Health, health_router};
use crate::lease::{Leadership, Term, identity};
use crate::watch::Watches;
use crate::write::{LastGoodSecrets, Live, RouteApis, Setup};

/// Reports that may wait; more make the watches wait.
const REPORTS: usize = 4096;

/// Runs until told to stop.
pub(super) async fn run(options: Options) -> Result<(), RunError> {
    let signals = Signals::listen()?;
    tokio::select! {
        // Whatever the loop is waiting for.
        () = signals.at_least(2) => {
            tracing::info!(scope = "operator", "second signal: stopping at once");
            Ok(())
        }
        result = live(options, &signals) => result,
    }
}

async fn live(options: Options, signals: &Signals) -> Result<(), RunError> {
    tracing::info!(
        scope = "operator",
        "starting stunner-gateway-operator {VERSION}"
    );
    for warning in &options.warnings {
        tracing::warn!(scope = "operator", "{warning}");
    }
    open_files::raise();
    let options = Arc::new(options);
    let namespace = operator_namespace(options.pod_namespace.as_deref());
    let health = Health::default();
    let metrics = Metrics::new(VERSION);
    let store = ConfigStore::new();
    count_config_discovery(&metrics, &store);
    // What cannot be listened at is said before anything else is done.
    let plain = options.cds_address.as_deref();
    let mut bound = match options.cds_tls_address.as_deref() {
        Some(tls) if options.cds_tls_is_default => BoundServers::bind_with_usual_tls(plain, tls),
        tls => BoundServers::bind(plain, tls),
    }?;
    let probes = bind("health-probe-bind-address", options.health_address.as_ref())?;
    let scrapes = bind("metrics-bind-address", options.metrics_address.as_ref())?;
    let _probes = serve(probes, health_router(health.clone()))?;
    let _scrapes = serve(scrapes, metrics_router(metrics.clone()))?;
    let console = Console::bind(options.console_address.as_ref());
    let Connection { client, config } = connect(options.kubeconfig.as_deref()).await?;
    let (engine_ends, console_ends) = console::ends();
    let namespaces = options.watch_namespaces.iter().cloned().collect();
    let _console = match console {
        Some(console) => Some(console.serve(&config, namespaces, console_ends)?),
        None => None,
    };
    drop(config);
    let term = match options.leader_elect {
        true => Term::to_be_won(),
        false => Term::without_end(),
    };
    // What all replicas do at the start is not limited.
    let leaders_client = term.limit(&client);

    health.set_waiting_for("the API server");
    let last_good_secrets = Arc::new(LastGoodSecrets::new(
        leaders_client.clone(),
        namespace.clone(),
        options.controller_name.clone(),
    ));
    let finding_out = async {
        wait_until_ready(&client).await;
        make_namespace(&client, &namespace).await;
        tokio::join!(
            start::config_discovery(&client, &options, &namespace, &bound),
            start::last_good(&last_good_secrets, &options),
        )
    };
    let ((access, tls), last_good) = tokio::select! {
        found = beating(&health, finding_out) => found,
        () = signals.at_least(1) => return Ok(()),
    };
    if tls.is_none() {
        bound = bound.without_tls();
    }
    tracing::info!(
        scope = "operator",
        "dataplanes are told to use {}",
        access.tls_origin.as_ref().unwrap_or(&access.plain_origin)
    );

    let identity = identity(options.pod_name.as_deref());
    let leadership = match options.leader_elect {
        true => Leadership::stand(client.clone(), &namespace, identity.clone(), term),
        false => Leadership::alone(),
    };
    let (reports, events) = mpsc::channel(REPORTS);
    let (feedback_sender, feedback) = mpsc::unbounded_channel();
    let live = Arc::new(Live::new());
    let route_apis = Arc::new(RouteApis::new());
    let mut engine = Engine::new(Parts {
        options: Arc::clone(&options),
        settings: start::settings(&options, access),
        watches: Watches::new(client.clone(), reports),
        store: store.clone(),
        writer: Setup {
            client: leaders_client,
            controller_name: options.controller_name.clone(),
            instance: identity,
            live: Arc::clone(&live),
            route_apis: Arc::clone(&route_apis),
            last_good: last_good_secrets,
            metrics: metrics.clone(),
            feedback: feedback_sender,
        },
        live,
        route_apis,
        last_good,
        metrics: metrics.clone(),
        health: health.clone(),
        generation: engine_ends.generation,
    });
    let inputs = Inputs {
        onlookers: engine_ends.onlookers,
        events,
        feedback,
        served: discovery::follow(client),
        leader: leadership.leads(),
    };

    let (loaded_sender, loaded) = oneshot::channel();
    let (broken, mut is_broken) = watch::channel(false);
    let stop = async {
        tokio::select! {
            () = signals.at_least(1) => tracing::info!(scope = "operator", "stopping"),
            _ = is_broken.wait_for(|broken| *broken) => {}
        }
    };
    // Nothing is served before there is something to serve.
    let serving = async {
        if loaded.await.is_err() {
            return Ok::<Option<RunningServers>, CdsError>(None);
        }
        let running = bound.serve(&store, tls).inspect_err(|_| {
            broken.send_replace(true);
        })?;
        health.set_ready();
        metrics.ready.set(1);
        tracing::info!(scope = "operator", "serving configs");
        Ok(Some(running))
    };
    let ((), servers) = tokio::join!(engine.run(inputs, loaded_sender, stop), serving);
    health.set_waiting_for("the end");
    metrics.ready.set(0);
    let (servers, result) = match servers {
        Ok(servers) => (servers, Ok(())),
        Err(error) => (None, Err(RunError::from(error))),
    };
    end::end(&options, engine, leadership, servers).await;
    tracing::info!(scope = "operator", "stopped");
    result
}

/// While the start waits for the API server, the process is alive and well.
async fn beating<T>(health: &Health, start: impl Future<Output = T>) -> T {
    let mut start = std::pin::pin!(start);
    let mut ticks = tokio::time::interval(Duration::from_secs(1));
    loop {
        tokio::select! {
            done = &mut start => return done,
            _ = ticks.tick() => health.turned(),
        }
    }
}

fn bind(flag: &'static str, address: Option<&BindAddress>) -> Result<Option<Bound>, RunError> {
    let Some(address) = address else {
        return Ok(None);
    };
    let bound = HttpServer::bind(address).map_err(|source| RunError::Listen {
        flag,
        address: address.to_string(),
        source,
    })?;
    Ok(Some(bound))
}

fn serve(
    bound: Option<Bound>,
    router: Router,
) -> Result<Option<stunner_http::Running>, std::io::Error> {
    bound.map(|bound| bound.serve(router)).transpose()
}

fn metrics_router(metrics: Metrics) -> Router {
    let page = move || {
        let text = metrics.render();
        async { ([(header::CONTENT_TYPE, CONTENT_TYPE)], text) }
    };
    Router::new().route("/metrics", get(page))
}

/// What the store counts by itself.
fn count_config_discovery(metrics: &Metrics, store: &ConfigStore) {
    let registry = metrics.registry();
    let count = |family, read: fn(&stunner_cds::server::Census) -> u64| {
        let store = store.clone();
        registry.computed(family, &[], move || read(&store.census()) as f64);
    };
    count(&operator_names::CDS_CONFIGS, |census| census.configs as u64);
    count(&operator_names::CDS_SUBSCRIBERS, |census| {
        census.subscribers as u64
    });
    count(&operator_names::CDS_FRAMES, |census| census.frames_sent);
    count(&operator_names::CDS_REFUSED, |census| {
        census.subscribers_refused
    });
    count(&operator_names::CDS_CUT, |census| census.subscribers_cut);
}

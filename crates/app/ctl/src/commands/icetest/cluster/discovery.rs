//! The TURN servers of the test, as clients would learn them.

use std::time::{Duration, Instant};

use serde_json::Value;
use stunner_client::ServerTransport;
use stunner_cluster::{Cds, Cluster, Http, Place};
use stunner_config::Listener;
use stunner_credentials::Credential;
use stunner_peer::{IceServer, ice_servers};

use super::super::{Options, direct};
use super::NAME;
use crate::cli::Globals;
use crate::failure::Failure;

const PAUSE: Duration = Duration::from_millis(500);
/// How long the credentials are good for.
const TTL: u64 = 3600;

/// From the auth service where there is one, else minted from what config discovery says. Both may lag behind the
/// Gateways' statuses.
pub(super) async fn servers(
    cluster: &Cluster,
    options: &Options,
    globals: &Globals,
    wanted: &[ServerTransport],
    until: Instant,
) -> Result<Vec<IceServer>, Failure> {
    let auth = auth(cluster, options).await?;
    loop {
        let servers = match &auth {
            Some(auth) if options.cluster.turn_credential => turn(auth).await,
            Some(auth) => ice(auth).await,
            None => minted(globals).await,
        };
        let complete = servers.and_then(|servers| {
            direct::choose(&servers, wanted)?;
            Ok(servers)
        });
        match complete {
            Err(_) if Instant::now() < until => tokio::time::sleep(PAUSE).await,
            done => return done,
        }
    }
}

/// The auth service, if it is named or there is one.
async fn auth(cluster: &Cluster, options: &Options) -> Result<Option<Http>, Failure> {
    let flags = &options.cluster.auth;
    if let Some(address) = &flags.address {
        let place = Place::direct(address, flags.port())?;
        return Ok(Some(Http::new(place).by("stunnerctl")));
    }
    match cluster.auth_pod(flags.namespace.as_deref()).await {
        Ok(pod) => {
            let place = pod.port(cluster, flags.port());
            Ok(Some(Http::new(place).by("stunnerctl")))
        }
        Err(error) if flags.namespace.is_some() || options.cluster.turn_credential => {
            Err(error.into())
        }
        Err(_) => Ok(None),
    }
}

async fn ice(auth: &Http) -> Result<Vec<IceServer>, Failure> {
    let path = format!("/ice?service=turn&ttl={TTL}&namespace={NAME}");
    let text = auth.get(&path).await?.text()?;
    ice_servers(&text).map_err(|error| {
        Failure::new(
            format!("the auth service answers with no ICE configuration: {error}"),
            "is it the auth service? look at --auth-server-address and --auth-service-port",
        )
    })
}

/// A plain TURN credential with the addresses that go with it.
async fn turn(auth: &Http) -> Result<Vec<IceServer>, Failure> {
    let path = format!("/?service=turn&ttl={TTL}&namespace={NAME}");
    let said: Value = auth.get(&path).await?.json()?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let uris = said["uris"].as_array().into_iter().flatten().map(text);
    Ok(vec![IceServer {
        urls: uris.collect(),
        username: text(&said["username"]),
        credential: text(&said["password"]),
    }])
}

async fn minted(globals: &Globals) -> Result<Vec<IceServer>, Failure> {
    let cds = Cds::find(&globals.kubectl, &globals.cds)
        .await?
        .by("stunnerctl");
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    let mut servers = Vec::new();
    for found in cds.namespace(NAME).await? {
        let Ok(config) = &found.config else { continue };
        let Some(credential) = Credential::of(&config.auth.method, now, TTL, NAME) else {
            continue;
        };
        let told = config
            .listeners
            .iter()
            .filter(|it| !it.public_address.is_empty());
        servers.push(IceServer {
            urls: told.map(Listener::turn_uri).collect(),
            username: credential.username.clone(),
            credential: credential.password.clone(),
        });
    }
    Ok(servers)
}

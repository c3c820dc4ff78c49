//! The config discovery service: what it has now, and what it has from now on.

mod discovered;
mod watch;

use std::time::Duration;

use serde_json::Value;
use stunner_api::NamespacedName;
use stunner_cds::server::Scope;
use stunner_cds::{CdsServer, ConfigId, LoadError, Options, Stream, Timing, connect, get_over};
use stunner_config::ParseOptions;

pub use discovered::Discovered;
pub use watch::{ConfigWatch, WatchEvent};

use crate::SCOPE;
use crate::cluster::Cluster;
use crate::error::{ClusterError, innermost};
use crate::flags::CdsFlags;
use crate::kubectl::Kubectl;

/// A config discovery service that can be asked.
#[derive(Debug, Clone)]
pub struct Cds {
    server: CdsServer,
    reach: Reach,
    options: Options,
}

/// How connections to the server come about.
#[derive(Debug, Clone)]
enum Reach {
    Direct,
    Pod {
        cluster: Cluster,
        pod: NamespacedName,
    },
    /// Whichever pod is ready when a connection is needed.
    Discovered {
        cluster: Cluster,
        namespace: Option<String>,
    },
}

impl Cds {
    /// Where the flags say that it is: at an address, or in the cluster that they name. In a cluster it is looked for at
    /// once, so that whatever stands in the way is said now, and again for every connection, as pods come and go.
    pub async fn find(kubectl: &Kubectl, flags: &CdsFlags) -> Result<Cds, ClusterError> {
        if let Some(address) = &flags.address {
            return Cds::direct(address, flags);
        }
        let cluster = Cluster::connect(kubectl).await?;
        Cds::discover(&cluster, flags).await
    }

    /// In this cluster.
    pub async fn discover(cluster: &Cluster, flags: &CdsFlags) -> Result<Cds, ClusterError> {
        cluster.cds_pod(flags.namespace.as_deref()).await?;
        Ok(Cds::in_cluster(cluster, flags))
    }

    /// In this cluster, where it need not run yet: it is looked for when it is asked.
    pub fn in_cluster(cluster: &Cluster, flags: &CdsFlags) -> Cds {
        Cds {
            server: forwarded(flags.port()),
            reach: Reach::Discovered {
                cluster: cluster.clone(),
                namespace: flags.namespace.clone(),
            },
            options: options(),
        }
    }

    /// In this very pod.
    pub fn in_pod(cluster: &Cluster, pod: &NamespacedName, port: u16) -> Cds {
        Cds {
            server: forwarded(port),
            reach: Reach::Pod {
                cluster: cluster.clone(),
                pod: pod.clone(),
            },
            options: options(),
        }
    }

    /// At an address: `HOST`, `HOST:PORT`, or a URL. A token goes to `https` URLs only.
    pub fn direct(address: &str, flags: &CdsFlags) -> Result<Cds, ClusterError> {
        let server = CdsServer::parse(address.trim(), flags.port())?;
        Ok(Cds::at(
            server,
            Options {
                token_file: flags.token_file.clone(),
                ca_file: flags.ca_file.clone(),
                ..options()
            },
        ))
    }

    /// At a server, with options of one's own. How configurations are read is not among them.
    pub fn at(server: CdsServer, options: Options) -> Cds {
        Cds {
            server,
            reach: Reach::Direct,
            options,
        }
    }

    /// Tells the server which program asks.
    pub fn by(mut self, program: &'static str) -> Cds {
        self.options.program = program;
        self
    }

    /// Where it is, to be shown.
    pub fn url(&self) -> String {
        match &self.reach {
            Reach::Direct => self.server.url(),
            Reach::Pod { pod, .. } => format!("pod {pod} port {}", self.server.port),
            Reach::Discovered { .. } => format!(
                "the config discovery service of the cluster, port {}",
                self.server.port
            ),
        }
    }

    /// All configurations, sorted by their ids.
    pub async fn all(&self) -> Result<Vec<Discovered>, ClusterError> {
        self.list(&Scope::All, None).await
    }

    /// The configurations of a namespace, sorted by their ids.
    pub async fn namespace(&self, namespace: &str) -> Result<Vec<Discovered>, ClusterError> {
        self.list(&Scope::Namespace(namespace.to_owned()), None)
            .await
    }

    /// One configuration, as a dataplane on this node would get it.
    pub async fn one(&self, id: &ConfigId, node: Option<&str>) -> Result<Discovered, ClusterError> {
        let found = self.lookup(id, node).await?;
        found.ok_or_else(|| ClusterError::NotFound {
            what: format!("config of Gateway {id}"),
            hint: "check the name and the namespace; a Gateway has a config once its class is ours and it is accepted"
                .to_owned(),
        })
    }

    /// One configuration, or `None` if the discovery service has none. That there is no such service, or that its pod
    /// is gone, says nothing about the configuration and is an error.
    pub async fn lookup(
        &self,
        id: &ConfigId,
        node: Option<&str>,
    ) -> Result<Option<Discovered>, ClusterError> {
        let target = self.server.config_target(id, node, false);
        let text = match self.fetch(&target).await {
            Ok(text) => text,
            Err(ClusterError::Cds(LoadError::Status { status: 404, .. })) => return Ok(None),
            Err(error) => return Err(error),
        };
        let found = Discovered::read(text).map_err(|why| self.malformed(why))?;
        Ok(Some(found))
    }

    /// What is asked for, sorted by id. One that does not exist is an empty list; a node counts for one only.
    pub async fn list(
        &self,
        scope: &Scope,
        node: Option<&str>,
    ) -> Result<Vec<Discovered>, ClusterError> {
        let namespace = match scope {
            Scope::All => None,
            Scope::Namespace(namespace) => Some(namespace.as_str()),
            Scope::One(id) => {
                return Ok(self.lookup(id, node).await?.into_iter().collect());
            }
        };
        let text = self
            .fetch(&self.server.list_target(namespace, false))
            .await?;
        Discovered::read_list(&text).map_err(|why| self.malformed(why))
    }

    /// The terms of use: a JSON document.
    pub async fn license(&self) -> Result<Value, ClusterError> {
        let text = self.fetch(&self.server.license_target()).await?;
        serde_json::from_str(&text).map_err(|_| self.malformed("it is not JSON".to_owned()))
    }

    /// Follows what is asked for, for ever. Must be called inside a tokio runtime; dropping the watch ends it.
    pub fn watch(&self, scope: Scope, node: Option<String>) -> ConfigWatch {
        ConfigWatch::start(self.clone(), scope, node)
    }

    async fn fetch(&self, target: &str) -> Result<String, ClusterError> {
        let (stream, pod) = self.open().await?;
        let answer = get_over(stream, &self.server, target, &self.options).await;
        let answer = answer.map_err(|error| self.explain(error, pod.as_ref()));
        match &answer {
            // The text holds credentials.
            Ok(text) => {
                tracing::debug!(
                    scope = SCOPE,
                    "GET {target} of {}: {} bytes",
                    self.url(),
                    text.len()
                );
            }
            Err(error) => tracing::debug!(scope = SCOPE, "GET {target} of {}: {error}", self.url()),
        }
        answer
    }

    /// A connection, and the pod that it ends in.
    async fn open(&self) -> Result<(Box<dyn Stream>, Option<NamespacedName>), ClusterError> {
        let (cluster, pod) = match &self.reach {
            Reach::Direct => return Ok((connect(&self.server, &self.options).await?, None)),
            Reach::Pod { cluster, pod } => (cluster, pod.clone()),
            Reach::Discovered { cluster, namespace } => {
                (cluster, cluster.cds_pod(namespace.as_deref()).await?.name)
            }
        };
        let stream = cluster.forward(&pod, self.server.port).await?;
        Ok((Box::new(stream), Some(pod)))
    }

    /// Of a port-forward, the address in the error is that of its end: the pod is what the user knows.
    fn explain(&self, error: LoadError, pod: Option<&NamespacedName>) -> ClusterError {
        match (error, pod) {
            (
                error @ (LoadError::Http { .. }
                | LoadError::WebSocket { .. }
                | LoadError::Closed { .. }
                | LoadError::Timeout { .. }),
                Some(pod),
            ) => ClusterError::Unreachable {
                what: format!("port {} of pod {pod}", self.server.port),
                why: innermost(&error),
            },
            (error, _) => error.into(),
        }
    }

    fn malformed(&self, why: String) -> ClusterError {
        ClusterError::Malformed {
            place: self.url(),
            why,
        }
    }
}

/// What a port-forward ends at. Config discovery is in the clear there: the API server's TLS is around it.
fn forwarded(port: u16) -> CdsServer {
    CdsServer {
        tls: false,
        host: "127.0.0.1".to_owned(),
        port,
        prefix: String::new(),
    }
}

fn options() -> Options {
    Options {
        program: "stunner",
        parse: ParseOptions {
            expand_env: false,
            judge_listeners: false,
        },
        // Dataplanes come in thousands and spare a service that is away; tools are few, and somebody waits for them.
        timing: Timing {
            backoff_max: Duration::from_secs(2),
            ..Timing::default()
        },
        ..Options::default()
    }
}

//! Where something is, and a stream to it.

use std::fmt;

use stunner_api::NamespacedName;
use stunner_cds::{CdsServer, LoadError, Options, connect};

use crate::cluster::Cluster;
use crate::error::ClusterError;

pub use stunner_cds::Stream;

/// A port that something listens on.
#[derive(Clone)]
pub enum Place {
    /// Reached by connecting to it, over TLS where its URL says so.
    Direct(CdsServer),
    /// Reached by a port-forward, which also reaches what listens on the pod's loopback.
    Pod {
        cluster: Cluster,
        pod: NamespacedName,
        port: u16,
    },
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Place({self})")
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Direct(server) => write!(f, "`{}`", server.url()),
            Place::Pod { pod, port, .. } => write!(f, "pod {pod} port {port}"),
        }
    }
}

impl Place {
    /// Reads `HOST`, `HOST:PORT` or an `http` or `https` URL.
    pub fn direct(address: &str, default_port: u16) -> Result<Place, ClusterError> {
        let server = CdsServer::parse(address.trim(), default_port)?;
        Ok(Place::Direct(server))
    }

    pub fn pod(cluster: &Cluster, pod: &NamespacedName, port: u16) -> Place {
        Place::Pod {
            cluster: cluster.clone(),
            pod: pod.clone(),
            port,
        }
    }

    /// The host; that of a pod, to which a way is opened from here, is this one.
    pub fn host(&self) -> &str {
        match self {
            Place::Direct(server) => &server.host,
            Place::Pod { .. } => "localhost",
        }
    }

    pub fn port(&self) -> u16 {
        match self {
            Place::Direct(CdsServer { port, .. }) | Place::Pod { port, .. } => *port,
        }
    }

    /// The same host or pod, another port.
    pub fn with_port(&self, port: u16) -> Place {
        let mut place = self.clone();
        match &mut place {
            Place::Direct(CdsServer { port: old, .. }) | Place::Pod { port: old, .. } => {
                *old = port;
            }
        }
        place
    }

    /// What goes before every path.
    pub(crate) fn prefix(&self) -> &str {
        match self {
            Place::Direct(server) => &server.prefix,
            Place::Pod { .. } => "",
        }
    }

    /// `HOST:PORT`, the way it stands in a Host header. In a pod it is a loopback name: the admin API answers to no
    /// other.
    pub fn authority(&self) -> String {
        match self {
            Place::Direct(server) => server.authority(),
            Place::Pod { port, .. } => format!("localhost:{port}"),
        }
    }

    /// Connects.
    pub async fn open(&self) -> Result<Box<dyn Stream>, ClusterError> {
        match self {
            Place::Direct(server) => {
                let connected = connect(server, &Options::default()).await;
                connected.map_err(|error| ClusterError::Unreachable {
                    what: self.to_string(),
                    why: why(&error),
                })
            }
            Place::Pod { cluster, pod, port } => Ok(Box::new(cluster.forward(pod, *port).await?)),
        }
    }
}

/// The cause; which server it is about is said elsewhere.
fn why(error: &LoadError) -> String {
    match error {
        LoadError::Connect { source, .. } => source.to_string(),
        LoadError::Tls { source, .. } => format!("no TLS connection: {source}"),
        LoadError::Timeout { after, .. } => format!("no answer within {} s", after.as_secs_f32()),
        other => other.chain(),
    }
}

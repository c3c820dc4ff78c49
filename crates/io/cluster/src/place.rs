//! Where something is, and a stream to it.

use std::fmt;
use std::time::Duration;

use stunner_api::NamespacedName;
use stunner_cds::CdsServer;
use tokio::net::TcpStream;

use crate::cluster::Cluster;
use crate::error::ClusterError;

pub use stunner_cds::Stream;

/// For a connection to an address to come about.
const PATIENCE: Duration = Duration::from_secs(5);

/// A port that something listens on.
#[derive(Clone)]
pub enum Place {
    /// Reached by connecting to it.
    Direct { host: String, port: u16 },
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
            Place::Direct { .. } => write!(f, "`{}`", self.authority()),
            Place::Pod { pod, port, .. } => write!(f, "pod {pod} port {port}"),
        }
    }
}

impl Place {
    /// Reads `HOST`, `HOST:PORT` or an `http` URL; IPv6 addresses are in brackets where there is a port.
    pub fn direct(address: &str, default_port: u16) -> Result<Place, ClusterError> {
        let bare_v6 = address.parse::<std::net::Ipv6Addr>();
        if let Ok(address) = bare_v6 {
            return Ok(Place::Direct {
                host: address.to_string(),
                port: default_port,
            });
        }
        let server = CdsServer::parse(address, default_port)?;
        Ok(Place::Direct {
            host: server.host,
            port: server.port,
        })
    }

    pub fn pod(cluster: &Cluster, pod: &NamespacedName, port: u16) -> Place {
        Place::Pod {
            cluster: cluster.clone(),
            pod: pod.clone(),
            port,
        }
    }

    pub fn port(&self) -> u16 {
        match self {
            Place::Direct { port, .. } | Place::Pod { port, .. } => *port,
        }
    }

    /// The same host or pod, another port.
    pub fn with_port(&self, port: u16) -> Place {
        let mut place = self.clone();
        match &mut place {
            Place::Direct { port: old, .. } | Place::Pod { port: old, .. } => *old = port,
        }
        place
    }

    /// `HOST:PORT`, the way it stands in a Host header. In a pod it is a loopback name: the admin API answers to no
    /// other.
    pub fn authority(&self) -> String {
        match self {
            Place::Direct { host, port } if host.contains(':') => format!("[{host}]:{port}"),
            Place::Direct { host, port } => format!("{host}:{port}"),
            Place::Pod { port, .. } => format!("localhost:{port}"),
        }
    }

    /// Connects.
    pub async fn open(&self) -> Result<Box<dyn Stream>, ClusterError> {
        match self {
            Place::Direct { host, port } => {
                let unreachable = |why: String| ClusterError::Unreachable {
                    what: self.to_string(),
                    why,
                };
                let connected =
                    tokio::time::timeout(PATIENCE, TcpStream::connect((host.as_str(), *port)));
                let stream = connected
                    .await
                    .map_err(|_| unreachable(format!("no answer within {} s", PATIENCE.as_secs())))?
                    .map_err(|error| unreachable(error.to_string()))?;
                // A failure here costs speed only.
                let _ = stream.set_nodelay(true);
                Ok(Box::new(stream))
            }
            Place::Pod { cluster, pod, port } => Ok(Box::new(cluster.forward(pod, *port).await?)),
        }
    }
}

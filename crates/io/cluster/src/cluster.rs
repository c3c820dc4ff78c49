//! A cluster, as somebody in it may see it.

use std::fmt;
use std::time::Duration;

use futures_util::FutureExt;
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, Client};
use stunner_api::NamespacedName;

use crate::SCOPE;
use crate::error::{API_SERVER, Asked, ClusterError, PORT_FORWARD, innermost};
use crate::forward::Forward;
use crate::kubeconfig;
use crate::kubectl::Kubectl;

/// A cluster, as somebody in it may see it. Cheap to clone.
#[derive(Clone)]
pub struct Cluster {
    client: Client,
    namespace: String,
    pub(crate) request_timeout: Option<Duration>,
}

/// For one answer of the API server, where `--request-timeout` says nothing: one that hangs is told of.
const PATIENCE: Duration = Duration::from_secs(30);

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster")
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

impl Cluster {
    /// Finds out which cluster is meant. Nothing is asked of it yet.
    pub async fn connect(kubectl: &Kubectl) -> Result<Cluster, ClusterError> {
        let config = kubeconfig::load(kubectl).await?;
        let namespace = config.default_namespace.clone();
        // Another crate of the program may bring a second provider, and then there is no default.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::try_from(config).map_err(|error| match &error {
            kube::Error::Auth(error) => ClusterError::of_credentials(error),
            error => ClusterError::Kubeconfig {
                what: format!("the kubeconfig cannot be used: {}", innermost(error)),
                hint: "check its certificates and its server address".to_owned(),
            },
        })?;
        Ok(Cluster {
            client,
            namespace,
            request_timeout: kubectl.request_timeout,
        })
    }

    /// With a client that somebody else made.
    pub fn of(client: Client) -> Cluster {
        Cluster {
            namespace: client.default_namespace().to_owned(),
            client,
            request_timeout: None,
        }
    }

    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The namespace of `-n`, else of the context, else `default`.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Waits for an answer of the API server, but not for ever.
    pub(crate) async fn patiently<T>(
        &self,
        asked: &Asked<'_>,
        answer: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, ClusterError> {
        let patience = self.request_timeout.unwrap_or(PATIENCE);
        let answer = tokio::time::timeout(patience, answer).await.map_err(|_| {
            ClusterError::Unreachable {
                what: API_SERVER.to_owned(),
                why: format!("no answer within {patience:?}"),
            }
        })?;
        let answer = answer.map_err(|error| ClusterError::of_kube(&error, asked));
        let Asked { verb, resource, .. } = asked;
        let place = asked.namespace.unwrap_or("all namespaces");
        match &answer {
            Ok(_) => tracing::debug!(scope = SCOPE, "API server: {verb} {resource} in {place}"),
            Err(error) => {
                tracing::debug!(
                    scope = SCOPE,
                    "API server: {verb} {resource} in {place}: {error}"
                );
            }
        }
        answer
    }

    /// A stream to a port of a pod, a loopback one too, by the API server's port-forward.
    pub async fn forward(&self, pod: &NamespacedName, port: u16) -> Result<Forward, ClusterError> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &pod.namespace);
        let asked = Asked {
            // It is an upgrade of a GET, and API servers since 1.35 ask for the other verb as well.
            verb: "get,create",
            resource: PORT_FORWARD,
            namespace: Some(&pod.namespace),
            name: Some(&pod.name),
        };
        let ports = [port];
        let forwarder = self.patiently(&asked, pods.portforward(&pod.name, &ports));
        let mut forwarder = forwarder.await?;
        let unusable = || ClusterError::Unreachable {
            what: format!("pod {pod} port {port}"),
            why: "the port-forward has no stream".to_owned(),
        };
        let stream = forwarder.take_stream(port).ok_or_else(unusable)?;
        let failed = forwarder.take_error(port).ok_or_else(unusable)?;
        tracing::debug!(scope = SCOPE, "port-forward to port {port} of pod {pod}");
        Ok(Forward::new(forwarder, stream, failed.boxed()))
    }
}

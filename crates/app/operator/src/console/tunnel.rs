//! Talking to the admin API of a pod: HTTP over a port-forward, which is the only way to a loopback port.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::{Method, Request, StatusCode, header};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, Client};
use serde::de::DeserializeOwned;
use serde_json::Value;
use stunner_api::NamespacedName;
use stunner_api::names::port;
use tokio::task::JoinHandle;

use crate::cluster::Refusal;

/// For a port-forward to open, and for an answer to a question to arrive: somebody waits for the whole page.
const PATIENCE: Duration = Duration::from_secs(2);
/// The same for what is to be done, which is done for one who asked for just that.
const PATIENCE_TO_ACT: Duration = Duration::from_secs(10);
/// For the reason why a tunnel broke to arrive.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// A dataplane's answer is bounded by what is asked for; this bounds a broken one.
const LARGEST_ANSWER: usize = 8 * 1024 * 1024;
/// Open tunnels of one visitor.
const TUNNELS: usize = 128;

/// Why a pod could not be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum TunnelError {
    /// RBAC says no; the API server's words.
    #[error("{0}")]
    Forbidden(String),
    /// The port-forward could not be opened, or the port not be reached through it.
    #[error("{0}")]
    Unreachable(String),
    /// The dataplane refused; its words.
    #[error("{error}")]
    Refused {
        status: StatusCode,
        error: String,
        hint: String,
    },
}

/// An open port-forward with HTTP inside. It ends when it is dropped.
struct Tunnel {
    sender: SendRequest<Full<Bytes>>,
    /// What cannot be connected to in the pod is told on a channel of its own.
    failed: Shared<BoxFuture<'static, Option<String>>>,
    task: JoinHandle<()>,
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The tunnels of one visitor, kept from question to question.
pub(super) struct Tunnels {
    client: Client,
    idle: Arc<Mutex<HashMap<NamespacedName, Tunnel>>>,
}

impl fmt::Debug for Tunnels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tunnels").finish_non_exhaustive()
    }
}

impl Tunnels {
    pub(super) fn new(client: Client) -> Self {
        Tunnels {
            client,
            idle: Arc::default(),
        }
    }

    /// Asks the dataplane of a pod. `path` begins with `/`.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        pod: &NamespacedName,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<T, TunnelError> {
        let patience = match method == Method::GET {
            true => PATIENCE,
            false => PATIENCE_TO_ACT,
        };
        let asked = tokio::time::timeout(patience, self.ask_patiently(pod, method, path, body));
        asked.await.unwrap_or_else(|_| {
            let why = format!("no answer within {} s", patience.as_secs());
            Err(TunnelError::Unreachable(why))
        })
    }

    async fn ask_patiently<T: DeserializeOwned>(
        &self,
        pod: &NamespacedName,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<T, TunnelError> {
        // A tunnel that was kept may have died unnoticed. Only what changes nothing can be asked twice.
        let kept = (method == Method::GET).then(|| self.take(pod)).flatten();
        let is_kept = kept.is_some();
        let mut tunnel = match kept {
            Some(tunnel) => tunnel,
            None => open(&self.client, pod).await?,
        };
        let request = || request(&method, path, body);
        let mut answer = exchange(&mut tunnel, request()?).await;
        if answer.is_err() && is_kept {
            tunnel = open(&self.client, pod).await?;
            answer = exchange(&mut tunnel, request()?).await;
        }
        let (status, bytes) = answer?;
        self.keep(pod, tunnel);
        read(status, &bytes)
    }

    fn take(&self, pod: &NamespacedName) -> Option<Tunnel> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.remove(pod)
            .filter(|tunnel| !tunnel.sender.is_closed() && tunnel.sender.is_ready())
    }

    fn keep(&self, pod: &NamespacedName, tunnel: Tunnel) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|_, tunnel| !tunnel.sender.is_closed());
        if idle.len() < TUNNELS {
            idle.insert(pod.clone(), tunnel);
        }
    }

    /// Closes the tunnels to pods that are not asked any more.
    pub(super) fn retain(&self, wanted: impl Fn(&NamespacedName) -> bool) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|pod, _| wanted(pod));
    }
}

async fn open(client: &Client, pod: &NamespacedName) -> Result<Tunnel, TunnelError> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), &pod.namespace);
    let forwarder = pods.portforward(&pod.name, &[port::ADMIN]).await;
    let mut forwarder = forwarder.map_err(|error| match Refusal::of(&error) {
        Refusal::Forbidden(said) => TunnelError::Forbidden(said),
        other => TunnelError::Unreachable(other.to_string()),
    })?;
    let unusable = || TunnelError::Unreachable("the port-forward has no stream".to_owned());
    let stream = forwarder.take_stream(port::ADMIN).ok_or_else(unusable)?;
    let failed = forwarder.take_error(port::ADMIN).ok_or_else(unusable)?;
    let (sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| TunnelError::Unreachable(error.to_string()))?;
    let task = tokio::spawn(async move {
        let _ = connection.await;
        forwarder.abort();
    });
    Ok(Tunnel {
        sender,
        failed: failed.boxed().shared(),
        task,
    })
}

fn request(
    method: &Method,
    path: &str,
    body: Option<&Value>,
) -> Result<Request<Full<Bytes>>, TunnelError> {
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        // The admin API answers to loopback names only.
        .header(header::HOST, format!("localhost:{}", port::ADMIN));
    let mut bytes = Vec::new();
    if let Some(body) = body {
        request = request.header(header::CONTENT_TYPE, "application/json");
        bytes = body.to_string().into_bytes();
    }
    let request = request.body(Full::new(Bytes::from(bytes)));
    request.map_err(|error| TunnelError::Unreachable(error.to_string()))
}

async fn exchange(
    tunnel: &mut Tunnel,
    request: Request<Full<Bytes>>,
) -> Result<(StatusCode, Bytes), TunnelError> {
    let unreachable = |why: String| TunnelError::Unreachable(why);
    let response = match tunnel.sender.send_request(request).await {
        Ok(response) => response,
        Err(error) => {
            let said = tokio::time::timeout(LAST_WORDS, tunnel.failed.clone()).await;
            let said = said.ok().flatten().map(|said| said.trim().to_owned());
            return Err(unreachable(said.unwrap_or_else(|| error.to_string())));
        }
    };
    let status = response.status();
    let body = Limited::new(response.into_body(), LARGEST_ANSWER).collect();
    let body = body.await.map_err(|error| unreachable(error.to_string()))?;
    Ok((status, body.to_bytes()))
}

/// The answer, or what the dataplane says against it.
fn read<T: DeserializeOwned>(status: StatusCode, bytes: &[u8]) -> Result<T, TunnelError> {
    if status.is_success() {
        // Nothing to say is an answer too.
        let bytes = if bytes.is_empty() { b"null" } else { bytes };
        return serde_json::from_slice(bytes).map_err(|_| {
            TunnelError::Unreachable("its answer is not what this version understands".to_owned())
        });
    }
    let said: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let text = |key: &str| said[key].as_str().unwrap_or_default().to_owned();
    let error = match text("error") {
        nothing if nothing.is_empty() => format!("the dataplane answered {status}"),
        said => said,
    };
    Err(TunnelError::Refused {
        status,
        error,
        hint: text("hint"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dataplanes_refusal_is_told_in_its_own_words() {
        let said = br#"{"error": "there is no listener `a/b/c`", "hint": "look"}"#;
        let refused = read::<Value>(StatusCode::NOT_FOUND, said);
        assert_eq!(
            refused,
            Err(TunnelError::Refused {
                status: StatusCode::NOT_FOUND,
                error: "there is no listener `a/b/c`".to_owned(),
                hint: "look".to_owned(),
            })
        );
        let mute = read::<Value>(StatusCode::NOT_FOUND, b"nothing").expect_err("refused");
        assert!(mute.to_string().contains("404"), "{mute}");
    }

    #[test]
    fn requests_name_a_loopback_host() {
        let request = request(&Method::GET, "/api/v1/sessions", None).expect("a request");
        assert_eq!(request.headers()[header::HOST], "localhost:8087");
    }
}

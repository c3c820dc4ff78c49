//! What dataplanes are told: a client of the operator's config discovery service.

use std::sync::{Arc, Mutex};

use futures_util::StreamExt as _;
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio_tungstenite::connect_async;

/// Reads from the plain port of a config discovery server.
#[derive(Debug, Clone)]
pub struct Cds {
    host: String,
}

impl Cds {
    pub fn new(port: u16) -> Self {
        Self {
            host: format!("127.0.0.1:{port}"),
        }
    }

    /// Status and body of any path.
    pub fn get(&self, path: &str) -> std::io::Result<(u16, String)> {
        let answer = interop_tests::http::get(&self.host, path)?;
        Ok((answer.status, answer.body))
    }

    /// The config of one gateway; `Err` tells what came instead.
    pub fn config(&self, namespace: &str, gateway: &str) -> Result<Value, String> {
        let path = format!("/api/v1/configs/{namespace}/{gateway}");
        match self.get(&path) {
            Ok((200, body)) => serde_json::from_str(&body).map_err(|error| error.to_string()),
            Ok((status, body)) => Err(format!("{status}: {body}")),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Subscribes to what `path` serves, as `stunnerd` does.
    pub async fn watch(&self, path: &str) -> Watch {
        self.subscribe(format!("ws://{}{path}?watch=true", self.host))
            .await
    }

    /// The same from a dataplane that names its node.
    pub async fn watch_node(&self, path: &str, node: &str) -> Watch {
        self.subscribe(format!("ws://{}{path}?watch=true&node={node}", self.host))
            .await
    }

    async fn subscribe(&self, url: String) -> Watch {
        let (mut socket, _) = connect_async(&url)
            .await
            .unwrap_or_else(|error| panic!("watch {url}: {error}"));
        let frames = Arc::new(Mutex::new(Vec::new()));
        let reader = tokio::spawn({
            let frames = frames.clone();
            async move {
                while let Some(Ok(message)) = socket.next().await {
                    let Ok(text) = message.to_text() else {
                        continue;
                    };
                    if let Ok(config) = serde_json::from_str::<Value>(text) {
                        frames.lock().expect("lock").push(config);
                    }
                }
            }
        });
        Watch { frames, reader }
    }

    pub async fn watch_gateway(&self, namespace: &str, gateway: &str) -> Watch {
        self.watch(&format!("/api/v1/configs/{namespace}/{gateway}"))
            .await
    }
}

/// A WebSocket subscription. Every frame is kept.
#[derive(Debug)]
pub struct Watch {
    frames: Arc<Mutex<Vec<Value>>>,
    reader: JoinHandle<()>,
}

impl Watch {
    pub fn frames(&self) -> Vec<Value> {
        self.frames.lock().expect("lock").clone()
    }

    pub fn last(&self) -> Option<Value> {
        self.frames.lock().expect("lock").last().cloned()
    }

    /// Whether the server has closed it.
    pub fn closed(&self) -> bool {
        self.reader.is_finished()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

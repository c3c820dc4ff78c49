//! Dataplanes as the operator sees them: a WebSocket each, all open at once.

use std::time::{Duration, Instant};

use futures_util::{StreamExt as _, stream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_tungstenite::connect_async;

use crate::world::{name, namespace};

/// Within this time a config must arrive, whatever the machine is doing.
const PATIENCE: Duration = Duration::from_secs(30);

struct Frame {
    gateway: usize,
    at: Instant,
    text: String,
}

pub struct Subscribers {
    frames: mpsc::UnboundedReceiver<Frame>,
    tasks: Vec<JoinHandle<()>>,
}

impl Subscribers {
    /// One for each of these Gateways.
    pub async fn connect(port: u16, gateways: Vec<usize>) -> Self {
        let (sender, frames) = mpsc::unbounded_channel();
        let tasks = stream::iter(gateways)
            .map(|gateway| subscribe(port, gateway, sender.clone()))
            .buffer_unordered(16)
            .collect()
            .await;
        let mut subscribers = Self { frames, tasks };
        for _ in 0..subscribers.tasks.len() {
            subscribers.next("its first config").await;
        }
        subscribers
    }

    pub fn count(&self) -> usize {
        self.tasks.len()
    }

    async fn next(&mut self, what: &str) -> Frame {
        let frame = tokio::time::timeout(PATIENCE, self.frames.recv()).await;
        let frame = frame.unwrap_or_else(|_| panic!("no subscriber gets {what}"));
        frame.expect("the subscribers run")
    }

    /// When the config of `gateway` with `address` in it arrived. Nobody else gets anything.
    pub async fn arrival(&mut self, gateway: usize, address: &str) -> Instant {
        let frame = self.next(address).await;
        assert_eq!(frame.gateway, gateway, "the wrong one was told");
        assert!(frame.text.contains(address), "{}", frame.text);
        frame.at
    }

    /// How many configs have come that nobody has waited for.
    pub fn unasked(&mut self) -> usize {
        let mut count = 0;
        while self.frames.try_recv().is_ok() {
            count += 1;
        }
        count
    }
}

impl Drop for Subscribers {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

async fn subscribe(
    port: u16,
    gateway: usize,
    sender: mpsc::UnboundedSender<Frame>,
) -> JoinHandle<()> {
    let (namespace, name) = (namespace(gateway), name(gateway));
    let url = format!("ws://127.0.0.1:{port}/api/v1/configs/{namespace}/{name}?watch=true");
    let (mut socket, _) = connect_async(&url).await.expect("subscribe");
    tokio::spawn(async move {
        while let Some(Ok(message)) = socket.next().await {
            let at = Instant::now();
            if let Ok(text) = message.to_text()
                && message.is_text()
            {
                let text = text.to_owned();
                let _ = sender.send(Frame { gateway, at, text });
            }
        }
    })
}

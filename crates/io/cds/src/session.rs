//! One WebSocket connection to a discovery service, from the upgrade to its end.
//!
//! The server speaks only when a configuration changes and never pings, so the client finds out by pings of its own
//! whether the other side is still there. The timing is that of the Go client.

use std::fmt;

use futures_util::{SinkExt, StreamExt};
use hyper::{StatusCode, header};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, timeout, timeout_at};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::handshake::client::Request;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Bytes, Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use crate::connect::{Stream, authorization, connect};
use crate::error::{LoadError, MAX_CONFIG_BYTES};
use crate::id::ConfigId;
use crate::options::Options;
use crate::origin::CdsServer;
use crate::rest::refused;

const KEEPALIVE: Bytes = Bytes::from_static(b"keepalive");

/// An open subscription to one configuration, or to several.
pub struct Session<'a> {
    socket: WebSocketStream<Box<dyn Stream>>,
    server: &'a CdsServer,
    options: &'a Options,
    pings: Interval,
    read_deadline: Instant,
}

impl fmt::Debug for Session<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("server", self.server)
            .finish_non_exhaustive()
    }
}

impl<'a> Session<'a> {
    /// Connects and upgrades, within the deadlines for both.
    pub(crate) async fn open(
        server: &'a CdsServer,
        id: &ConfigId,
        node: Option<&str>,
        options: &'a Options,
    ) -> Result<Session<'a>, LoadError> {
        let stream = connect(server, options).await?;
        let target = server.config_target(id, node, true);
        Session::over(stream, server, &target, options).await
    }

    /// Upgrades a connection to the server. `target` comes from one of the methods of [`CdsServer`].
    pub async fn over(
        stream: Box<dyn Stream>,
        server: &'a CdsServer,
        target: &str,
        options: &'a Options,
    ) -> Result<Session<'a>, LoadError> {
        let authorization = authorization(server, options).await?;
        let request = upgrade_request(server, target, authorization.as_deref(), options)
            .map_err(|error| failed(server, error))?;
        let limits = WebSocketConfig::default()
            .max_message_size(Some(MAX_CONFIG_BYTES))
            .max_frame_size(Some(MAX_CONFIG_BYTES));
        let deadline = options.timing.request;
        let upgraded = timeout(
            deadline,
            client_async_with_config(request, stream, Some(limits)),
        )
        .await
        .map_err(|_| LoadError::Timeout {
            server: server.authority(),
            step: "upgrade to WebSocket",
            after: deadline,
        })?;
        match upgraded {
            Ok((socket, _)) => {
                let timing = &options.timing;
                let mut pings =
                    interval_at(Instant::now() + timing.ping_interval, timing.ping_interval);
                pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
                Ok(Session {
                    socket,
                    server,
                    options,
                    pings,
                    read_deadline: Instant::now() + timing.read,
                })
            }
            Err(Error::Http(response)) => {
                let status = StatusCode::from_u16(response.status().as_u16())
                    .unwrap_or(StatusCode::BAD_GATEWAY);
                let body = response.body().as_deref().unwrap_or_default();
                Err(refused(server, target, status, body))
            }
            Err(error) => Err(failed(server, error)),
        }
    }

    /// Hands every text frame to `on_text` until the connection ends, and says why it did.
    pub(crate) async fn run(mut self, mut on_text: impl FnMut(&str)) -> LoadError {
        loop {
            match self.next().await {
                Ok(text) => on_text(&text),
                Err(error) => return error,
            }
        }
    }

    /// The next text frame, or why the connection ended. What is sent is not lost when the future is dropped.
    pub async fn next(&mut self) -> Result<String, LoadError> {
        let timing = &self.options.timing;
        let server = self.server.authority();
        loop {
            let message = tokio::select! {
                _ = self.pings.tick() => {
                    self.ping().await?;
                    continue;
                }
                message = timeout_at(self.read_deadline, self.socket.next()) => message,
            };
            let message = match message {
                Ok(Some(Ok(message))) => message,
                Ok(Some(Err(error))) => return Err(failed(self.server, error)),
                Ok(None) => return Err(LoadError::Closed { server }),
                Err(_) => {
                    return Err(LoadError::Timeout {
                        server,
                        step: "say anything",
                        after: timing.read,
                    });
                }
            };
            self.read_deadline = Instant::now() + timing.read;
            match message {
                Message::Text(text) => return Ok(text.as_str().to_owned()),
                Message::Binary(_) => return Err(LoadError::BinaryFrame { server }),
                Message::Close(_) => return Err(LoadError::Closed { server }),
                // Pings are answered by the library; they and pongs show that the other side lives.
                _ => {}
            }
        }
    }

    async fn ping(&mut self) -> Result<(), LoadError> {
        let deadline = self.options.timing.write;
        timeout(deadline, self.socket.send(Message::Ping(KEEPALIVE)))
            .await
            .map_err(|_| LoadError::Timeout {
                server: self.server.authority(),
                step: "take a keepalive",
                after: deadline,
            })?
            .map_err(|error| failed(self.server, error))
    }
}

/// The server compares the host of `Origin` with the Host header and refuses a connection where they differ.
fn upgrade_request(
    server: &CdsServer,
    target: &str,
    authorization: Option<&str>,
    options: &Options,
) -> Result<Request, Error> {
    let (web, socket) = match server.tls {
        true => ("https", "wss"),
        false => ("http", "ws"),
    };
    let authority = server.authority();
    let mut request = format!("{socket}://{authority}{target}").into_client_request()?;
    let headers = request.headers_mut();
    let value =
        |text: &str| HeaderValue::from_str(text).map_err(|error| Error::HttpFormat(error.into()));
    headers.insert(header::ORIGIN, value(&format!("{web}://{authority}"))?);
    headers.insert(header::USER_AGENT, value(&options.user_agent())?);
    if let Some(authorization) = authorization {
        headers.insert(header::AUTHORIZATION, value(authorization)?);
    }
    Ok(request)
}

fn failed(server: &CdsServer, error: Error) -> LoadError {
    LoadError::WebSocket {
        server: server.authority(),
        source: Box::new(error),
    }
}

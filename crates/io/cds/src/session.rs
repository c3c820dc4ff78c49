//! One WebSocket connection to a discovery service, from the upgrade to its end.
//!
//! The server speaks only when a configuration changes and never pings, so the client finds out by pings of its own
//! whether the other side is still there. The timing is that of the Go client.

use futures_util::{SinkExt, StreamExt};
use hyper::{StatusCode, header};
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout, timeout_at};
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

/// An open subscription to one configuration.
pub(crate) struct Session<'a> {
    socket: WebSocketStream<Box<dyn Stream>>,
    server: &'a CdsServer,
    options: &'a Options,
}

impl<'a> Session<'a> {
    /// Connects and upgrades, within the deadlines for both.
    pub(crate) async fn open(
        server: &'a CdsServer,
        id: &ConfigId,
        node: Option<&str>,
        options: &'a Options,
    ) -> Result<Session<'a>, LoadError> {
        let target = server.config_target(id, node, true);
        let authorization = authorization(server, options).await?;
        let request = upgrade_request(server, &target, authorization.as_deref())
            .map_err(|error| failed(server, error))?;
        let stream = connect(server, options).await?;
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
            Ok((socket, _)) => Ok(Session {
                socket,
                server,
                options,
            }),
            Err(Error::Http(response)) => {
                let status = StatusCode::from_u16(response.status().as_u16())
                    .unwrap_or(StatusCode::BAD_GATEWAY);
                let body = response.body().as_deref().unwrap_or_default();
                Err(refused(server, &target, status, body))
            }
            Err(error) => Err(failed(server, error)),
        }
    }

    /// Hands every text frame to `on_text` until the connection ends, and says why it did.
    pub(crate) async fn run(mut self, mut on_text: impl FnMut(&str)) -> LoadError {
        let timing = &self.options.timing;
        let mut pings = interval_at(Instant::now() + timing.ping_interval, timing.ping_interval);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut read_deadline = Instant::now() + timing.read;
        loop {
            let message = tokio::select! {
                _ = pings.tick() => {
                    match self.ping().await {
                        Ok(()) => continue,
                        Err(error) => return error,
                    }
                }
                message = timeout_at(read_deadline, self.socket.next()) => message,
            };
            match message {
                Ok(Some(Ok(Message::Text(text)))) => on_text(text.as_str()),
                Ok(Some(Ok(Message::Binary(_)))) => {
                    return LoadError::BinaryFrame {
                        server: self.server.authority(),
                    };
                }
                Ok(Some(Ok(Message::Close(_)))) | Ok(None) => {
                    return LoadError::Closed {
                        server: self.server.authority(),
                    };
                }
                // Pings are answered by the library; they and pongs show that the other side lives.
                Ok(Some(Ok(_))) => {}
                Ok(Some(Err(error))) => return failed(self.server, error),
                Err(_) => {
                    return LoadError::Timeout {
                        server: self.server.authority(),
                        step: "say anything",
                        after: timing.read,
                    };
                }
            }
            read_deadline = Instant::now() + timing.read;
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
    headers.insert(
        header::USER_AGENT,
        HeaderValue::from_static(concat!("stunnerd/", env!("CARGO_PKG_VERSION"))),
    );
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

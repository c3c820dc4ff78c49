//! Answers over plain HTTP, such as to `GET /api/v1/configs/NAMESPACE/NAME`.

use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::{Request, StatusCode, header};
use hyper_util::rt::TokioIo;

use crate::connect::{Stream, authorization, connect};
use crate::error::{LoadError, MAX_CONFIG_BYTES};
use crate::id::ConfigId;
use crate::options::Options;
use crate::origin::CdsServer;

/// How much of an error answer is repeated in ours.
const MAX_MESSAGE_CHARS: usize = 200;

/// The text of the configuration, within the deadlines for connections and requests.
pub(crate) async fn get_config(
    server: &CdsServer,
    id: &ConfigId,
    node: Option<&str>,
    options: &Options,
) -> Result<String, LoadError> {
    let stream = connect(server, options).await?;
    let target = server.config_target(id, node, false);
    get_over(stream, server, &target, options).await
}

/// What the server answers on this connection, within the deadline for requests. `target` comes from one of the
/// methods of [`CdsServer`].
pub async fn get_over(
    stream: Box<dyn Stream>,
    server: &CdsServer,
    target: &str,
    options: &Options,
) -> Result<String, LoadError> {
    let authorization = authorization(server, options).await?;
    let deadline = options.timing.request;
    let exchange = async {
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| failed(server, error))?;
        let mut request = Request::get(target)
            .header(header::HOST, server.authority())
            .header(header::ACCEPT, "application/json")
            .header(header::USER_AGENT, options.user_agent());
        if let Some(authorization) = authorization {
            request = request.header(header::AUTHORIZATION, authorization);
        }
        let request = request
            .body(Empty::<Bytes>::new())
            .map_err(|error| failed(server, error))?;
        let answer = async {
            let response = sender
                .send_request(request)
                .await
                .map_err(|error| failed(server, error))?;
            let status = response.status();
            let body = Limited::new(response.into_body(), MAX_CONFIG_BYTES)
                .collect()
                .await
                .map_err(
                    |source| match source.is::<http_body_util::LengthLimitError>() {
                        true => LoadError::TooLarge {
                            place: server.url(),
                        },
                        false => LoadError::Http {
                            server: server.authority(),
                            source,
                        },
                    },
                )?;
            Ok((status, body.to_bytes()))
        };
        // The connection is driven here and not by a task of its own, so that it ends with this call.
        tokio::pin!(answer);
        tokio::pin!(connection);
        tokio::select! {
            biased;
            answer = &mut answer => answer,
            closed = &mut connection => match closed {
                Err(error) => Err(failed(server, error)),
                // Everything may be there already.
                Ok(()) => answer.await,
            },
        }
    };
    let (status, body) = tokio::time::timeout(deadline, exchange)
        .await
        .unwrap_or_else(|_| {
            Err(LoadError::Timeout {
                server: server.authority(),
                step: "answer",
                after: deadline,
            })
        })?;
    if status != StatusCode::OK {
        return Err(refused(server, target, status, &body));
    }
    String::from_utf8(body.into()).map_err(|_| LoadError::NotText {
        place: server.url(),
    })
}

fn failed(
    server: &CdsServer,
    error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> LoadError {
    LoadError::Http {
        server: server.authority(),
        source: error.into(),
    }
}

/// An answer other than 200, with the beginning of what it says.
pub(crate) fn refused(
    server: &CdsServer,
    target: &str,
    status: StatusCode,
    body: &[u8],
) -> LoadError {
    let message: String = String::from_utf8_lossy(body)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
        .filter(|character| !character.is_control())
        .take(MAX_MESSAGE_CHARS)
        .collect();
    LoadError::Status {
        server: server.authority(),
        target: target.to_owned(),
        status: status.as_u16(),
        message,
    }
}

//! Clients over TCP and over stream sockets in the file system: every connection is one.

use std::fmt;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::after_failed_accept;
use super::bind::{BindError, bind};
use crate::ends::{HostPort, LocalEnd};
use crate::tunnel::{Origin, Outlet, Route, Session, inbox};

/// What one read takes; what a datagram cannot carry is cut by the session.
const READ: usize = 65_507;

#[derive(Debug)]
pub(super) struct StreamEnd {
    listener: Listener,
    end: LocalEnd,
    /// The socket's file, which ends with it.
    _file: Option<SocketFile>,
}

#[derive(Debug)]
enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

type Halves = (
    Box<dyn AsyncRead + Send + Unpin>,
    Box<dyn AsyncWrite + Send + Unpin>,
);

impl StreamEnd {
    pub(super) async fn tcp(place: &HostPort) -> Result<StreamEnd, BindError> {
        let (listener, address) = bind(
            || format!("tcp://{place}"),
            place,
            async |address| {
                let listener = TcpListener::bind(address).await?;
                let address = listener.local_addr()?;
                Ok((listener, address))
            },
        )
        .await?;
        Ok(StreamEnd {
            listener: Listener::Tcp(listener),
            end: LocalEnd::Tcp(HostPort {
                host: address.ip().to_string(),
                port: address.port(),
            }),
            _file: None,
        })
    }

    pub(super) async fn unix(path: &Path) -> Result<StreamEnd, BindError> {
        let end = LocalEnd::Unix(path.to_owned());
        let failed = |source| BindError::Listen {
            end: end.to_string(),
            source,
        };
        let listener = match UnixListener::bind(path) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_left_over(path).await => {
                std::fs::remove_file(path).map_err(failed)?;
                UnixListener::bind(path)
            }
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && !is_socket(path) => {
                return Err(BindError::NoSocket {
                    end: end.to_string(),
                });
            }
            bound => bound,
        };
        Ok(StreamEnd {
            listener: Listener::Unix(listener.map_err(failed)?),
            end,
            _file: Some(SocketFile(path.to_owned())),
        })
    }

    pub(super) fn abstract_unix(name: &str) -> Result<StreamEnd, BindError> {
        let end = LocalEnd::Abstract(name.to_owned());
        let bound = std::os::unix::net::SocketAddr::from_abstract_name(name).and_then(|address| {
            let listener = std::os::unix::net::UnixListener::bind_addr(&address)?;
            listener.set_nonblocking(true)?;
            UnixListener::from_std(listener)
        });
        match bound {
            Ok(listener) => Ok(StreamEnd {
                listener: Listener::Unix(listener),
                end,
                _file: None,
            }),
            Err(source) => Err(BindError::Listen {
                end: end.to_string(),
                source,
            }),
        }
    }

    pub(super) async fn serve(self, route: Arc<Route>, mut stop: watch::Receiver<bool>) {
        let mut sessions = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                Some(_) = sessions.join_next() => continue,
                _ = stop.wait_for(|stop| *stop) => break,
            };
            match accepted {
                Ok((halves, client)) => {
                    let (route, stop) = (Arc::clone(&route), stop.clone());
                    sessions.spawn(serve_one(halves, client, route, stop));
                }
                Err(error) => after_failed_accept(error).await,
            }
        }
        while sessions.join_next().await.is_some() {}
    }
}

impl Listener {
    async fn accept(&self) -> io::Result<(Halves, String)> {
        match self {
            Listener::Tcp(listener) => {
                let (stream, client) = listener.accept().await?;
                // What is read at once becomes one datagram: what is written at once should not wait for more.
                let _ = stream.set_nodelay(true);
                let (reader, writer) = stream.into_split();
                Ok(((Box::new(reader), Box::new(writer)), client.to_string()))
            }
            Listener::Unix(listener) => {
                let (stream, _) = listener.accept().await?;
                let (reader, writer) = stream.into_split();
                Ok((
                    (Box::new(reader), Box::new(writer)),
                    "a local process".to_owned(),
                ))
            }
        }
    }
}

async fn serve_one(
    (reader, writer): Halves,
    client: String,
    route: Arc<Route>,
    stop: watch::Receiver<bool>,
) {
    let (queue, inbox) = inbox();
    let session = Session {
        route,
        client,
        origin: Origin::Stream,
        inbox,
        outlet: Outlet::stream(writer),
    };
    tokio::select! {
        // Told by the session itself.
        _ = session.run(stop) => {}
        // Ends first when the client has said everything; the session goes on.
        () = async {
            read_into(reader, queue).await;
            std::future::pending().await
        } => {}
    }
}

/// Hands over what is read, one read at a time, and waits while the queue is full: a stream loses nothing here.
pub(super) async fn read_into(mut reader: impl AsyncRead + Unpin, queue: mpsc::Sender<Vec<u8>>) {
    let mut buffer = vec![0; READ];
    loop {
        match reader.read(&mut buffer).await {
            Ok(length @ 1..) => {
                if queue.send(buffer[..length].to_vec()).await.is_err() {
                    return;
                }
            }
            Ok(0) => return,
            Err(error) => {
                tracing::debug!("reading from the client: {error}");
                return;
            }
        }
    }
}

/// Whether the file is a socket that nobody listens at: a process that was killed leaves it behind.
async fn is_left_over(path: &Path) -> bool {
    let refused = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    is_socket(path) && UnixStream::connect(path).await.is_err_and(refused)
}

fn is_socket(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket())
}

/// Removes the file in the end.
#[derive(Debug)]
struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl fmt::Display for StreamEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.end.fmt(f)
    }
}

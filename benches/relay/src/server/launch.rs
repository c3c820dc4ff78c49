//! Command lines and configuration files of the servers.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{PASSWORD, REALM, SERVER_IP, ServerKind, USERNAME, free_port};

/// How the forwarder reads and writes packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forwarding {
    /// One packet per system call.
    Single,
    /// recvmmsg and sendmmsg.
    Batch,
    /// Batches with UDP_GRO and UDP_SEGMENT.
    Offload,
}

impl Forwarding {
    /// The word on the command line and in the report.
    pub fn name(self) -> &'static str {
        match self {
            Forwarding::Single => "single",
            Forwarding::Batch => "mmsg",
            Forwarding::Offload => "gso",
        }
    }
}

/// A program with its arguments, ready to start.
#[derive(Debug)]
pub(super) struct Launch {
    pub(super) program: String,
    pub(super) arguments: Vec<String>,
    pub(super) config: Option<ConfigFile>,
}

#[derive(Debug)]
pub(super) enum LaunchError {
    Io(io::Error),
    Build,
}

impl From<io::Error> for LaunchError {
    fn from(error: io::Error) -> Self {
        LaunchError::Io(error)
    }
}

pub(super) fn plan(kind: &ServerKind, port: u16, peer: SocketAddr) -> Result<Launch, LaunchError> {
    match kind {
        ServerKind::Stunnerd { binary } => stunnerd(binary.as_deref(), port, peer),
        ServerKind::Coturn => Ok(coturn(port)),
        ServerKind::Forwarder(mode) => forwarder(*mode, port, peer),
        ServerKind::External { command, .. } => external(command, port, peer),
    }
}

fn stunnerd(binary: Option<&Path>, port: u16, peer: SocketAddr) -> Result<Launch, LaunchError> {
    let program = match binary {
        Some(binary) => binary.to_owned(),
        None => workspace_stunnerd()?,
    };
    let config = ConfigFile::write(&format!(
        "version: v1
admin:
  name: relay-bench
  loglevel: all:ERROR
  healthcheck_endpoint: http://127.0.0.1:{health}
auth:
  type: static
  realm: {REALM}
  credentials:
    username: {USERNAME}
    password: {PASSWORD}
listeners:
  - name: udp
    protocol: TURN-UDP
    address: {SERVER_IP}
    port: {port}
    routes: [peers]
clusters:
  - name: peers
    type: STATIC
    endpoints: [{peer_ip}]
",
        health = free_port()?,
        peer_ip = peer.ip(),
    ))?;
    let arguments = [
        "-c",
        &config.path.display().to_string(),
        "--udp-thread-num",
        "1",
        "--admin-address",
        "off",
    ];
    Ok(Launch {
        program: program.display().to_string(),
        arguments: arguments.map(str::to_owned).to_vec(),
        config: Some(config),
    })
}

/// The release build of this workspace, made first if it is not there.
fn workspace_stunnerd() -> Result<PathBuf, LaunchError> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let binary = match std::env::var_os("CARGO_TARGET_DIR") {
        Some(target) => PathBuf::from(target).join("release/stunnerd"),
        None => root.join("target/release/stunnerd"),
    };
    if !binary.exists() {
        let status = Command::new("cargo")
            .args([
                "build",
                "--release",
                "-p",
                "stunner-dataplane",
                "--bin",
                "stunnerd",
            ])
            .current_dir(&root)
            .status()?;
        if !status.success() {
            return Err(LaunchError::Build);
        }
    }
    Ok(binary.canonicalize()?)
}

/// coturn at its best on one core: UDP only, one relay thread, no log, nothing of its extras.
fn coturn(port: u16) -> Launch {
    let port = port.to_string();
    let user = format!("{USERNAME}:{PASSWORD}");
    let ip = SERVER_IP.to_string();
    let arguments = [
        "-n",
        "--lt-cred-mech",
        "--user",
        &user,
        "--realm",
        REALM,
        "--listening-ip",
        &ip,
        "--relay-ip",
        &ip,
        "--listening-port",
        &port,
        "--relay-threads",
        "1",
        "--allow-loopback-peers",
        "--no-cli",
        "--no-tls",
        "--no-dtls",
        "--no-tcp",
        "--no-tcp-relay",
        "--no-rfc5780",
        "--no-stun-backward-compatibility",
        "--no-stdout-log",
        "--log-file",
        "/dev/null",
        "--simple-log",
        "--pidfile",
        "/dev/null",
    ];
    Launch {
        program: "turnserver".to_owned(),
        arguments: arguments.map(str::to_owned).to_vec(),
        config: None,
    }
}

fn forwarder(mode: Forwarding, port: u16, peer: SocketAddr) -> Result<Launch, LaunchError> {
    let listen = SocketAddr::from((SERVER_IP, port));
    let arguments = [
        "forward".to_owned(),
        "--mode".to_owned(),
        mode.name().to_owned(),
        "--listen".to_owned(),
        listen.to_string(),
        "--peer".to_owned(),
        peer.to_string(),
    ];
    Ok(Launch {
        program: std::env::current_exe()?.display().to_string(),
        arguments: arguments.to_vec(),
        config: None,
    })
}

fn external(command: &str, port: u16, peer: SocketAddr) -> Result<Launch, LaunchError> {
    let mut words = command.split_whitespace().map(|word| {
        word.replace("{port}", &port.to_string())
            .replace("{user}", USERNAME)
            .replace("{pass}", PASSWORD)
            .replace("{realm}", REALM)
            .replace("{peer}", &peer.ip().to_string())
    });
    let program = words
        .next()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the command is empty"))?;
    Ok(Launch {
        program,
        arguments: words.collect(),
        config: None,
    })
}

/// A configuration that is deleted with the server.
#[derive(Debug)]
pub(super) struct ConfigFile {
    path: PathBuf,
}

impl ConfigFile {
    fn write(text: &str) -> io::Result<ConfigFile> {
        let name = format!("relay-bench-{}-{}.yaml", std::process::id(), free_port()?);
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, text)?;
        Ok(ConfigFile { path })
    }
}

impl Drop for ConfigFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

//! What is tried from here: a name, a certificate, a Binding, an Allocate, a permission.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use stunner_api::v1::GatewayConfigSpec;
use stunner_client::{
    AllocateOptions, CertificateFault, ClientError, Connect, PeerCertificate, Relay,
    ServerCertificates, ServerTransport, ServerUri, Step, binding, inspect_certificate,
};
use stunner_config::{AuthMethod, ClusterKind, Config, PeerTransport, Protocol};
use stunner_credentials::Credential;

use super::now;
use crate::commands::doctor::facts::{Asked, Bound, CertificateFacts, Trial, Tried};

/// Addresses of one name that are tried until one answers.
const ADDRESSES: usize = 4;
/// Seconds that a credential made for this is good for.
const TTL: u64 = 300;
/// What an ephemeral user name is to say about its user.
const USER: &str = "stunnerctl-doctor";

/// How the network is tried.
#[derive(Debug, Clone)]
pub(in crate::commands::doctor) struct Network {
    /// For each answer.
    pub(in crate::commands::doctor) timeout: Duration,
    /// Instead of those of the configuration.
    pub(in crate::commands::doctor) auth: Option<AuthMethod>,
}

impl Network {
    /// Tries one listener.
    pub(in crate::commands::doctor) async fn trial(
        &self,
        listener: &str,
        protocol: Protocol,
        host: &str,
        port: u16,
        auth: Option<&AuthMethod>,
        peer: Option<SocketAddr>,
    ) -> Trial {
        let auth = self.auth.as_ref().or(auth);
        let credential =
            auth.and_then(|auth| Credential::of(auth, now().unsigned_abs(), TTL, USER));
        let mut trial = Trial {
            listener: listener.to_owned(),
            protocol,
            host: host.to_owned(),
            port,
            dns: Asked::Unasked,
            stun: Tried::Untried,
            allocate: Tried::Untried,
            certificate: Tried::Untried,
            peer: None,
            no_allocate: match auth {
                None => Some(
                    "no credentials are known; give some with `--username` and `--password`, or `--secret`",
                ),
                Some(AuthMethod::None) => Some("the Gateway serves STUN only"),
                Some(_) => None,
            },
        };
        let addresses = match host.parse::<IpAddr>() {
            Ok(address) => vec![address],
            Err(_) => match resolve(host, port, self.timeout).await {
                Ok(addresses) => {
                    trial.dns = Asked::Known(addresses.clone());
                    addresses
                }
                Err(why) => {
                    trial.dns = Asked::Failed(why);
                    return trial;
                }
            },
        };
        let mut connect = None;
        for address in addresses.into_iter().take(ADDRESSES) {
            let to = self.connect(SocketAddr::new(address, port), protocol, host);
            trial.stun = match binding(to.clone()).await {
                Ok(bound) => Tried::Done(Bound {
                    mapped: bound.mapped,
                    rtt: bound.rtt,
                }),
                Err(error) => tried(error),
            };
            connect = Some(to);
            if matches!(trial.stun, Tried::Done(_)) {
                break;
            }
        }
        let Some(connect) = connect.filter(|_| matches!(trial.stun, Tried::Done(_))) else {
            return trial;
        };
        if protocol.is_secure() {
            let mut checking = connect.clone();
            checking.tls.insecure = false;
            trial.certificate = match inspect_certificate(checking).await {
                Ok(shown) => certificate(&shown),
                Err(error) => tried(error),
            };
        }
        if let Some(credential) = credential {
            let connect = connect.with_password(&credential.username, &credential.password);
            self.allocate(&mut trial, connect, peer).await;
        }
        trial
    }

    /// Certificates are judged apart: a bad one must not hide what is behind it.
    fn connect(&self, server: SocketAddr, protocol: Protocol, host: &str) -> Connect {
        let transport = match protocol {
            Protocol::TurnUdp => ServerTransport::Udp,
            Protocol::TurnTcp => ServerTransport::Tcp,
            Protocol::TurnTls => ServerTransport::Tls,
            Protocol::TurnDtls => ServerTransport::Dtls,
        };
        let mut connect = Connect::new(server, transport);
        connect.timeout = self.timeout;
        connect.tls.insecure = true;
        connect.tls.sni = host.parse::<IpAddr>().is_err().then(|| host.to_owned());
        connect
    }

    async fn allocate(&self, trial: &mut Trial, connect: Connect, peer: Option<SocketAddr>) {
        let relay = match Relay::allocate(connect, AllocateOptions::default()).await {
            Ok(relay) => relay,
            Err(error) => {
                trial.allocate = tried(error);
                return;
            }
        };
        trial.allocate = Tried::Done(relay.relayed());
        if let Some(peer) = peer.filter(|peer| peer.is_ipv4() == relay.relayed().is_ipv4()) {
            let permitted = relay.permit(&[peer]).await;
            trial.peer = Some((peer, permitted.map_or_else(tried, Tried::Done)));
        }
        relay.close().await;
    }
}

/// Tries a server by its URI, and whether it lets us reach a peer.
pub(in crate::commands::doctor) async fn uri_trial(
    network: &Network,
    uri: &ServerUri,
    peer: Option<SocketAddr>,
) -> Trial {
    let protocol = match uri.transport {
        ServerTransport::Udp => Protocol::TurnUdp,
        ServerTransport::Tcp => Protocol::TurnTcp,
        ServerTransport::Tls => Protocol::TurnTls,
        ServerTransport::Dtls => Protocol::TurnDtls,
    };
    let auth = uri
        .credentials
        .clone()
        .map(|(username, password)| AuthMethod::Static { username, password });
    network
        .trial(
            &uri.to_string(),
            protocol,
            &uri.host,
            uri.port,
            auth.as_ref(),
            peer,
        )
        .await
}

/// The credentials that a GatewayConfig holds itself, for when config discovery cannot be asked.
pub(super) fn inline(spec: &GatewayConfigSpec) -> Option<AuthMethod> {
    if spec.stun_mode == Some(true) {
        return Some(AuthMethod::None);
    }
    if spec.auth_ref.is_some() {
        return None;
    }
    let username = spec.user_name.clone().or_else(|| spec.username.clone());
    match (username, spec.password.clone(), spec.shared_secret.clone()) {
        (Some(username), Some(password), _) => Some(AuthMethod::Static { username, password }),
        (_, _, Some(secret)) => Some(AuthMethod::Ephemeral { secret }),
        _ => None,
    }
}

/// An endpoint that clients of a listener may reach.
pub(super) fn peer(config: &Config, listener: &str) -> Option<SocketAddr> {
    let listener = config.listener(listener)?;
    let clusters = listener
        .routes
        .iter()
        .filter_map(|route| config.cluster(route));
    clusters
        .filter(|cluster| cluster.protocol == PeerTransport::Udp)
        .find_map(|cluster| match &cluster.kind {
            ClusterKind::Static(endpoints) => {
                // Of a prefix nobody knows which address is somebody's.
                let single = endpoints
                    .iter()
                    .find(|it| it.net.prefix_len() == it.net.max_prefix_len())?;
                Some(SocketAddr::new(single.net.addr(), single.ports.first))
            }
            ClusterKind::StrictDns(_) => None,
        })
}

async fn resolve(host: &str, port: u16, timeout: Duration) -> Result<Vec<IpAddr>, String> {
    let found = tokio::time::timeout(timeout, tokio::net::lookup_host((host, port))).await;
    let found = match found {
        Ok(Ok(found)) => found,
        Ok(Err(error)) => return Err(error.to_string()),
        Err(_) => {
            return Err(format!(
                "the resolver gave no answer within {} s",
                timeout.as_secs()
            ));
        }
    };
    let mut addresses: Vec<IpAddr> = Vec::new();
    for address in found {
        if !addresses.contains(&address.ip()) {
            addresses.push(address.ip());
        }
    }
    match addresses.is_empty() {
        true => Err("it has no address".to_owned()),
        false => Ok(addresses),
    }
}

fn tried<T>(error: ClientError) -> Tried<T> {
    match error {
        ClientError::NothingListens { .. } => Tried::Closed,
        ClientError::Timeout {
            step: Step::Handshake,
            transport: ServerTransport::Tls,
            ..
        } => Tried::Handshake("the port is open and does not answer a TLS handshake".to_owned()),
        ClientError::Timeout {
            step: Step::Request,
            transport: ServerTransport::Tcp | ServerTransport::Tls,
            ..
        } => Tried::Mute,
        ClientError::Timeout { .. } => Tried::Silent,
        ClientError::Unauthorized { .. } => Tried::Unauthorized,
        ClientError::Refused { code, reason, .. } => Tried::Refused { code, reason },
        error @ (ClientError::Tls { .. } | ClientError::Certificate { .. }) => {
            Tried::Handshake(error.to_string())
        }
        error @ ClientError::NotTurn { .. } => Tried::NoTurn(error.to_string()),
        error => Tried::Failed(error.to_string()),
    }
}

fn certificate(shown: &ServerCertificates) -> Tried<CertificateFacts> {
    let Some(own) = shown.chain.first() else {
        return Tried::Failed("the server showed none".to_owned());
    };
    let PeerCertificate {
        subject,
        names,
        not_before,
        not_after,
        ..
    } = own;
    let fault = shown.verdict.as_ref().err();
    Tried::Done(CertificateFacts {
        subject: subject.clone(),
        names: names.clone(),
        not_before: unix(*not_before),
        not_after: unix(*not_after),
        self_signed: matches!(fault, Some(CertificateFault::SelfSigned)),
        // Names and dates of the server's own certificate are judged by themselves.
        untrusted: fault
            .filter(|fault| !matches!(fault, CertificateFault::WrongName { .. }))
            .map(|fault| fault.to_string()),
    })
}

fn unix(time: SystemTime) -> i64 {
    let seconds = |duration: Duration| i64::try_from(duration.as_secs()).unwrap_or(i64::MAX);
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => seconds(since),
        Err(before) => -seconds(before.duration()),
    }
}

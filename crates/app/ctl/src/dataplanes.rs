//! The dataplanes that a command asks: the pods of gateways, or the process at `--admin`.

use futures_util::StreamExt;
use futures_util::stream;
use stunner_cluster::{Admin, Cluster, ClusterError, ConfigId, PodPlace, Scope};

use crate::cli::Globals;
use crate::failure::Failure;

/// Who is to be asked. Pods are looked for anew with every [`Dataplanes::list`], as they come and go.
#[derive(Debug, Clone)]
pub(crate) enum Dataplanes {
    /// A process of this host, which may serve several gateways.
    Process {
        address: String,
        admin: Box<Admin>,
        wanted: Wanted,
    },
    Pods {
        cluster: Cluster,
        wanted: Wanted,
    },
}

/// One that can be asked, or a pod that cannot.
#[derive(Debug, Clone)]
pub(crate) struct Dataplane {
    /// `namespace/pod`, or the address.
    pub(crate) name: String,
    /// Whose pod it is, `namespace/gateway`; `None` for a process, which says so itself.
    pub(crate) gateway: Option<String>,
    pub(crate) admin: Admin,
    /// Why it need not be asked.
    pub(crate) absent: Option<&'static str>,
    host_network: bool,
}

/// Which gateways are meant. What is left out does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
}

impl Wanted {
    /// `NAME` or `NAMESPACE/NAME`; a namespace in the name outdoes that of `-n`.
    pub(crate) fn read(
        gateway: Option<&str>,
        namespace: Option<&str>,
        all_namespaces: bool,
    ) -> Result<Wanted, Failure> {
        let wanted = match gateway.map(|gateway| gateway.split_once('/').ok_or(gateway)) {
            Some(Ok((namespace, name))) => Wanted {
                namespace: Some(namespace.to_owned()),
                name: Some(name.to_owned()),
            },
            Some(Err(name)) => Wanted {
                namespace: namespace.filter(|_| !all_namespaces).map(str::to_owned),
                name: Some(name.to_owned()),
            },
            None => Wanted {
                namespace: namespace.filter(|_| !all_namespaces).map(str::to_owned),
                name: None,
            },
        };
        let is_name = |part: &String| !part.is_empty() && !part.contains('/');
        let parts = [&wanted.namespace, &wanted.name];
        let are_names = parts.into_iter().flatten().all(is_name);
        match are_names {
            true => Ok(wanted),
            false => Err(Failure::Usage(stunner_flags::UsageError::new(
                format!("`{}` is no gateway", gateway.unwrap_or_default()),
                "give NAME or NAMESPACE/NAME",
            ))),
        }
    }

    /// Whether `namespace/gateway` is meant.
    pub(crate) fn covers(&self, gateway: &str) -> bool {
        let (namespace, name) = gateway.split_once('/').unwrap_or(("", gateway));
        let is = |wanted: &Option<String>, it: &str| wanted.as_ref().is_none_or(|name| name == it);
        is(&self.namespace, namespace) && is(&self.name, name)
    }

    /// Whether the listener `namespace/gateway/listener` is one of a gateway that is meant. Names of other shapes
    /// come from configurations that no operator made; nobody can tell their gateway.
    pub(crate) fn covers_listener(&self, listener: &str) -> bool {
        match listener.rsplit_once('/') {
            Some((gateway, _)) if gateway.contains('/') => self.covers(gateway),
            _ => true,
        }
    }

    /// Whether one of these gateways of a process is meant. Names of other shapes than an operator gives may be
    /// anybody's.
    pub(crate) fn among(&self, process: &str, gateways: &[String]) -> Result<(), Failure> {
        let is_meant = |gateway: &String| !gateway.contains('/') || self.covers(gateway);
        match gateways.iter().any(is_meant) {
            true => Ok(()),
            false => Err(Failure::new(
                format!("{process} does not serve {self}"),
                match gateways {
                    [] => "it serves none yet; see its log".to_owned(),
                    some => format!("it serves {}", some.join(", ")),
                },
            )),
        }
    }

    /// What is to be asked for. A name in all namespaces has to be looked for among all.
    pub(crate) fn scope(&self) -> Scope {
        match (&self.namespace, &self.name) {
            (Some(namespace), Some(name)) => Scope::One(ConfigId {
                namespace: namespace.clone(),
                name: name.clone(),
            }),
            (Some(namespace), None) => Scope::Namespace(namespace.clone()),
            (None, _) => Scope::All,
        }
    }
}

impl std::fmt::Display for Wanted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.namespace, &self.name) {
            (Some(namespace), Some(name)) => write!(f, "gateway {namespace}/{name}"),
            (None, Some(name)) => write!(f, "gateway {name} of any namespace"),
            (Some(namespace), None) => write!(f, "gateways of namespace {namespace}"),
            (None, None) => f.write_str("all gateways"),
        }
    }
}

impl Dataplanes {
    /// With `--admin` the process there is asked and no cluster is needed.
    pub(crate) async fn find(
        globals: &Globals,
        admin: Option<&str>,
        gateway: Option<&str>,
    ) -> Result<Dataplanes, Failure> {
        if let Some(address) = admin {
            return Ok(Dataplanes::Process {
                address: address.to_owned(),
                admin: Box::new(Admin::direct(address).map_err(failure)?),
                wanted: Wanted::read(
                    gateway,
                    globals.namespace.as_deref(),
                    globals.all_namespaces,
                )?,
            });
        }
        // A wrong name is told before a cluster is looked for.
        Wanted::read(gateway, None, false)?;
        let cluster = Cluster::connect(&globals.kubectl).await.map_err(failure)?;
        let wanted = Wanted::read(gateway, Some(cluster.namespace()), globals.all_namespaces)?;
        Ok(Dataplanes::Pods { cluster, wanted })
    }

    pub(crate) fn wanted(&self) -> &Wanted {
        match self {
            Dataplanes::Process { wanted, .. } | Dataplanes::Pods { wanted, .. } => wanted,
        }
    }

    /// Whether the process at `--admin` serves the gateway that was named. Where nobody answers, the question itself
    /// will tell.
    pub(crate) async fn check_name(&self) -> Result<(), Failure> {
        let Dataplanes::Process {
            address,
            admin,
            wanted,
        } = self
        else {
            return Ok(());
        };
        match (&wanted.name, admin.statistics().await) {
            (Some(_), Ok(statistics)) => {
                let served = statistics.gateways.into_iter().map(|it| it.gateway);
                wanted.among(address, &served.collect::<Vec<_>>())
            }
            _ => Ok(()),
        }
    }

    /// Whom this is about, in a few words.
    pub(crate) fn scope(&self) -> String {
        match self {
            Dataplanes::Process {
                address, wanted, ..
            } => match wanted.namespace.is_none() && wanted.name.is_none() {
                true => address.clone(),
                false => format!("{address}, {wanted}"),
            },
            Dataplanes::Pods { wanted, .. } => wanted.to_string(),
        }
    }

    /// Those there are now, sorted by name. A process is always one.
    pub(crate) async fn list(&self) -> Result<Vec<Dataplane>, Failure> {
        let (cluster, wanted) = match self {
            Dataplanes::Process { address, admin, .. } => {
                return Ok(vec![Dataplane {
                    name: address.clone(),
                    gateway: None,
                    admin: (**admin).clone(),
                    absent: None,
                    host_network: false,
                }]);
            }
            Dataplanes::Pods { cluster, wanted } => (cluster, wanted),
        };
        let pods = cluster.dataplane_pods(&wanted.scope()).await;
        let pods = pods.map_err(failure)?;
        let gateway = |pod: &PodPlace| pod.gateway.as_ref().map(ToString::to_string);
        let meant = pods.into_iter().filter(|pod| match gateway(pod) {
            Some(gateway) => wanted.covers(&gateway),
            // The dataplane of legacy mode serves the gateways of a whole class.
            None => true,
        });
        Ok(meant
            .map(|pod| Dataplane {
                name: pod.name.to_string(),
                gateway: gateway(&pod),
                admin: Admin::of_pod(cluster, &pod.name),
                absent: (!pod.running).then_some("the pod is not running yet"),
                host_network: pod.host_network,
            })
            .collect())
    }

    /// Those there are now; none at all is a failure.
    pub(crate) async fn some(&self) -> Result<Vec<Dataplane>, Failure> {
        let found = self.list().await?;
        match found.is_empty() {
            false => Ok(found),
            true => Err(Failure::new(
                format!("no pod serves {}", self.wanted()),
                "`stunnerctl doctor` says why there is none; -n NAMESPACE looks elsewhere, -a everywhere, and --admin \
                 ADDR asks a local `stunner run`",
            )),
        }
    }
}

impl Dataplane {
    /// Why it did not answer.
    fn silence(&self, error: &ClusterError) -> Silence {
        let hint = match error {
            ClusterError::Unreachable { .. } if self.host_network => Some(
                "the admin API is off for pods on the host network unless their Dataplane has \
                 `--admin-address=127.0.0.1:8087`"
                    .to_owned(),
            ),
            ClusterError::Unreachable { .. } if self.gateway.is_none() => Some(
                "check the address; `stunner run` and `stunnerd` serve the admin API at --admin-address \
                 (127.0.0.1:8087)"
                    .to_owned(),
            ),
            error => error.hint(),
        };
        Silence {
            name: self.name.clone(),
            why: error.to_string(),
            hint,
        }
    }
}

/// A dataplane that did not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Silence {
    pub(crate) name: String,
    pub(crate) why: String,
    pub(crate) hint: Option<String>,
}

impl std::fmt::Display for Silence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no answer from {}: {}", self.name, self.why)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

/// What is left of a command when nobody has answered.
impl From<Silence> for Failure {
    fn from(silence: Silence) -> Failure {
        Failure::Problem {
            error: format!("no answer from {}: {}", silence.name, silence.why).into(),
            hint: silence.hint,
        }
    }
}

/// Connections into pods at a time: each is a stream of the API server's.
const AT_ONCE: usize = 32;

/// Does many things at once, but not all of them. What came of each comes in their order; a slow one holds up no other.
pub(crate) async fn together<F: Future>(work: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let numbered = work.into_iter().enumerate();
    let numbered: Vec<_> = numbered
        .map(|(number, work)| async move { (number, work.await) })
        .collect();
    let done = stream::iter(numbered).buffer_unordered(AT_ONCE);
    let mut done: Vec<(usize, F::Output)> = done.collect().await;
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, output)| output).collect()
}

/// Asks all of them. What each answered comes in their order.
pub(crate) async fn ask_all<T, F>(
    dataplanes: &[Dataplane],
    ask: impl Fn(Admin) -> F,
) -> Vec<Result<T, Silence>>
where
    F: Future<Output = Result<T, ClusterError>>,
{
    let asked = dataplanes.iter().map(|dataplane| {
        let answer = ask(dataplane.admin.clone());
        async move {
            match dataplane.absent {
                Some(why) => Err(Silence {
                    name: dataplane.name.clone(),
                    why: why.to_owned(),
                    hint: None,
                }),
                None => answer.await.map_err(|error| dataplane.silence(&error)),
            }
        }
    });
    together(asked).await
}

/// An error of the cluster with its hint.
pub(crate) fn failure(error: ClusterError) -> Failure {
    let hint = error.hint();
    Failure::Problem {
        error: error.into(),
        hint,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn wanted(gateway: Option<&str>, namespace: Option<&str>, all: bool) -> String {
        match Wanted::read(gateway, namespace, all) {
            Ok(wanted) => wanted.to_string(),
            Err(failure) => failure.to_string(),
        }
    }

    #[test]
    fn a_gateway_is_named_with_or_without_its_namespace() {
        for (gateway, namespace, all, means) in [
            (Some("gw"), Some("ns"), false, "gateway ns/gw"),
            (Some("a/gw"), Some("ns"), false, "gateway a/gw"),
            (Some("a/gw"), Some("ns"), true, "gateway a/gw"),
            (Some("gw"), Some("ns"), true, "gateway gw of any namespace"),
            (Some("gw"), None, false, "gateway gw of any namespace"),
            (None, Some("ns"), false, "gateways of namespace ns"),
            (None, Some("ns"), true, "all gateways"),
            (None, None, false, "all gateways"),
            (Some("a/b/c"), None, false, "`a/b/c` is no gateway"),
            (Some("/b"), None, false, "`/b` is no gateway"),
            (Some(""), None, false, "`` is no gateway"),
        ] {
            assert_eq!(
                wanted(gateway, namespace, all),
                means,
                "{gateway:?} {namespace:?}"
            );
        }
    }

    #[tokio::test]
    async fn many_are_asked_at_once_but_not_all_and_answer_in_their_order() {
        let under_way = AtomicUsize::new(0);
        let most = AtomicUsize::new(0);
        let (all_others_done, mut others_done) = tokio::sync::watch::channel(0);
        const ALL: usize = 200;
        let ask = |number: usize| {
            let (under_way, most, done) = (&under_way, &most, &all_others_done);
            let mut others = others_done.clone();
            async move {
                let now = under_way.fetch_add(1, Ordering::SeqCst) + 1;
                most.fetch_max(now, Ordering::SeqCst);
                match number {
                    // The first waits for all others, which must not wait for it.
                    0 => drop(others.wait_for(|done| *done == ALL - 1).await),
                    _ => {
                        tokio::task::yield_now().await;
                        done.send_modify(|done| *done += 1);
                    }
                }
                under_way.fetch_sub(1, Ordering::SeqCst);
                number
            }
        };
        let answers = together((0..ALL).map(ask)).await;
        assert_eq!(answers, (0..ALL).collect::<Vec<_>>());
        assert_eq!(*others_done.borrow_and_update(), ALL - 1);
        let most = most.into_inner();
        assert!(most > 1 && most <= AT_ONCE, "{most}");
    }

    #[test]
    fn listeners_are_those_of_their_gateway() {
        let of = |gateway| Wanted::read(Some(gateway), None, false).expect("a gateway");
        assert!(of("ns/gw").covers_listener("ns/gw/udp"));
        assert!(of("gw").covers_listener("ns/gw/udp"));
        assert!(!of("ns/gw").covers_listener("ns/other/udp"));
        // As in a configuration written by hand.
        assert!(of("ns/gw").covers_listener("default-listener"));
    }

    #[test]
    fn a_process_is_asked_about_its_own_gateways_only() {
        let of = |gateway| Wanted::read(Some(gateway), None, false).expect("a gateway");
        let served = ["ns/gw".to_owned(), "ns/other".to_owned()];
        assert!(of("gw").among("127.0.0.1:1", &served).is_ok());
        let failure = of("x/gw").among("127.0.0.1:1", &served).expect_err("none");
        assert_eq!(
            failure.to_string(),
            "127.0.0.1:1 does not serve gateway x/gw"
        );
        assert_eq!(failure.hint(), Some("it serves ns/gw, ns/other"));
        assert!(of("gw").among("a", &[]).is_err());
        assert!(of("gw").among("a", &["by-hand".to_owned()]).is_ok());
    }
}

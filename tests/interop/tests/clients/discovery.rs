//! Dataplanes at our config discovery service: the Go `stunnerd` at the plain port, ours at that and over TLS.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use interop_tests::config::{Config, Transport};
use interop_tests::pki::TestCa;
use interop_tests::ports::free_port;
use interop_tests::process::{Process, wait_until};
use interop_tests::{go, http, need, stunnerd};
use stunner_cds::ConfigId;
use stunner_cds::server::{
    Access, Authorizer, BearerToken, ConfigStore, RunningServer, Scope, Server, ServerOptions,
    Verdict,
};
use stunner_http::LiveCertificate;
use tokio::runtime::Runtime;

const ID: &str = "interop/gateway";
const SOON: Duration = Duration::from_secs(20);

/// A service on a runtime of its own, and a dataplane that follows it.
struct Scene {
    runtime: Runtime,
    store: ConfigStore,
    config: Config,
    health: String,
}

impl Scene {
    fn new() -> Scene {
        let mut config = Config::empty();
        config.add_listener("udp", Transport::Udp, free_port(), None)["address"] =
            "127.0.0.1".into();
        let (health, _) = config.endpoint("healthcheck_endpoint").expect("health");
        Scene {
            runtime: Runtime::new().expect("a runtime"),
            store: ConfigStore::new(),
            config,
            health,
        }
    }

    fn serve(&self, port: u16, options: ServerOptions) -> RunningServer {
        let _inside = self.runtime.enter();
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let bound = Server::bind(&address.into()).expect("the port");
        bound.serve(self.store.clone(), options).expect("a server")
    }

    fn dataplane(&self, program: &Path, origin: &str, environment: &[(&str, &str)]) -> Process {
        let mut command = Command::new(program);
        command.args(["-w", "-c", origin, "-i", ID]);
        command.envs(environment.iter().copied());
        if program == stunnerd::binary() {
            command.args(["--admin-address", "off"]);
        }
        Process::start(&program.display().to_string(), command).expect("start")
    }

    /// Publishes the config with another log level, and waits until it runs.
    fn change(&mut self, level: &str) {
        self.config.0["admin"]["loglevel"] = level.into();
        let id = ConfigId::parse(ID).expect("an id");
        assert!(self.store.publish(id, &self.config.0));
        let runs = || {
            http::get(&self.health, "/status").is_ok_and(|answer| {
                answer.status == 200 && answer.json()["admin"]["loglevel"] == level
            })
        };
        assert!(
            wait_until(SOON, runs),
            "the config with {level} does not run"
        );
    }

    fn is_ready(&self) -> bool {
        http::get(&self.health, "/ready").is_ok_and(|answer| answer.status == 200)
    }

    fn subscribers(&self) -> usize {
        self.store.census().subscribers
    }
}

/// The story of a dataplane's life: before its config, through changes, a deletion, silence, and a restart of the
/// service.
fn follows(program: &Path) {
    let mut scene = Scene::new();
    let port = free_port();
    let server = scene.serve(port, ServerOptions::default());
    let origin = format!("http://127.0.0.1:{port}");
    let mut dataplane = scene.dataplane(program, &origin, &[]);
    assert!(wait_until(SOON, || scene.subscribers() == 1), "no watch");
    scene.change("all:WARN");
    assert!(wait_until(SOON, || scene.is_ready()), "not ready");
    scene.change("all:ERROR");

    // A deletion is told and ignored: what drains must go on serving.
    assert!(scene.store.remove(&ConfigId::parse(ID).expect("an id")));
    assert!(wait_until(SOON, || scene.store.census().frames_sent == 3));

    // Longer than a client waits for a word: only our answers to its pings keep the connection.
    std::thread::sleep(Duration::from_secs(10));
    assert!(scene.is_ready() && dataplane.ended().is_none());
    assert_eq!(scene.subscribers(), 1);
    assert_eq!(scene.store.census().frames_sent, 3);
    scene.change("all:WARN");

    scene.runtime.block_on(server.stop());
    assert!(scene.is_ready());
    let _server = scene.serve(port, ServerOptions::default());
    assert!(wait_until(SOON, || scene.subscribers() == 1), "not back");
    scene.change("all:INFO");
}

#[test]
fn the_go_dataplane_follows_our_service() {
    let original = need!("the_go_dataplane_follows_our_service", go::go_stunnerd());
    follows(&original);
}

#[test]
fn our_dataplane_follows_our_service() {
    follows(stunnerd::binary());
}

/// Lets one token read one config.
struct OneToken;

impl Authorizer for OneToken {
    fn authorize<'a>(
        &'a self,
        token: &'a BearerToken,
        scope: &'a Scope,
    ) -> std::pin::Pin<Box<dyn Future<Output = Verdict> + Send + 'a>> {
        let own = matches!(scope, Scope::One(id) if id.to_string() == ID);
        let verdict = match own && token.expose() == "the-token" {
            true => Verdict::Allowed,
            false => Verdict::Denied("not this config".to_owned()),
        };
        Box::pin(async { verdict })
    }
}

#[test]
fn our_dataplane_shows_its_mounted_token_over_tls() {
    let mut scene = Scene::new();
    let ca = TestCa::new();
    let identity = ca.ecdsa("discovery");
    let certificate =
        LiveCertificate::from_pem(identity.chain_pem.as_bytes(), identity.key_pem.as_bytes())
            .expect("usable");
    let options = ServerOptions {
        access: Access::Checked(Arc::new(OneToken)),
        certificate: Some(certificate),
        ..ServerOptions::default()
    };
    let port = free_port();
    let _server = scene.serve(port, options);
    let mounted = tempfile::tempdir().expect("a folder");
    let roots = ca.write_root(mounted.path());
    let token = mounted.path().join("token");
    std::fs::write(&token, "an-old-token").expect("written");
    let text = |path: &Path| path.to_str().expect("a path").to_owned();
    let _dataplane = scene.dataplane(
        stunnerd::binary(),
        &format!("https://localhost:{port}"),
        &[
            ("STUNNER_CDS_TOKEN_FILE", &text(&token)),
            ("STUNNER_CDS_CA_FILE", &text(&roots)),
        ],
    );
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(scene.subscribers(), 0);
    // The token is rotated, as the kubelet does, and believed at the next attempt.
    std::fs::write(&token, "the-token\n").expect("written");
    assert!(wait_until(SOON, || scene.subscribers() == 1), "no watch");
    scene.change("all:WARN");
}

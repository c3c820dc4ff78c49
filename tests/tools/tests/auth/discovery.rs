//! Configurations from a real config discovery service, which comes and goes.

use interop_tests::ports::free_port;
use stunner_cds::ConfigId;
use stunner_cds::server::{ConfigStore, RunningServer, Server, ServerOptions};
use stunner_http::BindAddress;
use tokio::runtime::Runtime;

use crate::process::{Authd, config, url};

/// The part of an operator that tells configurations.
struct Operator {
    runtime: Runtime,
    store: ConfigStore,
    port: u16,
    server: Option<RunningServer>,
}

impl Operator {
    fn start() -> Operator {
        let mut operator = Operator {
            runtime: Runtime::new().expect("a runtime"),
            store: ConfigStore::new(),
            port: free_port(),
            server: None,
        };
        operator.back();
        operator
    }

    fn back(&mut self) {
        let _inside = self.runtime.enter();
        let address = BindAddress::Socket(([127, 0, 0, 1], self.port).into());
        let bound = Server::bind(&address).expect("the port");
        let running = bound.serve(self.store.clone(), ServerOptions::default());
        self.server = Some(running.expect("a server"));
    }

    fn away(&mut self) {
        if let Some(server) = self.server.take() {
            self.runtime.block_on(server.stop());
        }
    }

    fn publish(&self, name: &str, address: &str) {
        let config: serde_json::Value = serde_json::from_str(&config(name, address)).expect("JSON");
        self.store.publish(id(name), &config);
    }

    fn delete(&self, name: &str) {
        self.store.remove(&id(name));
    }

    fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }
}

fn id(name: &str) -> ConfigId {
    ConfigId::parse(name).expect("a name")
}

#[test]
fn gateways_come_change_and_go() {
    let operator = Operator::start();
    let authd = Authd::start(&["--cds-server-address", &operator.address()]);
    authd.wait_for_log("watching 0 configs");
    assert_eq!(authd.get("/readyz").status, 200);
    assert_eq!(authd.get("/?service=turn").status, 500);
    operator.publish("ns/b", "192.0.2.2");
    operator.publish("ns/a", "192.0.2.1");
    authd.wait_for_urls(&[&url("192.0.2.1"), &url("192.0.2.2")]);
    operator.publish("ns/a", "192.0.2.10");
    authd.wait_for_urls(&[&url("192.0.2.10"), &url("192.0.2.2")]);
    operator.delete("ns/b");
    authd.wait_for_urls(&[&url("192.0.2.10")]);
    assert_eq!(
        authd.get("/ice?service=turn&namespace=ns&gateway=b").status,
        404
    );
    operator.delete("ns/a");
    authd.wait_for_urls(&[]);
    assert_eq!(authd.get("/ice?service=turn").status, 500);
    assert!(authd.terminate().success());
}

#[test]
fn what_is_known_outlives_config_discovery_and_what_was_deleted_meanwhile_goes_when_it_is_back() {
    let mut operator = Operator::start();
    operator.publish("ns/stays", "192.0.2.1");
    operator.publish("ns/goes", "192.0.2.2");
    let authd = Authd::start(&["--cds-server-address", &operator.address()]);
    authd.wait_for_urls(&[&url("192.0.2.2"), &url("192.0.2.1")]);
    operator.away();
    authd.wait_for_log("tried again");
    operator.delete("ns/goes");
    operator.publish("ns/new", "192.0.2.3");
    assert_eq!(
        authd.urls(),
        [url("192.0.2.2"), url("192.0.2.1")],
        "while it is away"
    );
    assert_eq!(authd.get("/readyz").status, 200);
    operator.back();
    authd.wait_for_urls(&[&url("192.0.2.3"), &url("192.0.2.1")]);
}

#[test]
fn a_service_without_config_discovery_is_alive_not_ready_and_ends_well() {
    let address = format!("127.0.0.1:{}", free_port());
    let authd = Authd::start(&["--cds-server-address", &address]);
    authd.wait_for_log("tried again");
    assert_eq!(authd.get("/healthz").status, 200);
    assert_eq!(authd.get("/readyz").status, 503);
    let refused = authd.get("/ice?service=turn");
    assert_eq!(refused.status, 500);
    assert_eq!(refused.json()["error"], "no gateway is known");
    assert_eq!(authd.terminate().code(), Some(0));
}

#[test]
fn the_service_starts_before_config_discovery() {
    let mut operator = Operator::start();
    operator.away();
    operator.publish("ns/gw", "192.0.2.1");
    // As the original has it: address and port apart.
    let port = operator.port.to_string();
    let env = [
        ("CDS_SERVER_ADDR", "127.0.0.1"),
        ("CDS_SERVER_PORT", port.as_str()),
    ];
    let authd = Authd::start_in(&[], &env);
    authd.wait_for_log("tried again");
    operator.back();
    authd.wait_for_urls(&[&url("192.0.2.1")]);
}

//! A namespace with a Gateway, a route and its backends, and an operator with a console.

use cluster_tests::manifests::{self, controller};
use cluster_tests::{Cluster, Console, Objects, Operator, OperatorOptions, eventually};
use serde_json::{Value, json};

/// Credentials that must not reach the page.
pub const USER: &str = "hush-user";
pub const PASSWORD: &str = "hush-password";

pub struct World {
    pub name: String,
    pub objects: Objects,
}

impl World {
    pub async fn new(cluster: &Cluster, name: &str) -> Self {
        let world = World {
            name: name.to_owned(),
            objects: cluster.objects().await,
        };
        for object in world.manifests() {
            world.apply(&object).await;
        }
        world
    }

    fn manifests(&self) -> Vec<Value> {
        let class = manifests::own_class(&self.name, USER, PASSWORD);
        let behind = [self.gateway("edge", 3478), self.route("media", "media")];
        class.into_iter().chain(behind).collect()
    }

    pub fn gateway(&self, name: &str, port: u16) -> Value {
        manifests::gateway(&self.name, name, port)
    }

    /// A route from the Gateway `edge` to a StaticService of the namespace.
    pub fn route(&self, name: &str, backend: &str) -> Value {
        json!({
            "apiVersion": "stunner.l7mp.io/v1", "kind": "UDPRoute",
            "metadata": { "name": name, "namespace": self.name },
            "spec": {
                "parentRefs": [{ "name": "edge" }],
                "rules": [{ "backendRefs": [
                    { "group": "stunner.l7mp.io", "kind": "StaticService", "name": backend },
                ] }],
            },
        })
    }

    pub fn static_service(&self, name: &str, prefix: &str) -> Value {
        json!({
            "apiVersion": "stunner.l7mp.io/v1", "kind": "StaticService",
            "metadata": { "name": name, "namespace": self.name },
            "spec": { "prefixes": [prefix] },
        })
    }

    pub async fn apply(&self, object: &Value) {
        self.objects.apply_object(object).await;
    }

    pub fn options(&self) -> OperatorOptions {
        OperatorOptions::new(&controller(&self.name))
    }

    pub async fn operator(&self, cluster: &Cluster) -> Operator {
        Operator::start(cluster, self.options()).await
    }

    /// A ServiceAccount's token with rights of these rules; in the world's namespace, or everywhere.
    pub async fn token(&self, account: &str, rules: Value, everywhere: bool) -> String {
        let token = self.objects.token(&self.name, account, rules, everywhere);
        token.await
    }
}

/// Waits until what the page shows is as `check` wants it.
pub async fn shown<T>(
    console: Console,
    token: Option<&str>,
    what: &str,
    check: impl Fn(&Value) -> Option<T>,
) -> T {
    eventually(what, async || {
        let state = console.state(token)?;
        check(&state).ok_or_else(|| state.to_string())
    })
    .await
}

/// The member of a list that has this `id`.
pub fn of<'a>(list: &'a Value, id: &str) -> Option<&'a Value> {
    list.as_array()?.iter().find(|item| item["id"] == id)
}

/// What the notes say, as one text.
pub fn notes(state: &Value) -> String {
    let notes = state["notes"].as_array().into_iter().flatten();
    let notes = notes.filter_map(|note| note["message"].as_str());
    notes.collect::<Vec<_>>().join("\n")
}

//! Accounts with rights of their own.

use serde_json::{Value, json};

use crate::objects::Objects;

impl Objects {
    /// The token of a ServiceAccount with the rights of these rules: in its namespace, or everywhere.
    pub async fn token(
        &self,
        namespace: &str,
        account: &str,
        rules: Value,
        everywhere: bool,
    ) -> String {
        let name = format!("{namespace}-{account}");
        self.apply_object(&json!({
            "apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": { "name": account, "namespace": namespace },
        }))
        .await;
        let (role, binding) = match everywhere {
            true => ("ClusterRole", "ClusterRoleBinding"),
            false => ("Role", "RoleBinding"),
        };
        let metadata = match everywhere {
            true => json!({ "name": name }),
            false => json!({ "name": name, "namespace": namespace }),
        };
        let group = "rbac.authorization.k8s.io";
        self.apply_object(&json!({
            "apiVersion": format!("{group}/v1"), "kind": role, "metadata": metadata, "rules": rules,
        }))
        .await;
        self.apply_object(&json!({
            "apiVersion": format!("{group}/v1"), "kind": binding, "metadata": metadata,
            "roleRef": { "apiGroup": group, "kind": role, "name": name },
            "subjects": [{ "kind": "ServiceAccount", "name": account, "namespace": namespace }],
        }))
        .await;
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token");
        let body = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": { "expirationSeconds": 3600 },
        });
        let request = http::Request::post(path)
            .header("Content-Type", "application/json")
            .body(body.to_string().into_bytes())
            .expect("a request");
        let answer: Value = self.client().request(request).await.expect("a token");
        let token = answer["status"]["token"].as_str().expect("a token");
        token.to_owned()
    }
}

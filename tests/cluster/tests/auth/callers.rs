//! Callers who show the tokens of their ServiceAccounts, which the API server is asked about.

use std::time::Duration;

use cluster_tests::{Cluster, GatewayApi, Objects, User, need};
use interop_tests::rounds::Round;
use serde_json::json;

use crate::authd::Authd;
use crate::tokens::{account, ending_in, token};

const NAMESPACE: &str = "shop";
const AUDIENCE: &str = "turn.example.test";
const ASK: &str = "/?service=turn";

struct Shop {
    objects: Objects,
    cluster: Cluster,
}

impl Shop {
    async fn open(cluster: Cluster) -> Shop {
        let objects = cluster.objects().await;
        let namespace =
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE } });
        objects.apply_object(&namespace).await;
        for name in ["app", "other"] {
            account(&objects, NAMESPACE, name).await;
        }
        Shop { objects, cluster }
    }

    /// Gives a ServiceAccount the right to ask about tokens, as the documentation says.
    async fn delegate(&self, name: &str) {
        let group = "rbac.authorization.k8s.io";
        self.objects
            .apply_object(&json!({
                "apiVersion": format!("{group}/v1"), "kind": "ClusterRoleBinding",
                "metadata": { "name": format!("{name}-delegator") },
                "roleRef": { "apiGroup": group, "kind": "ClusterRole", "name": "system:auth-delegator" },
                "subjects": [{ "kind": "ServiceAccount", "name": name, "namespace": NAMESPACE }],
            }))
            .await;
    }

    /// The service as a ServiceAccount.
    async fn authd(&self, name: &str, further: &[&str]) -> Authd {
        account(&self.objects, NAMESPACE, name).await;
        let own = token(&self.objects, NAMESPACE, name, None).await;
        let folder = self.cluster.folder();
        let config = folder.join("gateway.yaml");
        let text = "{version: v1, admin: {name: ns/gw}, listeners: [{name: ns/gw/udp, public_address: 192.0.2.1}], \
                    auth: {type: ephemeral, credentials: {secret: hush-secret}}}";
        std::fs::write(&config, text).expect("written");
        let kubeconfig = self.cluster.kubeconfig(User::Admin);
        let mut arguments = vec![
            format!("--config={}", config.display()),
            format!("--kubeconfig={}", kubeconfig.display()),
            format!("--token={own}"),
            "--token-review".to_owned(),
        ];
        arguments.extend(further.iter().map(|&text| text.to_owned()));
        let authd = Authd::start(&arguments).await;
        authd.answers("/readyz", 200).await;
        authd
    }

    async fn token(&self, name: &str, audience: Option<&str>) -> String {
        token(&self.objects, NAMESPACE, name, audience).await
    }
}

/// The status, and for a refusal the body that says why.
#[track_caller]
fn ask(authd: &Authd, token: Option<&str>) -> (u16, String) {
    let answer = authd.ask(ASK, token).expect("an answer");
    if answer.status != 200 {
        let body = answer.json();
        assert!(body["error"].is_string() && body["hint"].is_string());
        let head = answer.head.to_ascii_lowercase();
        assert!(head.contains("content-type: application/json"), "{head}");
        assert_eq!(
            head.contains("www-authenticate: bearer"),
            answer.status == 401
        );
        if let Some(token) = token {
            assert!(!answer.body.contains(token), "{}", answer.body);
        }
    }
    (answer.status, answer.body)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_api_server_decides_whose_tokens_are_good() {
    let test = "the_api_server_decides_whose_tokens_are_good";
    let cluster = need!(test, Cluster::start(GatewayApi::V1_6Standard).await);
    let shop = Shop::open(cluster).await;
    let further = [
        &*format!("--token-audience={AUDIENCE}"),
        "--token-accounts=shop/app",
    ];
    shop.delegate("guard").await;
    let authd = shop.authd("guard", &further).await;
    let app = shop.token("app", Some(AUDIENCE)).await;
    let folder = shop.cluster.folder();
    let ending = async |seconds| {
        let app = [NAMESPACE, "app"];
        ending_in(&shop.objects, folder, app, AUDIENCE, seconds).await
    };
    let forged = format!("{}AAAA", &app[..app.len() - 4]);
    for (what, token, status) in [
        ("good", Some(app.clone()), 200),
        ("good for a minute more", Some(ending(60).await), 200),
        ("expired", Some(ending(-60).await), 401),
        (
            "for the API server",
            Some(shop.token("app", None).await),
            401,
        ),
        ("for others", Some(shop.token("app", Some("x")).await), 401),
        ("forged", Some(forged), 401),
        ("nonsense", Some("nonsense".to_owned()), 401),
        ("a person's", Some("admin-token".to_owned()), 401),
        ("none", None, 401),
        (
            "another's",
            Some(shop.token("other", Some(AUDIENCE)).await),
            403,
        ),
    ] {
        let (answered, body) = ask(&authd, token.as_deref());
        assert_eq!(answered, status, "{what}: {body}");
        if status == 403 {
            assert!(body.contains("shop/other"), "{body}");
        }
    }
    // Nobody needs a token to see whether it lives.
    assert_eq!(authd.get("/healthz").expect("an answer").status, 200);

    // Any account, with the audience of the API server.
    let open = shop.authd("guard", &[]).await;
    let other = shop.token("other", None).await;
    assert_eq!(ask(&open, Some(&other)).0, 200);
    assert_eq!(ask(&open, Some(&app)).0, 401);

    outage(&shop, &authd, &app).await;
}

/// An API server that is gone, or hangs, lets nobody in but those who were let in a moment ago.
async fn outage(shop: &Shop, authd: &Authd, known: &str) {
    let unknown = shop.token("app", Some(AUDIENCE)).await;
    assert_ne!(unknown, known);
    shop.cluster.signal_apiserver(libc::SIGSTOP);
    let asked = Round::begin();
    let (hanging, body) = ask(authd, Some(&unknown));
    let took = asked.end();
    shop.cluster.signal_apiserver(libc::SIGCONT);
    assert_eq!(hanging, 503, "{body}");
    assert!(!took.is_longer_than(Duration::from_secs(10)), "{took:?}");

    shop.cluster.kill_apiserver();
    let (gone, body) = ask(authd, Some(&unknown));
    assert_eq!(gone, 503, "{body}");
    assert!(
        body.contains("tokens cannot be checked at the moment"),
        "{body}"
    );
    assert_eq!(ask(authd, Some(known)).0, 200, "remembered");
    assert!(authd.says("the API server cannot be reached: "));
    let said = authd.log();
    assert!(!said.contains(&unknown) && !said.contains(known), "{said}");

    shop.cluster.start_apiserver().await;
    cluster_tests::eventually("the API server is asked again", async || {
        match ask(authd, Some(&unknown)) {
            (200, _) => Ok(()),
            (status, body) => Err(format!("{status}: {body}")),
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_without_the_right_to_ask_says_which_one_it_lacks() {
    let test = "a_service_without_the_right_to_ask_says_which_one_it_lacks";
    let cluster = need!(test, Cluster::start(GatewayApi::V1_6Standard).await);
    let shop = Shop::open(cluster).await;
    let authd = shop.authd("powerless", &[]).await;
    let app = shop.token("app", None).await;
    let (status, body) = ask(&authd, Some(&app));
    assert_eq!(status, 503, "{body}");
    for part in [
        "not permitted to create tokenreviews.authentication.k8s.io in the whole cluster",
        "system:serviceaccount:shop:powerless",
        "--clusterrole=system:auth-delegator",
    ] {
        assert!(authd.says(part), "`{part}` is missing: {}", authd.log());
    }
    // The right takes effect without a restart.
    shop.delegate("powerless").await;
    cluster_tests::eventually("the right", async || match ask(&authd, Some(&app)) {
        (200, _) => Ok(()),
        (status, body) => Err(format!("{status}: {body}")),
    })
    .await;
}

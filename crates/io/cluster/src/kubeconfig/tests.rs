use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use stunner_flags::{Program, UsageError};

use super::*;
use crate::flags;

const PROGRAM: Program = Program {
    name: "program",
    flags: flags::KUBECTL,
    head: "",
    foot: "",
    single_dash: false,
};

const TWO_CONTEXTS: &str = "
apiVersion: v1
kind: Config
current-context: one
contexts:
- {name: one, context: {cluster: c1, user: u1, namespace: ns1}}
- {name: two, context: {cluster: c2, user: u2}}
clusters:
- {name: c1, cluster: {server: 'https://one.test:6443'}}
- {name: c2, cluster: {server: 'https://two.test:6443', insecure-skip-tls-verify: true}}
users:
- {name: u1, user: {token: token-one}}
- {name: u2, user: {token: token-two, username: ann, password: pa55}}
";

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Home {
        Home(tempfile::tempdir().expect("a folder"))
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, text).expect("written");
        path
    }

    fn path(&self) -> String {
        self.0.path().display().to_string()
    }
}

fn said(line: &[&str], env: &[(&str, String)]) -> Result<Kubectl, UsageError> {
    let words = std::iter::once("program").chain(line.iter().copied());
    let env = |name: &str| {
        let found = env.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.clone())
    };
    let given = PROGRAM.read(words.map(OsString::from), &env)?;
    Kubectl::read(&given)
}

async fn loaded(line: &[&str], env: &[(&str, String)]) -> Result<Config, ClusterError> {
    load(&said(line, env).expect("a usable line")).await
}

fn token(config: &Config) -> String {
    let text = serde_json::to_value(&config.auth_info).expect("JSON");
    text["token"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn the_file_in_the_home_folder_is_used_unless_another_is_named() {
    let home = Home::new();
    home.write(".kube/config", TWO_CONTEXTS);
    let other = home.write("other", &TWO_CONTEXTS.replace("one.test", "other.test"));
    let env = [("HOME", home.path())];
    let config = loaded(&[], &env).await.expect("a config");
    assert_eq!(config.cluster_url.host(), Some("one.test"));
    assert_eq!(config.default_namespace, "ns1");
    assert_eq!(token(&config), "token-one");

    let named = [env[0].clone(), ("KUBECONFIG", other.display().to_string())];
    let config = loaded(&[], &named).await.expect("a config");
    assert_eq!(config.cluster_url.host(), Some("other.test"));

    let line = ["--kubeconfig", &format!("{}/.kube/config", home.path())];
    let config = loaded(&line, &named).await.expect("a config");
    assert_eq!(config.cluster_url.host(), Some("one.test"));
}

#[tokio::test]
async fn the_files_of_the_variable_are_merged_and_the_first_wins() {
    let home = Home::new();
    let first = home.write(
        "first",
        "current-context: two\nclusters: [{name: c2, cluster: {server: 'https://first.test'}}]\n",
    );
    let second = home.write("second", TWO_CONTEXTS);
    let missing = home.0.path().join("missing");
    let list = std::env::join_paths([&missing, &first, &second]).expect("a list");
    let list = list.into_string().expect("text");
    let config = loaded(&[], &[("KUBECONFIG", list)]).await;
    let config = config.expect("a config");
    assert_eq!(config.cluster_url.host(), Some("first.test"));
    assert_eq!(token(&config), "token-two");
    assert_eq!(config.default_namespace, "default");
}

#[tokio::test]
async fn flags_choose_and_replace_parts_of_the_file() {
    let home = Home::new();
    let path = home.write("config", TWO_CONTEXTS).display().to_string();
    let load = async |more: &[&str]| {
        let line = [&["--kubeconfig", path.as_str()], more].concat();
        loaded(&line, &[]).await.expect("a config")
    };
    let config = load(&["--context", "two"]).await;
    assert_eq!(config.cluster_url.host(), Some("two.test"));
    assert!(config.accept_invalid_certs);
    let config = load(&["--cluster", "c2", "--user", "u2", "-n", "mine"]).await;
    assert_eq!(config.cluster_url.host(), Some("two.test"));
    assert_eq!(token(&config), "token-two");
    assert_eq!(config.default_namespace, "mine");
    let config = load(&[
        "--server",
        "https://elsewhere.test:1",
        "--token",
        "t",
        "--tls-server-name",
        "name.test",
        "--insecure-skip-tls-verify",
        "--as",
        "ann",
        "--as-group",
        "a",
        "--as-group",
        "b",
        "--as-uid",
        "7",
        "--as-user-extra",
        "reason=x",
        "--as-user-extra",
        "reason=y",
        "--request-timeout",
        "3s",
    ])
    .await;
    assert_eq!(config.cluster_url.host(), Some("elsewhere.test"));
    assert_eq!(config.tls_server_name.as_deref(), Some("name.test"));
    assert!(config.accept_invalid_certs);
    assert_eq!(config.connect_timeout, Some(Duration::from_secs(3)));
    let user = serde_json::to_value(&config.auth_info).expect("JSON");
    assert_eq!(user["token"], "t");
    assert_eq!(user["as"], "ann");
    assert_eq!(user["as-groups"], serde_json::json!(["a", "b"]));
    assert_eq!(user["as-uid"], "7");
    assert_eq!(
        user["as-user-extra"]["reason"],
        serde_json::json!(["x", "y"])
    );
    // A token replaces whatever else says who this is.
    let config = load(&["--context", "two", "--token", "t"]).await;
    let user = serde_json::to_value(&config.auth_info).expect("JSON");
    assert!(user["username"].is_null() && user["password"].is_null());
}

#[tokio::test]
async fn a_server_on_the_command_line_needs_no_file() {
    let config = loaded(&["-s", "127.0.0.1:8001"], &[]).await;
    let config = config.expect("a config");
    assert_eq!(config.cluster_url.to_string(), "http://127.0.0.1:8001/");
    assert_eq!(config.default_namespace, "default");
}

#[tokio::test]
async fn without_any_file_nothing_is_guessed() {
    let home = Home::new();
    for env in [
        vec![],
        vec![("HOME", home.path())],
        vec![("KUBECONFIG", home.path() + "/missing")],
    ] {
        let refused = loaded(&[], &env).await.expect_err("no kubeconfig");
        assert!(matches!(refused, ClusterError::NoKubeconfig), "{refused}");
        let hint = refused.hint().expect("a hint");
        assert!(
            hint.contains("--kubeconfig") && hint.contains("--cds-server-address"),
            "{hint}"
        );
    }
    let empty = home.write("empty", "");
    let env = [("KUBECONFIG", empty.display().to_string())];
    let refused = loaded(&[], &env).await.expect_err("nothing in it");
    assert!(matches!(refused, ClusterError::NoKubeconfig), "{refused}");
    // In a pod whose account is not mounted.
    let env = [("KUBERNETES_SERVICE_HOST", "10.0.0.1".to_owned())];
    let refused = loaded(&[], &env).await.expect_err("no token");
    assert!(refused.to_string().contains("ServiceAccount"), "{refused}");
}

#[tokio::test]
async fn what_is_wrong_with_a_file_is_said_without_its_secrets() {
    let home = Home::new();
    let refused = async |text: &str, more: &[&str]| {
        let path = home.write("config", text).display().to_string();
        let line = [&["--kubeconfig", path.as_str()], more].concat();
        loaded(&line, &[]).await.expect_err("refused")
    };
    let error = refused(TWO_CONTEXTS, &["--context", "three"]).await;
    assert_eq!(error.to_string(), "the kubeconfig has no context `three`");
    assert_eq!(error.hint().as_deref(), Some("it has: one, two"));
    let error = refused(TWO_CONTEXTS, &["--user", "u3"]).await;
    assert_eq!(error.to_string(), "the kubeconfig has no user `u3`");
    let error = refused(TWO_CONTEXTS, &["--cluster", "c3"]).await;
    assert_eq!(error.to_string(), "the kubeconfig has no cluster `c3`");
    let error = refused("token: [hunter2\n", &[]).await;
    assert!(matches!(error, ClusterError::Unreadable { .. }), "{error}");
    assert!(!error.to_string().contains("hunter2"), "{error}");
    let error = refused(
        "clusters: [{name: c, cluster: {server: 'https://x'}}]\n",
        &[],
    )
    .await;
    assert_eq!(
        error.to_string(),
        "the kubeconfig does not say which API server to ask"
    );
    let line = ["--kubeconfig", "/nowhere/config"];
    let error = loaded(&line, &[]).await.expect_err("no such file");
    assert!(
        error
            .to_string()
            .starts_with("cannot read the kubeconfig `/nowhere/config`: "),
        "{error}"
    );
}

#[test]
fn mistakes_on_the_command_line_are_usage_errors() {
    for (line, message) in [
        (
            ["--as-user-extra", "novalue"],
            "invalid value `novalue` for `--as-user-extra`: it has no key",
        ),
        (
            ["--request-timeout", "soon"],
            "invalid value `soon` for `--request-timeout`: it is not a number with a unit (ns, us, ms, s, m or h)",
        ),
    ] {
        let refused = said(&line, &[]).expect_err(message);
        assert_eq!(refused.to_string(), message);
    }
    let kubectl = said(&["--token", "hunter2", "--request-timeout", "0"], &[]);
    let kubectl = kubectl.expect("a line");
    assert_eq!(kubectl.request_timeout, None);
    assert!(!format!("{kubectl:?}").contains("hunter2"));
}

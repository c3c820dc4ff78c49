//! The end: whoever has asked gets an answer, and nothing that hangs keeps the process.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::JoinHandle;

use interop_tests::http::{self, Answer};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::process::{Authd, PATIENCE, config, run_to_end, url};

fn pipe(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status();
    assert!(made.expect("mkfifo").success());
}

/// An API server that is asked about one token and takes the test's time to answer.
struct ApiServer {
    listener: TcpListener,
}

impl ApiServer {
    fn start() -> ApiServer {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        ApiServer { listener }
    }

    fn kubeconfig(&self, dir: &Path) -> PathBuf {
        let server = format!("http://{}", self.listener.local_addr().expect("an address"));
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "test", "cluster": {"server": server}}],
            "users": [{"name": "test", "user": {}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        });
        let path = dir.join("kubeconfig");
        std::fs::write(&path, kubeconfig.to_string()).expect("write");
        path
    }

    /// Takes the question; what comes back wants an answer.
    fn asked(&self) -> (TcpStream, Value) {
        let (mut stream, _) = self.listener.accept().expect("a connection");
        let mut bytes = Vec::new();
        loop {
            let mut chunk = [0; 4096];
            let length = stream.read(&mut chunk).expect("a request");
            assert_ne!(length, 0, "the request ends early");
            bytes.extend_from_slice(&chunk[..length]);
            let text = String::from_utf8_lossy(&bytes);
            if let Some((_, body)) = text.split_once("\r\n\r\n")
                && let Ok(review) = serde_json::from_str(body)
            {
                return (stream, review);
            }
        }
    }
}

/// Says that the token is that of a ServiceAccount.
fn answer(mut stream: TcpStream, mut review: Value) {
    let user = json!({"username": "system:serviceaccount:shop:app"});
    review["status"] = json!({"authenticated": true, "user": user});
    let body = review.to_string();
    let head = "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length";
    let said = write!(stream, "{head}: {}\r\n\r\n{body}", body.len());
    said.expect("an answer");
}

/// A service that is asked for a credential and asks the API server in turn, which has not answered yet.
struct UnderWay {
    authd: Authd,
    caller: JoinHandle<std::io::Result<Answer>>,
    api_server: ApiServer,
    _dir: TempDir,
}

fn request_under_way() -> UnderWay {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("gateway.json");
    std::fs::write(&path, config("ns/gw", "192.0.2.1")).expect("write");
    let api_server = ApiServer::start();
    let kubeconfig = api_server.kubeconfig(dir.path()).display().to_string();
    let path = path.display().to_string();
    let reviewing = ["--token-review", "--kubeconfig", &kubeconfig];
    let authd = Authd::start(&[&["--config", &path][..], &reviewing].concat());
    let address = authd.address().to_owned();
    let caller = std::thread::spawn(move || {
        let token = ("Authorization", "Bearer token");
        let headers = [("Host", address.as_str()), token];
        http::send("GET", &address, "/?service=turn", &headers, None, PATIENCE)
    });
    UnderWay {
        authd,
        caller,
        api_server,
        _dir: dir,
    }
}

#[test]
fn a_request_under_way_is_answered_before_the_end() {
    let under_way = request_under_way();
    let authd = under_way.authd;
    let (stream, review) = under_way.api_server.asked();
    authd.ask_to_end();
    authd.wait_for_log("stopping");
    answer(stream, review);
    let got = under_way.caller.join().expect("a caller");
    let got = got.expect("an answer");
    assert_eq!(got.status, 200, "{}", got.body);
    assert_eq!(authd.end().code(), Some(0));
}

#[test]
fn a_second_signal_ends_the_wait_for_requests() {
    let under_way = request_under_way();
    let authd = under_way.authd;
    let _unanswered = under_way.api_server.asked();
    authd.ask_to_end();
    authd.wait_for_log("stopping");
    authd.ask_to_end();
    assert_eq!(authd.end().code(), Some(0));
    assert!(under_way.caller.join().expect("a caller").is_err());
}

#[test]
fn a_pipe_for_a_configuration_is_refused_and_among_others_passed_over() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("pipe.yaml");
    pipe(&path);
    for arguments in [
        ["--config", &path.display().to_string()],
        ["--config", &dir.path().display().to_string()],
    ] {
        let ended = run_to_end(&arguments);
        assert_eq!(ended.code(), Some(1), "{}", ended.output);
        let named = format!("cannot read the configuration `{}`", path.display());
        for part in [&named, "caused by: it is not a regular file"] {
            assert!(ended.output.contains(part), "{}", ended.output);
        }
    }
    let good = dir.path().join("good.yaml");
    std::fs::write(&good, config("ns/gw", "192.0.2.1")).expect("write");
    let authd = Authd::start(&["--config", &dir.path().display().to_string()]);
    authd.wait_for_urls(&[&url("192.0.2.1")]);
    std::fs::write(&good, config("ns/gw", "192.0.2.2")).expect("write");
    authd.wait_for_urls(&[&url("192.0.2.2")]);
    assert_eq!(authd.terminate().code(), Some(0));
}

//! Headless Chromium, driven through chromedriver's WebDriver interface.
//!
//! Here is its life; [`page`] has what a visitor does with it.

pub mod page;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::http;
use crate::ports::free_port;
use crate::process::{Process, run, wait_until};
use crate::skip::{self, Missing};

/// The programs that a browser test needs.
pub fn programs() -> Result<(), Missing> {
    skip::program("chromium", "chromium")?;
    skip::program("chromedriver", "chromium-driver")?;
    skip::program("certutil", "libnss3-tools")?;
    Ok(())
}

/// One browser with a profile and a home of its own, in which `ca` is trusted.
#[derive(Debug)]
pub struct Browser {
    driver: Process,
    address: String,
    session: String,
    _home: TempDir,
}

impl Browser {
    pub fn start(ca: &Path) -> Self {
        Self::start_in_home(|home| trust(home, ca))
    }

    /// One that trusts what the maker of the browser does.
    pub fn start_without_ca() -> Self {
        Self::start_in_home(|_| {})
    }

    fn start_in_home(prepare: impl FnOnce(&Path)) -> Self {
        let home = TempDir::with_prefix("browser-").expect("temporary folder");
        prepare(home.path());
        let port = free_port();
        let mut command = Command::new("chromedriver");
        command
            .arg(format!("--port={port}"))
            .env("HOME", home.path());
        // Whatever proxy the machine uses, the test's own link has none.
        for name in [
            "http_proxy",
            "https_proxy",
            "all_proxy",
            "HTTP_PROXY",
            "HTTPS_PROXY",
            "ALL_PROXY",
        ] {
            command.env_remove(name);
        }
        let driver = Process::start("chromedriver", command).expect("start chromedriver");
        let address = format!("127.0.0.1:{port}");
        let up = wait_until(Duration::from_secs(60), || {
            http::get(&address, "/status")
                .is_ok_and(|answer| answer.json()["value"]["ready"] == true)
        });
        assert!(up, "chromedriver does not answer");
        let mut browser = Self {
            driver,
            address,
            session: String::new(),
            _home: home,
        };
        browser.open();
        browser
    }

    fn open(&mut self) {
        let profile = self._home.path().join("profile");
        // Without the network flags Chromium talks to its maker's servers at every start.
        let arguments = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--no-proxy-server",
            // A page that is not the machine's foremost window is drawn all the same.
            "--disable-renderer-backgrounding",
            "--disable-background-timer-throttling",
            &format!("--user-data-dir={}", profile.display()),
        ];
        let options = json!({ "binary": skip::find_in_path("chromium"), "args": arguments });
        let body = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": { "browser": "ALL" },
            "timeouts": { "script": 60_000 },
        } } });
        let value = self.call("POST", "/session", Some(&body));
        self.session = value["sessionId"]
            .as_str()
            .expect("a session id")
            .to_owned();
        self.navigate("data:text/html,<title>interop</title>");
    }

    /// Runs `script` as the body of an async function; what it returns, or the error it throws.
    pub fn run_async(&self, script: &str, arguments: &[Value]) -> Result<Value, String> {
        let script = format!(
            "const done = arguments[arguments.length - 1];
             const work = async (...args) => {{ {script} }};
             work(...Array.from(arguments).slice(0, -1))
                 .then(value => done({{ value }}), error => done({{ error: String(error) }}));"
        );
        let body = json!({ "script": script, "args": arguments });
        let result = self.call("POST", &self.path("/execute/async"), Some(&body));
        match result["error"].as_str() {
            Some(error) => Err(error.to_owned()),
            None => Ok(result["value"].clone()),
        }
    }

    fn path(&self, rest: &str) -> String {
        format!("/session/{}{rest}", self.session)
    }

    #[track_caller]
    fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Value {
        let text = body.map(Value::to_string);
        let answer = http::request(
            method,
            &self.address,
            path,
            text.as_deref(),
            Duration::from_secs(90),
        );
        let answer = answer.unwrap_or_else(|error| panic!("{method} {path}: {error}"));
        let value = answer.json()["value"].clone();
        assert_eq!(
            answer.status,
            200,
            "{method} {path}: {value:#}\n{}",
            self.driver.log().join("\n")
        );
        value
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Ends the browser itself; chromedriver goes with its process.
        let _ = http::request(
            "DELETE",
            &self.address,
            &self.path(""),
            None,
            Duration::from_secs(10),
        );
    }
}

/// Puts `ca` into the NSS database of `home`, where Chromium on Linux looks for the user's own roots.
fn trust(home: &Path, ca: &Path) {
    let database = home.join(".pki/nssdb");
    std::fs::create_dir_all(&database).expect("create NSS database folder");
    let database = format!("sql:{}", database.display());
    let mut create = Command::new("certutil");
    create.args(["-d", &database, "-N", "--empty-password"]);
    run("certutil", create, Duration::from_secs(30)).expect_success("certutil -N");
    let mut add = Command::new("certutil");
    add.args(["-d", &database, "-A", "-n", "test-ca", "-t", "C,,", "-i"])
        .arg(ca);
    run("certutil", add, Duration::from_secs(30)).expect_success("certutil -A");
}

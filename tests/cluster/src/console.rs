//! The web console of an operator, as a browser or a script asks it.

use std::time::Duration;

use interop_tests::http::{self, Answer};
use serde_json::Value;

/// Dataplanes that do not answer take two seconds of it.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, Copy)]
pub struct Console {
    port: u16,
}

impl Console {
    pub fn new(port: u16) -> Self {
        Self { port }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Everything that the page shows, to a visitor with or without a token.
    pub fn state(&self, token: Option<&str>) -> Result<Value, String> {
        let answer = self.ask("GET", "/api/v1/state", token, None)?;
        match answer.status {
            200 => Ok(answer.json()),
            status => Err(format!("{status}: {}", answer.body)),
        }
    }

    /// One request of the page itself.
    pub fn ask(
        &self,
        method: &str,
        path: &str,
        token: Option<&str>,
        body: Option<&str>,
    ) -> Result<Answer, String> {
        let host = format!("127.0.0.1:{}", self.port);
        let origin = format!("http://{host}");
        let bearer = token.map(|token| format!("Bearer {token}"));
        let mut headers = vec![
            ("Host", host.as_str()),
            ("Origin", &origin),
            ("Content-Type", "application/json"),
        ];
        headers.extend(bearer.as_deref().map(|bearer| ("Authorization", bearer)));
        self.send(method, path, &headers, body)
    }

    /// One request with exactly these headers.
    pub fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&str>,
    ) -> Result<Answer, String> {
        let address = format!("127.0.0.1:{}", self.port);
        let answer = http::send(method, &address, path, headers, body, PATIENCE);
        answer.map_err(|error| error.to_string())
    }
}

//! What a visitor does: open a page, look at it, press keys, wait for something to appear.

use std::time::Duration;

use base64::Engine as _;
use serde_json::{Value, json};

use super::Browser;
use crate::process::wait_until;

/// Generous, because machines run browsers while they compile something else.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Keys without a character, as WebDriver writes them (<https://www.w3.org/TR/webdriver2/#keyboard-actions>).
pub mod key {
    pub const TAB: &str = "\u{e004}";
    pub const ENTER: &str = "\u{e007}";
    pub const SHIFT: &str = "\u{e008}";
    pub const ESCAPE: &str = "\u{e00c}";
    pub const END: &str = "\u{e010}";
    pub const HOME: &str = "\u{e011}";
    pub const LEFT: &str = "\u{e012}";
    pub const UP: &str = "\u{e013}";
    pub const RIGHT: &str = "\u{e014}";
    pub const DOWN: &str = "\u{e015}";
}

/// What the visitor's system prefers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    Light,
    Dark,
}

impl Scheme {
    pub fn name(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }
}

impl Browser {
    /// Opens an address and waits until the page is loaded.
    #[track_caller]
    pub fn navigate(&self, url: &str) {
        self.call("POST", &self.path("/url"), Some(&json!({ "url": url })));
    }

    /// The value of a JavaScript expression.
    #[track_caller]
    pub fn value(&self, expression: &str) -> Value {
        self.run_async(&format!("return ({expression});"), &[])
            .unwrap_or_else(|error| panic!("{expression}: {error}"))
    }

    /// The text of an expression that is one.
    #[track_caller]
    pub fn text(&self, expression: &str) -> String {
        match self.value(expression) {
            Value::String(text) => text,
            other => panic!("{expression} is {other}, not a text"),
        }
    }

    /// Waits until a JavaScript expression is neither false, null nor empty, and gives it.
    #[track_caller]
    pub fn wait(&self, expression: &str) -> Value {
        self.wait_within(PATIENCE, expression)
    }

    #[track_caller]
    pub fn wait_within(&self, patience: Duration, expression: &str) -> Value {
        let mut last = Value::Null;
        let came = wait_until(patience, || {
            last = self.value(expression);
            !matches!(&last, Value::Null | Value::Bool(false)) && last != ""
        });
        assert!(
            came,
            "not within {patience:?}: {expression}\n---- the page:\n{}",
            self.text("document.body.innerText")
        );
        last
    }

    /// Clicks the first element of a selector, as a pointer does.
    #[track_caller]
    pub fn click(&self, selector: &str) {
        let find = json!({ "using": "css selector", "value": selector });
        let found = self.call("POST", &self.path("/element"), Some(&find));
        let id = found
            .as_object()
            .and_then(|element| element.values().next()?.as_str())
            .unwrap_or_else(|| panic!("no element {selector}"));
        self.call(
            "POST",
            &self.path(&format!("/element/{id}/click")),
            Some(&json!({})),
        );
    }

    /// Presses and releases a key, [`key`] or a character.
    #[track_caller]
    pub fn press(&self, key: &str) {
        self.press_all(&[key]);
    }

    /// Presses keys one by one and releases them in the opposite order, as with Shift.
    #[track_caller]
    pub fn press_all(&self, keys: &[&str]) {
        let down = keys
            .iter()
            .map(|key| json!({ "type": "keyDown", "value": key }));
        let up = keys
            .iter()
            .rev()
            .map(|key| json!({ "type": "keyUp", "value": key }));
        let actions: Vec<Value> = down.chain(up).collect();
        let body = json!({ "actions": [{ "type": "key", "id": "keyboard", "actions": actions }] });
        self.call("POST", &self.path("/actions"), Some(&body));
    }

    /// Makes the inside of the window so many CSS pixels large.
    #[track_caller]
    pub fn resize(&self, width: u32, height: u32) {
        let metrics = json!({
            "width": width,
            "height": height,
            "deviceScaleFactor": 1,
            "mobile": false,
        });
        self.devtools("Emulation.setDeviceMetricsOverride", metrics);
    }

    /// Says what the visitor's system prefers.
    #[track_caller]
    pub fn prefer(&self, scheme: Scheme) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme.name() }]);
        self.devtools(
            "Emulation.setEmulatedMedia",
            json!({ "features": features }),
        );
    }

    /// A PNG of what the window shows.
    #[track_caller]
    pub fn screenshot(&self) -> Vec<u8> {
        let value = self.call("GET", &self.path("/screenshot"), None);
        let text = value.as_str().expect("a picture in base64");
        base64::engine::general_purpose::STANDARD
            .decode(text)
            .expect("a picture in base64")
    }

    /// What the browser wrote to its log since the last call: errors of scripts, failed requests, violations of the
    /// content security policy. `LEVEL source message`.
    #[track_caller]
    pub fn log(&self) -> Vec<String> {
        let entries = self.call(
            "POST",
            &self.path("/se/log"),
            Some(&json!({ "type": "browser" })),
        );
        let entries = entries.as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let line = |entry: &Value| {
            let parts = ["level", "source", "message"].map(|part| text(&entry[part]));
            parts.join(" ")
        };
        entries.iter().map(line).collect()
    }

    /// A command of the Chrome DevTools Protocol.
    #[track_caller]
    pub fn devtools(&self, command: &str, parameters: Value) -> Value {
        let body = json!({ "cmd": command, "params": parameters });
        self.call("POST", &self.path("/goog/cdp/execute"), Some(&body))
    }
}

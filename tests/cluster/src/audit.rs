//! Who wrote what, from the API server's audit log.
//!
//! Of reads, those of Secrets are recorded. An operator that has nothing to do must not write: [`Log::since`] is how a test sees that.

use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Every write with its metadata, once, when it is answered.
pub const POLICY: &str = "\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  verbs: [get, list]
  resources: [{ group: '', resources: [secrets] }]
- level: None
  verbs: [get, list, watch]
- level: Metadata
";

/// A place in the log.
#[derive(Debug, Clone, Copy)]
pub struct Mark(u64);

/// One write that the API server answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    pub user: String,
    pub user_agent: String,
    /// `create`, `update`, `patch`, `delete` or `deletecollection`.
    pub verb: String,
    /// Plural, with the subresource: `gateways/status`.
    pub resource: String,
    pub namespace: String,
    pub name: String,
    /// HTTP status of the answer.
    pub code: u64,
}

impl std::fmt::Display for Write {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            user,
            verb,
            resource,
            namespace,
            name,
            code,
            ..
        } = self;
        write!(f, "{user}: {verb} {resource} {namespace}/{name} -> {code}")
    }
}

impl Write {
    fn is_read(&self) -> bool {
        ["get", "list"].contains(&self.verb.as_str())
    }
}

impl Mark {
    /// Where the cluster started.
    pub const START: Self = Self(0);
}

#[derive(Debug)]
pub struct Log(PathBuf);

impl Log {
    pub fn new(dir: &Path) -> Self {
        Self(dir.join("audit.log"))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn mark(&self) -> Mark {
        Mark(self.0.metadata().map_or(0, |meta| meta.len()))
    }

    pub fn since(&self, mark: Mark) -> Vec<Write> {
        let mut writes = self.all_since(mark);
        writes.retain(|write| !write.is_read());
        writes
    }

    pub fn secret_reads_since(&self, mark: Mark) -> Vec<Write> {
        let mut reads = self.all_since(mark);
        reads.retain(Write::is_read);
        reads
    }

    fn all_since(&self, mark: Mark) -> Vec<Write> {
        let mut bytes = Vec::new();
        if let Ok(mut file) = std::fs::File::open(&self.0) {
            file.seek(SeekFrom::Start(mark.0)).expect("seek audit log");
            file.read_to_end(&mut bytes).expect("read audit log");
        }
        let text = String::from_utf8_lossy(&bytes);
        // The last line may be half written, or the mark in the middle of the first.
        text.lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .filter_map(|event| parse(&event))
            .collect()
    }
}

fn parse(event: &Value) -> Option<Write> {
    let text = |pointer: &str| {
        let found = event.pointer(pointer).and_then(Value::as_str);
        found.unwrap_or_default().to_owned()
    };
    if text("/stage") != "ResponseComplete" {
        return None;
    }
    let mut resource = text("/objectRef/resource");
    let subresource = text("/objectRef/subresource");
    if !subresource.is_empty() {
        resource = format!("{resource}/{subresource}");
    }
    Some(Write {
        user: text("/user/username"),
        user_agent: text("/userAgent"),
        verb: text("/verb"),
        resource,
        namespace: text("/objectRef/namespace"),
        name: text("/objectRef/name"),
        code: event.pointer("/responseStatus/code")?.as_u64()?,
    })
}

//! Target `manifest`: a file of manifests, as anybody may have left it in a folder.

use stunner_manifest::{check, read};
use stunner_translate::{Settings, Snapshot, translate};

use crate::config::reads_back;

/// A secret of the seeds that must not come back.
const SECRET: &str = "hunter2";

/// Reads `data` as a file and translates what can be read. Every problem is one that a person can act on, and repeats no
/// secret; what was repaired is an object that can be translated, and read again as it is.
pub fn manifest(data: &[u8]) {
    let reading = read("file", data);
    for problem in &reading.problems {
        assert!(problem.line >= 1 && problem.column >= 1, "{problem}");
        assert!(!problem.message.is_empty(), "{problem}");
        assert!(!problem.message.contains(char::is_control), "{problem:?}");
        let hint = problem.hint.as_deref();
        assert!(hint.is_some_and(|hint| !hint.is_empty()), "{problem}");
    }
    let is_silent = reading.problems.iter().all(|problem| !problem.is_error());
    let is_whole = reading.unreadable.is_empty();
    assert!(is_whole || !is_silent, "a lost document is told about");
    let mut snapshot = Snapshot::default();
    for manifest in &reading.manifests {
        assert!(!manifest.repaired || !is_silent, "a repair is told about");
        assert_eq!(manifest.key, manifest.object.key());
        assert!(manifest.place_of("spec.listeners[0].port").line >= 1);
        snapshot.apply(manifest.object.clone());
    }
    let plan = translate(&snapshot, &Settings::default());
    for (_, config) in plan.configs() {
        reads_back(config);
    }
    let problems = check(&[reading.clone(), reading]);
    assert!(
        !format!("{problems:?}").contains(SECRET) || !is_secret(data),
        "a secret is repeated"
    );
}

/// Whether the word is only where secrets are, in the seeds and in what is left of them.
fn is_secret(data: &[u8]) -> bool {
    let text = String::from_utf8_lossy(data);
    let mut lines = text.lines().filter(|line| line.contains(SECRET));
    lines.all(|line| {
        matches!(
            line.trim_start(),
            "password: hunter2" | "sharedSecret: hunter2"
        )
    })
}

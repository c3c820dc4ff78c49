//! Whatever a file holds: no panic, every error has a place and a hint, and secrets stay secret.

use proptest::prelude::*;
use stunner_manifest::{Reading, read};

const SECRET: &str = "hunter2";

/// Manifests whose secrets all hold the word.
const MANIFESTS: &str = r#"apiVersion: v1
kind: Secret
metadata:
  name: s
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: '{"stringData":{"a":"hunter2"}}'
data: {a: hunter2=}
stringData:
  password: "hunter2"
  list: [hunter2]
type: Opaque
---
apiVersion: stunner.l7mp.io/v1
kind: GatewayConfig
metadata: {name: c}
spec:
  authType: static
  userName: hunter2
  username: "hunter2 hunter2"
  password: hunter2 /
  sharedSecret: [hunter2]
  realm: stunner.l7mp.io
---
apiVersion: stunner.l7mp.io/v1
kind: Dataplane
metadata: {name: d}
spec:
  env: [{name: A, value: [hunter2]}]
  args: [{a: hunter2}]
"#;

fn judge(reading: &Reading) {
    for problem in &reading.problems {
        assert!(problem.line >= 1 && problem.column >= 1, "{problem}");
        assert!(problem.hint.is_some(), "{problem}");
        let texts = [
            &problem.field,
            &problem.message,
            problem.hint.as_ref().unwrap(),
        ];
        let is_printable = |text: &&String| !text.contains(char::is_control);
        assert!(texts.iter().all(is_printable), "{problem:?}");
    }
    for manifest in &reading.manifests {
        let _ = manifest.place_of("spec.listeners[0].name");
        assert_eq!(manifest.key, manifest.object.key());
    }
    let _ = format!("{reading:?}");
}

#[test]
fn no_secret_is_repeated() {
    let reading = read("f", MANIFESTS.as_bytes());
    assert!(reading.problems.len() >= 7, "{:#?}", reading.problems);
    assert!(
        !format!("{reading:?}").contains(SECRET),
        "{:#?}",
        reading.problems
    );
}

#[test]
fn quoted_text_neither_breaks_lines_nor_speaks_to_a_terminal() {
    for text in [
        "apiVersion: stunner.l7mp.io/v1\nkind: GatewayConfig\nmetadata: {name: \"a\\n\\e[31mb\"}\n",
        "apiVersion: stunner.l7mp.io/v1\nkind: \"Gate\\nway\"\nmetadata: {name: a}\n",
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, labels: {\"x\\ny\": [1]}, \"q\\nr\": 1}\n",
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n\"x\\Ly\\u202Ez\": 1\n",
    ] {
        let reading = read("f", text.as_bytes());
        assert!(!reading.problems.is_empty(), "{text}");
        judge(&reading);
        let told = reading.problems[0].to_string();
        assert!(!told.contains(['\u{2028}', '\u{202e}']), "{told}");
    }
}

/// Replaces the text at `at` by `with`, on boundaries of characters.
fn edited(at: usize, length: usize, with: &str) -> String {
    let start = (0..=at % MANIFESTS.len())
        .rev()
        .find(|&at| MANIFESTS.is_char_boundary(at));
    let start = start.unwrap_or(0);
    let end = (start + length).min(MANIFESTS.len());
    format!("{}{with}{}", &MANIFESTS[..start], &MANIFESTS[end..])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        judge(&read("f", &bytes));
    }

    #[test]
    fn arbitrary_yaml_never_panics(text in r#"([a-c:\-\[\]{}"'#&*!|>%@ \n\t]|apiVersion: v1\n|kind: Secret\n|metadata:\n|  name: a\n|---\n|data: ){0,60}"#) {
        judge(&read("f", text.as_bytes()));
    }

    #[test]
    fn edits_that_keep_values_whole_never_show_a_secret(
        at in any::<usize>(),
        length in 0usize..3,
        with in r#"[:\-\[\]{}"'&*!|> \n0-9]{0,3}"#,
    ) {
        let text = edited(at, length, &with);
        let reading = read("f", text.as_bytes());
        judge(&reading);
        // An edit inside of a name may make a value the name of a field; those are shown.
        let shown: Vec<_> = reading.problems.iter().filter(|problem| problem.message.contains(SECRET)).collect();
        let is_name = |message: &str| message.starts_with("unknown field");
        prop_assert!(shown.iter().all(|problem| is_name(&problem.message)), "{text}\n{shown:#?}");
    }
}

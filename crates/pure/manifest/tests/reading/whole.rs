//! Files as a whole: encodings, syntax, many documents, documents of other programs.

use stunner_manifest::{Fault, read, too_large};
use stunner_translate::{ObjectKey, ObjectKind};

use super::{objects, problems, reading};

const CONFIG: &str =
    "apiVersion: stunner.l7mp.io/v1\nkind: GatewayConfig\nmetadata: {name: c}\nspec: {realm: a}\n";

#[test]
fn the_manifests_of_the_documentation_are_all_read() {
    let text = include_str!("../../../api/tests/manifests/of-the-documentation.yaml");
    let reading = reading(text);
    let errors: Vec<_> = reading
        .problems
        .iter()
        .filter(|problem| problem.is_error())
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
    assert_eq!(reading.manifests.len(), text.matches("\nkind: ").count());
    assert!(!reading.manifests.iter().any(|manifest| manifest.repaired));
}

#[test]
fn what_is_no_text_gives_one_problem() {
    let utf16: Vec<u8> = CONFIG.encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (bytes, line, message) in [
        (
            &b"\x7fELF\x02\x01\x01\0\0\0"[..],
            1,
            "not a text: it holds a NUL byte",
        ),
        (b"a: 1\nb: \xff\xfe\n", 2, "not a text in UTF-8"),
        (&utf16, 1, "the text is encoded in UTF-16, not in UTF-8"),
    ] {
        let reading = read("f", bytes);
        assert_eq!(reading.problems.len(), 1);
        let problem = &reading.problems[0];
        assert_eq!((problem.fault, problem.line), (Fault::Encoding, line));
        assert_eq!(problem.message, message);
        assert!(problem.hint.is_some());
        assert_eq!(reading.unreadable, [None], "anything may have been in it");
    }
}

#[test]
fn a_byte_order_mark_is_no_problem() {
    assert_eq!(objects(&format!("\u{feff}{CONFIG}")).len(), 1);
}

#[test]
fn a_file_that_is_too_large_is_not_looked_into() {
    let large = vec![b' '; 16 * 1024 * 1024 + 1];
    let reading = read("f", &large);
    assert_eq!(reading.problems, [too_large("f", large.len() as u64)]);
    assert_eq!(
        reading.problems[0].to_string(),
        "f:1:1: error: the file has 16777217 bytes, more than 16777216\n  \
         hint: split it into several files, or keep it elsewhere if it holds no manifests"
    );
}

#[test]
fn a_syntax_error_hides_neither_the_documents_before_nor_those_after() {
    let text = format!(
        "{CONFIG}---\nkind: [\n---\n{}",
        CONFIG.replace("name: c", "name: d")
    );
    let reading = reading(&text);
    let names: Vec<_> = reading
        .manifests
        .iter()
        .map(|manifest| &*manifest.key.name.name)
        .collect();
    assert_eq!(names, ["c", "d"]);
    assert_eq!(reading.unreadable, [None]);
    let [problem] = &reading.problems[..] else {
        panic!("{:#?}", reading.problems)
    };
    assert_eq!((problem.fault, problem.line), (Fault::Syntax, 6));
}

#[test]
fn documents_of_other_programs_are_nobodys_business() {
    for text in [
        "",
        "# a comment\n",
        "---\n---\n",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: b}\n",
        "apiVersion: apps/v1\nkind: Deployment\nspec: {wrong: true}\n",
        "apiVersion: networking.istio.io/v1\nkind: Gateway\nspec: {servers: []}\n",
        "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: a}\n",
        "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: a}\n",
        "apiVersion: gateway.networking.x-k8s.io/v1alpha1\nkind: XListenerSet\n",
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a.yaml]\n",
        "resources:\n- a.yaml\n",
        "apiVersion: v2\nname: chart\nversion: 1.0.0\n",
        "services:\n  web:\n    image: nginx\n",
        "- hosts: all\n  tasks: []\n",
        "version: v1\nauth: {type: static}\nlisteners: []\n",
    ] {
        let reading = reading(text);
        assert_eq!(reading.problems, [], "{text}");
        assert!(reading.empty, "{text}");
    }
}

#[test]
fn templates_are_told_to_be_rendered_first() {
    let render = "render it first, such as with `helm template`, and use what that prints";
    for (text, line, column) in [
        (
            "kind: Gateway\nmetadata:\n  name: {{ .Values.name }}\n",
            3,
            9,
        ),
        ("{{- if .Values.on }}\nkind: Gateway\n{{- end }}\n", 1, 1),
        ("a: 1\n---\nb:\n{{ toYaml .Values | indent 2 }}\n", 4, 1),
    ] {
        let reading = reading(text);
        let problem = &reading.problems[0];
        assert_eq!(problem.fault, Fault::Template, "{text}");
        assert_eq!((problem.line, problem.column), (line, column), "{text}");
        assert_eq!(problem.hint.as_deref(), Some(render));
    }
    let quoted = CONFIG.replace("realm: a", "realm: \"{{ .Values.realm }}\"");
    assert_eq!(
        problems(&quoted),
        [format!(
            "4:15 error: spec.realm: expected a lower-case DNS name, found `{{{{ .Values.realm }}}}` ({render})"
        )]
    );
}

#[test]
fn lists_are_flattened() {
    let list = "apiVersion: v1
kind: List
metadata: {resourceVersion: ''}
items:
- {apiVersion: v1, kind: Namespace, metadata: {name: a}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
- apiVersion: v1
  kind: List
  items: [{apiVersion: v1, kind: Namespace, metadata: {name: b}}]
";
    assert_eq!(objects(list).len(), 2);
    let typed = "apiVersion: stunner.l7mp.io/v1
kind: UDPRouteList
items:
- {metadata: {name: a}, spec: {rules: [{backendRefs: [{name: x}]}]}}
";
    assert_eq!(objects(typed)[0]["kind"], "UDPRoute");
}

#[test]
fn json_is_read_like_yaml() {
    let json = "{\n\t\"apiVersion\": \"v1\",\n\t\"kind\": \"Namespace\",\n\t\"metadata\": {\"name\": \"a\", \"lables\": {}}\n}\n";
    assert_eq!(
        problems(json),
        ["4:28 error: metadata.lables: unknown field `lables` (did you mean `labels`?)"]
    );
    let several =
        "{\"apiVersion\": \"v1\", \"kind\": \"Namespace\", \"metadata\": {\"name\": \"a\"}}\n"
            .repeat(2);
    assert_eq!(objects(&several).len(), 2);
}

#[test]
fn an_unreadable_object_is_known_by_its_key_if_it_says_one() {
    let key = |kind, namespace, name| Some(ObjectKey::new(kind, namespace, name));
    for (text, expected) in [
        (
            "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: gw}\nspec: {}\n",
            key(ObjectKind::Gateway, "default", "gw"),
        ),
        (
            "apiVersion: gateway.networking.k8s.io/v2\nkind: Gateway\nmetadata: {name: gw, namespace: a}\n",
            key(ObjectKind::Gateway, "a", "gw"),
        ),
        (
            "apiVersion: gateway.networking.k8s.io/v1\nkind: GatewayClass\nmetadata: {name: c}\n",
            key(ObjectKind::GatewayClass, "", "c"),
        ),
        ("apiVersion: v1\nkind: Secret\nstringData: {a: b}\n", None),
        // Nothing can be called so, and any may have been meant.
        (
            "apiVersion: v1\nkind: Secret\nmetadata: {name: A_B}\n",
            None,
        ),
        (
            "apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: [b]}\n",
            None,
        ),
    ] {
        let reading = reading(text);
        assert_eq!(reading.unreadable, [expected], "{text}");
        assert!(!reading.empty);
        assert!(reading.manifests.is_empty());
    }
}

#[test]
fn places_of_fields_are_those_of_the_file() {
    let text = format!("---\n{CONFIG}");
    let reading = reading(&text);
    let manifest = &reading.manifests[0];
    let place = manifest.place_of("spec.realm");
    assert_eq!((place.line, place.column), (5, 15));
    let place = manifest.place_of("spec.authType");
    assert_eq!((place.line, place.column), (5, 7));
}

#[test]
fn documents_that_ran_together_are_told_apart() {
    let found = problems(&CONFIG.repeat(2));
    assert_eq!(found.len(), 4, "{found:?}");
    for line in &found[..2] {
        assert!(
            line.ends_with(
                "this key is given twice (if another object begins here, put a line `---` before it)"
            ),
            "{line}"
        );
    }
    // The first one is of another program, and must not hide the one that is ours.
    let text = format!("apiVersion: apps/v1\nkind: Deployment\n{CONFIG}");
    assert_eq!(
        problems(&text),
        [
            "4:7 error: kind: this key is given twice (if another object begins here, put a line `---` before it)"
        ]
    );
    assert_eq!(reading(&text).unreadable, [None]);
}

#[test]
fn the_first_two_keys_are_known_in_any_spelling() {
    assert_eq!(
        problems("ApiVersion: v1\nKind: Secret\nmetadata: {name: a}\n"),
        [
            "1:1 error: ApiVersion: unknown field `ApiVersion` (did you mean `apiVersion`?)",
            "2:1 error: Kind: unknown field `Kind` (did you mean `kind`?)"
        ]
    );
}

#[test]
fn a_list_needs_items_in_a_list() {
    assert_eq!(
        problems("apiVersion: v1\nkind: List\nitems: {a: b}\n"),
        ["3:8 error: items: expected list, found mapping (write it as lines that begin with `- `)"]
    );
    assert_eq!(problems("apiVersion: v1\nkind: List\nitems:\n"), [""; 0]);
}

#[test]
fn a_file_name_with_a_line_break_breaks_no_line() {
    let reading = read("a\nb\u{1b}[31m.yaml", b"a: [");
    let problem = &reading.problems[0];
    assert!(
        problem
            .to_string()
            .starts_with("a b [31m.yaml:1:4: error: ")
    );
    assert_eq!(problem.file, "a\nb\u{1b}[31m.yaml");
}

//! Texts with many documents, and texts with mistakes.

use stunner_document::{Document, Keys, Limits, Node, Place, Value, documents, read_first};

const LIMITS: Limits = Limits {
    what: "the text",
    bytes: 10_000,
    nodes: 1_000,
    depth: 16,
    keys_per_mapping: 50,
    keys: Keys::Exact,
};

fn read(text: &str) -> Vec<Document> {
    documents(text, &LIMITS)
}

fn place(line: u32, column: u32) -> Place {
    Place { line, column }
}

/// A tree on one line, each scalar with its place.
fn show(node: &Node) -> String {
    match &node.value {
        Value::Null => "null".to_owned(),
        Value::Scalar(scalar) => {
            format!("{}@{}:{}", scalar.text, node.place.line, node.place.column)
        }
        Value::Sequence(items) => {
            let items: Vec<_> = items.iter().map(show).collect();
            format!("[{}]", items.join(" "))
        }
        Value::Mapping(entries) => {
            let entries = entries.iter();
            let entries: Vec<_> = entries
                .map(|entry| format!("{}={}", entry.key, show(&entry.value)))
                .collect();
            format!("{{{}}}", entries.join(" "))
        }
    }
}

/// One line per document: its first line, and the tree or where it is broken.
fn shown(text: &str) -> Vec<String> {
    read(text)
        .iter()
        .map(|document| {
            let tree = match &document.tree {
                Ok(root) => show(root),
                Err(error) => {
                    let place = error.place.expect("a place");
                    format!("broken at {}:{}", place.line, place.column)
                }
            };
            format!("{}: {tree}", document.first_line)
        })
        .collect()
}

#[test]
fn places_are_those_of_the_whole_text() {
    let text = "a: 1\n---\nb:\n  - x\n--- # comment\n{c: {d: y}}\n...\n---\ne: z\n";
    assert_eq!(
        shown(text),
        [
            "1: {a=1@1:4}",
            "2: {b=[x@4:5]}",
            "5: {c={d=y@6:9}}",
            "8: {e=z@9:4}",
        ]
    );
}

#[test]
fn a_broken_document_hides_neither_those_before_nor_those_after() {
    for broken in [
        "x: [1, 2",
        "x: {a: b",
        "x: \"never closed",
        "x: 'never closed",
        "x: 1\n y: 2",
        "x: *nowhere",
        "x: &a [*a]",
        "x:\n\ty: 1",
        "x: @reserved",
        "? [a]\n: b",
        "}}}",
    ] {
        let text = format!("a: 1\n---\n{broken}\n---\nb: 2\n---\nc: 3\n");
        let read = read(&text);
        let good: Vec<_> = read
            .iter()
            .filter_map(|document| document.tree.as_ref().ok())
            .collect();
        assert_eq!(read.len(), 4, "{broken}: {read:?}");
        assert_eq!(good.len(), 3, "{broken}: {read:?}");
        assert_eq!(good[0].find("a").place, place(1, 4), "{broken}");
        assert!(read[1].tree.is_err(), "{broken}");
        assert_eq!(
            good[2].child("c").and_then(Node::text),
            Some("3"),
            "{broken}"
        );
        let line = 6 + u32::try_from(broken.matches('\n').count()).unwrap();
        assert_eq!(good[2].place.line, line + 1, "{broken}");
    }
}

#[test]
fn nothing_between_separators_is_nothing() {
    assert_eq!(shown(""), Vec::<String>::new());
    assert_eq!(shown("# only a comment\n"), Vec::<String>::new());
    assert_eq!(shown("---\n---\na: 1\n"), ["1: null", "2: {a=1@3:4}"]);
}

#[test]
fn directives_and_byte_order_marks_between_documents_are_understood() {
    let text = "%YAML 1.2\n---\na: 1\n...\n%YAML 1.2\n---\nb: 2\n";
    assert_eq!(shown(text), ["2: {a=1@3:4}", "6: {b=2@7:4}"]);
}

#[test]
fn json_is_understood_with_tabs_and_escapes() {
    let text = "{\n\t\"a\": \"x\\u00e4\\/\\ud83d\\ude00\",\n\t\"b\": [1, true, null]\n}\n";
    assert_eq!(shown(text), ["1: {a=xä/😀@2:7 b=[1@3:8 true@3:11 null]}"]);
}

#[test]
fn json_objects_may_follow_one_another() {
    let text = "{\"a\": \"}{\"}\n{\"b\":\n 2} {\"c\": 3}\n";
    assert_eq!(
        shown(text),
        ["1: {a=}{@1:7}", "2: {b=2@3:2}", "3: {c=3@3:11}"]
    );
}

#[test]
fn anchors_belong_to_their_document() {
    assert_eq!(
        shown("a: &x 1\nb: *x\n---\nc: *x\n"),
        ["1: {a=1@1:7 b=1@2:4}", "3: broken at 4:4"]
    );
}

#[test]
fn merge_keys_bring_in_what_is_not_there() {
    let text = "base: &b {x: 1, Y: 2}\nown:\n  <<: *b\n  x: 3\n  y: 4\n";
    assert_eq!(
        shown(text),
        ["1: {base={x=1@1:14 Y=2@1:20} own={x=3@4:6 y=4@5:6 Y=2@3:3}}"]
    );
}

#[test]
fn repeated_keys_are_kept_for_the_schema() {
    assert_eq!(shown("a: 1\na: 2\n"), ["1: {a=1@1:4 a=2@2:4}"]);
}

#[test]
fn limits_count_for_the_text_and_not_for_each_document() {
    let many = "a: [x, x, x, x, x, x, x, x, x, x]\n---\n".repeat(200);
    let read = read(&many);
    let (last, good) = read.split_last().expect("documents");
    let error = last.tree.as_ref().expect_err("too many values");
    assert!(error.beyond_limits, "{error}");
    assert!(good.iter().all(|document| document.tree.is_ok()));
    assert!(good.len() < 100);
}

#[test]
fn a_text_of_nothing_but_mistakes_is_given_up() {
    for text in [
        "[\n---\n".repeat(500),
        "{]".repeat(500),
        "{\"a\": ]}\n".repeat(500),
    ] {
        let read = read(&text);
        assert!(read.len() <= 101, "{}", read.len());
    }
}

#[test]
fn aliases_cost_what_they_stand_for() {
    let mut text = "a0: &a0 [x, x, x, x]\n".to_owned();
    for n in 1..12 {
        let before = n - 1;
        text += &format!("a{n}: &a{n} [*a{before}, *a{before}, *a{before}, *a{before}]\n");
    }
    let read = read(&text);
    assert!(matches!(&read[..], [document] if document.tree.is_err()));
}

#[test]
fn long_texts_and_deep_ones_are_refused() {
    let long = "x".repeat(20_000);
    assert!(
        matches!(&read(&long)[0].tree, Err(error) if error.beyond_limits && error.place.is_none())
    );
    assert!(read_first(&long, &LIMITS).is_err());
    let deep = format!("{}{}\n---\na: 1\n", "[".repeat(40), "]".repeat(40));
    let read = read(&deep);
    assert!(read[0].tree.is_err());
    assert!(read[1].tree.is_ok(), "depth is a matter of one document");
}

#[test]
fn a_field_is_found_by_its_path() {
    let text = "spec:\n  listeners:\n  - {name: a}\n  - {name: b, port: 1}\nmetadata:\n  annotations:\n    a.b/c: x\n";
    let read = read(text);
    let root = read[0].tree.as_ref().expect("a tree");
    for (path, found) in [
        ("spec.listeners[1].port", place(4, 21)),
        ("spec.listeners[1].protocol", place(4, 5)),
        ("spec.listeners[7].port", place(3, 5)),
        ("metadata.annotations[a.b/c]", place(7, 12)),
        ("metadata.annotations[", place(7, 5)),
        ("metadata.labels.x", place(6, 3)),
        ("", place(1, 1)),
        ("..", place(1, 1)),
        ("nothing", place(1, 1)),
    ] {
        assert_eq!(root.find(path).place, found, "{path}");
    }
}

#[test]
fn no_value_shows_in_debug_output() {
    let read = read("password: hunter2\nlist: [hunter2]\n---\nhunter2: [\n");
    assert!(!format!("{read:?}").contains("hunter2"), "{read:?}");
}

#[test]
fn tags_of_the_core_schema_say_what_is_text() {
    let text =
        "[!!str 12345, !!str null, !!int \"23478\", !!bool 'true', !other 5, !other '5', !!str]";
    let read = read(text);
    let root = read[0].tree.as_ref().expect("a tree");
    let items: Vec<(&str, bool)> = root
        .items()
        .iter()
        .map(|item| match &item.value {
            Value::Scalar(scalar) => (scalar.text.as_str(), scalar.quoted),
            _ => panic!("{item:?}"),
        })
        .collect();
    assert_eq!(
        items,
        [
            ("12345", true),
            ("null", true),
            ("23478", false),
            ("true", false),
            ("5", false),
            ("5", true),
            ("", true),
        ]
    );
}

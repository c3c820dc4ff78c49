use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

#[track_caller]
fn reads_back(value: &Value) {
    let text = document(value);
    let read: Value =
        serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(&read, value, "{text}");
}

#[test]
fn a_config_looks_as_kubernetes_tools_write_it() {
    let config = json!({
        "version": "v1",
        "admin": {"name": "stunner/udp-gateway", "loglevel": "all:INFO", "healthcheck_endpoint": "http://:8086"},
        "auth": {"type": "none", "credentials": null},
        "listeners": [{
            "name": "stunner/udp-gateway/udp", "public_address": "198.51.100.10", "public_port": 3478,
            "address": "$STUNNER_ADDR", "cert": "BEGIN\nEND\n", "routes": ["stunner/media"],
        }],
        "clusters": [{"name": "a", "endpoints": ["10.244.1.11", "10.244.2.12:<9000-9999>", "2001:db8::11"]}, []],
        "empty": {},
    });
    assert_eq!(
        document(&config),
        "admin:\n  healthcheck_endpoint: http://:8086\n  loglevel: all:INFO\n  name: stunner/udp-gateway\n\
         auth:\n  credentials: null\n  type: none\n\
         clusters:\n- endpoints:\n  - 10.244.1.11\n  - 10.244.2.12:<9000-9999>\n  - 2001:db8::11\n  name: a\n- []\n\
         empty: {}\n\
         listeners:\n- address: $STUNNER_ADDR\n  cert: |\n    BEGIN\n    END\n  name: stunner/udp-gateway/udp\n\
         \x20 public_address: 198.51.100.10\n  public_port: 3478\n  routes:\n  - stunner/media\n\
         version: v1\n"
    );
    reads_back(&config);
}

#[test]
fn text_is_quoted_where_it_would_be_read_as_something_else() {
    for (text, written) in [
        ("", "\"\""),
        ("0", "\"0\""),
        ("1.5", "\"1.5\""),
        ("1e3", "\"1e3\""),
        ("0x1F", "\"0x1F\""),
        ("12:34", "\"12:34\""),
        ("2026-11-16", "\"2026-11-16\""),
        ("true", "\"true\""),
        ("No", "\"No\""),
        ("~", "\"~\""),
        ("Null", "\"Null\""),
        ("{tier:free}", "'{tier:free}'"),
        ("a: b", "'a: b'"),
        ("a #b", "'a #b'"),
        ("- a", "'- a'"),
        ("it's: so", "'it''s: so'"),
        ("tab\there", "\"tab\\there\""),
        ("None[all]", "None[all]"),
        ("-", "'-'"),
        ("-l", "-l"),
        ("10.0.0.1:3478", "10.0.0.1:3478"),
        ("1.2.3", "1.2.3"),
        ("RklYVFVSRQ==", "RklYVFVSRQ=="),
        ("all:INFO", "all:INFO"),
        ("größer", "größer"),
    ] {
        assert_eq!(document(&json!({ "a": text })), format!("a: {written}\n"));
        reads_back(&json!([text]));
        reads_back(&json!({ text: text }));
    }
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::from),
        (-1e12..1e12f64).prop_map(Value::from),
        text().prop_map(Value::String),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::btree_map(text(), inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// All kinds, and many that look like something else.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[-+0-9.:_eExXob~ #'\"\\[\\]{}|>&*!%@,?\n\ta-z]{0,12}",
        "(yes|No|TRUE|null|~|\\.inf|-\\.NaN|<<|0o17|0b1|1_000|2026-1-2T3:4:5Z)",
        "[ a:#\n-]{0,10}",
    ]
}

proptest! {
    #[test]
    fn what_is_written_reads_back(value in value()) {
        reads_back(&value);
    }
}

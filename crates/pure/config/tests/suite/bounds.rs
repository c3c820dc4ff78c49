//! Hostile input costs little and never panics.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use stunner_config::{ParseOptions, parse, parse_with, uri::parse_turn_uri};

use super::{lines, no_env};

const SEEDS: &[&str] = &[
    include_str!("../fixtures/operator/30-legacy-configmap.conf"),
    include_str!("../fixtures/tools/stunnerctl.json"),
    "version: v1\nadmin:\n  name: &n ns/gw # comment\n  loglevel: 'all:INFO'\nauth:\n  type: static\n  credentials: \
     {username: \"u\\u0041\", password: |\n    a\n    b\n  }\nlisteners:\n- <<: {name: *n}\n  port: $STUNNER_PORT\n\
     \x20 address: 10.0.0.1,fd00::1\n  routes: [c]\nclusters:\n- name: c\n  endpoints: [\"10.0.0.0/8:<1-2>\", '::/0']\n",
];

fn refused(text: &str) -> String {
    lines(&parse(text, &no_env).expect_err("refused"))
}

#[test]
fn deep_nesting_is_refused() {
    for text in [
        "[".repeat(100_000),
        "- ".repeat(100_000),
        "{a: ".repeat(100_000),
        "? ".repeat(100_000),
    ] {
        assert!(refused(&text).contains("error"), "{}", &text[..10]);
    }
}

#[test]
fn an_alias_bomb_is_refused_quickly() {
    let mut text = "version: v1\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for n in 1..40 {
        let alias = format!("*a{}", n - 1);
        text.push_str(&format!("a{n}: &a{n} [{}]\n", vec![alias; 10].join(", ")));
    }
    let started = Instant::now();
    assert!(refused(&text).contains("counting what aliases stand for"));
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[test]
fn an_alias_inside_itself_is_refused() {
    assert!(refused("a: &a [*a]").contains("contains it"));
}

#[test]
fn a_huge_text_is_refused() {
    let text = format!("version: v1\nname: {}\n", "x".repeat(17 * 1024 * 1024));
    assert!(refused(&text).contains("more than 16777216"));
}

#[test]
fn a_text_of_many_values_is_refused() {
    let text = format!("version: v1\nclusters: [{}]", "a,".repeat(1_000_000));
    assert!(refused(&text).contains("more than 250000 values"));
}

#[test]
fn a_text_of_many_mistakes_gives_a_bounded_list() {
    let text = format!(
        "version: v1\nauth: {{type: none}}\nclusters: [{{name: c, endpoints: [{}]}}]",
        "x,".repeat(5000)
    );
    let problems = parse(&text, &no_env).unwrap_err();
    assert_eq!(problems.len(), 201);
    assert_eq!(problems[200].message, "4800 more problems are not shown");
    // An error after many warnings is an error still.
    let warnings: String = (0..500).map(|n| format!("unknown{n}: 1\n")).collect();
    assert!(
        refused(&format!("{warnings}version: v9\nauth: {{type: none}}"))
            .contains("unsupported version `v9`")
    );
}

#[test]
fn ten_thousand_endpoints_are_read_quickly() {
    let endpoints: Vec<_> = (0..10_000)
        .map(|n| format!("\"10.{}.{}.1:<1000-2000>\"", n / 250, n % 250))
        .collect();
    let text = format!(
        "version: v1\nauth: {{type: none}}\nclusters: [{{name: c, endpoints: [{}]}}]",
        endpoints.join(",")
    );
    let started = Instant::now();
    assert_eq!(
        parse(&text, &no_env).unwrap().config.clusters[0]
            .endpoint_texts()
            .len(),
        10_000
    );
    assert!(started.elapsed() < Duration::from_secs(5));
}

fn never_panics(text: &str) {
    let env = |name: &str| name.len().is_multiple_of(2).then(|| name.to_owned());
    for options in [
        ParseOptions::default(),
        ParseOptions {
            expand_env: false,
            judge_listeners: false,
        },
    ] {
        match parse_with(text, &env, options) {
            Ok(parsed) => {
                let json = parsed.config.to_json().to_string();
                let cached = ParseOptions {
                    expand_env: false,
                    ..options
                };
                let again = parse_with(&json, &env, cached).map(|parsed| parsed.config);
                assert_eq!(again, Ok(parsed.config), "{json}");
            }
            Err(problems) => assert!(problems.iter().any(|problem| problem.is_error())),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn mutated_configs_never_panic_and_what_is_accepted_survives_a_round_trip(
        seed in 0..SEEDS.len(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), edit()), 1..6),
    ) {
        let mut chars: Vec<char> = SEEDS[seed].chars().collect();
        for (from, len, replacement) in edits {
            let start = from.index(chars.len() + 1);
            let end = (start + len.index(12)).min(chars.len());
            chars.splice(start..end, replacement.chars());
        }
        never_panics(&chars.into_iter().collect::<String>());
    }

    #[test]
    fn noise_never_panics(text in "\\PC{0,200}", uri in "(turns?:(//)?)?\\PC{0,40}") {
        never_panics(&text);
        let _ = parse_turn_uri(&uri);
    }
}

/// What typing and truncation put into configs.
fn edit() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        "[\\[\\]{}:,\"'#&*!|>%@`$\\-\\n\\t ~<]{1,3}",
        "[0-9]{1,6}",
        "\\PC{1,4}",
        prop::sample::select(vec![
            "null",
            "true",
            "$X",
            "${XY}",
            "*n",
            "&n ",
            "<<: ",
            "---\n",
            "...\n",
            "!!binary ",
            "-1",
            "1e9",
            "::",
            "\u{feff}",
            "\u{0}",
            "TLS",
            "DTLS",
            "STRICT_DNS",
            "ephemeral",
            "v1alpha1",
        ])
        .prop_map(str::to_owned),
    ]
}

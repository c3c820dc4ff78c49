use super::*;

const PAGE: &str = r#"# HELP stunner_allocations_active Live allocations.
# TYPE stunner_allocations_active gauge
stunner_allocations_active 3
stunner_listener_packets_total{name="default/udp-gateway/udp",direction="tx"} 5 1700000000000
stunner_cluster_bytes_total{direction="tx",name="media/media"} 1e3
process_cpu_seconds_total 0.25
stunner_allocations_total NaN
"#;

#[test]
fn samples_come_in_the_order_of_the_page() {
    let all: Vec<Sample<'_>> = samples(PAGE).collect();
    let names: Vec<&str> = all.iter().map(|sample| sample.name).collect();
    assert_eq!(
        names,
        [
            "stunner_allocations_active",
            "stunner_listener_packets_total",
            "stunner_cluster_bytes_total",
            "process_cpu_seconds_total",
            "stunner_allocations_total",
        ]
    );
    assert_eq!(all[1].label("direction").as_deref(), Some("tx"));
    assert_eq!((all[1].count(), all[2].count()), (Some(5), Some(1000)));
    assert_eq!(all[3].value, 0.25);
    assert_eq!(all[4].count(), None);
}

#[test]
fn labels_may_hold_braces_quotes_and_backslashes() {
    let sample = Sample::read(r#"odd{x="y",name="a } \" \\ b"} 1"#).expect("a sample");
    assert_eq!(sample.label("name").as_deref(), Some(r#"a } " \ b"#));
    assert_eq!(sample.label("none"), None);
}

#[test]
fn nonsense_is_passed_over() {
    for line in ["", "{", "a{", "a{b", "a{b=\"", "a{b=\"\\", "ü{ü=\"ü\"} x"] {
        assert!(Sample::read(line).is_none(), "{line}");
    }
    for line in ["a -1", "a inf", "a NaN"] {
        let sample = Sample::read(line).expect(line);
        assert_eq!(sample.count(), None, "{line}");
    }
}

//! The exposition as a scraper sees it.

use std::thread;
use std::time::{Duration, Instant};

use stunner_telemetry::metrics::{Family, Kind, Merge, Registry, Stunnerd, names};

fn lines_of<'t>(text: &'t str, family: &str) -> Vec<&'t str> {
    let starts = |line: &&str| {
        line.starts_with(&format!("{family}{{")) || line.starts_with(&format!("{family} "))
    };
    text.lines().filter(starts).collect()
}

#[test]
fn the_seven_families_of_the_original_keep_names_labels_and_order() {
    let metrics = Stunnerd::new(2, "1.2.3");
    let (listener, cluster) = (metrics.listener("ns/gw/udp"), metrics.cluster("ns/media"));
    let mut shard = metrics.shard(0);
    shard.listener(listener).opened();
    shard.listener(listener).received(10, 1000);
    shard.listener(listener).sent(9, 760);
    shard.cluster(cluster).received(20, 2000);
    shard.cluster(cluster).sent(24, 2200);
    shard.allocations_active.set(4);

    let expected = "\
# TYPE stunner_allocations_active gauge
stunner_allocations_active{otel_scope_name=\"stunner\",otel_scope_schema_url=\"\",otel_scope_version=\"\"} 4
# TYPE stunner_cluster_bytes_total counter
stunner_cluster_bytes_total{direction=\"rx\",name=\"ns/media\",otel_scope_name=\"stunner\",otel_scope_schema_url=\"\",otel_scope_version=\"\"} 2000
stunner_cluster_bytes_total{direction=\"tx\",name=\"ns/media\",otel_scope_name=\"stunner\",otel_scope_schema_url=\"\",otel_scope_version=\"\"} 2200
# TYPE stunner_cluster_packets_total counter
stunner_cluster_packets_total{direction=\"rx\",name=\"ns/media\",otel_scope_name=\"stunner\",otel_scope_schema_url=\"\",otel_scope_version=\"\"} 20
stunner_cluster_packets_total{direction=\"tx\",name=\"ns/media\",otel_scope_name=\"stunner\",otel_scope_schema_url=\"\",otel_scope_version=\"\"} 24
# TYPE stunner_listener_bytes_total counter
stunner_listener_bytes_total{direction=\"rx\",name=\"ns/gw/udp\",otel_scope_name=\"stunner\",otel_scope_schema_url=\"\",otel_scope_version=\"\"} 1000
stunner_listener_bytes_total{direction=\"tx\",name=\"ns/gw/udp\",otel_scope_name=\"stunner\",otel_scope_schema_url=\"\",otel_scope_version=\"\"} 760
# TYPE stunner_listener_connections gauge
stunner_listener_connections{name=\"ns/gw/udp\",otel_scope_name=\"stunner\",otel_scope_schema_url=\"\",otel_scope_version=\"\"} 1
# TYPE stunner_listener_connections_total counter
stunner_listener_connections_total{name=\"ns/gw/udp\",otel_scope_name=\"stunner\",otel_scope_schema_url=\"\",otel_scope_version=\"\"} 1
# TYPE stunner_listener_packets_total counter
stunner_listener_packets_total{direction=\"rx\",name=\"ns/gw/udp\",otel_scope_name=\"stunner\",otel_scope_schema_url=\"\",otel_scope_version=\"\"} 10
stunner_listener_packets_total{direction=\"tx\",name=\"ns/gw/udp\",otel_scope_name=\"stunner\",otel_scope_schema_url=\"\",otel_scope_version=\"\"} 9
";
    let original = ["allocations_active", "cluster_", "listener_"];
    let shown: String = metrics
        .render()
        .lines()
        .filter(|line| !line.starts_with("# HELP"))
        .filter(|line| {
            let name = line.trim_start_matches("# TYPE ");
            original
                .iter()
                .any(|part| name.starts_with(&format!("stunner_{part}")))
        })
        .fold(String::new(), |text, line| text + line + "\n");
    assert_eq!(shown, expected);
}

#[test]
fn shards_add_up() {
    let metrics = Stunnerd::new(4, "0");
    let listener = metrics.listener("l");
    let threads: Vec<_> = (0..4)
        .map(|number| {
            let mut shard = metrics.shard(number);
            thread::spawn(move || {
                (0..10_000).for_each(|_| shard.listener(listener).received(1, 100))
            })
        })
        .collect();
    threads
        .into_iter()
        .for_each(|thread| thread.join().expect("a shard"));
    assert_eq!(metrics.listener_totals("l").rx_packets, 40_000);
    assert_eq!(metrics.listener_totals("l").rx_bytes, 4_000_000);
}

#[test]
fn a_connection_may_close_on_another_shard_than_it_opened_on() {
    let metrics = Stunnerd::new(2, "0");
    let listener = metrics.listener("l");
    let (mut first, mut second) = (metrics.shard(0), metrics.shard(1));
    first.listener(listener).opened();
    second.listener(listener).closed();
    assert!(lines_of(&metrics.render(), "stunner_listener_connections")[0].ends_with(" 0"));
}

#[test]
fn a_gauge_is_never_shown_below_zero() {
    let metrics = Stunnerd::new(1, "0");
    let listener = metrics.listener("l");
    metrics.shard(0).listener(listener).closed();
    assert!(lines_of(&metrics.render(), "stunner_listener_connections")[0].ends_with(" 0"));
}

#[test]
fn a_listener_that_comes_back_continues_its_series() {
    let metrics = Stunnerd::new(1, "0");
    let mut shard = metrics.shard(0);
    let first = metrics.listener("l");
    shard.listener(first).received(3, 30);
    let again = metrics.listener("l");
    assert_eq!(first, again);
    shard.listener(again).received(1, 10);
    assert_eq!(metrics.listener_totals("l").rx_packets, 4);
    assert_eq!(
        lines_of(&metrics.render(), "stunner_listener_packets_total").len(),
        2
    );
}

#[test]
fn listeners_added_later_reach_running_shards() {
    let metrics = Stunnerd::new(1, "0");
    let mut shard = metrics.shard(0);
    for name in ["a", "b", "c"] {
        let index = metrics.listener(name);
        shard.listener(index).sent(1, 7);
    }
    assert_eq!(metrics.listener_totals("c").tx_bytes, 7);
    assert_eq!(metrics.listener_totals("never seen").tx_bytes, 0);
}

#[test]
fn a_counter_published_as_a_total_never_goes_down() {
    let metrics = Stunnerd::new(1, "0");
    let mut shard = metrics.shard(0);
    shard.denials.set_total("no_route", 5);
    shard.denials.set_total("no_route", 3);
    let text = metrics.render();
    let line = lines_of(&text, "stunner_denials_total")
        .into_iter()
        .find(|line| line.contains("no_route"));
    assert!(line.is_some_and(|line| line.ends_with(" 5")), "{text}");
}

#[test]
fn every_known_reason_is_there_at_zero_and_new_ones_join() {
    let metrics = Stunnerd::new(1, "0");
    let mut shard = metrics.shard(0);
    let known = names::DENIALS.labels[0].values.len();
    assert_eq!(
        lines_of(&metrics.render(), "stunner_denials_total").len(),
        known
    );
    shard.denials.add("something new", 1);
    assert_eq!(
        lines_of(&metrics.render(), "stunner_denials_total").len(),
        known + 1
    );
}

#[test]
fn histograms_are_cumulative_and_sum_over_shards() {
    static LATENCY: Family = Family {
        name: "test_seconds",
        help: "h",
        kind: Kind::Histogram,
        labels: &[],
        buckets: &[0.001, 0.01],
        scoped: false,
        merge: Merge::Add,
    };
    let registry = Registry::new(2);
    let histogram = registry.histogram(&LATENCY, &[]);
    let (first, second) = (histogram.writer(0), histogram.writer(1));
    first.observe(0.001);
    first.observe_seconds(Duration::from_millis(5));
    second.observe(1.5);
    let text = registry.render();
    let expected = "\
# HELP test_seconds h
# TYPE test_seconds histogram
test_seconds_bucket{le=\"0.001\"} 1
test_seconds_bucket{le=\"0.01\"} 2
test_seconds_bucket{le=\"+Inf\"} 3
test_seconds_sum 1.506
test_seconds_count 3
";
    assert!(text.starts_with(expected), "{text}");
    assert_eq!(histogram.count(), 3);
}

#[test]
fn label_values_and_help_are_escaped() {
    static ODD: Family = Family {
        name: "odd_total",
        help: "back\\slash and \"quotes\"",
        kind: Kind::Counter,
        labels: names::BUILD_INFO.labels,
        buckets: &[],
        scoped: false,
        merge: Merge::Add,
    };
    let registry = Registry::new(0);
    registry.counter(&ODD, &["a\"b\\c\nd"]).add(2);
    let text = registry.render();
    assert!(
        text.contains("# HELP odd_total back\\\\slash and \"quotes\"\n"),
        "{text}"
    );
    assert!(
        text.contains("odd_total{version=\"a\\\"b\\\\c\\nd\"} 2\n"),
        "{text}"
    );
}

#[test]
fn computed_series_are_read_at_scrape_time() {
    let registry = Registry::new(0);
    registry.computed(&names::CONFIG_GENERATION, &[], || 17.0);
    assert!(lines_of(&registry.render(), "stunner_config_generation")[0].ends_with(" 17"));
}

#[test]
fn the_whole_exposition_is_well_formed() {
    let metrics = Stunnerd::new(1, "0");
    let _shard = metrics.shard(0);
    metrics.listener("l");
    metrics.cluster("c");
    let text = metrics.render();
    let mut family = "";
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            family = rest.split(' ').next().unwrap_or_default();
        } else if !line.starts_with("# HELP ") {
            let (series, value) = line.rsplit_once(' ').expect("a value");
            assert!(series.starts_with(family), "{series} stands under {family}");
            assert!(
                value.parse::<f64>().is_ok_and(|value| value >= 0.0),
                "{line}"
            );
        }
    }
    for family in names::ALL.iter().flat_map(|section| section.families) {
        assert_eq!(
            text.matches(&format!("# TYPE {} ", family.name)).count(),
            1,
            "{}",
            family.name
        );
    }
}

/// Not a benchmark, but a cell that takes a lock or a fence would be far off this bound even in a debug build.
#[test]
fn counting_is_cheap() {
    let metrics = Stunnerd::new(2, "0");
    let listener = metrics.listener("l");
    let mut shard = metrics.shard(0);
    let start = Instant::now();
    (0..1_000_000).for_each(|_| shard.listener(listener).received(1, 200));
    assert!(
        start.elapsed() < Duration::from_secs(2),
        "{:?} for a million packets",
        start.elapsed()
    );
}

/// Two dataplanes of one process, one of them with a session.
fn two_dataplanes() -> [Stunnerd; 2] {
    let dataplanes = [Stunnerd::new(2, "1.2.3"), Stunnerd::new(1, "1.2.3")];
    for (dataplane, active) in dataplanes.iter().zip([3, 4]) {
        let cluster = dataplane.cluster("ns/media");
        let mut shard = dataplane.shard(0);
        shard.cluster(cluster).sent(10, 1000);
        shard.allocations_active.set(active);
        shard.denials.add("no_route", active);
        shard.allocation_duration.observe(0.5 * active as f64);
    }
    let listener = dataplanes[1].listener("ns/b/udp");
    dataplanes[1].shard(0).listener(listener).received(5, 50);
    dataplanes
}

fn value_of(text: &str, family: &str, label: &str) -> f64 {
    let lines = lines_of(text, family);
    let found: Vec<_> = lines.iter().filter(|line| line.contains(label)).collect();
    assert_eq!(found.len(), 1, "{family}{{{label}}} in {text}");
    let (_, value) = found[0].rsplit_once(' ').expect("a value");
    value.parse().expect("a number")
}

#[test]
fn registries_of_one_process_add_up_and_what_describes_the_process_stays_one() {
    let parts = two_dataplanes();
    let text = Registry::merged(&parts.map(|part| part.registry().clone())).render();
    let value = |family: &str, label: &str| value_of(&text, family, label);
    assert_eq!(value("stunner_allocations_active", ""), 7.0);
    assert_eq!(
        value("stunner_cluster_bytes_total", "direction=\"tx\""),
        2000.0
    );
    assert_eq!(
        value("stunner_listener_packets_total", "direction=\"rx\""),
        5.0
    );
    assert_eq!(value("stunner_denials_total", "no_route"), 7.0);
    assert_eq!(value("stunner_shards", ""), 3.0);
    assert_eq!(value("stunner_build_info", ""), 1.0);
    assert_eq!(value("target_info", ""), 1.0);
    let duration = names::ALLOCATION_DURATION.name;
    assert_eq!(value(&format!("{duration}_count"), ""), 2.0);
    assert_eq!(value(&format!("{duration}_sum"), ""), 3.5);
    assert_eq!(value(&format!("{duration}_bucket"), "le=\"+Inf\""), 2.0);
    assert_eq!(text.matches("# TYPE process_open_fds ").count(), 1);
    assert_eq!(
        text.matches("# TYPE stunner_allocations_active ").count(),
        1
    );
}

#[test]
fn counters_of_an_ended_part_do_not_fall_and_its_gauges_do() {
    let [first, second] = two_dataplanes();
    let past = Registry::new(0);
    past.absorb(second.registry());
    let text = Registry::merged(&[first.registry().clone(), past]).render();
    let value = |family: &str, label: &str| value_of(&text, family, label);
    assert_eq!(value("stunner_allocations_active", ""), 3.0);
    assert_eq!(value("stunner_shards", ""), 2.0);
    assert_eq!(value("stunner_denials_total", "no_route"), 7.0);
    assert_eq!(value("stunner_listener_connections", "ns/b/udp"), 0.0);
    let duration = names::ALLOCATION_DURATION.name;
    assert_eq!(value(&format!("{duration}_sum"), ""), 3.5);
    assert_eq!(value(&format!("{duration}_count"), ""), 2.0);
}

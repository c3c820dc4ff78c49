//! Lines as a reader of the log sees them.

use std::io::{self, Write};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use stunner_telemetry::logging::{self, Format, Limits, LogHandle};
use tracing_subscriber::layer::SubscriberExt;

#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0
            .lock()
            .expect("the captured log")
            .extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Logs with a logger of its own and returns the lines.
fn log(format: Format, spec: &str, limits: Limits, events: impl FnOnce(&LogHandle)) -> Vec<String> {
    let output = Captured::default();
    let (layer, handle) = logging::layer(format, spec, limits, output.clone());
    tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
        events(&handle)
    });
    handle.flush(Duration::from_secs(10));
    let bytes = output.0.lock().expect("the captured log").clone();
    String::from_utf8(bytes)
        .expect("UTF-8")
        .lines()
        .map(str::to_owned)
        .collect()
}

fn text(spec: &str, events: impl FnOnce(&LogHandle)) -> Vec<String> {
    log(Format::Text, spec, Limits::default(), events)
}

/// A line without its time, which must be of the right form.
fn after_time(line: &str) -> &str {
    let (time, rest) = line.split_at(15);
    let form: String = time
        .chars()
        .map(|c| if c.is_ascii_digit() { '0' } else { c })
        .collect();
    assert_eq!(form, "00:00:00.000000", "time of {line}");
    rest.trim_start()
}

#[test]
fn a_text_line_has_time_place_scope_level_and_message() {
    let lines = text("all:INFO", |_| {
        tracing::info!(scope = "turn", "made {} allocations", 3)
    });
    let (place, rest) = after_time(&lines[0]).split_once(": ").expect("a place");
    let number = place.strip_prefix("logging.rs:").expect("this file");
    assert!(
        number.parse::<u32>().is_ok_and(|number| number < line!()),
        "{place}"
    );
    assert_eq!(rest, "turn INFO: made 3 allocations");
}

#[test]
fn warnings_are_spelled_out_in_text() {
    let lines = text("all:INFO", |_| tracing::warn!(scope = "auth", "careful"));
    assert!(lines[0].ends_with(" auth WARNING: careful"), "{lines:?}");
}

#[test]
fn further_fields_follow_the_message() {
    let lines = text("all:INFO", |_| {
        tracing::info!(
            scope = "turn",
            user = "ann",
            bytes = 17,
            why = "two words",
            "allocation ended"
        );
    });
    assert!(
        lines[0].ends_with("turn INFO: allocation ended user=ann bytes=17 why=\"two words\""),
        "{lines:?}"
    );
}

#[test]
fn a_scope_may_be_computed() {
    let name = "ns/gw/udp";
    let lines = text("all:WARN,listener-ns/gw/udp:DEBUG", |_| {
        tracing::debug!(scope = format!("listener-{name}"), "as a string");
        tracing::debug!(scope = %format_args!("listener-{name}"), "as a display value");
        tracing::debug!(scope = "listener-other", "of another listener");
    });
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(
        lines
            .iter()
            .all(|line| line.contains(": listener-ns/gw/udp DEBUG: as a ")),
        "{lines:?}"
    );
}

#[test]
fn without_a_scope_the_place_in_the_code_decides() {
    let lines = text("all:WARN,turn:DEBUG", |_| {
        tracing::debug!(target: "stunner_turn::server", "of the server");
        tracing::debug!(target: "stunner_cds::client", "of the client");
    });
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains(" turn DEBUG: of the server"), "{lines:?}");
}

#[test]
fn the_spec_changes_under_a_running_logger() {
    let lines = text("all:INFO", |handle| {
        let say = |word| tracing::debug!(scope = "turn", "{word}");
        say("before");
        assert!(handle.set_spec("all:INFO,turn:DEBUG").is_empty());
        say("during");
        assert_eq!(handle.set_spec("all:DISABLE,nonsense").len(), 1);
        say("after");
        tracing::error!(scope = "turn", "not even errors");
        assert_eq!(handle.spec(), "all:DISABLE");
    });
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].ends_with("turn DEBUG: during"));
}

#[test]
fn a_line_of_json_has_the_four_keys_first() {
    let lines = log(Format::Json, "all:INFO", Limits::default(), |_| {
        tracing::warn!(
            scope = "turn",
            user = "ann",
            bytes = 17u64,
            ok = true,
            "allocation \"x\" ended\nhere"
        );
    });
    let value: serde_json::Value = serde_json::from_str(&lines[0]).expect("JSON");
    let keys: Vec<_> = value
        .as_object()
        .expect("an object")
        .keys()
        .cloned()
        .collect();
    assert_eq!(
        keys,
        ["time", "level", "msg", "scope", "user", "bytes", "ok"]
    );
    assert_eq!(value["level"], "WARN");
    assert_eq!(value["msg"], "allocation \"x\" ended\nhere");
    assert_eq!(value["bytes"], 17);
    let time = value["time"].as_str().expect("a time");
    assert!(
        time.len() == "2026-11-15T16:37:14.790482152Z".len() && time.ends_with('Z'),
        "{time}"
    );
}

#[test]
fn a_json_field_cannot_replace_one_of_the_four_keys() {
    let lines = log(Format::Json, "all:INFO", Limits::default(), |_| {
        tracing::info!(scope = "turn", level = "loud", "message");
    });
    let value: serde_json::Value = serde_json::from_str(&lines[0]).expect("JSON");
    assert_eq!(
        (value["level"].as_str(), value["_level"].as_str()),
        (Some("INFO"), Some("loud"))
    );
}

#[test]
fn text_from_the_network_cannot_forge_a_line_or_steer_the_terminal() {
    let user = "ann\n00:00:00.000000 x.rs:1: auth INFO: forged \u{1b}[2J";
    let lines = text("all:INFO", |_| {
        tracing::info!(scope = "auth", user, "user {user} refused")
    });
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(!lines[0].contains('\u{1b}'));
}

#[test]
fn a_flood_is_cut_off_and_said() {
    let limits = Limits {
        info: 10,
        ..Limits::default()
    };
    let lines = log(Format::Text, "all:INFO", limits, |_| {
        for number in 0..1000 {
            tracing::info!(scope = "turn", "again {number}");
        }
    });
    let shown = lines.iter().filter(|line| line.contains("again")).count();
    // The loop may straddle the end of a second.
    assert!((10..=20).contains(&shown), "{shown} lines");
    let suppressed: usize = lines
        .iter()
        .filter_map(|line| {
            line.split_once("turn INFO: suppressed ")?
                .1
                .split(' ')
                .next()?
                .parse::<usize>()
                .ok()
        })
        .sum();
    assert_eq!(shown + suppressed, 1000, "{lines:?}");
}

#[test]
fn the_budget_is_back_after_a_second() {
    let limits = Limits {
        info: 1,
        ..Limits::default()
    };
    let lines = log(Format::Text, "all:INFO", limits, |_| {
        let say = |word| tracing::info!(scope = "turn", "{word}");
        say("shown");
        std::thread::sleep(Duration::from_millis(1100));
        say("shown");
    });
    assert_eq!(
        lines.iter().filter(|line| line.ends_with("shown")).count(),
        2,
        "{lines:?}"
    );
}

#[test]
fn each_scope_has_a_budget_of_its_own() {
    let limits = Limits {
        info: 1,
        ..Limits::default()
    };
    let lines = log(Format::Text, "all:INFO", limits, |_| {
        for scope in ["listener-a", "listener-b", "listener-c"] {
            tracing::info!(scope, "opened");
        }
    });
    assert_eq!(
        lines.iter().filter(|line| line.ends_with("opened")).count(),
        3,
        "{lines:?}"
    );
}

#[test]
fn errors_are_never_held_back() {
    let limits = Limits {
        warn: 0,
        info: 0,
        debug: 0,
        trace: 0,
    };
    let lines = log(Format::Text, "all:INFO", limits, |_| {
        for _ in 0..500 {
            tracing::error!(scope = "turn", "broken");
        }
        tracing::info!(scope = "turn", "held back");
    });
    assert_eq!(
        lines.iter().filter(|line| line.ends_with("broken")).count(),
        500
    );
    assert!(!lines.iter().any(|line| line.ends_with("held back")));
}

/// Output that takes nothing until it is told to.
struct Stuck(Receiver<()>);

impl Write for Stuck {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.0.recv();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn output_that_is_stuck_loses_lines_and_never_blocks_the_caller() {
    let (release, stuck) = mpsc::channel();
    let (layer, handle) = logging::layer(Format::Text, "all:INFO", Limits::default(), Stuck(stuck));
    let start = Instant::now();
    tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
        for _ in 0..20_000 {
            tracing::error!(scope = "turn", "a line");
        }
    });
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "took {:?}",
        start.elapsed()
    );
    assert!(handle.lost_lines() > 10_000, "{} lost", handle.lost_lines());
    drop(release);
}

#[test]
fn events_that_nobody_wants_are_not_even_evaluated() {
    let lines = text("all:INFO", |_| {
        tracing::debug!(scope = "turn", "{}", {
            assert!(std::hint::black_box(false), "evaluated");
            1
        });
        tracing::trace!(target: "hyper::proto", "a library's");
    });
    assert!(lines.is_empty(), "{lines:?}");
}

//! Counters in, frames out.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;
use serde_json::{Value, json};
use stunner_cluster::{Cluster, Kubectl};

use super::board::Board;
use super::draw::{self, Heading};
use super::sample::{PodSample, Sample, Sampler};
use super::view::{Key, Reaction, View};
use super::{Options, follow, once};
use crate::dataplanes::{Dataplanes, Silence, Wanted};
use crate::failure::Outcome;
use crate::output::{Machine, Output};

fn listener(name: &str, protocol: &str, allocations: u64, packets: u64, denials: u64) -> Value {
    json!({
        "name": name, "protocol": protocol, "allocations": allocations, "denials": denials,
        "from_clients": { "packets": packets, "bytes": packets * 200 },
        "to_clients": { "packets": packets / 2, "bytes": packets * 100 },
    })
}

fn pod(name: &str, gateways: Value) -> PodSample {
    PodSample {
        name: name.to_owned(),
        gateway: Some("stunner/udp-gateway".to_owned()),
        told: Ok(serde_json::from_value(gateways).expect("statistics")),
    }
}

fn silent(name: &str) -> PodSample {
    PodSample {
        name: name.to_owned(),
        gateway: Some("stunner/udp-gateway".to_owned()),
        told: Err(Silence {
            name: name.to_owned(),
            why: "connection refused".to_owned(),
            hint: None,
        }),
    }
}

/// Two pods of one gateway, one of which drains, and a gateway of a second.
fn sample(seconds: u64, packets: u64, denials: u64) -> Sample {
    let errors = json!({ "401": 100 + packets, "403": denials, "486": denials / 2 });
    let media = |allocations: u64| {
        json!({
            "gateway": "stunner/udp-gateway", "status": "READY", "uptime_seconds": 100 + seconds,
            "allocations": allocations, "denials": { "no_route": denials }, "errors": errors,
            "auth_failures": { "stale_nonce": 7, "bad_integrity": 2 },
            "listeners": [
                listener("stunner/udp-gateway/udp", "TURN-UDP", allocations - 1, packets, denials),
                listener("stunner/udp-gateway/tls-443", "TURN-TLS", 1, packets / 10, 0),
            ],
        })
    };
    let mut leaving = media(3);
    leaving["drain_remaining"] = json!(2);
    leaving["status"] = json!("TERMINATING");
    Sample {
        at: Duration::from_secs(seconds),
        pods: vec![
            pod("stunner/udp-gateway-7c9f6d5b8-x2k4q", json!([media(120)])),
            pod("stunner/udp-gateway-7c9f6d5b8-zz9pl", json!([leaving])),
            pod(
                "voice/tcp-gateway-5d4c",
                json!([{
                    "gateway": "voice/tcp-gateway", "status": "READY", "uptime_seconds": 5 + seconds,
                    "allocations": 1,
                    "listeners": [listener("voice/tcp-gateway/tcp", "TURN-TCP", 1, 0, 0)],
                }]),
            ),
        ],
    }
}

fn board() -> Board {
    Board::of(Some(&sample(10, 1_000, 4)), &sample(12, 61_000, 9))
}

/// The frame as text, and the cells whose colour is not the terminal's own.
fn frame(width: u16, height: u16, view: &mut View, board: &Board, colour: bool) -> (String, usize) {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal");
    let heading = Heading {
        scope: "all gateways".to_owned(),
        clock: "12:00:00".to_owned(),
        colour,
    };
    terminal
        .draw(|frame| draw::draw(frame, &heading, view, board))
        .expect("a frame");
    let buffer = terminal.backend().buffer();
    let mut text = String::new();
    let mut coloured = 0;
    for y in 0..height {
        let mut line = String::new();
        for x in 0..width {
            let cell = &buffer[(x, y)];
            line.push_str(cell.symbol());
            coloured += usize::from(cell.fg != Color::Reset || cell.bg != Color::Reset);
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    (text, coloured)
}

fn shown(view: &mut View, board: &Board) -> String {
    frame(80, 24, view, board, false).0
}

#[test]
fn a_small_terminal_shows_gateways_listeners_and_pods() {
    let expected = "\
stunnerctl top  all gateways  12:00:00
2 gateways, 3 pods: 124 allocations, 66.0k pkt/s in 33.0k pkt/s out, 106M bit/s…
NAME                        ALLOC  PKT/S  BIT/S    DENIED    ERRORS  STATE
stunner/udp-gateway           123  99.0k   158M    18 +10     12 +4  1/2 ready
  tls-443 TURN-TLS              2  9.00k  14.4M         0
  udp TURN-UDP                121  90.0k   144M    18 +10
  pod …way-7c9f6d5b8-x2k4q    120  49.5k  79.2M      9 +5      6 +2  ready
  pod …way-7c9f6d5b8-zz9pl      3  49.5k  79.2M      9 +5      6 +2  draining 2
voice/tcp-gateway               1      0      0         0         0  ready
  tcp TURN-TCP                  1      0      0         0
  pod tcp-gateway-5d4c          1      0      0         0         0  ready
";
    let shown = shown(&mut View::default(), &board());
    assert_eq!(
        shown
            .trim_end()
            .rsplit_once('\n')
            .expect("lines")
            .0
            .trim_end(),
        expected.trim_end()
    );
    let keys = shown.trim_end().lines().last();
    assert_eq!(
        keys,
        Some("q quit  s sort  r reverse  f fold  p pause  / filter  [by name]")
    );
}

#[test]
fn a_wide_terminal_tells_directions_apart_and_counts_drops() {
    let (text, _) = frame(130, 24, &mut View::default(), &board(), false);
    let lines: Vec<&str> = text.lines().collect();
    let expected = [
        "NAME                                  ALLOC PKT/S IN PKT/S OUT BIT/S IN BIT/S OUT      DENIED      ERRORS     DROPPED  STATE",
        "stunner/udp-gateway                     123    66.0k     33.0k     106M     52.8M      18 +10       12 +4           0  1/2 ready",
    ];
    assert_eq!(lines[2..4], expected);
}

#[test]
fn before_the_second_look_there_are_no_rates() {
    let board = Board::of(None, &sample(10, 1_000, 4));
    let shown = shown(&mut View::default(), &board);
    let line = shown.lines().nth(3).expect("a gateway");
    assert_eq!(
        line,
        "stunner/udp-gateway           123      -      -         8         8  1/2 ready"
    );
}

#[test]
fn a_process_that_was_started_anew_counts_from_zero() {
    let mut now = sample(12, 600, 1);
    for pod in &mut now.pods {
        for gateway in pod.told.as_mut().expect("an answer") {
            gateway.uptime_seconds = 1;
        }
    }
    let board = Board::of(Some(&sample(10, 1_000, 4)), &now);
    let counts = board.gateways[0].counts;
    assert_eq!(counts.packets, None, "nothing to compare with");
    assert_eq!((counts.denials.total, counts.denials.fresh), (2, 0));
}

#[test]
fn a_counter_that_falls_never_gives_a_negative_rate() {
    let board = Board::of(Some(&sample(10, 61_000, 9)), &sample(12, 1_000, 4));
    let counts = board.gateways[0].counts;
    assert!(counts.packets.expect("rates").received >= 0.0);
    assert_eq!(counts.denials.fresh, 8);
}

#[test]
fn a_pod_that_does_not_answer_is_shown_and_told_why() {
    let mut now = sample(12, 61_000, 9);
    now.pods[1] = silent("stunner/udp-gateway-7c9f6d5b8-zz9pl");
    let board = Board::of(Some(&sample(10, 1_000, 4)), &now);
    let shown = shown(&mut View::default(), &board);
    assert!(
        shown.contains(
            "pod …way-7c9f6d5b8-zz9pl      0      -      -         0            no answer"
        ),
        "{shown}"
    );
    assert!(
        shown.contains("no answer from stunner/udp-gateway-7c9f6d5b8-zz9pl: connection refused"),
        "{shown}"
    );
}

#[test]
fn names_are_filtered_sorted_and_folded_by_keys() {
    let board = board();
    let mut view = View::default();
    let names = |view: &View| -> Vec<String> {
        let rows = view.rows(&board);
        rows.iter().map(|row| row.name.to_owned()).collect()
    };
    assert_eq!(view.press(Key::Char('f')), Reaction::Redraw);
    assert_eq!(names(&view), ["stunner/udp-gateway", "voice/tcp-gateway"]);
    view.press(Key::Char('r'));
    assert_eq!(names(&view), ["voice/tcp-gateway", "stunner/udp-gateway"]);
    view.press(Key::Char('s'));
    view.press(Key::Char('r'));
    assert_eq!(view.sort.as_str(), "allocations");
    assert_eq!(names(&view), ["stunner/udp-gateway", "voice/tcp-gateway"]);
    view.press(Key::Char('f'));
    for key in [
        Key::Char('/'),
        Key::Char('q'),
        Key::Backspace,
        Key::Char('T'),
        Key::Char('l'),
    ] {
        assert_eq!(view.press(key), Reaction::Redraw, "typing a filter");
    }
    assert!(shown(&mut view, &board).contains("filter: Tl_  Enter keeps it, Esc drops it"));
    view.press(Key::Enter);
    assert_eq!(names(&view), ["stunner/udp-gateway", "tls-443"]);
    view.press(Key::Escape);
    assert_eq!(names(&view).len(), 8);
    assert_eq!(view.press(Key::Escape), Reaction::Quit);
    assert_eq!(view.press(Key::Char('q')), Reaction::Quit);
    assert_eq!(view.press(Key::Interrupt), Reaction::Quit);
}

#[test]
fn a_filter_that_fits_nothing_says_so() {
    let mut view = View {
        filter: "nobody".to_owned(),
        ..View::default()
    };
    assert!(shown(&mut view, &board()).contains("nothing fits `nobody`; Esc drops the filter"));
}

#[test]
fn long_tables_scroll_and_stop_at_their_end() {
    let board = board();
    let mut view = View::default();
    let (text, _) = frame(80, 8, &mut view, &board, false);
    assert!(
        text.contains("stunner/udp-gateway ") && !text.contains("voice"),
        "{text}"
    );
    for _ in 0..20 {
        view.press(Key::Down);
    }
    let (text, _) = frame(80, 8, &mut view, &board, false);
    assert_eq!(view.scroll, 4);
    assert!(
        text.contains("voice/tcp-gateway") && text.contains("5d4c"),
        "{text}"
    );
    view.press(Key::Home);
    assert_eq!(view.scroll, 0);
}

#[test]
fn any_size_of_terminal_can_be_drawn_on() {
    for (width, height) in [
        (1, 1),
        (5, 2),
        (20, 3),
        (40, 4),
        (79, 5),
        (109, 30),
        (110, 30),
        (300, 100),
    ] {
        frame(width, height, &mut View::default(), &board(), true);
    }
}

#[test]
fn without_colours_no_cell_has_one() {
    let (with, coloured) = frame(80, 24, &mut View::default(), &board(), true);
    let (without, plain) = frame(80, 24, &mut View::default(), &board(), false);
    assert!(coloured > 0);
    assert_eq!(plain, 0);
    assert_eq!(with, without, "what colours say, the text says too");
}

#[test]
fn a_table_without_a_terminal_has_all_columns_and_no_blanks_at_the_end() {
    let text = draw::plain(&View::default(), &board());
    assert!(text.starts_with("NAME"), "{text}");
    assert!(text.lines().all(|line| line == line.trim_end()));
    assert_eq!(text.lines().count(), 9);
    assert!(
        text.contains("  pod udp-gateway-7c9f6d5b8-x2k4q "),
        "{text}"
    );
}

#[test]
fn programs_get_numbers_and_not_words() {
    let value = super::json::value(&board(), "2027-01-15T08:00:00.000Z");
    assert_eq!(value["intervalSeconds"], 2.0);
    let gateway = &value["gateways"][0];
    assert_eq!(gateway["gateway"], "stunner/udp-gateway");
    assert_eq!(
        gateway["packetsPerSecond"],
        json!({ "in": 66_000.0, "out": 33_000.0 })
    );
    assert_eq!(gateway["denials"], json!({ "total": 18, "new": 10 }));
    assert_eq!(gateway["errors"], json!({ "total": 12, "new": 4 }));
    assert_eq!(gateway["listeners"][0]["errors"], Value::Null);
    assert_eq!(gateway["pods"][1]["state"], "draining");
    assert_eq!(gateway["pods"][1]["drainRemaining"], 2);
}

/// An API server that fails at whatever it is asked.
fn failing() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut head = BufReader::new(&stream).lines().map_while(Result::ok);
            let _ = head.find(String::is_empty);
            let body = r#"{"kind":"Status","status":"Failure","code":500,"reason":"x","message":"no leader"}"#;
            let _ = write!(
                &stream,
                "HTTP/1.1 500 No\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            );
        }
    });
    format!("http://{address}")
}

/// The screen goes on and tells of it; so do the others.
#[tokio::test]
async fn pods_that_cannot_be_looked_for_are_a_line_and_not_the_end() {
    let kubectl = Kubectl {
        server: Some(failing()),
        ..Kubectl::default()
    };
    let cluster = Cluster::connect(&kubectl).await.expect("a cluster");
    let sampler = || {
        Sampler::new(Dataplanes::Pods {
            cluster: cluster.clone(),
            wanted: Wanted::default(),
        })
    };
    let options = Options {
        gateway: None,
        interval: Duration::from_millis(1),
        once: true,
        admin: None,
        colour: false,
        capable: false,
    };
    let (mut data, mut notes) = (Vec::new(), Vec::new());
    let mut out = Output::to(&mut data, &mut notes);
    let first = Sample::default();
    let ended = follow(&options, &Machine::Json, sampler(), first.clone(), &mut out).await;
    assert_eq!(ended.expect("a value"), Outcome::Problem);
    let ended = once(&options, sampler(), first, &mut out).await;
    assert_eq!(ended.expect("a table"), Outcome::Problem);
    drop(out);
    let data = String::from_utf8(data).expect("text");
    let value: Value = serde_json::from_str(data.lines().next().expect("a line")).expect("JSON");
    let silent = &value["silent"][0];
    assert_eq!(silent["name"], "the cluster", "{value}");
    let why = silent["error"].as_str().unwrap_or_default();
    assert!(why.contains("no leader"), "{value}");
    let notes = String::from_utf8(notes).expect("text");
    assert!(notes.contains("no answer from the cluster"), "{notes}");
}

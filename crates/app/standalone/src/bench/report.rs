//! The result, for people.

use std::fmt::Write as _;
use std::time::Duration;

use stunner_load::{Direction, Flow};

use super::numbers::{bits, count, millis, percent, sessions};
use super::options::BenchOptions;
use super::tally::Tally;

/// Upper ends of the bars of the histogram, in microseconds: about three per decade.
const BOUNDS: [u64; 18] = [
    50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000,
    1_000_000, 2_000_000, 5_000_000, 10_000_000, 30_000_000,
];
const BAR: usize = 40;

/// What was measured, in which words.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape<'a> {
    pub(super) server: &'a str,
    pub(super) transport: &'a str,
    pub(super) options: &'a BenchOptions,
}

impl Shape<'_> {
    fn is_echo(&self) -> bool {
        self.options.echo.is_some()
    }

    /// The flows that there are, by name.
    pub(super) fn flows(&self, tally: &Tally) -> Vec<(&'static str, Flow)> {
        let to_peer = match self.is_echo() {
            true => "round trip",
            false => "to peer",
        };
        let both = [
            (to_peer, tally.measured.to_peer),
            ("to client", tally.measured.to_client),
        ];
        let is_there = |at: usize| match self.options.direction {
            Direction::Both => true,
            Direction::ToPeer => at == 0,
            Direction::ToClient => at == 1,
        };
        let flows = both.into_iter().enumerate();
        flows
            .filter(|(at, _)| is_there(*at))
            .map(|(_, flow)| flow)
            .collect()
    }
}

/// The bounds of the histogram and how many packets took up to each; without what lies beyond the fastest and slowest.
pub(super) fn histogram(tally: &Tally) -> Vec<(Duration, u64)> {
    let bounds = BOUNDS.map(Duration::from_micros);
    let counts = tally.latencies().buckets(&bounds);
    let last = bounds.len() - 1;
    let mut bars: Vec<(Duration, u64)> = bounds.iter().copied().zip(counts.clone()).collect();
    // What took longer than the last bound has no bar of its own.
    bars[last].1 += counts[last + 1];
    let is_empty = |(_, count): &(Duration, u64)| *count == 0;
    let first = bars.iter().take_while(|bar| is_empty(bar)).count();
    let end = bars.len() - bars.iter().rev().take_while(|bar| is_empty(bar)).count();
    bars.get(first..end).unwrap_or_default().to_vec()
}

/// The whole report.
pub(super) fn report(shape: Shape<'_>, tally: &Tally) -> String {
    let mut text = String::new();
    let options = shape.options;
    let rate = match options.rate {
        Some(rate) => format!("{rate} packets/s each way"),
        None => format!("{} packets under way each", options.window),
    };
    let _ = writeln!(
        text,
        "{} over {} to {}: {rate}, {} bytes, {:.1} s",
        sessions(tally.most_ready),
        shape.transport,
        shape.server,
        options.size,
        tally.seconds(),
    );
    let seconds = tally.seconds().max(1e-9);
    let _ = writeln!(
        text,
        "\n{:<11}{:>13}{:>13}{:>11}{:>15}{:>14}",
        "", "sent", "received", "lost", "packets/s", "payload"
    );
    for (name, flow) in shape.flows(tally) {
        let rate = flow.received as f64 / seconds;
        let _ = writeln!(
            text,
            "{name:<11}{:>13}{:>13}{:>11}{:>15}{:>14}",
            count(flow.sent),
            count(flow.received),
            percent(flow.loss()),
            count(rate.round() as u64),
            bits(rate * options.size as f64 * 8.0),
        );
    }
    latency(&mut text, shape, tally);
    if tally.measured.skipped > 0 {
        let _ = writeln!(
            text,
            "\n{} packets were not sent in time: this machine or the connections were too slow for the rate",
            count(tally.measured.skipped)
        );
    }
    text
}

fn latency(text: &mut String, shape: Shape<'_>, tally: &Tally) {
    let latencies = tally.latencies();
    let shown = [("p50", 50.0), ("p90", 90.0), ("p99", 99.0), ("p99.9", 99.9)];
    let shown = shown.iter().filter_map(|(name, percent)| {
        let latency = latencies.percentile(*percent)?;
        Some(format!("{name} {}", millis(latency)))
    });
    let mut shown: Vec<String> = shown.collect();
    if let Some(max) = latencies.max() {
        shown.push(format!("max {}", millis(max)));
    }
    if shown.is_empty() {
        return;
    }
    let what = match shape.is_echo() {
        true => "round trips",
        false => "latency, one way",
    };
    let _ = writeln!(text, "\n{what}: {}", shown.join("  "));
    let bars = histogram(tally);
    let all: u64 = bars.iter().map(|(_, count)| count).sum();
    let most = bars.iter().map(|(_, count)| *count).max().unwrap_or(1);
    for (bound, packets) in bars {
        let length = (packets as f64 / most as f64 * BAR as f64).round() as usize;
        let _ = writeln!(
            text,
            "  up to {:>9}  {:<BAR$} {}",
            millis(bound),
            "█".repeat(length),
            percent(packets as f64 / all.max(1) as f64),
        );
    }
}

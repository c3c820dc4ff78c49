//! How it goes while it goes: a plot on a terminal, a line now and then elsewhere.

use std::io::{self, IsTerminal, Stderr, Write};
use std::time::Duration;

use ratatui::backend::CrosstermBackend;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Sparkline};
use ratatui::{Frame, Terminal, TerminalOptions, Viewport};

use super::numbers::{bits, count, millis, percent, sessions};
use super::tally::Tally;

const HEIGHT: u16 = 8;
/// Points between two lines where there is no terminal.
const POINTS_PER_LINE: usize = 4;

/// What is shown besides the tally.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scene {
    pub(super) size: usize,
    /// How long is measured.
    pub(super) duration: Duration,
}

/// Where progress goes.
#[derive(Debug)]
pub(super) enum Screen {
    Off,
    Lines,
    Plot {
        terminal: Box<Terminal<CrosstermBackend<Stderr>>>,
        width: u16,
    },
}

impl Screen {
    pub(super) fn open(quiet: bool) -> Screen {
        let is_dumb = std::env::var("TERM").is_ok_and(|term| term == "dumb");
        match (quiet, io::stderr().is_terminal() && !is_dumb) {
            (true, _) => Screen::Off,
            (false, false) => Screen::Lines,
            (false, true) => {
                let options = TerminalOptions {
                    viewport: Viewport::Inline(HEIGHT),
                };
                let backend = CrosstermBackend::new(io::stderr());
                match Terminal::with_options(backend, options) {
                    Ok(terminal) => Screen::Plot {
                        width: terminal.size().map_or(0, |size| size.width),
                        terminal: Box::new(terminal),
                    },
                    Err(_) => Screen::Lines,
                }
            }
        }
    }

    /// Shows a new point.
    pub(super) fn show(&mut self, scene: Scene, tally: &Tally) {
        match self {
            Screen::Off => {}
            Screen::Lines => {
                if tally.points.len().is_multiple_of(POINTS_PER_LINE) {
                    let _ = writeln!(io::stderr(), "{}", line(scene, tally));
                }
            }
            Screen::Plot { terminal, width } => {
                // A terminal that cannot be drawn on does not end a measurement. One that has another size now wraps the
                // old picture in ways of its own: away with it.
                if terminal.size().is_ok_and(|size| size.width != *width) {
                    let _ = terminal.clear();
                    *width = terminal.size().map_or(*width, |size| size.width);
                }
                let _ = terminal.draw(|frame| draw(frame, scene, tally));
            }
        }
    }

    /// Leaves the last picture where it is and goes below it.
    pub(super) fn close(self) {
        if let Screen::Plot { mut terminal, .. } = self {
            let _ = terminal.show_cursor();
            let _ = writeln!(io::stderr());
        }
    }
}

fn phase(scene: Scene, tally: &Tally) -> String {
    let is_measured = tally.points.last().is_some_and(|point| point.is_measured);
    let failed = match tally.failed() {
        0 => String::new(),
        failed => format!(", {} failed", count(failed as u64)),
    };
    match is_measured {
        true => format!(
            "measuring {:.0} of {:.0} s, {}{failed}",
            tally.seconds(),
            scene.duration.as_secs_f64(),
            sessions(tally.ready()),
        ),
        false => format!(
            "connecting {} of {}{failed}",
            count(tally.ready() as u64),
            sessions(tally.asked),
        ),
    }
}

fn figures(scene: Scene, tally: &Tally) -> String {
    let Some(point) = tally.points.last() else {
        return String::new();
    };
    let received = point.received_per_second();
    let latency = |latency: Option<Duration>| latency.map_or("-".to_owned(), millis);
    format!(
        "{} packets/s, {}, lost {} so far, p50 {}, p99 {}",
        count(received.round() as u64),
        bits(received * scene.size as f64 * 8.0),
        percent(tally.measured.loss()),
        latency(point.p50),
        latency(point.p99),
    )
}

fn line(scene: Scene, tally: &Tally) -> String {
    format!("{}: {}", phase(scene, tally), figures(scene, tally))
}

/// Draws the picture: what goes on, a plot of packets and one of latencies.
fn draw(frame: &mut Frame<'_>, scene: Scene, tally: &Tally) {
    let rows = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(2),
        Constraint::Length(1),
        Constraint::Length(2),
    ]);
    let [title, text, packets, packet_plot, latency, latency_plot] = rows.areas(frame.area());
    let bold = Style::new().bold();
    frame.render_widget(Line::from(Span::styled(phase(scene, tally), bold)), title);
    frame.render_widget(Paragraph::new(figures(scene, tally)), text);
    let shown = usize::from(frame.area().width);
    let points = &tally.points[tally.points.len().saturating_sub(shown)..];
    let received: Vec<u64> = points
        .iter()
        .map(|point| point.received_per_second().round() as u64)
        .collect();
    let p99: Vec<u64> = points
        .iter()
        .map(|point| point.p99.map_or(0, |latency| latency.as_micros() as u64))
        .collect();
    let most = |values: &[u64]| values.iter().copied().max().unwrap_or(0);
    let label = |name: &str, most: String| Line::from(format!("{name}, up to {most}")).dim();
    frame.render_widget(label("packets/s", count(most(&received))), packets);
    frame.render_widget(
        Sparkline::default()
            .data(&received)
            .style(Style::new().fg(Color::Green)),
        packet_plot,
    );
    frame.render_widget(
        label("p99", millis(Duration::from_micros(most(&p99)))),
        latency,
    );
    frame.render_widget(
        Sparkline::default()
            .data(&p99)
            .style(Style::new().fg(Color::Yellow)),
        latency_plot,
    );
}

#[cfg(test)]
mod tests {
    use ratatui::backend::TestBackend;
    use stunner_load::Sample;

    use super::*;

    fn tally() -> Tally {
        let mut tally = Tally::new(10);
        for number in 1..=8_u64 {
            let mut sample = Sample {
                is_measured: number > 2,
                ready: 10,
                ..Sample::default()
            };
            sample.outcome.to_peer.sent = 100 * number;
            sample.outcome.to_peer.received = 100 * number;
            sample.outcome.elapsed = Duration::from_millis(500);
            for _ in 0..100 * number {
                sample.outcome.latencies.record(50_000 * number);
            }
            tally.add(sample, Duration::from_millis(500 * number));
        }
        tally
    }

    const SCENE: Scene = Scene {
        size: 160,
        duration: Duration::from_secs(10),
    };

    #[test]
    fn the_plot_shows_phase_figures_and_curves() {
        let mut terminal = Terminal::new(TestBackend::new(60, HEIGHT)).expect("a terminal");
        terminal
            .draw(|frame| draw(frame, SCENE, &tally()))
            .expect("a picture");
        let buffer = terminal.backend().buffer();
        let rows: Vec<String> = buffer
            .content()
            .chunks(60)
            .map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>())
            .map(|row| row.trim_end().to_owned())
            .collect();
        assert_eq!(rows[0], "measuring 3 of 10 s, 10 sessions");
        assert!(
            rows[1].starts_with("1,600 packets/s, 2.0 Mbit/s, lost 0 % so far"),
            "{rows:#?}"
        );
        assert_eq!(rows[2], "packets/s, up to 1,600");
        assert_eq!(rows[3], "    ▂▄▆█", "the upper half rises: {rows:#?}");
        assert!(rows[5].starts_with("p99, up to 0.4"), "{rows:#?}");
    }

    #[test]
    fn the_line_says_how_far_it_is() {
        let mut tally = Tally::new(10);
        assert_eq!(phase(SCENE, &tally), "connecting 0 of 10 sessions");
        tally.add(Sample::default(), Duration::from_secs(1));
        assert!(line(SCENE, &tally).starts_with("connecting 0 of 10 sessions: 0 packets/s"));
    }
}

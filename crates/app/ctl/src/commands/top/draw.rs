//! A board as a frame on a terminal, and as plain text where there is none.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use super::board::Board;
use super::table::{Layout, Parts, tail_cut};
use super::view::{Row, RowKind, View};
use crate::output::numbers::scaled;

/// What stands above the table besides numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct Heading {
    /// Whose dashboard it is: a gateway, a namespace, an address.
    pub(super) scope: String,
    /// The time of day.
    pub(super) clock: String,
    pub(super) colour: bool,
}

const KEYS: &str = "q quit  s sort  r reverse  f fold  p pause  / filter";

pub(super) fn draw(frame: &mut Frame<'_>, heading: &Heading, view: &mut View, board: &Board) {
    let area = frame.area();
    let (width, height) = (usize::from(area.width), usize::from(area.height));
    let paint = Paint(heading.colour);
    let layout = Layout::of(width);
    let mut lines = vec![
        Line::styled(title(heading, view), paint.bold()),
        Line::raw(tail_cut(&totals(board), width)),
        Line::styled(layout.heading(), paint.reversed()),
    ];
    let foot = foot(view, board, width, paint);
    let room = height.saturating_sub(lines.len() + foot.len());
    let rows = view.rows(board);
    view.scroll = view.scroll.min(rows.len().saturating_sub(room));
    let shown = rows.iter().skip(view.scroll).take(room);
    lines.extend(shown.map(|row| paint.row(row, layout.parts(row))));
    if rows.is_empty() && room > 0 {
        lines.push(Line::raw(tail_cut(&nothing(view), width)));
    }
    lines.truncate(height.saturating_sub(foot.len()));
    let top = area.y;
    for (at, line) in (0..area.height).zip(&lines) {
        frame.render_widget(line, line_area(area, top + at));
    }
    let foot_height = foot.len().min(height) as u16;
    for (at, line) in (area.bottom() - foot_height..area.bottom()).zip(&foot) {
        frame.render_widget(line, line_area(area, at));
    }
}

fn line_area(area: Rect, y: u16) -> Rect {
    Rect {
        y,
        height: 1,
        ..area
    }
}

fn title(heading: &Heading, view: &View) -> String {
    let paused = if view.paused { "  paused" } else { "" };
    format!(
        "stunnerctl top  {}  {}{paused}",
        heading.scope, heading.clock
    )
}

/// One line about everything.
fn totals(board: &Board) -> String {
    let total = board.total();
    let rate = |flow: Option<super::board::Flow>, unit: &str| match flow {
        Some(flow) => format!(
            "{}{unit} in {}{unit} out",
            scaled(flow.received),
            scaled(flow.sent)
        ),
        None => format!("-{unit}"),
    };
    let count = |n: usize, one: &str| format!("{n} {one}{}", if n == 1 { "" } else { "s" });
    format!(
        "{}, {}: {} allocations, {}, {}",
        count(board.gateways.len(), "gateway"),
        count(board.pods(), "pod"),
        total.allocations,
        rate(total.packets, " pkt/s"),
        rate(total.bits, " bit/s"),
    )
}

fn nothing(view: &View) -> String {
    match view.filter.is_empty() {
        true => "no gateway answered yet".to_owned(),
        false => format!("nothing fits `{}`; Esc drops the filter", view.filter),
    }
}

fn foot<'a>(view: &View, board: &Board, width: usize, paint: Paint) -> Vec<Line<'a>> {
    let mut lines = Vec::new();
    if let Some(silence) = board.silent.first() {
        let others = match board.silent.len() {
            1 => String::new(),
            n => format!(" (and {} more)", n - 1),
        };
        let text = format!("no answer from {}{others}: {}", silence.name, silence.why);
        lines.push(Line::styled(tail_cut(&text, width), paint.of(Color::Red)));
    }
    let keys = match view.typing {
        true => format!("filter: {}_  Enter keeps it, Esc drops it", view.filter),
        false => {
            let order = if view.reversed { " reversed" } else { "" };
            let filter = match view.filter.as_str() {
                "" => String::new(),
                filter => format!("  [filter: {filter}]"),
            };
            format!("{KEYS}  [by {}{order}]{filter}", view.sort.as_str())
        }
    };
    lines.push(Line::styled(tail_cut(&keys, width), paint.dim()));
    lines
}

/// Colours, or none where nobody wants them. What a colour says, the text says too.
#[derive(Debug, Clone, Copy)]
struct Paint(bool);

impl Paint {
    fn bold(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    fn reversed(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    fn dim(self) -> Style {
        match self.0 {
            true => Style::new().add_modifier(Modifier::DIM),
            false => Style::new(),
        }
    }

    fn of(self, colour: Color) -> Style {
        match self.0 {
            true => Style::new().fg(colour),
            false => Style::new(),
        }
    }

    fn row<'a>(self, row: &Row<'_>, parts: Parts) -> Line<'a> {
        let name = match row.kind {
            RowKind::Gateway => self.bold(),
            RowKind::Listener | RowKind::Pod => Style::new(),
        };
        let mut spans = vec![Span::styled(parts.name, name)];
        for cell in parts.cells {
            let style = match cell.contains('+') {
                true => self.of(Color::Yellow),
                false => Style::new(),
            };
            spans.push(Span::styled(cell, style));
        }
        let state = match row.is_well {
            true => Style::new(),
            false => self.of(Color::Red),
        };
        spans.push(Span::styled(parts.state, state));
        Line::from(spans)
    }
}

/// The whole table as text.
pub(super) fn plain(view: &View, board: &Board) -> String {
    let rows = view.rows(board);
    let layout = Layout::fitting(&rows);
    let mut text = layout.heading().trim_end().to_owned() + "\n";
    for row in &rows {
        text.push_str(layout.parts(row).line().trim_end());
        text.push('\n');
    }
    text
}

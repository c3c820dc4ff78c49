//! The columns of the dashboard, for the screen and for plain text alike.

use super::board::{Counts, Flow, Tally};
use super::view::{Row, RowKind};
use crate::output::numbers::scaled;

/// From this width on, both directions have columns of their own.
const WIDE: usize = 110;
const NARROWEST_NAME: usize = 16;

/// A column of numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    pub(super) title: &'static str,
    pub(super) width: usize,
    cell: fn(&Counts) -> String,
}

/// How wide everything is.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    pub(super) name: usize,
    pub(super) columns: &'static [Column],
    pub(super) state: usize,
}

const NARROW_COLUMNS: &[Column] = &[
    column("ALLOC", 6, |it| scaled(it.allocations as f64)),
    column("PKT/S", 6, |it| rate(it.packets, Flow::both)),
    column("BIT/S", 6, |it| rate(it.bits, Flow::both)),
    column("DENIED", 9, |it| tally(Some(it.denials))),
    column("ERRORS", 9, |it| tally(it.errors)),
];

const WIDE_COLUMNS: &[Column] = &[
    column("ALLOC", 7, |it| scaled(it.allocations as f64)),
    column("PKT/S IN", 8, |it| rate(it.packets, |flow| flow.received)),
    column("PKT/S OUT", 9, |it| rate(it.packets, |flow| flow.sent)),
    column("BIT/S IN", 8, |it| rate(it.bits, |flow| flow.received)),
    column("BIT/S OUT", 9, |it| rate(it.bits, |flow| flow.sent)),
    column("DENIED", 11, |it| tally(Some(it.denials))),
    column("ERRORS", 11, |it| tally(it.errors)),
    column("DROPPED", 11, |it| tally(it.dropped)),
];

const fn column(title: &'static str, width: usize, cell: fn(&Counts) -> String) -> Column {
    Column { title, width, cell }
}

fn rate(flow: Option<Flow>, of: fn(Flow) -> f64) -> String {
    flow.map_or_else(|| "-".to_owned(), |flow| scaled(of(flow)))
}

/// `12 +3`: twelve since the process began, three of them since the last look.
fn tally(tally: Option<Tally>) -> String {
    match tally {
        None => String::new(),
        Some(Tally { total, fresh: 0 }) => scaled(total as f64),
        Some(Tally { total, fresh }) => {
            format!("{} +{}", scaled(total as f64), scaled(fresh as f64))
        }
    }
}

impl Layout {
    pub(super) fn of(width: usize) -> Layout {
        let columns = if width >= WIDE {
            WIDE_COLUMNS
        } else {
            NARROW_COLUMNS
        };
        let state = 11;
        // A blank in front of every column.
        let numbers: usize = columns.iter().map(|column| column.width + 1).sum();
        let name = width.saturating_sub(numbers + state + 2);
        Layout {
            name: name.max(NARROWEST_NAME),
            columns,
            state,
        }
    }

    /// Where lines may be as long as they need to be, no name is cut.
    pub(super) fn fitting(rows: &[Row<'_>]) -> Layout {
        let mut layout = Layout::of(WIDE);
        let names = rows.iter().map(|row| label(row).chars().count());
        layout.name = names.max().unwrap_or(0).max(NARROWEST_NAME);
        layout
    }

    pub(super) fn heading(&self) -> String {
        let mut text = format!("{:<1$}", "NAME", self.name);
        for column in self.columns {
            text.push_str(&format!(" {:>1$}", column.title, column.width));
        }
        text.push_str(&format!("  {:<1$}", "STATE", self.state));
        text
    }

    /// The text of a row in its parts, so that the screen may colour them.
    pub(super) fn parts(&self, row: &Row<'_>) -> Parts {
        let name = match row.kind {
            RowKind::Gateway | RowKind::Listener => tail_cut(&label(row), self.name),
            // The end of a pod's name tells it from its siblings.
            RowKind::Pod => {
                let room = self.name.saturating_sub(POD.len());
                format!("{POD}{}", head_cut(pod_name(row.name), room))
            }
        };
        let cells = self.columns.iter().map(|column| {
            let text = (column.cell)(row.counts);
            format!(" {:>1$}", tail_cut(&text, column.width), column.width)
        });
        Parts {
            name: format!("{:<1$}", name, self.name),
            cells: cells.collect(),
            state: format!("  {:<1$}", tail_cut(&row.state, self.state), self.state),
        }
    }
}

const POD: &str = "  pod ";

/// What stands in the first column, whole.
fn label(row: &Row<'_>) -> String {
    match (row.kind, row.note) {
        (RowKind::Gateway, _) => row.name.to_owned(),
        (RowKind::Listener, Some(note)) => format!("  {} {note}", row.name),
        (RowKind::Listener, None) => format!("  {}", row.name),
        (RowKind::Pod, _) => format!("{POD}{}", pod_name(row.name)),
    }
}

/// Its namespace is that of the gateway above it.
fn pod_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or_default()
}

#[derive(Debug, Clone)]
pub(super) struct Parts {
    pub(super) name: String,
    pub(super) cells: Vec<String>,
    pub(super) state: String,
}

impl Parts {
    pub(super) fn line(&self) -> String {
        format!("{}{}{}", self.name, self.cells.concat(), self.state)
    }
}

pub(super) fn tail_cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}…")
}

fn head_cut(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let kept: String = text
        .chars()
        .skip(length - width.saturating_sub(1))
        .collect();
    format!("…{kept}")
}

//! What the person at the dashboard has chosen, and the rows that follow from it.

use std::cmp::Ordering;

use super::board::{Board, Counts, GatewayLine};

/// The columns that rows can be ordered by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Sort {
    #[default]
    Name,
    Allocations,
    Packets,
    Bits,
    Denials,
    Errors,
}

impl Sort {
    pub(super) const ALL: [Sort; 6] = [
        Sort::Name,
        Sort::Allocations,
        Sort::Packets,
        Sort::Bits,
        Sort::Denials,
        Sort::Errors,
    ];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Sort::Name => "name",
            Sort::Allocations => "allocations",
            Sort::Packets => "packets",
            Sort::Bits => "bits",
            Sort::Denials => "denials",
            Sort::Errors => "errors",
        }
    }

    fn next(self) -> Sort {
        let at = Sort::ALL.iter().position(|it| *it == self).unwrap_or(0);
        Sort::ALL[(at + 1) % Sort::ALL.len()]
    }

    /// Numbers have the greatest first.
    fn compare(self, one: (&str, &Counts), other: (&str, &Counts)) -> Ordering {
        let by = |of: fn(&Counts) -> f64| of(other.1).total_cmp(&of(one.1));
        match self {
            Sort::Name => Ordering::Equal,
            Sort::Allocations => by(|it| it.allocations as f64),
            Sort::Packets => by(|it| it.packets.map_or(0.0, |flow| flow.both())),
            Sort::Bits => by(|it| it.bits.map_or(0.0, |flow| flow.both())),
            Sort::Denials => by(|it| it.denials.total as f64),
            Sort::Errors => by(|it| it.errors.map_or(0.0, |tally| tally.total as f64)),
        }
        .then_with(|| one.0.cmp(other.0))
    }
}

/// A key as far as the dashboard cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Char(char),
    Enter,
    Escape,
    Backspace,
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    /// Control-C.
    Interrupt,
}

/// What a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reaction {
    Redraw,
    Quit,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct View {
    pub(super) sort: Sort,
    pub(super) reversed: bool,
    /// The screen stands still; samples are taken on, so that the first rates afterwards are fresh.
    pub(super) paused: bool,
    pub(super) filter: String,
    /// The filter is being typed.
    pub(super) typing: bool,
    /// Rows above the first that is shown.
    pub(super) scroll: usize,
    /// Gateways only, without listeners and pods.
    pub(super) folded: bool,
}

/// A line of the table.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row<'a> {
    pub(super) kind: RowKind,
    pub(super) name: &'a str,
    pub(super) note: Option<&'a str>,
    pub(super) counts: &'a Counts,
    pub(super) state: String,
    pub(super) is_well: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowKind {
    Gateway,
    Listener,
    Pod,
}

impl View {
    pub(super) fn press(&mut self, key: Key) -> Reaction {
        if key == Key::Interrupt {
            return Reaction::Quit;
        }
        if self.typing {
            self.edit(key);
            return Reaction::Redraw;
        }
        match key {
            Key::Char('q') => return Reaction::Quit,
            // Once to drop the filter, then to leave.
            Key::Escape if self.filter.is_empty() => return Reaction::Quit,
            Key::Escape => self.filter.clear(),
            Key::Char('s') => self.sort = self.sort.next(),
            Key::Char('r') => self.reversed = !self.reversed,
            Key::Char('p' | ' ') => self.paused = !self.paused,
            Key::Char('f') => self.folded = !self.folded,
            Key::Char('/') => self.typing = true,
            Key::Up | Key::Char('k') => self.scroll = self.scroll.saturating_sub(1),
            Key::Down | Key::Char('j') => self.scroll = self.scroll.saturating_add(1),
            Key::PageUp => self.scroll = self.scroll.saturating_sub(10),
            Key::PageDown => self.scroll = self.scroll.saturating_add(10),
            Key::Home => self.scroll = 0,
            Key::End => self.scroll = usize::MAX,
            _ => {}
        }
        Reaction::Redraw
    }

    fn edit(&mut self, key: Key) {
        match key {
            Key::Char(letter) => self.filter.push(letter),
            Key::Backspace => {
                self.filter.pop();
            }
            Key::Enter => self.typing = false,
            Key::Escape => {
                self.typing = false;
                self.filter.clear();
            }
            _ => {}
        }
        self.scroll = 0;
    }

    /// The rows in the order chosen: each gateway with its listeners and pods below it.
    pub(super) fn rows<'a>(&self, board: &'a Board) -> Vec<Row<'a>> {
        let mut gateways: Vec<&GatewayLine> = board.gateways.iter().collect();
        self.order(&mut gateways, |line| (&line.name, &line.counts));
        let mut rows = Vec::new();
        for gateway in gateways {
            self.add(gateway, &mut rows);
        }
        rows
    }

    fn add<'a>(&self, gateway: &'a GatewayLine, rows: &mut Vec<Row<'a>>) {
        // A gateway that fits is shown whole; of others, what fits.
        let whole = self.fits(&gateway.name);
        let mut below = Vec::new();
        let mut listeners: Vec<_> = gateway.listeners.iter().collect();
        self.order(&mut listeners, |line| (&line.name, &line.counts));
        below.extend(
            listeners
                .into_iter()
                .filter(|line| whole || self.fits(&line.name))
                .map(|line| Row {
                    kind: RowKind::Listener,
                    name: line.name.rsplit('/').next().unwrap_or_default(),
                    note: line.protocol.as_deref().or(Some("removed")),
                    counts: &line.counts,
                    state: String::new(),
                    is_well: true,
                }),
        );
        let mut pods: Vec<_> = gateway.pods.iter().collect();
        self.order(&mut pods, |line| (&line.name, &line.counts));
        below.extend(
            pods.into_iter()
                .filter(|line| whole || self.fits(&line.name))
                .map(|line| Row {
                    kind: RowKind::Pod,
                    name: &line.name,
                    note: None,
                    counts: &line.counts,
                    state: line.state.to_string(),
                    is_well: line.state == super::board::PodState::Ready,
                }),
        );
        if !whole && below.is_empty() {
            return;
        }
        rows.push(Row {
            kind: RowKind::Gateway,
            name: &gateway.name,
            note: None,
            counts: &gateway.counts,
            state: gateway.state(),
            is_well: gateway.is_well(),
        });
        if !self.folded {
            rows.append(&mut below);
        }
    }

    fn fits(&self, name: &str) -> bool {
        self.filter.is_empty() || name.to_lowercase().contains(&self.filter.to_lowercase())
    }

    fn order<T>(&self, lines: &mut [&T], of: impl Fn(&T) -> (&String, &Counts)) {
        lines.sort_by(|one, other| {
            let ((one, counts), (other, others)) = (of(one), of(other));
            let order = self.sort.compare((one, counts), (other, others));
            if self.reversed {
                order.reverse()
            } else {
                order
            }
        });
    }
}

//! Listeners and clusters come and go by name while shards count by index.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use super::block::Block;
use super::{Family, Registry, names};

/// A listener's number in the metrics; the same name has the same number for the life of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ListenerIndex(pub u32);

/// A cluster's number in the metrics; the same name has the same number for the life of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClusterIndex(pub u32);

/// What passed through a listener or cluster so far. For a cluster, `rx` is from the peers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub rx_packets: u64,
    pub rx_bytes: u64,
    pub tx_packets: u64,
    pub tx_bytes: u64,
}

const RX_PACKETS: usize = 0;
const RX_BYTES: usize = 1;
const TX_PACKETS: usize = 2;
const TX_BYTES: usize = 3;
const CONNECTIONS: usize = 4;
const CONNECTIONS_TOTAL: usize = 5;

/// The names known so far, of listeners or of clusters.
#[derive(Debug, Default)]
pub(super) struct Table {
    state: RwLock<TableState>,
}

#[derive(Debug, Default)]
struct TableState {
    index_by_name: HashMap<Box<str>, u32>,
    blocks: Vec<Arc<Block>>,
}

impl Table {
    fn index(&self, name: &str, make: impl FnOnce() -> Arc<Block>) -> u32 {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = state.index_by_name.get(name) {
            return *index;
        }
        let index = state.blocks.len() as u32;
        state.blocks.push(make());
        state.index_by_name.insert(name.into(), index);
        index
    }

    pub(super) fn listener(&self, registry: &Registry, name: &str) -> ListenerIndex {
        ListenerIndex(self.index(name, || {
            let mut series = traffic(name, &names::LISTENER_PACKETS, &names::LISTENER_BYTES);
            series.push((&names::LISTENER_CONNECTIONS, vec![name]));
            series.push((&names::LISTENER_CONNECTIONS_TOTAL, vec![name]));
            registry.block(&series)
        }))
    }

    pub(super) fn cluster(&self, registry: &Registry, name: &str) -> ClusterIndex {
        ClusterIndex(self.index(name, || {
            registry.block(&traffic(
                name,
                &names::CLUSTER_PACKETS,
                &names::CLUSTER_BYTES,
            ))
        }))
    }

    pub(super) fn totals(&self, name: &str) -> Option<Totals> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let block = &state.blocks[*state.index_by_name.get(name)? as usize];
        Some(Totals {
            rx_packets: block.sum(RX_PACKETS),
            rx_bytes: block.sum(RX_BYTES),
            tx_packets: block.sum(TX_PACKETS),
            tx_bytes: block.sum(TX_BYTES),
        })
    }
}

fn traffic<'n>(
    name: &'n str,
    packets: &'static Family,
    bytes: &'static Family,
) -> Vec<(&'static Family, Vec<&'n str>)> {
    // In the order of the word constants above.
    vec![
        (packets, vec!["rx", name]),
        (bytes, vec!["rx", name]),
        (packets, vec!["tx", name]),
        (bytes, vec!["tx", name]),
    ]
}

/// One shard's rows, by index; rows of names that appeared since are fetched on first use.
#[derive(Debug)]
pub(super) struct Rows {
    table: Arc<Table>,
    writer: usize,
    rows: Vec<Row>,
    /// Takes what is counted for an index that this table never gave out.
    nowhere: Row,
}

#[derive(Debug)]
struct Row {
    block: Arc<Block>,
    row: usize,
}

impl Rows {
    pub(super) fn new(table: Arc<Table>, writer: usize) -> Self {
        let nowhere = Row {
            block: Arc::new(Block::new(0, CONNECTIONS_TOTAL + 1)),
            row: 0,
        };
        Rows {
            table,
            writer,
            rows: Vec::new(),
            nowhere,
        }
    }

    fn row(&mut self, index: u32) -> &Row {
        let index = index as usize;
        if index >= self.rows.len() {
            let state = self
                .table
                .state
                .read()
                .unwrap_or_else(PoisonError::into_inner);
            for block in &state.blocks[self.rows.len()..] {
                self.rows.push(Row {
                    block: Arc::clone(block),
                    row: block.row_of(self.writer),
                });
            }
        }
        self.rows.get(index).unwrap_or(&self.nowhere)
    }

    pub(super) fn listener(&mut self, index: ListenerIndex) -> ListenerCells<'_> {
        ListenerCells(self.row(index.0))
    }

    pub(super) fn cluster(&mut self, index: ClusterIndex) -> ClusterCells<'_> {
        ClusterCells(self.row(index.0))
    }
}

/// One shard's cells of one listener.
#[derive(Clone, Copy, Debug)]
pub struct ListenerCells<'a>(&'a Row);

impl ListenerCells<'_> {
    /// Counts what came from clients.
    pub fn received(self, packets: u64, bytes: u64) {
        self.0.add(RX_PACKETS, packets);
        self.0.add(RX_BYTES, bytes);
    }

    /// Counts what went to clients.
    pub fn sent(self, packets: u64, bytes: u64) {
        self.0.add(TX_PACKETS, packets);
        self.0.add(TX_BYTES, bytes);
    }

    /// A connection was accepted, or a UDP socket opened.
    pub fn opened(self) {
        self.0.add(CONNECTIONS, 1);
        self.0.add(CONNECTIONS_TOTAL, 1);
    }

    /// One that was counted with [`opened`](Self::opened), on any shard, is gone.
    pub fn closed(self) {
        self.0.add(CONNECTIONS, 1u64.wrapping_neg());
    }
}

/// One shard's cells of one cluster.
#[derive(Clone, Copy, Debug)]
pub struct ClusterCells<'a>(&'a Row);

impl ClusterCells<'_> {
    /// Counts what came from peers.
    pub fn received(self, packets: u64, bytes: u64) {
        self.0.add(RX_PACKETS, packets);
        self.0.add(RX_BYTES, bytes);
    }

    /// Counts what went to peers.
    pub fn sent(self, packets: u64, bytes: u64) {
        self.0.add(TX_PACKETS, packets);
        self.0.add(TX_BYTES, bytes);
    }
}

impl Row {
    fn add(&self, word: usize, n: u64) {
        self.block.add_alone(self.row, word, n);
    }
}

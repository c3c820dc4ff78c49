use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const WORDS_PER_LINE: usize = 8;

/// One cache line of words. Two rows never share a line, so writers do not disturb each other.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Line([AtomicU64; WORDS_PER_LINE]);

/// A few related words per writer: one row for each writer thread, and a last row that any thread may add to.
///
/// Words that are counted together (a listener's packets and bytes) sit in one row, so that counting a packet
/// touches one line.
#[derive(Debug)]
pub(super) struct Block {
    lines: Box<[Line]>,
    lines_per_row: usize,
    rows: usize,
}

impl Block {
    pub(super) fn new(writers: usize, words: usize) -> Self {
        let lines_per_row = words.div_ceil(WORDS_PER_LINE).max(1);
        let rows = writers + 1;
        let lines = (0..rows * lines_per_row).map(|_| Line::default()).collect();
        Block {
            lines,
            lines_per_row,
            rows,
        }
    }

    /// The row of a writer thread. A writer beyond the number the registry was made for gets the shared row.
    pub(super) fn row_of(&self, writer: usize) -> usize {
        writer.min(self.shared_row())
    }

    pub(super) fn shared_row(&self) -> usize {
        self.rows - 1
    }

    pub(super) fn word(&self, row: usize, word: usize) -> &AtomicU64 {
        &self.lines[row * self.lines_per_row + word / WORDS_PER_LINE].0[word % WORDS_PER_LINE]
    }

    /// Adds as the only writer of this row: no locked instruction.
    pub(super) fn add_alone(&self, row: usize, word: usize, n: u64) {
        let cell = self.word(row, word);
        cell.store(cell.load(Relaxed).wrapping_add(n), Relaxed);
    }

    pub(super) fn sum(&self, word: usize) -> u64 {
        (0..self.rows).fold(0u64, |sum, row| {
            sum.wrapping_add(self.word(row, word).load(Relaxed))
        })
    }

    /// The sum of floating-point words.
    pub(super) fn sum_f64(&self, word: usize) -> f64 {
        (0..self.rows)
            .map(|row| f64::from_bits(self.word(row, word).load(Relaxed)))
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_start_on_their_own_cache_line() {
        let block = Block::new(2, 3);
        let at = |row| std::ptr::from_ref(block.word(row, 0)) as usize;
        assert_eq!(at(0) % 64, 0);
        assert_eq!(at(1) - at(0), 64);
    }

    #[test]
    fn words_beyond_one_line_stay_apart() {
        let block = Block::new(2, 20);
        for row in 0..3 {
            for word in 0..20 {
                block.add_alone(row, word, (word as u64) * 10);
            }
        }
        assert!((0..20).all(|word| block.sum(word) == word as u64 * 30));
    }
}

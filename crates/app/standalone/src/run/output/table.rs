//! Columns as `kubectl get` prints them.

/// Rows under a head; every column as wide as it must be, three spaces between.
pub(super) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let mut widths: Vec<usize> = head.iter().map(|cell| cell.chars().count()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let head: Vec<String> = head.iter().map(|&cell| cell.to_owned()).collect();
    let mut text = String::new();
    for row in std::iter::once(&head).chain(rows) {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(&format!("{cell:<width$}   "));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [
            vec!["default".to_owned(), "gw".to_owned(), "True".to_owned()],
            vec!["a".to_owned(), "gateway".to_owned(), String::new()],
        ];
        assert_eq!(
            table(&["NAMESPACE", "NAME", "PROGRAMMED"], &rows),
            "NAMESPACE   NAME      PROGRAMMED\n\
             default     gw        True\n\
             a           gateway\n"
        );
    }
}

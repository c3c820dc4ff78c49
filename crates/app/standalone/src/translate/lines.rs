//! Line differences in the unified form.

/// Lines around a change that are shown with it.
const CONTEXT: usize = 3;
/// Beyond this many pairs of lines, what differs is shown as a whole: nobody reads the rest line by line.
const MOST_PAIRS: usize = 16_000_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Edit {
    Keep,
    Remove,
    Add,
}

/// The hunks between two texts; empty when they are equal.
pub(super) fn unified(old: &str, new: &str) -> String {
    let old: Vec<&str> = old.lines().collect();
    let new: Vec<&str> = new.lines().collect();
    let edits = edits(&old, &new);
    let mut text = String::new();
    let changed: Vec<usize> = (0..edits.len())
        .filter(|&at| edits[at] != Edit::Keep)
        .collect();
    let mut next = 0;
    while let Some(&first) = changed.get(next) {
        let mut last = first;
        while let Some(&further) = changed
            .get(next)
            .filter(|&&at| at <= last + 2 * CONTEXT + 1)
        {
            last = further;
            next += 1;
        }
        let from = first.saturating_sub(CONTEXT);
        let to = (last + CONTEXT + 1).min(edits.len());
        hunk(&mut text, &old, &new, &edits, from, to);
    }
    text
}

fn hunk(text: &mut String, old: &[&str], new: &[&str], edits: &[Edit], from: usize, to: usize) {
    let count = |edits: &[Edit], other: Edit| edits.iter().filter(|&&edit| edit != other).count();
    let (mut at_old, mut at_new) = (
        count(&edits[..from], Edit::Add),
        count(&edits[..from], Edit::Remove),
    );
    let (of_old, of_new) = (
        count(&edits[from..to], Edit::Add),
        count(&edits[from..to], Edit::Remove),
    );
    // Lines count from 1; of an empty range the line before it is named.
    let start = |at: usize, length: usize| at + usize::from(length > 0);
    text.push_str(&format!(
        "@@ -{},{of_old} +{},{of_new} @@\n",
        start(at_old, of_old),
        start(at_new, of_new)
    ));
    for edit in &edits[from..to] {
        let (mark, line) = match edit {
            Edit::Keep => (' ', old[at_old]),
            Edit::Remove => ('-', old[at_old]),
            Edit::Add => ('+', new[at_new]),
        };
        at_old += usize::from(*edit != Edit::Add);
        at_new += usize::from(*edit != Edit::Remove);
        text.push_str(&format!("{mark}{line}\n"));
    }
}

/// The way from one text to the other that keeps the most lines.
fn edits(old: &[&str], new: &[&str]) -> Vec<Edit> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[head..], &new[head..]);
    let tail = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let (old, new) = (&old[..old.len() - tail], &new[..new.len() - tail]);
    let mut edits = vec![Edit::Keep; head];
    match old.len().saturating_mul(new.len()) > MOST_PAIRS {
        true => {
            edits.extend(old.iter().map(|_| Edit::Remove));
            edits.extend(new.iter().map(|_| Edit::Add));
        }
        false => longest_common(old, new, &mut edits),
    }
    edits.extend(std::iter::repeat_n(Edit::Keep, tail));
    edits
}

fn longest_common(old: &[&str], new: &[&str], edits: &mut Vec<Edit>) {
    let width = new.len() + 1;
    // At (i, j): how many lines `old[i..]` and `new[j..]` have in common, in order.
    let mut common = vec![0_u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i * width + j] = match old[i] == new[j] {
                true => common[(i + 1) * width + j + 1] + 1,
                false => common[(i + 1) * width + j].max(common[i * width + j + 1]),
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            edits.push(Edit::Keep);
            i += 1;
            j += 1;
        } else if i < old.len()
            && (j == new.len() || common[(i + 1) * width + j] >= common[i * width + j + 1])
        {
            edits.push(Edit::Remove);
            i += 1;
        } else {
            edits.push(Edit::Add);
            j += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_have_no_hunks() {
        assert_eq!(unified("a\nb\n", "a\nb\n"), "");
        assert_eq!(unified("", ""), "");
    }

    #[test]
    fn a_change_is_shown_with_the_lines_around_it() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let new = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n";
        assert_eq!(
            unified(old, new),
            "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"
        );
    }

    #[test]
    fn changes_far_apart_have_hunks_of_their_own() {
        let lines: Vec<String> = (1..=20).map(|line| line.to_string()).collect();
        let old = lines.join("\n");
        let mut changed = lines;
        changed.remove(18);
        changed.insert(1, "new".to_owned());
        assert_eq!(
            unified(&old, &changed.join("\n")),
            "@@ -1,4 +1,5 @@\n 1\n+new\n 2\n 3\n 4\n@@ -16,5 +17,4 @@\n 16\n 17\n 18\n-19\n 20\n"
        );
    }

    #[test]
    fn what_is_only_on_one_side_is_all_added_or_all_removed() {
        assert_eq!(unified("", "a\nb\n"), "@@ -0,0 +1,2 @@\n+a\n+b\n");
        assert_eq!(unified("a\n", ""), "@@ -1,1 +0,0 @@\n-a\n");
    }
}

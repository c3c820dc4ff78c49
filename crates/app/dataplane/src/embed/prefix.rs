//! Ids that tell which dataplane gave them.

/// An id of dataplane `number`, unique among all dataplanes of the process.
pub fn join(number: u64, id: &str) -> String {
    format!("{number}.{id}")
}

/// The inverse of `join`.
pub fn split(id: &str) -> Option<(u64, &str)> {
    let (number, id) = id.split_once('.')?;
    Some((number.parse().ok()?, id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_finds_its_way_back_and_nonsense_leads_nowhere() {
        assert_eq!(split(&join(7, "0-12-3")), Some((7, "0-12-3")));
        for id in ["", "0-1-2", ".0-1-2", "x.0-1-2", "-1.0-1-2"] {
            assert_eq!(split(id), None, "{id}");
        }
    }
}

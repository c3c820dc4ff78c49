//! What the query of a request says.

use axum::extract::Query;
use axum::http::Uri;

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum QueryError {
    #[error("the query cannot be read")]
    Unreadable,
    #[error("the parameter `watch` takes `true` or `false`")]
    Watch,
    #[error("the parameter `{0}` is given more than once")]
    Twice(&'static str),
}

#[derive(Debug, PartialEq, Eq, Default)]
pub(super) struct Parameters {
    pub(super) watch: bool,
    /// Only read where a single configuration is asked for.
    pub(super) node: Option<String>,
}

impl Parameters {
    /// Reads a query; parameters that nobody knows are ignored.
    pub(super) fn read(uri: &Uri, with_node: bool) -> Result<Parameters, QueryError> {
        let Query(pairs): Query<Vec<(String, String)>> =
            Query::try_from_uri(uri).map_err(|_| QueryError::Unreadable)?;
        let single = |name| {
            let mut values = pairs.iter().filter(|(key, _)| key == name);
            let value = values.next().map(|(_, value)| value.as_str());
            match values.next() {
                Some(_) => Err(QueryError::Twice(name)),
                None => Ok(value),
            }
        };
        let watch = match single("watch")? {
            Some(text) => boolean(text).ok_or(QueryError::Watch)?,
            None => false,
        };
        let node = match with_node {
            true => single("node")?.filter(|node| !node.is_empty()),
            false => None,
        };
        Ok(Parameters {
            watch,
            node: node.map(str::to_owned),
        })
    }
}

/// The words that Go takes for true and false.
fn boolean(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Result<Parameters, QueryError> {
        let uri: Uri = format!("/x{query}").parse().expect("a URI");
        Parameters::read(&uri, true)
    }

    #[test]
    fn parameters_are_read_and_unknown_ones_ignored() {
        assert_eq!(read(""), Ok(Parameters::default()));
        assert_eq!(read("?unknown=1&watch=f&&node="), Ok(Parameters::default()));
        let both = Parameters {
            watch: true,
            node: Some("node a".into()),
        };
        assert_eq!(read("?node=node%20a&watch=true"), Ok(both));
        assert_eq!(read("?watch=nonsense"), Err(QueryError::Watch));
        assert_eq!(read("?watch"), Err(QueryError::Watch));
        assert_eq!(read("?node=a&node=b"), Err(QueryError::Twice("node")));
        assert_eq!(read("?watch=1&watch=1"), Err(QueryError::Twice("watch")));
    }

    #[test]
    fn a_list_has_no_node() {
        let uri: Uri = "/x?node=a&node=b".parse().expect("a URI");
        assert_eq!(Parameters::read(&uri, false), Ok(Parameters::default()));
    }
}

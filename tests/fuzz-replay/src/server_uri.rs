//! Target `server_uri`: the URI of a TURN server, as users type it.

use stunner_client::ServerUri;

/// Reads `data` as a URI. What is shown of an accepted one reads back as the same server, and is the same with any other
/// password; what is refused is refused in words.
pub fn server_uri(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let uri: ServerUri = match text.parse() {
        Ok(uri) => uri,
        Err(error) => {
            assert!(!format!("{error:?} {error}").is_empty());
            return;
        }
    };
    assert!(!uri.host.is_empty() && uri.port > 0, "{uri}");
    let shown = uri.to_string();
    let again: ServerUri = shown
        .parse()
        .unwrap_or_else(|error| panic!("{shown}: {error}"));
    assert_eq!(
        (&again.host, again.port, again.transport),
        (&uri.host, uri.port, uri.transport)
    );
    assert_eq!(again.credentials, None, "{shown}");
    if let Some((user, _)) = &uri.credentials {
        let mut other = uri.clone();
        other.credentials = Some((user.clone(), "another password".to_owned()));
        assert_eq!(format!("{uri} {uri:?}"), format!("{other} {other:?}"));
    }
}

//! Target `auth_query`: the query of a request to the auth service.

use stunner_auth::answer::{self, Endpoint, Gateways, Query, Settings};
use stunner_config::{ParseOptions, parse_with};

const CONFIG: &str = "{version: v1, admin: {name: ns/gw}, auth: {type: ephemeral, credentials: {secret: hush}}, \
     listeners: [{name: ns/gw/udp, public_address: 192.0.2.1}, {name: ns/gw/pod, protocol: TCP, address: $STUNNER_ADDR}]}";

/// Reads `data` as a query and answers it. What is refused is refused in words and with a status for it; what is handed
/// out fits a USERNAME, does not outlive the limit and leads somewhere.
pub fn auth_query(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let options = ParseOptions {
        expand_env: false,
        judge_listeners: false,
    };
    let parsed = parse_with(CONFIG, &|_| None, options).expect("a good configuration");
    let gateways = Gateways::from_iter([parsed.config]);
    let settings = Settings {
        max_ttl: 3600,
        public_address: None,
    };
    for endpoint in [Endpoint::Turn, Endpoint::Ice] {
        let query = match Query::parse(endpoint, text) {
            Ok(query) => query,
            Err(refusal) => {
                assert_eq!(refusal.status(), 400, "{refusal}");
                assert!(!refusal.to_string().is_empty() && !refusal.hint().is_empty());
                continue;
            }
        };
        let told = answer::turn_auth(&gateways, &query, &settings, u64::MAX);
        if let Ok(told) = told {
            assert!(told.username.len() <= stunner_credentials::MAX_USERNAME);
            assert!((1..=3600).contains(&told.ttl), "{}", told.ttl);
            let is_wild = |uri: &String| uri.contains(":0.0.0.0:") || uri.contains(":[::]:");
            assert!(!told.uris.is_empty() && !told.uris.iter().any(is_wild));
        }
        let ice = answer::ice_config(&gateways, &query, &settings, 0);
        assert!(ice.is_err() || ice.is_ok_and(|ice| !ice.ice_servers.is_empty()));
    }
}

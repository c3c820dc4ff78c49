//! The licence document. There is nothing to buy: it tells clients which features they may count on.

use serde::Serialize;

use super::text::go_json;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct License<'a> {
    enabled_features: &'a [String],
    subscription_type: &'a str,
    last_updated: &'a str,
    last_error: &'a str,
}

pub(super) fn document(features: &[String]) -> String {
    let license = License {
        enabled_features: features,
        subscription_type: "free",
        last_updated: "N/A",
        last_error: "",
    };
    go_json(&license) + "\n"
}

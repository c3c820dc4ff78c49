//! The OpenAPI document of the service.
//!
//! It tells what this very process does: a security scheme stands in it only where callers are checked.

use serde_json::{Map, Value, json};

use crate::VERSION;

/// The document, for a service that checks its callers or does not, and limits their rate or does not.
pub fn document(is_checked: bool, is_limited: bool) -> Value {
    let mut document = json!({
        "openapi": "3.0.3",
        "info": {
            "title": "STUNner authentication service",
            "version": VERSION,
            "description": "TURN credentials and ICE configurations of STUNner gateways.",
            "license": {"name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0.html"},
        },
        "paths": {
            "/": {"get": {
                "operationId": "getTurnAuth",
                "summary": "A TURN credential",
                "description": "The credential of the first matching gateway, in the order of namespace and name, with the URIs \
                                of all matching gateways that accept it.",
                "parameters": turn_parameters(),
                "responses": credentials("TurnAuthenticationToken", is_checked, is_limited),
            }},
            "/ice": {"get": {
                "operationId": "getIceAuth",
                "summary": "An ICE configuration",
                "description": "A configuration for RTCPeerConnection, with an entry for every matching gateway.",
                "parameters": ice_parameters(),
                "responses": credentials("IceConfig", is_checked, is_limited),
            }},
            "/healthz": {"get": {
                "operationId": "getHealth",
                "summary": "Whether the process is alive",
                "responses": {"200": text("It is."), "405": problem("Another method than GET.")},
            }},
            "/readyz": {"get": {
                "operationId": "getReadiness",
                "summary": "Whether configurations were received",
                "responses": {
                    "200": text("They were."),
                    "405": problem("Another method than GET."),
                    "503": text("Not yet."),
                },
            }},
            "/openapi.json": {"get": {
                "operationId": "getOpenApi",
                "summary": "This document",
                "responses": {
                    "200": {
                        "description": "The document.",
                        "content": {"application/json": {"schema": {"type": "object"}}},
                    },
                    "405": problem("Another method than GET."),
                },
            }},
        },
        "components": {"schemas": schemas()},
    });
    if is_checked {
        document["components"]["securitySchemes"] =
            json!({"bearer": {"type": "http", "scheme": "bearer"}});
        for path in ["/", "/ice"] {
            document["paths"][path]["get"]["security"] = json!([{"bearer": []}]);
        }
    }
    document
}

/// The parameters of both paths.
fn turn_parameters() -> Vec<Value> {
    let name = |what: &str| json!({"type": "string", "description": what});
    vec![
        parameter(
            "service",
            true,
            "What the credential is for.",
            json!({"type": "string", "enum": ["turn"]}),
        ),
        parameter(
            "username",
            false,
            "Becomes part of an ephemeral user name; at most 487 bytes. Gateways with static authentication ignore it.",
            json!({"type": "string", "pattern": "^[^\\x00-\\x1f\\x7f-\\x9f]*$"}),
        ),
        parameter(
            "ttl",
            false,
            "Seconds that the credential is to be good for. A long one is cut to what the service permits. Without it, \
             the default of the gateway, else 86400.",
            json!({"type": "integer", "minimum": 1}),
        ),
        parameter("key", false, "Means nothing.", json!({"type": "string"})),
        parameter(
            "namespace",
            false,
            "Gateways of this namespace only.",
            name("Namespace of a Gateway"),
        ),
        parameter(
            "gateway",
            false,
            "This gateway only; counts beside `namespace`.",
            name("Name of a Gateway"),
        ),
        parameter(
            "listener",
            false,
            "This listener only; counts beside `namespace` and `gateway`.",
            name("Name of a listener"),
        ),
        parameter(
            "public-addr",
            false,
            "The IP address of one host, not the wildcard or one of many, or a DNS name, to tell in URIs instead of those that the gateways have.",
            json!({
                "type": "string",
                // An empty one counts as none.
                "anyOf": [{"format": "hostname"}, {"format": "ipv4"}, {"format": "ipv6"}, {"maxLength": 0}],
                // Wildcards, however they are written; and a name does not end in a number (RFC 3696 §2).
                "not": {"anyOf": [{"pattern": "^[0.:]+$"}, {"allOf": [
                    {"pattern": "(^|[.])[0-9]+$"}, {"not": {"format": "ipv4"}}, {"not": {"format": "ipv6"}},
                ]}]},
            }),
        ),
    ]
}

fn ice_parameters() -> Vec<Value> {
    let mut parameters = turn_parameters();
    parameters.push(parameter(
        "iceTransportPolicy",
        false,
        "Told back in the answer.",
        json!({"type": "string", "enum": ["all", "public", "relay"], "default": "all"}),
    ));
    parameters
}

fn parameter(name: &str, required: bool, description: &str, schema: Value) -> Value {
    json!({
        "name": name,
        "in": "query",
        "required": required,
        "description": description,
        "schema": schema,
    })
}

/// The answers of the two paths that hand out credentials.
fn credentials(schema: &str, is_checked: bool, is_limited: bool) -> Value {
    let mut responses = Map::new();
    let mut add = |status: &str, response: Value| responses.insert(status.to_owned(), response);
    add(
        "200",
        json!({
            "description": "The answer.",
            "content": {"application/json": {"schema": reference(schema)}},
        }),
    );
    add("400", problem("A parameter is missing, repeated or wrong."));
    if is_checked {
        let mut unauthorized = problem("No bearer token, or one that is not valid here.");
        unauthorized["headers"] =
            json!({"WWW-Authenticate": {"description": "`Bearer`", "schema": {"type": "string"}}});
        add("401", unauthorized);
        add(
            "403",
            problem("The token is valid, but its holder may not ask."),
        );
    }
    add(
        "404",
        problem("No listener matches, or none that does has an address for clients."),
    );
    add("405", problem("Another method than GET."));
    if is_limited {
        let mut too_many = problem("Too many requests from this address.");
        too_many["headers"] = json!({
            "Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer", "minimum": 1}},
        });
        add("429", too_many);
    }
    add("500", problem("No gateway is known."));
    if is_checked {
        add("503", problem("Tokens cannot be checked at the moment."));
    }
    Value::Object(responses)
}

fn problem(description: &str) -> Value {
    json!({
        "description": description,
        "content": {"application/json": {"schema": reference("Problem")}},
    })
}

fn text(description: &str) -> Value {
    json!({
        "description": description,
        "content": {"text/plain": {"schema": {"type": "string"}}},
    })
}

fn reference(schema: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{schema}")})
}

fn schemas() -> Value {
    let uris = json!({
        "type": "array",
        "minItems": 1,
        "items": {"type": "string", "pattern": "^turns?:.+:[0-9]+\\?transport=(udp|tcp)$"},
        "description": "TURN URIs (RFC 7065).",
    });
    json!({
        "TurnAuthenticationToken": {
            "type": "object",
            "additionalProperties": false,
            "required": ["password", "ttl", "uris", "username"],
            "properties": {
                "password": {"type": "string"},
                "ttl": {"type": "integer", "minimum": 1, "description": "Seconds that the credential is good for."},
                "uris": uris,
                "username": {"type": "string"},
            },
        },
        "IceConfig": {
            "type": "object",
            "additionalProperties": false,
            "required": ["iceServers", "iceTransportPolicy"],
            "properties": {
                "iceServers": {"type": "array", "minItems": 1, "items": reference("IceServer")},
                "iceTransportPolicy": {"type": "string", "enum": ["all", "public", "relay"]},
            },
        },
        "IceServer": {
            "type": "object",
            "additionalProperties": false,
            "required": ["credential", "urls", "username"],
            "properties": {
                "credential": {"type": "string"},
                "urls": uris,
                "username": {"type": "string"},
            },
        },
        "Problem": {
            "type": "object",
            "additionalProperties": false,
            "required": ["error", "hint"],
            "properties": {
                "error": {"type": "string", "description": "What is wrong."},
                "hint": {"type": "string", "description": "What to do about it."},
            },
        },
    })
}

//! The Gateway API, as the definitions of its `v1` state it, later fields of the experimental channel included.
//!
//! Fields that we do not use are checked for their names only. What depends on several fields (which protocols take a
//! `hostname`) is left to translation, whose conditions say more than a schema can.

use super::{Field, Form, List, Map, Object, Schema, Text};

fn text(min: usize, max: usize, form: Form) -> Schema {
    Schema::Text(Text {
        min,
        max: Some(max),
        form: Some(form),
    })
}

fn length(min: usize, max: usize) -> Schema {
    Schema::Text(Text {
        min,
        max: Some(max),
        form: None,
    })
}

fn one_of(words: &[&str]) -> Schema {
    let words = words.iter().map(|&word| word.to_owned()).collect();
    Schema::Text(Text {
        min: 0,
        max: None,
        form: Some(Form::OneOf(words)),
    })
}

fn list(min: usize, max: usize, items: Schema) -> Schema {
    Schema::List(List {
        items: Box::new(items),
        min,
        max: Some(max),
    })
}

fn object(fields: Vec<Field>) -> Schema {
    Schema::Object(Object {
        fields,
        ..Object::default()
    })
}

/// An object that is left out as a whole when a part of it is broken.
fn atomic(fields: Vec<Field>) -> Schema {
    Schema::Object(Object {
        fields,
        atomic: true,
        rule: None,
    })
}

fn words(max: usize, annotations: bool) -> Schema {
    Schema::Map(Map {
        values: Box::new(Schema::text()),
        max: Some(max),
        annotations,
    })
}

pub(super) fn port() -> Schema {
    Schema::Integer { min: 1, max: 65535 }
}

fn group() -> Schema {
    text(0, 253, Form::Group)
}

fn kind() -> Schema {
    text(1, 63, Form::Kind)
}

fn namespace() -> Schema {
    text(1, 63, Form::Label)
}

fn object_name() -> Schema {
    length(1, 253)
}

fn section_name() -> Schema {
    text(1, 253, Form::Subdomain)
}

fn secret_ref() -> Schema {
    atomic(vec![
        Field::new("group", group()),
        Field::new("kind", kind()),
        Field::required("name", object_name()),
        Field::new("namespace", namespace()),
    ])
}

/// `spec` of a GatewayClass. Group and kind of the parameters may be left out in files.
pub(super) fn class() -> Schema {
    object(vec![
        Field::required("controllerName", text(1, 253, Form::ControllerName)),
        Field::new(
            "parametersRef",
            atomic(vec![
                Field::new("group", group()),
                Field::new("kind", kind()),
                Field::required("name", length(1, 253)),
                Field::new("namespace", namespace()),
            ]),
        ),
        Field::new("description", length(0, 64)),
    ])
}

/// `spec` of a Gateway.
pub(super) fn gateway() -> Schema {
    object(vec![
        Field::required("gatewayClassName", object_name()),
        Field::required("listeners", list(1, 64, listener())),
        Field::new(
            "addresses",
            list(
                0,
                16,
                atomic(vec![
                    Field::new("type", text(1, 253, Form::AddressType)),
                    Field::new("value", length(0, 253)),
                ]),
            ),
        ),
        Field::new(
            "infrastructure",
            object(vec![
                Field::new("labels", words(8, false)),
                Field::new("annotations", words(8, true)),
                Field::new(
                    "parametersRef",
                    atomic(vec![
                        Field::required("group", group()),
                        Field::required("kind", kind()),
                        Field::required("name", object_name()),
                    ]),
                ),
            ]),
        ),
        Field::new("allowedListeners", Schema::Ignored),
        Field::new("backendTLS", Schema::Ignored),
        Field::new("tls", Schema::Ignored),
        Field::new("defaultScope", Schema::Ignored),
    ])
}

fn listener() -> Schema {
    object(vec![
        Field::required("name", section_name()),
        Field::new("hostname", text(1, 253, Form::Hostname)),
        Field::required("port", port()),
        Field::required("protocol", text(1, 255, Form::Protocol)),
        Field::new(
            "tls",
            object(vec![
                Field::new("mode", one_of(&["Terminate", "Passthrough"])),
                Field::new("certificateRefs", list(0, 64, secret_ref())),
                Field::new("options", words(16, true)),
                Field::new("frontendValidation", Schema::Ignored),
            ]),
        ),
        Field::limiting(
            "allowedRoutes",
            atomic(vec![
                Field::new(
                    "namespaces",
                    atomic(vec![
                        Field::new("from", one_of(&["All", "Selector", "Same"])),
                        Field::new("selector", selector()),
                    ]),
                ),
                Field::new(
                    "kinds",
                    list(
                        0,
                        8,
                        atomic(vec![
                            Field::new("group", group()),
                            Field::required("kind", kind()),
                        ]),
                    ),
                ),
            ]),
        ),
    ])
}

/// A LabelSelector.
fn selector() -> Schema {
    let values = Schema::List(List {
        items: Box::new(Schema::text()),
        min: 0,
        max: None,
    });
    let expression = atomic(vec![
        Field::required("key", Schema::text()),
        Field::required(
            "operator",
            one_of(&["In", "NotIn", "Exists", "DoesNotExist"]),
        ),
        Field::new("values", values),
    ]);
    atomic(vec![
        Field::new(
            "matchLabels",
            Schema::Map(Map {
                values: Box::new(Schema::text()),
                max: None,
                annotations: false,
            }),
        ),
        Field::new(
            "matchExpressions",
            Schema::List(List {
                items: Box::new(expression),
                min: 0,
                max: None,
            }),
        ),
    ])
}

/// `spec` of an official UDPRoute or TCPRoute.
pub(super) fn route() -> Schema {
    let parent = atomic(vec![
        Field::new("group", group()),
        Field::new("kind", kind()),
        Field::new("namespace", namespace()),
        Field::required("name", object_name()),
        Field::new("sectionName", section_name()),
        Field::new("port", port()),
    ]);
    let backend = atomic(vec![
        Field::new("group", group()),
        Field::new("kind", kind()),
        Field::required("name", object_name()),
        Field::new("namespace", namespace()),
        Field::new("port", port()),
        Field::new(
            "weight",
            Schema::Integer {
                min: 0,
                max: 1_000_000,
            },
        ),
    ]);
    object(vec![
        Field::new("parentRefs", list(0, 32, parent)),
        Field::new("useDefaultGateways", one_of(&["All", "None"])),
        Field::required(
            "rules",
            list(
                1,
                16,
                object(vec![
                    Field::new("name", section_name()),
                    Field::new("backendRefs", list(1, 16, backend)),
                ]),
            ),
        ),
    ])
}

/// `spec` of a ReferenceGrant.
pub(super) fn grant() -> Schema {
    object(vec![
        Field::required(
            "from",
            list(
                1,
                16,
                atomic(vec![
                    Field::required("group", group()),
                    Field::required("kind", kind()),
                    Field::required("namespace", namespace()),
                ]),
            ),
        ),
        Field::required(
            "to",
            list(
                1,
                16,
                atomic(vec![
                    Field::required("group", group()),
                    Field::required("kind", kind()),
                    Field::new("name", object_name()),
                ]),
            ),
        ),
    ])
}

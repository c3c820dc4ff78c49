//! Which object a document is meant to be.

use stunner_api::names;
use stunner_document::nearest;

use crate::schema::{KINDS, Kind, Version};

/// What `apiVersion` and `kind` say.
#[derive(Debug)]
pub(super) enum Identity {
    Known(&'static Kind, Version),
    /// None of ours.
    Foreign,
    /// Meant to be one of ours.
    Mistaken(Mistake),
}

/// What is wrong with `apiVersion` or `kind`.
#[derive(Debug)]
pub(super) struct Mistake {
    pub(super) field: &'static str,
    pub(super) message: String,
    pub(super) hint: String,
    /// The kind that is probably meant.
    pub(super) meant: Option<&'static Kind>,
}

/// Kinds of the Gateway API that are not ours, and that look like ours.
const OTHER_GATEWAY_KINDS: &[&str] = &[
    "HTTPRoute",
    "GRPCRoute",
    "TLSRoute",
    "BackendTLSPolicy",
    "BackendLBPolicy",
    "BackendTrafficPolicy",
    "ListenerSet",
    "ReferencePolicy",
];

pub(super) fn identify(api_version: Option<&str>, kind: Option<&str>) -> Identity {
    let (Some(api_version), Some(kind)) = (api_version, kind) else {
        return incomplete(api_version, kind);
    };
    let (group, version) = split(api_version);
    if let Some(known) = find(group, kind) {
        let versions = known.versions.iter().copied();
        return match versions.clone().find(|known| known.name() == version) {
            Some(version) => Identity::Known(known, version),
            None => Identity::Mistaken(unknown_version(known, api_version)),
        };
    }
    // The group is right and the kind is not.
    if group == names::GROUP || group == names::GATEWAY_GROUP {
        return unknown_kind(group, kind);
    }
    // The kind is right and the group is not: groups of others have a dot and do not look like ours.
    // Of the two kinds of UDPRoute ours says more.
    let same = KINDS.iter().filter(|known| known.name == kind);
    let Some(meant) = same.max_by_key(|known| known.group == names::GROUP) else {
        return near_core_kind(group, version, kind);
    };
    let groups: Vec<_> = KINDS
        .iter()
        .map(|known| known.group)
        .filter(|group| !group.is_empty())
        .collect();
    let near = nearest(group, &groups).and_then(|near| find(near, kind));
    match near {
        Some(meant) => Identity::Mistaken(wrong_group(meant, api_version)),
        None if !group.contains('.') => Identity::Mistaken(wrong_group(meant, api_version)),
        None => Identity::Foreign,
    }
}

/// `group/version` in its parts; the core group is empty.
fn split(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

fn find(group: &str, kind: &str) -> Option<&'static Kind> {
    KINDS
        .iter()
        .find(|known| known.group == group && known.name == kind)
}

impl Kind {
    /// `group/version` with the current version.
    pub(super) fn api_version(&self) -> String {
        let version = self.versions.first().map_or("v1", |version| version.name());
        self.with_version(version)
    }

    fn with_version(&self, version: &str) -> String {
        match self.group {
            "" => version.to_owned(),
            group => format!("{group}/{version}"),
        }
    }
}

/// Whether a list of a kind of ours, or of any kind, is meant; with the kind and version of its items if they are all one.
pub(super) fn list_of<'k>(api_version: Option<&str>, kind: &'k str) -> Option<Option<&'k str>> {
    let item = kind.strip_suffix("List")?;
    if item.is_empty() {
        return Some(None);
    }
    let (group, _) = split(api_version?);
    find(group, item).map(|_| Some(item))
}

/// `apiVersion` or `kind` is missing.
fn incomplete(api_version: Option<&str>, kind: Option<&str>) -> Identity {
    match (api_version, kind) {
        (None, Some(kind)) => match KINDS.iter().find(|known| known.name == kind) {
            None => Identity::Foreign,
            Some(meant) => {
                let same = KINDS.iter().filter(|known| known.name == kind);
                let lines: Vec<_> = same
                    .map(|known| format!("`apiVersion: {}`", known.api_version()))
                    .collect();
                Identity::Mistaken(Mistake {
                    field: "apiVersion",
                    message: "missing required field `apiVersion`".to_owned(),
                    hint: format!("add {}", lines.join(" or ")),
                    meant: Some(meant),
                })
            }
        },
        (Some(api_version), None)
            if [names::GROUP, names::GATEWAY_GROUP].contains(&split(api_version).0) =>
        {
            let (group, _) = split(api_version);
            Identity::Mistaken(Mistake {
                field: "kind",
                message: "missing required field `kind`".to_owned(),
                hint: format!("add `kind: …`; those of `{group}` are {}", kinds_of(group)),
                meant: None,
            })
        }
        _ => Identity::Foreign,
    }
}

fn kinds_of(group: &str) -> String {
    let kinds = KINDS.iter().filter(|known| known.group == group);
    let kinds: Vec<_> = kinds.map(|known| format!("`{}`", known.name)).collect();
    kinds.join(", ")
}

fn unknown_version(known: &'static Kind, api_version: &str) -> Mistake {
    let versions: Vec<_> = known
        .versions
        .iter()
        .map(|version| format!("`{}`", known.with_version(version.name())))
        .collect();
    Mistake {
        field: "apiVersion",
        message: format!("{} has no version `{}`", known.name, shown(api_version)),
        hint: match versions.as_slice() {
            [only] => format!("write {only}"),
            [current, older @ ..] => {
                format!("write {current}; {} can be read too", older.join(" and "))
            }
            [] => String::new(),
        },
        meant: Some(known),
    }
}

fn wrong_group(meant: &'static Kind, api_version: &str) -> Mistake {
    Mistake {
        field: "apiVersion",
        message: format!("`{}` has no kind {}", shown(api_version), meant.name),
        hint: format!("did you mean `{}`?", meant.api_version()),
        meant: Some(meant),
    }
}

fn unknown_kind(group: &str, kind: &str) -> Identity {
    let other = OTHER_GATEWAY_KINDS.contains(&kind) || kind.starts_with('X');
    if group == names::GATEWAY_GROUP && other {
        return Identity::Foreign;
    }
    let kinds: Vec<_> = KINDS
        .iter()
        .filter(|known| known.group == group)
        .map(|known| known.name)
        .collect();
    let near = nearest(kind, &kinds);
    // A kind of the other group is a likelier slip than a misspelt name.
    let elsewhere = KINDS.iter().find(|known| known.name == kind);
    if near.is_none() && elsewhere.is_none() && group == names::GATEWAY_GROUP {
        return Identity::Foreign;
    }
    Identity::Mistaken(Mistake {
        field: if elsewhere.is_some() {
            "apiVersion"
        } else {
            "kind"
        },
        message: format!("`{group}` has no kind `{}`", shown(kind)),
        hint: match (elsewhere, near) {
            (Some(known), _) => format!("write `apiVersion: {}`", known.api_version()),
            (None, Some(word)) => format!("did you mean `{word}`?"),
            (None, None) => format!("the kinds of `{group}` are {}", kinds_of(group)),
        },
        meant: elsewhere.or_else(|| find(group, near?)),
    })
}

/// A kind of the core group that is misspelt by a letter or its case.
fn near_core_kind(group: &str, version: &str, kind: &str) -> Identity {
    if !group.is_empty() || version != "v1" {
        return Identity::Foreign;
    }
    let plain = |word: &str| word.to_ascii_lowercase().trim_end_matches('s').to_owned();
    let mut core = KINDS.iter().filter(|known| known.group.is_empty());
    match core.find(|known| plain(known.name) == plain(kind)) {
        None => Identity::Foreign,
        Some(meant) => Identity::Mistaken(Mistake {
            field: "kind",
            message: format!("`v1` has no kind `{}`", shown(kind)),
            hint: format!("did you mean `{}`?", meant.name),
            meant: Some(meant),
        }),
    }
}

/// The beginning of a word that may be anything.
fn shown(word: &str) -> String {
    const LONGEST: usize = 80;
    let mut shown: String = word.chars().take(LONGEST).collect();
    if shown.len() < word.len() {
        shown.push('…');
    }
    shown
}

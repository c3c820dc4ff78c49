//! What an API server adds to an object.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use sha1::{Digest, Sha1};
use stunner_translate::{Object, ObjectKey};

/// Every namespace has its own name as a label (Kubernetes 1.22), so that selectors can name it.
pub(super) const NAMESPACE_NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// The object as an API server would have stored it. `life` tells it from earlier objects of the same name.
pub(super) fn dress(object: Object, life: u32, generation: i64) -> Object {
    let key = object.key();
    let is_namespace = matches!(object, Object::Namespace(_));
    with_metadata(object, |metadata| {
        // What was exported from a cluster keeps its UID: the owner references of other objects name it.
        if metadata.uid.as_deref().unwrap_or_default().is_empty() {
            metadata.uid = Some(uid(&key, life));
        }
        metadata.generation = Some(generation);
        // Only a server can say that an object is on its way out.
        metadata.deletion_timestamp = None;
        if is_namespace {
            let labels = metadata.labels.get_or_insert_default();
            labels.insert(NAMESPACE_NAME_LABEL.to_owned(), key.name.name.clone());
        }
    })
}

/// The object without the UID that [`dress`] made up for its first life. What is told to others must not name an owner
/// that exists nowhere: a cluster would delete such an object as soon as it was applied.
pub(super) fn without_made_up_uid(object: Object) -> Object {
    let made_up = uid(&object.key(), 1);
    with_metadata(object, |metadata| {
        metadata.uid.take_if(|uid| *uid == made_up);
    })
}

/// The same for the same files, whenever and wherever they are read (a UUID made from a name, RFC 9562 §5.5).
fn uid(key: &ObjectKey, life: u32) -> String {
    let name = format!("{:?}/{}/{life}", key.kind, key.name);
    let hash = Sha1::digest(name.as_bytes());
    let mut bytes = [0_u8; 16];
    bytes.copy_from_slice(&hash[..16]);
    bytes[6] = (bytes[6] & 0x0f) | 0x50;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let (a, b, c, d, e) = (
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    );
    format!("{a}-{b}-{c}-{d}-{e}")
}

macro_rules! each_kind {
    ($object:expr, $inner:ident => $change:expr, [$($kind:ident)*]) => {
        match $object {
            $(Object::$kind($inner) => Object::$kind({ $change }),)*
        }
    };
}

fn with_metadata(object: Object, change: impl FnOnce(&mut ObjectMeta)) -> Object {
    each_kind!(object, inner => {
        let mut inner = inner;
        change(&mut Arc::make_mut(&mut inner).metadata);
        inner
    }, [
        GatewayClass GatewayConfig Gateway UdpRoute OfficialUdpRoute OfficialTcpRoute StaticService Dataplane
        ReferenceGrant Secret Service EndpointSlice Endpoints Namespace Node Deployment DaemonSet ConfigMap
    ])
}

macro_rules! equal_kinds {
    ($one:expr, $other:expr, [$($kind:ident)*]) => {
        match ($one, $other) {
            $((Object::$kind(one), Object::$kind(other)) => Arc::ptr_eq(one, other) || one == other,)*
            _ => false,
        }
    };
}

/// Whether two objects say the same.
pub(super) fn same(one: &Object, other: &Object) -> bool {
    equal_kinds!(one, other, [
        GatewayClass GatewayConfig Gateway UdpRoute OfficialUdpRoute OfficialTcpRoute StaticService Dataplane
        ReferenceGrant Secret Service EndpointSlice Endpoints Namespace Node Deployment DaemonSet ConfigMap
    ])
}

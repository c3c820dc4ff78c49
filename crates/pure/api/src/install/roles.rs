//! Roles and who has them.

use k8s_openapi::api::rbac::v1::{
    ClusterRole, ClusterRoleBinding, Role, RoleBinding, RoleRef, Subject,
};

use super::rights::{self, Right};
use super::{Document, in_operator_namespace, metadata};
use crate::names::install::{
    CLUSTER_READER_ROLE, CLUSTER_READER_ROLE_BINDING, LEADER_ELECTION_ROLE,
    LEADER_ELECTION_ROLE_BINDING, MANAGER_ROLE, MANAGER_ROLE_BINDING, NAMESPACE, OPERATOR,
    OPTIONAL_ROLE, OPTIONAL_ROLE_BINDING, SECRETS_ROLE, SECRETS_ROLE_BINDING,
};

const RBAC: &str = "rbac.authorization.k8s.io";

pub(super) fn cluster_wide() -> Vec<Document> {
    let rights = [rights::SERVED, rights::CLUSTER, rights::CLUSTER_OPTIONAL].concat();
    for_cluster(MANAGER_ROLE, MANAGER_ROLE_BINDING, &rights)
}

pub(super) fn cluster_reader() -> Vec<Document> {
    for_cluster(
        CLUSTER_READER_ROLE,
        CLUSTER_READER_ROLE_BINDING,
        rights::CLUSTER,
    )
}

pub(super) fn cluster_optional() -> Vec<Document> {
    for_cluster(
        OPTIONAL_ROLE,
        OPTIONAL_ROLE_BINDING,
        rights::CLUSTER_OPTIONAL,
    )
}

pub(super) fn own_namespace() -> Vec<Document> {
    [
        for_namespace(
            NAMESPACE,
            LEADER_ELECTION_ROLE,
            LEADER_ELECTION_ROLE_BINDING,
            rights::LEADER_ELECTION,
        ),
        for_namespace(NAMESPACE, SECRETS_ROLE, SECRETS_ROLE_BINDING, rights::KEPT),
    ]
    .concat()
}

pub(super) fn watched_namespace(namespace: &str) -> Vec<Document> {
    for_namespace(
        namespace,
        MANAGER_ROLE,
        MANAGER_ROLE_BINDING,
        rights::SERVED,
    )
}

fn for_cluster(role: &str, binding: &str, rights: &[Right]) -> Vec<Document> {
    let role_object = ClusterRole {
        metadata: metadata(role, None),
        rules: Some(rights.iter().map(Right::rule).collect()),
        ..Default::default()
    };
    let binding_object = ClusterRoleBinding {
        metadata: metadata(binding, None),
        role_ref: role_ref("ClusterRole", role),
        subjects: Some(vec![subject()]),
    };
    documents(
        Document::of(role_object),
        Document::of(binding_object),
        rights,
    )
}

fn for_namespace(namespace: &str, role: &str, binding: &str, rights: &[Right]) -> Vec<Document> {
    let role_object = Role {
        metadata: metadata(role, Some(namespace)),
        rules: Some(rights.iter().map(Right::rule).collect()),
    };
    let binding_object = RoleBinding {
        metadata: metadata(binding, Some(namespace)),
        role_ref: role_ref("Role", role),
        subjects: Some(vec![subject()]),
    };
    documents(
        Document::of(role_object),
        Document::of(binding_object),
        rights,
    )
}

fn documents(mut role: Document, binding: Document, rights: &[Right]) -> Vec<Document> {
    role.rules = rights.iter().map(|right| right.why).collect();
    vec![role, binding]
}

fn role_ref(kind: &str, name: &str) -> RoleRef {
    RoleRef {
        api_group: RBAC.to_owned(),
        kind: kind.to_owned(),
        name: name.to_owned(),
    }
}

fn subject() -> Subject {
    Subject {
        kind: "ServiceAccount".to_owned(),
        name: OPERATOR.to_owned(),
        namespace: in_operator_namespace(OPERATOR).namespace,
        api_group: None,
    }
}

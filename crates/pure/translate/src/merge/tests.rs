use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::*;
use crate::condition::condition;

const LATER: i64 = 2_000;

fn now(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn says(kind: &str, state: bool, message: &str) -> Condition {
    condition(&ObjectMeta::default(), kind, state, "Reason", message)
}

fn class(conditions: Vec<Condition>) -> GatewayClassStatus {
    GatewayClassStatus {
        conditions,
        supported_features: Vec::new(),
    }
}

fn parent(name: &str, controller: &str, state: bool) -> RouteParentStatus {
    RouteParentStatus {
        parent_ref: ParentRef {
            name: name.to_owned(),
            ..ParentRef::default()
        },
        controller_name: controller.to_owned(),
        conditions: vec![says("Accepted", state, "")],
    }
}

fn route(parents: Vec<RouteParentStatus>) -> RouteStatus {
    RouteStatus { parents }
}

fn names(status: &RouteStatus) -> Vec<(&str, &str)> {
    let parents = status.parents.iter();
    parents
        .map(|parent| {
            (
                parent.parent_ref.name.as_str(),
                parent.controller_name.as_str(),
            )
        })
        .collect()
}

#[test]
fn nothing_is_written_when_nothing_differs() {
    let desired = class(vec![says("Accepted", true, "Fine.")]);
    let first = merge_class_status(None, &desired, now(1_000)).unwrap();
    assert_eq!(merge_class_status(Some(&first), &desired, now(LATER)), None);
}

#[test]
fn the_transition_time_moves_with_the_status_only() {
    let first = merge_class_status(None, &class(vec![says("Accepted", true, "a")]), now(1_000));
    let first = first.unwrap();
    assert_eq!(first.conditions[0].last_transition_time, Time(now(1_000)));

    let reworded = class(vec![says("Accepted", true, "b")]);
    let second = merge_class_status(Some(&first), &reworded, now(LATER)).unwrap();
    assert_eq!(second.conditions[0].last_transition_time, Time(now(1_000)));
    assert_eq!(second.conditions[0].message, "b");

    let turned = class(vec![says("Accepted", false, "b")]);
    let third = merge_class_status(Some(&second), &turned, now(LATER)).unwrap();
    assert_eq!(third.conditions[0].last_transition_time, Time(now(LATER)));
}

#[test]
fn conditions_of_others_stay_as_far_as_there_is_room() {
    let mut live: Vec<Condition> = (0..8)
        .map(|n| says(&format!("Other{n}"), true, ""))
        .collect();
    live[3] = says("Accepted", false, "");
    let desired = class(vec![
        says("Accepted", true, ""),
        says("Programmed", true, ""),
    ]);
    let merged = merge_class_status(Some(&class(live)), &desired, now(LATER)).unwrap();
    let kinds: Vec<&str> = merged.conditions.iter().map(|c| c.type_.as_str()).collect();
    assert_eq!(
        kinds,
        [
            "Accepted",
            "Programmed",
            "Other0",
            "Other1",
            "Other2",
            "Other4",
            "Other5",
            "Other6"
        ]
    );
}

#[test]
fn features_stay_where_we_have_none_to_name() {
    let live = GatewayClassStatus {
        conditions: Vec::new(),
        supported_features: vec![stunner_api::gateway::SupportedFeature {
            name: "Gateway".to_owned(),
        }],
    };
    assert_eq!(
        merge_class_status(Some(&live), &class(Vec::new()), now(1)),
        None
    );
}

#[test]
fn listeners_keep_their_times_by_name() {
    let listener = |name: &str| ListenerStatus {
        name: name.to_owned(),
        conditions: vec![says("Accepted", true, "")],
        ..ListenerStatus::default()
    };
    let status = |listeners| GatewayStatus {
        listeners,
        ..GatewayStatus::default()
    };
    let first = merge_gateway_status(None, &status(vec![listener("a")]), now(1_000)).unwrap();
    let live = GatewayStatus {
        attached_listener_sets: Some(2),
        ..first
    };
    let two = status(vec![listener("b"), listener("a")]);
    let merged = merge_gateway_status(Some(&live), &two, now(LATER)).unwrap();
    let time = |place: usize| {
        merged.listeners[place].conditions[0]
            .last_transition_time
            .clone()
    };
    assert_eq!(time(0), Time(now(LATER)));
    assert_eq!(time(1), Time(now(1_000)));
    assert_eq!(merged.attached_listener_sets, Some(2));
}

#[test]
fn only_our_parents_change() {
    let live = route(vec![
        parent("a", "ours", true),
        parent("a", "theirs", false),
        parent("gone", "ours", true),
    ]);
    let ours = route(vec![
        parent("new", "ours", true),
        parent("a", "ours", false),
    ]);
    let merged = merge_route_status(Some(&live), &ours, "ours", now(LATER)).unwrap();
    assert_eq!(
        names(&merged),
        [("a", "ours"), ("a", "theirs"), ("new", "ours")]
    );
    assert_eq!(merged.parents[1], live.parents[1]);
    assert_eq!(merged.parents[0].conditions[0].status, "False");
}

#[test]
fn withdrawing_leaves_the_entries_of_others() {
    let live = route(vec![parent("a", "ours", true), parent("a", "theirs", true)]);
    let merged = merge_route_status(Some(&live), &route(Vec::new()), "ours", now(1)).unwrap();
    assert_eq!(names(&merged), [("a", "theirs")]);
    assert_eq!(
        merge_route_status(None, &route(Vec::new()), "ours", now(1)),
        None
    );
}

#[test]
fn defaults_that_the_api_server_fills_in_are_no_difference() {
    let ours = route(vec![parent("a", "ours", true)]);
    let mut live = merge_route_status(None, &ours, "ours", now(1_000)).unwrap();
    live.parents[0].parent_ref.group = Some("gateway.networking.k8s.io".to_owned());
    live.parents[0].parent_ref.kind = Some("Gateway".to_owned());
    assert_eq!(
        merge_route_status(Some(&live), &ours, "ours", now(LATER)),
        None
    );
}

#[test]
fn a_full_list_of_parents_loses_ours_not_theirs() {
    let live = route(
        (0..31)
            .map(|n| parent(&n.to_string(), "theirs", true))
            .collect(),
    );
    let ours = route(vec![parent("a", "ours", true), parent("b", "ours", true)]);
    let merged = merge_route_status(Some(&live), &ours, "ours", now(1)).unwrap();
    assert_eq!(merged.parents.len(), 32);
    assert_eq!(names(&merged).last(), Some(&("a", "ours")));
}

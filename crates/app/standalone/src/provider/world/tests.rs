//! Files as they are edited, and what becomes of their objects.

use stunner_manifest::read;

use super::*;

fn file(name: &str) -> FileId {
    FileId::new(0, name)
}

impl World {
    /// A file with this text; what that changes, such as `+Gateway default/gw`.
    fn edit(&mut self, name: &str, text: &str) -> Vec<String> {
        let told = match text {
            "" => Told::Emptied,
            text => Told::Reading(read(name, text.as_bytes())),
        };
        self.take(&file(name), told);
        self.told_changes()
    }

    fn delete(&mut self, name: &str) -> Vec<String> {
        self.take(&file(name), Told::Gone);
        self.told_changes()
    }

    fn told_changes(&mut self) -> Vec<String> {
        let changes = self.take_changes();
        let tell = |change: &Change| {
            let sign = match change.happened {
                Happened::Added => '+',
                Happened::Changed => '~',
                Happened::Removed => '-',
            };
            let supplied = match change.source {
                Source::File => "",
                Source::Supplied => " (supplied)",
            };
            let name = change.key.name.to_string();
            let name = name.trim_start_matches('/');
            format!("{sign}{} {name}{supplied}", change.key.kind)
        };
        changes.iter().map(tell).collect()
    }

    fn messages(&self) -> Vec<String> {
        let problems = self.problems(&[]).into_iter();
        problems.map(|problem| problem.to_string()).collect()
    }
}

fn service(name: &str, spec: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Service\nmetadata: {{name: {name}, namespace: media}}\nspec: {spec}\n"
    )
}

fn prefixes(name: &str, list: &str) -> String {
    format!(
        "apiVersion: stunner.l7mp.io/v1\nkind: StaticService\nmetadata: {{name: {name}, namespace: media}}\nspec: {{prefixes: {list}}}\n"
    )
}

#[test]
fn a_namespace_exists_while_something_is_in_it() {
    let mut world = World::default();
    let added = world.edit("a.yaml", &prefixes("one", "[10.0.0.1]"));
    assert_eq!(
        added,
        ["+StaticService media/one", "+Namespace media (supplied)"]
    );
    assert_eq!(
        world.edit("b.yaml", &prefixes("two", "[10.0.0.2]")),
        ["+StaticService media/two"]
    );
    assert_eq!(world.delete("a.yaml"), ["-StaticService media/one"]);
    let removed = world.delete("b.yaml");
    assert_eq!(
        removed,
        ["-StaticService media/two", "-Namespace media (supplied)"]
    );
}

#[test]
fn a_namespace_of_a_file_takes_the_place_of_a_supplied_one_and_back() {
    let mut world = World::default();
    world.edit("a.yaml", &prefixes("one", "[10.0.0.1]"));
    let text = "apiVersion: v1\nkind: Namespace\nmetadata: {name: media, labels: {team: av}}\n";
    world.take(
        &file("ns.yaml"),
        Told::Reading(read("ns.yaml", text.as_bytes())),
    );
    let changes = world.take_changes();
    assert_eq!(changes.len(), 1);
    let labels = changes[0]
        .object
        .as_ref()
        .and_then(|object| object.metadata().labels.clone());
    let labels = labels.unwrap_or_default();
    assert_eq!(
        labels
            .get("kubernetes.io/metadata.name")
            .map(String::as_str),
        Some("media")
    );
    assert_eq!(labels.get("team").map(String::as_str), Some("av"));
    let back = world.delete("ns.yaml");
    assert_eq!(back, ["-Namespace media", "+Namespace media (supplied)"]);
}

/// A Gateway whose class is gone serves on with what it had, its Dataplane included.
#[test]
fn the_dataplane_of_an_installation_is_there_while_a_class_or_a_gateway_is() {
    let class = "apiVersion: gateway.networking.k8s.io/v1\nkind: GatewayClass\nmetadata: {name: c}\n\
                 spec: {controllerName: stunner.l7mp.io/gateway-operator}\n";
    let gateway = "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: gw, namespace: media}\n\
                   spec: {gatewayClassName: c, listeners: [{name: udp, port: 1, protocol: TURN-UDP}]}\n";
    let mut world = World::default();
    let supplied = "Dataplane default (supplied)";
    assert!(
        world
            .edit("class.yaml", class)
            .contains(&format!("+{supplied}"))
    );
    world.edit("gateway.yaml", gateway);
    assert_eq!(world.delete("class.yaml"), ["-GatewayClass c"]);
    assert!(
        world
            .delete("gateway.yaml")
            .contains(&format!("-{supplied}"))
    );
}

#[test]
fn endpoints_come_from_slices_else_endpoints_else_external_addresses() {
    let mut world = World::default();
    let added = world.edit(
        "svc.yaml",
        &service("web", "{externalIPs: [10.0.0.7, 'fd00::7']}"),
    );
    assert!(
        added.contains(&"+EndpointSlice media/web~IPv4 (supplied)".to_owned()),
        "{added:?}"
    );
    assert!(
        added.contains(&"+EndpointSlice media/web~IPv6 (supplied)".to_owned()),
        "{added:?}"
    );
    let endpoints = "apiVersion: v1\nkind: Endpoints\nmetadata: {name: web, namespace: media}\nsubsets:\n- addresses: [{ip: 10.0.0.8}]\n";
    let changed = world.edit("endpoints.yaml", endpoints);
    assert!(
        changed.contains(&"~EndpointSlice media/web~IPv4 (supplied)".to_owned()),
        "{changed:?}"
    );
    assert!(
        changed.contains(&"-EndpointSlice media/web~IPv6 (supplied)".to_owned()),
        "{changed:?}"
    );
    let slice = "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata:\n  name: web-1\n  namespace: media\n  labels: {kubernetes.io/service-name: web}\naddressType: IPv4\nendpoints: [{addresses: [10.0.0.9]}]\n";
    let replaced = world.edit("slice.yaml", slice);
    assert_eq!(
        replaced,
        [
            "+EndpointSlice media/web-1",
            "-EndpointSlice media/web~IPv4 (supplied)"
        ]
    );
    let back = world.delete("slice.yaml");
    assert_eq!(
        back,
        [
            "-EndpointSlice media/web-1",
            "+EndpointSlice media/web~IPv4 (supplied)"
        ]
    );
}

#[test]
fn broken_syntax_keeps_all_objects_of_the_file() {
    let mut world = World::default();
    world.edit(
        "a.yaml",
        &format!(
            "{}---\n{}",
            prefixes("one", "[10.0.0.1]"),
            prefixes("two", "[10.0.0.2]")
        ),
    );
    assert_eq!(world.edit("a.yaml", "kind: [\n"), Vec::<String>::new());
    assert_eq!(world.held_objects("a.yaml"), 2);
    assert_eq!(world.messages().len(), 1);
    let repaired = world.edit("a.yaml", &prefixes("one", "[10.0.0.3]"));
    assert_eq!(
        repaired,
        ["~StaticService media/one", "-StaticService media/two"]
    );
    assert!(world.messages().is_empty());
}

#[test]
fn a_broken_document_keeps_its_own_object_and_lets_the_others_go_on() {
    let mut world = World::default();
    let both =
        |one: &str, two: &str| format!("{}---\n{}", prefixes("one", one), prefixes("two", two));
    world.edit("a.yaml", &both("[10.0.0.1]", "[10.0.0.2]"));
    let changed = world.edit("a.yaml", &both("[nonsense]", "[10.0.0.9]"));
    assert_eq!(changed, ["~StaticService media/two"]);
    assert_eq!(world.held_objects("a.yaml"), 1);
}

#[test]
fn an_object_that_never_was_whole_is_followed_as_far_as_it_goes() {
    let mut world = World::default();
    world.edit("a.yaml", &prefixes("one", "[nonsense, 10.0.0.1]"));
    assert!(world.contains(&ObjectKey::new(ObjectKind::StaticService, "media", "one")));
    let changed = world.edit("a.yaml", &prefixes("one", "[nonsense, 10.0.0.2]"));
    assert_eq!(changed, ["~StaticService media/one"]);
}

#[test]
fn an_emptied_file_keeps_its_objects_and_says_how_to_remove_them() {
    let mut world = World::default();
    world.edit("a.yaml", &prefixes("one", "[10.0.0.1]"));
    assert_eq!(world.edit("a.yaml", ""), Vec::<String>::new());
    let messages = world.messages();
    assert_eq!(messages.len(), 1);
    assert!(messages[0].contains("delete the file"), "{messages:?}");
    assert_eq!(world.edit("new.yaml", ""), Vec::<String>::new());
    assert_eq!(
        world.messages().len(),
        1,
        "one that never had any is nobody's loss"
    );
}

#[test]
fn of_two_definitions_the_first_file_s_is_in_force() {
    let mut world = World::default();
    world.edit("b.yaml", &prefixes("one", "[10.0.0.2]"));
    let changed = world.edit("a.yaml", &prefixes("one", "[10.0.0.1]"));
    assert_eq!(changed, ["~StaticService media/one"]);
    let messages = world.messages();
    assert_eq!(messages.len(), 1, "{messages:?}");
    assert!(messages[0].starts_with("b.yaml:"), "{messages:?}");
    assert!(messages[0].contains("a.yaml:1"), "{messages:?}");
    assert_eq!(
        world.edit("b.yaml", &prefixes("one", "[10.0.0.3]")),
        Vec::<String>::new()
    );
    assert_eq!(world.delete("a.yaml"), ["~StaticService media/one"]);
    assert!(world.messages().is_empty());
}

#[test]
fn the_same_content_changes_nothing() {
    let mut world = World::default();
    world.edit("a.yaml", &prefixes("one", "[10.0.0.1]"));
    let with_comment = format!("# said better\n{}", prefixes("one", "[10.0.0.1]"));
    assert_eq!(world.edit("a.yaml", &with_comment), Vec::<String>::new());
}

#[test]
fn an_object_keeps_its_uid_while_it_lives_and_a_later_one_has_another() {
    let mut world = World::default();
    let identity = |world: &mut World, told: Told| {
        world.take(&file("a.yaml"), told);
        let change = world
            .take_changes()
            .into_iter()
            .find(|change| change.source == Source::File);
        let object = change.and_then(|change| change.object);
        object.map(|object| {
            let metadata = object.metadata();
            (
                metadata.uid.clone().unwrap_or_default(),
                metadata.generation,
            )
        })
    };
    let text = |list: &str| Told::Reading(read("a.yaml", prefixes("one", list).as_bytes()));
    let (born, first) = identity(&mut world, text("[10.0.0.1]")).expect("an object");
    let (edited, second) = identity(&mut world, text("[10.0.0.2]")).expect("an object");
    assert_eq!(born, edited);
    assert_eq!((first, second), (Some(1), Some(2)));
    assert!(identity(&mut world, Told::Gone).is_none());
    let (again, third) = identity(&mut world, text("[10.0.0.2]")).expect("an object");
    assert_ne!(born, again);
    assert_eq!(third, Some(1));
    let mut other = World::default();
    let (elsewhere, _) = identity(&mut other, text("[10.0.0.1]")).expect("an object");
    assert_eq!(born, elsewhere, "the same files give the same objects");
}

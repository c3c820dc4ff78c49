// The hierarchy of a state as a graph: nodes in five columns, edges between them. No drawing here.

import { plural } from "./format.js";
import { isTrouble, statusOf, worst } from "./status.js";

export const COLUMNS = [
  { kind: "class", title: "Class", many: "classes" },
  { kind: "gateway", title: "Gateways", many: "gateways" },
  { kind: "listener", title: "Listeners", many: "listeners" },
  { kind: "route", title: "Routes", many: "routes" },
  { kind: "backend", title: "Backends", many: "backends" },
];

export const keyOf = (kind, id) => `${kind}:${id}`;

// `groups` are the conditions to show: a heading (for routes: the parent) and its list.
function classNode(item) {
  const parameters = item.parameters;
  return {
    kind: "class",
    id: item.name,
    label: item.name,
    caption: "",
    meta: parameters ? parameters.name : item.controller,
    status: statusOf(item.conditions),
    groups: [{ conditions: item.conditions ?? [] }],
    facts: [
      ["Controller", item.controller],
      parameters && [
        "Parameters",
        `${parameters.kind} ${parameters.namespace}/${parameters.name}${parameters.found ? "" : " (not found)"}`,
      ],
    ],
  };
}

function gatewayNode(item) {
  return {
    kind: "gateway",
    id: item.id,
    label: item.name,
    caption: item.namespace,
    meta: item.addresses?.length ? item.addresses.join(", ") : "no public address yet",
    status: statusOf(item.conditions),
    groups: [{ conditions: item.conditions ?? [] }],
    facts: [
      ["Namespace", item.namespace],
      ["Class", item.class],
      ["Addresses", (item.addresses ?? []).join(", ")],
    ],
  };
}

function listenerNode(item) {
  return {
    kind: "listener",
    id: item.id,
    label: item.name,
    // The port that clients use; that of the manifest is among the facts where it is another.
    caption: `${item.protocol} ${item.publicPort ?? item.port}`,
    meta: plural(item.attachedRoutes ?? 0, "route"),
    address: item.uri,
    status: statusOf(item.conditions),
    groups: [{ conditions: item.conditions ?? [] }],
    facts: [
      ["Protocol", item.protocol],
      ["Port", String(item.port)],
      item.publicPort && item.publicPort !== item.port && ["Public port", String(item.publicPort)],
      ["URI", item.uri, "copy"],
      ["Attached routes", String(item.attachedRoutes)],
    ],
  };
}

function routeNode(item) {
  const parents = item.parents ?? [];
  return {
    kind: "route",
    id: item.id,
    label: item.name,
    caption: item.namespace,
    meta: item.kind,
    cluster: item.cluster,
    status: parents.length ? worst(parents.map((parent) => statusOf(parent.conditions))) : "pending",
    groups: parents.map((parent) => ({
      heading: `Parent ${parent.gateway}${parent.listener ? `, listener ${parent.listener}` : ""}`,
      conditions: parent.conditions ?? [],
    })),
    facts: [
      ["Kind", item.group ? `${item.kind} (${item.group})` : item.kind],
      ["Namespace", item.namespace],
      item.cluster && ["Cluster", item.cluster],
    ],
  };
}

function backendNode(item) {
  const empty = !item.endpoints && !item.names?.length;
  const what = item.names?.length ? item.names.join(", ") : plural(item.endpoints ?? 0, "address", "addresses");
  return {
    kind: "backend",
    id: `${item.kind}/${item.namespace}/${item.name}`,
    label: item.name,
    caption: item.namespace,
    meta: `${item.kind}, ${what}`,
    status: !item.resolved ? "bad" : empty || item.message ? "warn" : "ok",
    groups: [],
    message: item.message || (empty ? "It has no endpoints, so clients reach nothing by it." : ""),
    facts: [
      ["Kind", item.kind],
      ["Namespace", item.namespace],
      ["Stands for", what],
      item.ports && ["Ports", item.ports],
    ],
  };
}

export function worldOf(state) {
  const nodes = new Map();
  const edges = [];
  const add = (node) => {
    node.key = keyOf(node.kind, node.id);
    node.facts = node.facts.filter((fact) => fact && fact[1]);
    const there = nodes.get(node.key);
    // A backend of several routes is one node, with the worst that is said about it.
    if (there) Object.assign(there, worst([there.status, node.status]) === there.status ? {} : node);
    else nodes.set(node.key, node);
    return node.key;
  };
  const link = (from, to, status = "ok") => {
    if (nodes.has(from) && nodes.has(to)) edges.push({ from, to, status });
  };

  for (const item of state.classes ?? []) add(classNode(item));
  for (const item of state.gateways ?? []) {
    const gateway = add(gatewayNode(item));
    link(keyOf("class", item.class), gateway);
    for (const listener of item.listeners ?? []) link(gateway, add(listenerNode(listener)));
  }
  for (const item of state.routes ?? []) {
    const route = add(routeNode(item));
    for (const parent of item.parents ?? []) linkParent(nodes, link, parent, route);
    for (const backend of item.backends ?? []) {
      const key = add(backendNode(backend));
      link(route, key, backend.resolved ? "ok" : "bad");
    }
  }
  return { nodes, edges, troubles: [...nodes.values()].filter((node) => isTrouble(node.status)) };
}

// A route that no listener takes still hangs where it wanted to be, by a broken line.
function linkParent(nodes, link, parent, route) {
  const listener = (name) => keyOf("listener", `${parent.gateway}/${name}`);
  for (const name of parent.takenBy ?? []) link(listener(name), route, statusOf(parent.conditions));
  if (parent.takenBy?.length) return;
  const wanted = parent.listener && nodes.has(listener(parent.listener));
  link(wanted ? listener(parent.listener) : keyOf("gateway", parent.gateway), route, "bad");
}

// The hierarchy as a picture: five columns of nodes with lines between them, or an indented list where the window is
// narrow. The nodes are buttons in the order of the tree, so that the keyboard and a screen reader walk the tree.

import { byId, h, keyed, say, svg } from "./dom.js";
import { bits, count, plural } from "./format.js";
import { FIRST_LIMITS, family, place, select } from "./layout.js";
import { WORDS, icon } from "./status.js";
import { COLUMNS, worldOf } from "./world.js";
import { conditionList } from "./conditions.js";
import { openDetails, refreshDetails } from "./details.js";
import { describe, hide as hideTooltip } from "./tooltip.js";

const HEIGHT = 62;
const STEP = 76;
const TOP = 36;
const NARROWEST = 940;
const MORE_BY = 50;
// Past this a picture helps nobody, and drawing it takes long.
const MOST = 300;

const view = { filter: "", onlyTrouble: false, limits: { ...FIRST_LIMITS } };
let world = { nodes: new Map(), edges: [], troubles: [] };
let drawn = { nodes: [], edges: [], hidden: {} };
let source = null;
let lit = null;

const frame = () => byId("picture");

function element(node) {
  const button = h(
    "button",
    { type: "button", class: "node" },
    h("span", { class: "unseen" }, node.kind),
    h("span", { class: "node-icon" }),
    h(
      "span",
      { class: "node-text" },
      h("span", { class: "node-line" }, h("span", { class: "node-label" }), h("span", { class: "node-caption" })),
      h("span", { class: "node-line" }, h("span", { class: "node-meta" }), h("span", { class: "node-live" })),
    ),
  );
  button.addEventListener("click", () => {
    hideTooltip();
    openDetails(world.nodes.get(button.dataset.key), world, button);
  });
  button.addEventListener("mouseenter", () => highlight(button.dataset.key));
  button.addEventListener("mouseleave", () => highlight(null));
  button.addEventListener("focus", () => highlight(button.dataset.key));
  button.addEventListener("blur", () => highlight(null));
  describe(button, () => {
    const current = world.nodes.get(button.dataset.key) ?? node;
    return [
      h("p", { class: "tip-title" }, current.label, h("span", {}, `${current.kind}, ${WORDS[current.status]}`)),
      h("p", { class: "tip-meta" }, current.address ?? current.id),
      ...conditionList(current),
    ];
  });
  return button;
}

function update(button, node) {
  button.dataset.key = node.key;
  button.dataset.kind = node.kind;
  button.dataset.name = node.id;
  if (button.dataset.status !== node.status) {
    button.dataset.status = node.status;
    button.querySelector(".node-icon").replaceChildren(icon(node.status));
  }
  say(button.querySelector(".node-label"), node.label);
  say(button.querySelector(".node-meta"), node.meta);
  say(button.querySelector(".node-caption"), node.caption);
}

function moreElement({ kind, many }) {
  return h("button", {
    type: "button",
    class: "node more",
    "data-kind": "more",
    "data-of": kind,
    onclick: () => {
      if (view.limits[kind] >= MOST) return byId("filter").focus();
      view.limits[kind] += MORE_BY;
      draw();
    },
    title: `Show ${MORE_BY} more ${many}, up to ${MOST}; the filter finds all`,
  });
}

function draw() {
  drawn = select(world, view);
  const more = COLUMNS.filter(({ kind }) => drawn.hidden[kind] > 0);
  keyed(
    frame().querySelector(".nodes"),
    [...drawn.nodes, ...more],
    (item) => item.key ?? `more:${item.kind}`,
    (item) => (item.key ? element(item) : moreElement(item)),
    (button, item) => {
      if (item.key) update(button, item);
      else say(button, `+ ${count(drawn.hidden[item.kind])} more ${item.many}`);
    },
  );
  const filtered = view.filter || view.onlyTrouble;
  frame().hidden = !drawn.nodes.length;
  byId("picture-empty").hidden = drawn.nodes.length > 0;
  say(
    byId("picture-empty"),
    filtered && world.nodes.size
      ? view.onlyTrouble && !view.filter
        ? "Nothing needs attention."
        : "Nothing matches the filter."
      : "No gateway yet. Add a GatewayClass and a Gateway and they appear here.",
  );
  say(byId("picture-count"), filtered ? plural(drawn.matched, "match", "matches") : "");
  arrange();
}

// Positions for the wide form. The narrow form is the style sheet's.
function arrange() {
  const box = frame();
  const width = box.clientWidth;
  const wide = width >= NARROWEST;
  box.classList.toggle("wide", wide);
  if (!wide || !drawn.nodes.length) {
    box.style.removeProperty("height");
    for (const button of box.querySelectorAll(".node"))
      for (const property of ["left", "top", "width"]) button.style.removeProperty(property);
    return;
  }
  const gap = Math.max(28, Math.min(76, width * 0.045));
  const column = Math.min(260, (width - 4 * gap) / 5);
  const pitch = (width - column) / 4;
  box.classList.toggle("tight", column < 190);
  const columns = COLUMNS.map(({ kind }) => drawn.nodes.filter((node) => node.kind === kind).map(({ key }) => key));
  const tops = place(columns, drawn.edges, STEP);
  COLUMNS.forEach(({ kind }, index) => {
    if (!drawn.hidden[kind]) return;
    tops.set(`more:${kind}`, (tops.get(columns[index].at(-1)) ?? -STEP) + STEP);
    columns[index].push(`more:${kind}`);
  });
  const height = Math.max(0, ...tops.values());
  const at = new Map();
  columns.forEach((keys, index) => keys.forEach((key) => at.set(key, { x: index * pitch, y: TOP + tops.get(key) })));
  box.style.setProperty("height", `${TOP + height + HEIGHT}px`);
  for (const button of box.querySelectorAll(".node")) {
    const { x, y } = at.get(button.dataset.key ?? `more:${button.dataset.of}`);
    button.style.setProperty("left", `${x}px`);
    button.style.setProperty("top", `${y}px`);
    button.style.setProperty("width", `${column}px`);
  }
  COLUMNS.forEach(({ title }, index) => {
    const heading = box.querySelectorAll(".column-title")[index];
    say(heading, title);
    heading.style.setProperty("left", `${index * pitch}px`);
  });
  const lines = drawn.edges.map((edge) => {
    const from = at.get(edge.from);
    const to = at.get(edge.to);
    const [x1, y1, x2, y2] = [from.x + column, from.y + HEIGHT / 2, to.x, to.y + HEIGHT / 2];
    const bend = Math.max(24, (x2 - x1) / 2);
    return svg("path", {
      class: "edge",
      "data-status": edge.status,
      "data-from": edge.from,
      "data-to": edge.to,
      d: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`,
    });
  });
  box.querySelector("svg").replaceChildren(...lines);
  highlight(lit);
}

// The family of the node under the pointer or the focus stands out.
function highlight(key) {
  const box = frame();
  lit = key;
  box.classList.toggle("focused", key !== null);
  const keys = key === null ? new Set() : family(world, key);
  for (const button of box.querySelectorAll(".node")) button.classList.toggle("lit", keys.has(button.dataset.key));
  for (const line of box.querySelectorAll(".edge"))
    line.classList.toggle("lit", keys.has(line.dataset.from) && keys.has(line.dataset.to));
}

// Arrows walk the picture: across along a line, up and down in a column.
function walk(event) {
  const key = document.activeElement?.dataset?.key;
  if (!key) return;
  const linked = {
    ArrowRight: () => drawn.edges.find((edge) => edge.from === key)?.to,
    ArrowLeft: () => drawn.edges.find((edge) => edge.to === key)?.from,
    ArrowDown: () => beside(key, 1),
    ArrowUp: () => beside(key, -1),
  }[event.key];
  const next = linked?.();
  if (!linked) return;
  event.preventDefault();
  if (next) [...frame().querySelectorAll(".node")].find((button) => button.dataset.key === next)?.focus();
}

function beside(key, by) {
  const { kind } = world.nodes.get(key);
  const column = drawn.nodes.filter((node) => node.kind === kind);
  return column[column.findIndex((node) => node.key === key) + by]?.key;
}

export function install() {
  const box = frame();
  box.append(svg("svg", { "aria-hidden": "true" }), ...COLUMNS.map(() => h("span", { class: "column-title" })));
  box.append(h("div", { class: "nodes" }));
  box.addEventListener("keydown", walk);
  byId("filter").addEventListener("input", (event) => {
    view.filter = event.target.value;
    draw();
  });
  const onlyTrouble = byId("only-trouble");
  onlyTrouble.addEventListener("change", () => {
    view.onlyTrouble = onlyTrouble.checked;
    draw();
  });
  byId("stat-trouble").addEventListener("click", () => {
    view.onlyTrouble = onlyTrouble.checked = world.troubles.length > 0;
    draw();
  });
  new ResizeObserver(arrange).observe(box.parentElement);
}

// The hierarchy is looked at anew only when it is another; traffic goes into the nodes that are there.
export function show(state, rates) {
  const hierarchy = state.gateways;
  if (hierarchy !== source) {
    source = hierarchy;
    world = worldOf(state);
    draw();
    refreshDetails(world);
  }
  const gateways = new Map((state.live?.gateways ?? []).map((gateway) => [gateway.id, gateway]));
  for (const button of frame().querySelectorAll(".node[data-key]")) {
    const node = world.nodes.get(button.dataset.key);
    const live = button.querySelector(".node-live");
    const gateway = gateways.get(node.id);
    if (node.kind === "gateway" && gateway) {
      const draining = gateway.phase === "draining";
      button.dataset.phase = gateway.phase;
      say(live, draining ? `draining, ${count(gateway.allocations)} left` : plural(gateway.allocations, "allocation"));
    } else if (node.kind === "listener" || node.kind === "route") {
      const rate = rates.latest(node.kind === "listener" ? "listener" : "cluster", node.cluster ?? node.id);
      say(live, rate ? bits(rate.rxBits + rate.txBits) : "");
    }
  }
  return world;
}

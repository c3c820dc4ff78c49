// Everything about one node, in a panel at the side. Esc closes it and gives the focus back.

import { conditionList } from "./conditions.js";
import { byId, h } from "./dom.js";
import { WORDS, icon } from "./status.js";

let opener = null;
let shown = null;

function copyButton(text) {
  const button = h("button", { type: "button", class: "quiet" }, "Copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Select and copy by hand";
    }
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
  return button;
}

function links(title, keys, world) {
  const nodes = keys.map((key) => world.nodes.get(key)).filter(Boolean);
  if (!nodes.length) return null;
  return [
    h("h3", {}, title),
    h(
      "ul",
      { class: "links" },
      nodes.slice(0, 50).map((node) =>
        h(
          "li",
          {},
          icon(node.status),
          h("button", { type: "button", class: "link", onclick: () => fill(node, world) }, node.id),
        ),
      ),
      nodes.length > 50 && h("li", {}, `and ${nodes.length - 50} more`),
    ),
  ];
}

function fill(node, world) {
  shown = node.key;
  const linked = (from, to) => world.edges.filter((edge) => edge[from] === node.key).map((edge) => edge[to]);
  const facts = node.facts.map(([term, value, copy]) => [
    h("dt", {}, term),
    h("dd", {}, value, copy && copyButton(value)),
  ]);
  byId("details-title").replaceChildren(icon(node.status), node.label);
  byId("details-body").replaceChildren(
    ...[
      h("p", { class: "muted" }, `${node.kind}, ${WORDS[node.status]}`),
      h("dl", {}, facts.flat()),
      (node.groups.length || node.message) && h("h3", {}, "Conditions"),
      ...conditionList(node),
      links("Above", linked("to", "from"), world),
      links("Below", linked("from", "to"), world),
    ]
      .flat()
      .filter(Boolean),
  );
}

export function openDetails(node, world, from) {
  if (!node) return;
  opener = from;
  fill(node, world);
  byId("details").hidden = false;
  byId("details-close").focus();
}

// The panel follows the world; what it shows may be gone.
export function refreshDetails(world) {
  if (byId("details").hidden) return;
  const node = world.nodes.get(shown);
  if (node) fill(node, world);
  else close();
}

export function close() {
  if (byId("details").hidden) return;
  byId("details").hidden = true;
  opener?.focus();
  opener = null;
}

export function install() {
  byId("details-close").addEventListener("click", close);
  addEventListener("keydown", (event) => event.key === "Escape" && close());
}

// Which nodes of a world are shown, and where. No drawing here.

import { COLUMNS } from "./world.js";
import { isTrouble } from "./status.js";

// More than this in one column is no picture any more; the rest waits behind a button or the filter.
export const FIRST_LIMITS = { class: 20, gateway: 25, listener: 60, route: 24, backend: 48 };

function neighbours(edges, from, to) {
  const lists = new Map();
  for (const edge of edges) {
    if (!lists.has(edge[from])) lists.set(edge[from], []);
    lists.get(edge[from]).push(edge[to]);
  }
  return (key) => lists.get(key) ?? [];
}

function reach(keys, next) {
  const found = new Set(keys);
  const open = [...keys];
  while (open.length) for (const key of next(open.pop())) if (!found.has(key)) found.add(key) && open.push(key);
  return found;
}

// The nodes that lead to a node, and those it leads to.
export function family(world, key) {
  const below = neighbours(world.edges, "from", "to");
  const above = neighbours(world.edges, "to", "from");
  return new Set([...reach([key], below), ...reach([key], above)]);
}

const matches = (node, words) => {
  const text = `${node.kind} ${node.label} ${node.id} ${node.caption} ${node.meta}`.toLowerCase();
  return words.every((word) => text.includes(word));
};

// The nodes to show, in the order of the tree, and how many each column keeps back.
export function select(world, { filter = "", onlyTrouble = false, limits = FIRST_LIMITS }) {
  const below = neighbours(world.edges, "from", "to");
  const above = neighbours(world.edges, "to", "from");
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  let nodes = [...world.nodes.values()];
  const matched = nodes.filter((node) => matches(node, words) && (!onlyTrouble || isTrouble(node.status)));
  if (words.length || onlyTrouble) {
    const keys = matched.map((node) => node.key);
    const wanted = new Set([...reach(keys, above), ...reach(keys, below)]);
    nodes = nodes.filter((node) => wanted.has(node.key));
  }

  const candidates = new Set(nodes.map((node) => node.key));
  const shown = new Set();
  const hidden = {};
  for (const { kind } of COLUMNS) {
    const column = nodes.filter((node) => {
      const parents = above(node.key).filter((key) => candidates.has(key));
      return node.kind === kind && (!parents.length || parents.some((key) => shown.has(key)));
    });
    // What is wrong must not be what is kept back.
    const ranked = column.filter((node) => isTrouble(node.status));
    ranked.push(...column.filter((node) => !isTrouble(node.status)));
    for (const node of ranked.slice(0, limits[kind])) shown.add(node.key);
    hidden[kind] = Math.max(0, column.length - limits[kind]);
  }

  const order = [];
  const seen = new Set();
  const visit = (key) => {
    if (!shown.has(key) || seen.has(key)) return;
    seen.add(key);
    order.push(world.nodes.get(key));
    below(key).forEach(visit);
  };
  nodes.forEach((node) => visit(node.key));
  return {
    nodes: order,
    edges: world.edges.filter((edge) => seen.has(edge.from) && seen.has(edge.to)),
    hidden,
    matched: matched.length,
  };
}

// The offsets nearest to `wanted` (by squares) that never go down: pool adjacent violators.
function monotone(wanted) {
  const pools = [];
  for (const value of wanted) {
    let pool = { sum: value, size: 1 };
    while (pools.length && pools.at(-1).sum / pools.at(-1).size > pool.sum / pool.size) {
      const last = pools.pop();
      pool = { sum: last.sum + pool.sum, size: last.size + pool.size };
    }
    pools.push(pool);
  }
  return pools.flatMap(({ sum, size }) => Array(size).fill(sum / size));
}

// The top of every node, so that each is close to the middle of those it is linked with and none overlap.
export function place(columns, edges, step) {
  const tops = new Map();
  for (const column of columns) column.forEach((key, index) => tops.set(key, index * step));
  const below = neighbours(edges, "from", "to");
  const above = neighbours(edges, "to", "from");
  const settle = (column, sides) => {
    const wanted = column.map((key, index) => {
      const linked = sides.flatMap((side) => side(key)).filter((other) => tops.has(other));
      const middle = linked.length
        ? linked.reduce((sum, other) => sum + tops.get(other), 0) / linked.length
        : tops.get(key);
      return middle - index * step;
    });
    monotone(wanted).forEach((offset, index) => tops.set(column[index], offset + index * step));
  };
  for (let round = 0; round < 6; round += 1) {
    for (const column of columns.toReversed()) settle(column, [below]);
    for (const column of columns) settle(column, [above, below]);
  }
  for (const column of columns.toReversed()) settle(column, [below]);
  const first = Math.min(...tops.values(), Infinity);
  for (const [key, top] of tops) tops.set(key, Math.round(top - first));
  return tops;
}

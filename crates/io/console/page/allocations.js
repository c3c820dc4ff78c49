// The allocations: who is connected, from where, to what, since when, how much.

import { ask } from "./client.js";
import { byId, h, keyed, say } from "./dom.js";
import { bytes, count, duration } from "./format.js";

const SHOWN = 200;
const order = { by: "age", down: true };
let filter = "";

// A channel to a port comes with a permission for the whole address: that is one peer, not two.
const hasPort = (peer) => /^\[.*\]:\d+$|^[^:]+:\d+$/.test(peer);
function peersOf({ peers }) {
  const bound = new Set(peers.filter(hasPort).map((peer) => peer.replace(/:\d+$/, "").replace(/^\[|\]$/g, "")));
  return peers.filter((peer) => hasPort(peer) || !bound.has(peer));
}

const COLUMNS = {
  user: { title: "User", value: (session) => session.user },
  client: { title: "Client", value: (session) => session.client },
  listener: { title: "Listener", value: (session) => session.listener },
  relayed: { title: "Relayed address", value: (session) => session.relayed.join(", ") },
  peers: { title: "Peers", value: (session) => peersOf(session).length, number: true },
  age: { title: "Age", value: (session) => session.ageSeconds, number: true },
  idle: { title: "Idle", value: (session) => session.idleSeconds, number: true },
  up: { title: "To peers", value: (session) => session.toPeers.bytes, number: true },
  down: { title: "To client", value: (session) => session.toClient.bytes, number: true },
};

const TEXT = {
  client: (session) => `${session.client} ${session.transport}`,
  age: (session) => duration(session.ageSeconds),
  idle: (session) => duration(session.idleSeconds),
  up: (session) => bytes(session.toPeers.bytes),
  down: (session) => bytes(session.toClient.bytes),
};

function row(session) {
  const cells = Object.entries(COLUMNS).map(([name, column]) =>
    h("td", { class: column.number ? "number" : "", "data-column": name, "data-title": column.title }),
  );
  const button = h("button", { type: "button", class: "quiet" }, "End");
  button.setAttribute("aria-label", `End the allocation of ${session.user || "unnamed"} at ${session.client}`);
  button.addEventListener("click", () => end(session.id, button));
  return h("tr", { "data-id": session.id }, cells, h("td", { class: "actions" }, button));
}

// Ending needs a second press: the first one arms the button for a few seconds.
async function end(id, button) {
  if (!button.classList.contains("armed")) {
    button.classList.add("armed");
    say(button, "Really end?");
    setTimeout(() => {
      button.classList.remove("armed");
      say(button, "End");
    }, 4000);
    return;
  }
  button.disabled = true;
  try {
    await ask("DELETE", `sessions/${encodeURIComponent(id)}`);
    say(button, "Ended");
  } catch (error) {
    say(button, error.message);
    button.disabled = false;
  }
}

function update(element, session) {
  for (const cell of element.querySelectorAll("td[data-column]")) {
    const name = cell.dataset.column;
    const value = (TEXT[name] ?? COLUMNS[name].value)(session);
    say(cell, String(value));
    if (name === "peers") cell.title = peersOf(session).slice(0, 30).join("\n");
    if (name === "age") cell.title = `expires in ${duration(session.expiresInSeconds)} unless refreshed`;
  }
}

export function show(state) {
  byId("allocations-parts").hidden = !state.live;
  if (!state.live || byId("panel-allocations").hidden) return;
  const { sessions, sessionsTotal, canEndSessions } = state.live;
  const matching = sessions.filter((session) =>
    [session.user, session.client, session.listener, session.transport, ...session.relayed, ...session.peers]
      .join(" ")
      .toLowerCase()
      .includes(filter),
  );
  const { value } = COLUMNS[order.by];
  matching.sort((one, other) => {
    const [a, b] = [value(one), value(other)];
    const difference = typeof a === "number" ? a - b : a.localeCompare(b);
    return (order.down ? -difference : difference) || one.id.localeCompare(other.id);
  });
  const shown = matching.slice(0, SHOWN);
  const table = byId("allocations");
  table.hidden = !shown.length;
  table.classList.toggle("can-end", canEndSessions);
  keyed(table.tBodies[0], shown, (session) => session.id, row, update);
  say(
    byId("allocations-note"),
    shown.length < sessionsTotal ? `${count(shown.length)} of ${count(sessionsTotal)} are shown.` : "",
  );
  byId("allocations-empty").hidden = shown.length > 0;
  say(
    byId("allocations-empty"),
    filter && sessions.length
      ? "No allocation matches the filter."
      : "No client has an allocation now. Clients appear here as soon as they connect.",
  );
}

export function install(redraw) {
  const head = byId("allocations").tHead.rows[0];
  const mark = () => {
    for (const cell of head.cells)
      if (cell.dataset.column === order.by) cell.setAttribute("aria-sort", order.down ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
  };
  for (const [name, column] of Object.entries(COLUMNS)) {
    const button = h("button", { type: "button", class: "sort" }, column.title);
    button.addEventListener("click", () => {
      order.down = order.by === name ? !order.down : Boolean(column.number);
      order.by = name;
      mark();
      redraw();
    });
    head.append(h("th", { scope: "col", "data-column": name, class: column.number ? "number" : "" }, button));
  }
  head.append(h("th", { class: "actions", scope: "col" }, h("span", { class: "unseen" }, "Actions")));
  mark();
  byId("allocations-filter").addEventListener("input", (event) => {
    filter = event.target.value.trim().toLowerCase();
    redraw();
  });
}

// Traffic per listener and per cluster: two small plots each.

import { byId, h, keyed, say } from "./dom.js";
import { bits, bytes, count, packets } from "./format.js";
import { sparkline } from "./plot.js";
import { KEPT } from "./rates.js";

// More plots than this say less; the busiest are shown and the filter finds the others.
const SHOWN = 24;
let filter = "";

function card(item) {
  const bitPlot = sparkline();
  const packetPlot = sparkline();
  const element = h(
    "li",
    { class: "card traffic", "data-id": item.id },
    h("h4", {}, item.id),
    h("p", { class: "muted total" }),
    h("div", { class: "plot-row" }, bitPlot.element, h("p", { class: "now bits" })),
    h("div", { class: "plot-row" }, packetPlot.element, h("p", { class: "now packets" })),
  );
  element.plots = { bitPlot, packetPlot };
  return element;
}

const line = (parent, into, out) =>
  say(parent, `↓ ${into}\n↑ ${out}`);

function update(element, item, kind, rates) {
  const points = rates.points(kind, item.id);
  const series = (name) => points.map((point) => point[name]);
  const now = points.at(-1) ?? { rxBits: 0, txBits: 0, rxPackets: 0, txPackets: 0 };
  const { traffic } = item;
  say(element.querySelector(".total"), `${bytes(traffic.rxBytes)} in, ${bytes(traffic.txBytes)} out so far`);
  const [bitsIn, bitsOut] = [bits(now.rxBits), bits(now.txBits)];
  const [packetsIn, packetsOut] = [packets(now.rxPackets), packets(now.txPackets)];
  line(element.querySelector(".bits"), bitsIn, bitsOut);
  line(element.querySelector(".packets"), packetsIn, packetsOut);
  element.plots.bitPlot.draw(series("rxBits"), series("txBits"), KEPT, `${item.id}: ${bitsIn} in, ${bitsOut} out`);
  const said = `${item.id}: ${packetsIn} in, ${packetsOut} out`;
  element.plots.packetPlot.draw(series("rxPackets"), series("txPackets"), KEPT, said);
}

function section(kind, items, rates) {
  const matching = items.filter((item) => item.id.toLowerCase().includes(filter));
  let shown = matching;
  if (matching.length > SHOWN) {
    const volume = ({ traffic }) => traffic.rxBytes + traffic.txBytes;
    shown = matching.toSorted((one, other) => volume(other) - volume(one)).slice(0, SHOWN);
  }
  const list = byId(`traffic-${kind}s`);
  keyed(
    list,
    shown,
    (item) => item.id,
    card,
    (element, item) => update(element, item, kind, rates),
  );
  const rest = matching.length - shown.length;
  say(byId(`traffic-${kind}s-note`), rest ? `The ${SHOWN} with most traffic of ${count(matching.length)}.` : "");
  byId(`traffic-${kind}s-empty`).hidden = shown.length > 0;
  say(byId(`traffic-${kind}s-empty`), filter && items.length ? "Nothing matches the filter." : `No ${kind} runs.`);
}

export function show(state, rates) {
  byId("traffic-parts").hidden = !state.live;
  if (!state.live || byId("panel-traffic").hidden) return;
  section("listener", state.live.listeners, rates);
  section("cluster", state.live.clusters, rates);
}

export function install(redraw) {
  byId("traffic-filter").addEventListener("input", (event) => {
    filter = event.target.value.trim().toLowerCase();
    redraw();
  });
}

// Small plots. Their meaning is also in words beside them, and in their label.

import { svg } from "./dom.js";
import { milliseconds } from "./format.js";

const WIDTH = 240;
const HEIGHT = 44;

function path(values, slots, top) {
  if (values.length < 2) return "";
  const first = slots - values.length;
  const x = (index) => (((first + index) / (slots - 1)) * WIDTH).toFixed(1);
  const y = (value) => (HEIGHT - 2 - (value / top) * (HEIGHT - 6)).toFixed(1);
  return values.map((value, index) => `${index ? "L" : "M"}${x(index)} ${y(value)}`).join("");
}

// Two lines over time: what came in, filled, and what went out.
export function sparkline() {
  const area = svg("path", { class: "area" });
  const into = svg("path", { class: "in" });
  const out = svg("path", { class: "out" });
  const base = svg("path", { class: "base", d: `M0 ${HEIGHT - 1.5}H${WIDTH}` });
  const element = svg(
    "svg",
    { class: "plot", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img" },
    base,
    area,
    into,
    out,
  );
  const draw = (inValues, outValues, slots, label) => {
    const top = Math.max(1, ...inValues, ...outValues);
    const line = path(inValues, slots, top);
    const left = ((slots - inValues.length) / (slots - 1)) * WIDTH;
    into.setAttribute("d", line);
    area.setAttribute("d", line && `${line}L${WIDTH} ${HEIGHT - 2}L${left.toFixed(1)} ${HEIGHT - 2}Z`);
    out.setAttribute("d", path(outValues, slots, top));
    element.setAttribute("aria-label", label);
  };
  return { element, draw };
}

// Round-trip times: a dot per echo, a mark at the bottom per loss.
export function roundTrips(element, pings, expected) {
  const [width, height] = [element.clientWidth || 600, element.clientHeight || 150];
  const answered = pings.filter((ping) => ping.rtt !== null);
  const top = Math.max(1, ...answered.map((ping) => ping.rtt)) * 1.15;
  const x = (ping) => 4 + (ping.sequence / Math.max(1, expected - 1)) * (width - 8);
  const level = (rtt) => height - 14 - (rtt / top) * (height - 30);
  const y = (ping) => level(ping.rtt);
  const scale = answered.length ? [top / 1.15, top / 2.3] : [];
  const line = answered.map((ping, index) => `${index ? "L" : "M"}${x(ping).toFixed(1)} ${y(ping).toFixed(1)}`);
  element.setAttribute("viewBox", `0 0 ${width} ${height}`);
  element.replaceChildren(
    svg("path", { class: "base", d: `M0 ${height - 13.5}H${width}` }),
    pings.length ? "" : svg("text", { x: 0, y: height - 22 }, "A dot for every echo, a mark below the line for every loss."),
    ...scale.map((rtt) => svg("path", { class: "base", d: `M0 ${level(rtt).toFixed(1)}H${width}` })),
    ...scale.map((rtt) => svg("text", { x: 0, y: (level(rtt) - 4).toFixed(1) }, milliseconds(rtt))),
    svg("path", { class: "in", d: line.join("") }),
    ...answered.map((ping) => svg("circle", { class: "dot", cx: x(ping).toFixed(1), cy: y(ping).toFixed(1), r: 2.2 })),
    ...pings
      .filter((ping) => ping.rtt === null && ping.lost)
      .map((ping) => svg("path", { class: "loss", d: `M${x(ping).toFixed(1)} ${height - 11}v9` })),
  );
}

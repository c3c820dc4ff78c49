// Who was refused what, and why: counts by reason, and the newest ones as sentences.

import { byId, h, keyed, say } from "./dom.js";
import { count, moment, plural } from "./format.js";

const SHOWN = 100;

// The reasons of `stunner_denials_total`.
const REASONS = {
  no_route: "in no route of the listener",
  port: "the port is outside the routes' ranges",
  transport: "the routes have it for the other transport",
  loopback: "a loopback address",
  link_local: "a link-local or metadata address",
  multicast: "a multicast address",
  unspecified: "the unspecified address",
  broadcast: "the broadcast address",
  own_address: "an address of the gateway itself",
  own_listener: "a listener of the gateway itself",
};

// A client that asks again and again is one entry with a count.
function grouped(denials) {
  const groups = new Map();
  for (const denial of denials) {
    const host = denial.client.replace(/:\d+$/, "");
    const key = JSON.stringify([denial.listener, denial.user, host, denial.peer, denial.reason]);
    const group = groups.get(key);
    if (group) group.times += 1;
    else groups.set(key, { key, newest: denial, times: 1 });
  }
  return [...groups.values()].slice(0, SHOWN);
}

function entry() {
  return h(
    "li",
    {},
    h("time", {}),
    h("div", {}, h("p", { class: "sentence" }), h("p", { class: "muted about" })),
    h("span", { class: "times" }),
  );
}

function update(element, { newest, times }) {
  const at = new Date(newest.at);
  const time = element.querySelector("time");
  element.dataset.reason = newest.reason;
  time.dateTime = newest.at;
  say(time, Number.isNaN(at.getTime()) ? newest.at : moment(at));
  time.title = newest.at;
  say(element.querySelector(".sentence"), newest.sentence);
  say(element.querySelector(".about"), `User ${newest.user || "unnamed"}, ${REASONS[newest.reason] ?? newest.reason}`);
  say(element.querySelector(".times"), times > 1 ? `×${count(times)}` : "");
}

function reason() {
  return h("li", {}, h("span", { class: "bar" }), h("code", {}), h("span", { class: "meaning" }), h("strong", {}));
}

export function show(state) {
  byId("denials-parts").hidden = !state.live;
  if (!state.live) return;
  const { denials, denialsByReason } = state.live;
  const counts = Object.entries(denialsByReason).sort((one, other) => other[1] - one[1]);
  const most = Math.max(1, ...counts.map(([, number]) => number));
  keyed(byId("denial-reasons"), counts, ([name]) => name, reason, (element, [name, number]) => {
    element.dataset.reason = name;
    element.querySelector(".bar").style.setProperty("--part", String(number / most));
    say(element.querySelector("code"), name);
    say(element.querySelector(".meaning"), REASONS[name] ?? "");
    say(element.querySelector("strong"), count(number));
  });
  const groups = grouped(denials);
  keyed(byId("denials"), groups, (group) => group.key, entry, update);
  byId("denials-empty").hidden = groups.length > 0;
  say(
    byId("denials-empty"),
    counts.length
      ? `No denial is remembered any more; ${plural(counts.reduce((sum, [, number]) => sum + number, 0), "was", "were")} counted since the start.`
      : "No denials since the gateways started. A client that asks for a peer outside the routes appears here, with the reason.",
  );
}

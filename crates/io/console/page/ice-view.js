// The panel of the ICE test.

import { byId, h, keyed, say } from "./dom.js";
import { milliseconds } from "./format.js";
import { Failed, PINGS, isTestable, run, summary } from "./ice.js";
import { roundTrips } from "./plot.js";
import { icon } from "./status.js";

const STEPS = ["credential", "candidates", "connection", "echoes"];
let gateways = [];
let running = null;

function options(select, items) {
  const chosen = select.value;
  keyed(
    select,
    items,
    (item) => item.value,
    (item) => h("option", { value: item.value }),
    (option, item) => {
      say(option, item.text);
      option.disabled = Boolean(item.disabled);
    },
  );
  const usable = items.filter((item) => !item.disabled);
  select.value = usable.some((item) => item.value === chosen) ? chosen : (usable[0]?.value ?? "");
}

const gateway = () => gateways.find(({ id }) => id === byId("ice-gateway").value);

function fillListeners() {
  const listeners = gateway()?.listeners ?? [];
  options(
    byId("ice-listener"),
    listeners.map(({ name, protocol, port, publicPort, served }) => {
      const why = !served ? ", not served" : isTestable(protocol) ? "" : ", browsers have no TURN over DTLS";
      return { value: name, text: `${name} (${protocol} ${publicPort ?? port}${why})`, disabled: why !== "" };
    }),
  );
  byId("ice-start").disabled = !running && !byId("ice-listener").value;
}

export function show(state) {
  if (state.gateways === gateways) return;
  gateways = state.gateways ?? [];
  options(
    byId("ice-gateway"),
    gateways.map(({ id, listeners }) => {
      const usable = listeners.some(({ served, protocol }) => served && isTestable(protocol));
      return { value: id, text: usable ? id : `${id} (no listener to test)`, disabled: !usable };
    }),
  );
  fillListeners();
}

function step(name, status, text) {
  const item = byId(`ice-step-${name}`);
  item.dataset.status = status;
  item.querySelector(".step-icon").replaceChildren(icon({ ok: "ok", bad: "bad" }[status] ?? "pending"));
  say(item.querySelector(".step-text"), text);
}

function reset() {
  for (const name of STEPS) step(name, "waiting", "Not yet");
  byId("ice-candidates").replaceChildren();
  byId("ice-hints").replaceChildren();
  for (const end of ["browser", "relay", "peer"]) say(byId(`ice-${end}-address`), "");
  byId("ice-path").dataset.state = "idle";
  numbers(summary([]));
  roundTrips(byId("ice-plot"), [], PINGS);
}

function numbers({ loss, min, median, p99, sent }) {
  const text = (value) => (value === null ? "–" : milliseconds(value));
  say(byId("ice-loss"), sent ? `${(loss * 100).toFixed(loss ? 1 : 0)}%` : "–");
  byId("ice-loss").dataset.loss = sent ? String(loss) : "";
  for (const [name, value] of Object.entries({ min, median, p99 })) {
    say(byId(`ice-${name}`), text(value));
    byId("ice-rtt").dataset[name] = value === null ? "" : value.toFixed(3);
  }
}

function verdict(result, text, hints = []) {
  const box = byId("ice-result");
  box.dataset.result = result;
  const status = { pass: "ok", fail: "bad" }[result];
  byId("ice-verdict").replaceChildren(...(status ? [icon(status)] : []), text);
  byId("ice-hints").replaceChildren(...hints.map((hint) => h("li", {}, hint)));
}

const endpoint = (candidate) => {
  if (!candidate) return "";
  const address = candidate.address ?? candidate.ip ?? "";
  return `${address.includes(":") ? `[${address}]` : address}:${candidate.port}`;
};

const report = {
  step,
  test(test) {
    say(byId("ice-peer-address"), test.peer);
  },
  candidate(candidate) {
    byId("ice-path").dataset.state = "relayed";
    say(byId("ice-relay-address"), endpoint(candidate));
    const about = [candidate.type, candidate.protocol, candidate.relayProtocol && `by ${candidate.relayProtocol}`];
    byId("ice-candidates").append(
      h(
        "li",
        { "data-type": candidate.type },
        h("code", {}, endpoint(candidate)),
        h("span", { class: "muted" }, about.filter(Boolean).join(", ")),
      ),
    );
  },
  candidateError({ errorCode, errorText, url }) {
    byId("ice-candidates").append(
      h("li", { "data-type": "error" }, icon("warn"), h("span", {}, `${url}: ${errorCode} ${errorText}`.trim())),
    );
  },
  pair({ local, remote }) {
    byId("ice-path").dataset.state = "connected";
    say(byId("ice-browser-address"), local?.url || `TURN over ${local?.relayProtocol ?? "any transport"}`);
    say(byId("ice-relay-address"), endpoint(local));
    say(byId("ice-peer-address"), endpoint(remote));
  },
  pings(pings) {
    numbers(summary(pings));
    roundTrips(byId("ice-plot"), pings, PINGS);
  },
};

async function start() {
  if (running) {
    running.abort(new Error("stopped"));
    return;
  }
  const chosen = gateway();
  const listener = chosen?.listeners.find(({ name }) => name === byId("ice-listener").value);
  if (!listener) return;
  reset();
  running = new AbortController();
  say(byId("ice-start"), "Stop");
  verdict("running", "Testing…");
  try {
    const result = await run(
      { gateway: chosen.id, listener: listener.name, protocol: listener.protocol },
      report,
      running.signal,
    );
    const loss = result.loss ? `${(result.loss * 100).toFixed(1)}% loss` : "no loss";
    verdict("pass", `Passed: this browser reaches ${listener.id}, ${milliseconds(result.median)} there and back, ${loss}.`);
  } catch (error) {
    fail(error);
  } finally {
    running = null;
    say(byId("ice-start"), "Start the test");
    fillListeners();
  }
}

function fail(error) {
  const stopped = running?.signal.aborted;
  const place = error instanceof Failed ? error.step : STEPS.find((name) => byId(`ice-step-${name}`).dataset.status === "running");
  if (place) step(place, stopped ? "waiting" : "bad", stopped ? "Stopped" : "Failed");
  const path = byId("ice-path");
  // What failed is the way to the relay, or the way from there to the peer.
  path.dataset.state = path.dataset.state === "idle" ? "failed" : "failed-behind";
  if (stopped) verdict("stopped", "Stopped.");
  else verdict("fail", `Failed: ${error.message}`, error.hints ?? []);
}

export function install() {
  byId("ice-gateway").addEventListener("change", fillListeners);
  byId("ice-form").addEventListener("submit", (event) => {
    event.preventDefault();
    start();
  });
  reset();
  verdict("idle", "Not run yet. The test takes about six seconds.");
}

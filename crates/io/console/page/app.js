// The page: asks for the state, and hands it to its parts.

import * as allocations from "./allocations.js";
import { follow, token } from "./client.js";
import * as denials from "./denials.js";
import * as details from "./details.js";
import { byId, h, keyed, say } from "./dom.js";
import { bits, clock, count, plural } from "./format.js";
import * as ice from "./ice-view.js";
import * as picture from "./picture.js";
import { sparkline } from "./plot.js";
import * as problems from "./problems.js";
import { KEPT, Rates } from "./rates.js";
import { icon } from "./status.js";
import * as tabs from "./tabs.js";
import * as tooltip from "./tooltip.js";
import * as traffic from "./traffic.js";

const rates = new Rates();
let state = null;
let heardAt = null;
let poll = () => {};

function redraw() {
  if (!state) return;
  const world = picture.show(state, rates);
  summary(world);
  gatewayStates();
  notices();
  traffic.show(state, rates);
  allocations.show(state);
  denials.show(state);
  problems.show(state);
  ice.show(state);
  tooltip.refresh();
}

function tile(id, text, status = "") {
  const element = byId(`stat-${id}`);
  say(element.querySelector("strong"), text);
  element.dataset.status = status;
}

function summary(world) {
  const gateways = state.gateways ?? [];
  const { live } = state;
  const total = rates.together("").at(-1) ?? { rxBits: 0, txBits: 0 };
  const denied = live && Object.values(live.denialsByReason).reduce((sum, number) => sum + number, 0);
  tile("gateways", count(gateways.length));
  tile("routes", count(state.routes?.length ?? 0));
  tile("trouble", count(world.troubles.length), world.troubles.length ? "warn" : "ok");
  tile("allocations", live ? count(live.sessionsTotal) : "–");
  tile("traffic", live ? bits(total.rxBits + total.txBits) : "–");
  tile("denials", live ? count(denied) : "–");
  tile("problems", count(state.problems.length), state.problems.length ? "warn" : "");
  say(byId("mode"), state.mode);
  say(byId("version"), state.version);
  document.body.dataset.mode = state.mode;
  badge("problems", state.problems.length);
  badge("denials", denied ?? 0);
  badge("allocations", live?.sessionsTotal ?? 0);
}

const badge = (tab, number) => say(byId(`tab-${tab}`).querySelector(".badge"), number ? count(number) : "");

const PHASES = { running: ["ok", "Running"], draining: ["warn", "Draining"], notRunning: ["bad", "Not running"] };

function gatewayCard() {
  const plot = sparkline();
  const text = h("div", {}, h("h4", {}), h("p", { class: "muted" }));
  const traffic = h("div", { class: "card-plot" }, plot.element, h("p", { class: "rate muted" }, h("span", {}), h("span", {})));
  const card = h("li", { class: "card" }, h("span", { class: "phase-icon" }), text, traffic);
  card.plot = plot;
  return card;
}

function gatewayStates() {
  const gateways = state.live?.gateways ?? [];
  byId("gateway-states-part").hidden = !gateways.length;
  // With very many gateways, those that do not simply run are the ones to look at.
  const shown = gateways.length > 60 ? gateways.filter(({ phase }) => phase !== "running").slice(0, 60) : gateways;
  keyed(
    byId("gateway-states"),
    shown,
    (gateway) => gateway.id,
    gatewayCard,
    (element, gateway) => {
      const [status, word] = PHASES[gateway.phase] ?? ["pending", gateway.phase];
      if (element.dataset.phase !== gateway.phase) element.querySelector(".phase-icon").replaceChildren(icon(status));
      element.dataset.phase = gateway.phase;
      element.dataset.gateway = gateway.id;
      say(element.querySelector("h4"), gateway.id);
      const held = plural(gateway.allocations, "allocation");
      const holds = { running: `, ${held}`, draining: `, ${held} left` }[gateway.phase] ?? "";
      say(element.querySelector("p"), `${word}${holds}.${gateway.message ? ` ${gateway.message}` : ""}`);
      const points = rates.together(`${gateway.id}/`);
      const { rxBits, txBits } = points.at(-1) ?? { rxBits: 0, txBits: 0 };
      const [into, out] = element.querySelector(".rate").children;
      say(into, `↓ ${bits(rxBits)}`);
      say(out, `↑ ${bits(txBits)}`);
      const series = (name) => points.map((point) => point[name]);
      const label = `${gateway.id}: ${bits(rxBits)} in, ${bits(txBits)} out`;
      element.plot.draw(series("rxBits"), series("txBits"), KEPT, label);
    },
  );
}

function notices() {
  const box = byId("token-part");
  box.hidden = state.token === "notNeeded";
  box.dataset.token = state.token;
  for (const text of box.querySelectorAll("[data-when]")) text.hidden = text.dataset.when !== state.token;
  byId("token-forget").hidden = !token.value();
  keyed(
    byId("notes"),
    state.notes,
    (note) => JSON.stringify(note),
    (note) => h("li", {}, icon("warn"), h("div", {}, h("p", {}, note.message), note.hint && h("p", { class: "hint" }, note.hint))),
  );
  for (const part of document.querySelectorAll(".needs-live")) part.hidden = Boolean(state.live);
}

function onState(next) {
  state = next;
  heardAt = new Date();
  byId("lost").hidden = true;
  document.body.classList.remove("stale");
  byId("link").dataset.link = "live";
  say(byId("link-text"), "Live");
  rates.sample(state.live, performance.now());
  document.body.dataset.generation = state.generation;
  redraw();
}

function onLost(error) {
  byId("lost").hidden = false;
  byId("link").dataset.link = "lost";
  say(byId("link-text"), "Lost");
  document.body.classList.toggle("stale", state !== null);
  const refused = error.hint ? `${error.message}; ${error.hint}.` : "";
  const shown = heardAt ? ` What is shown is of ${clock(heardAt)}.` : "";
  say(byId("lost-text"), `${refused || "The console does not answer."}${shown} Trying again.`);
}

function installTheme() {
  const root = document.documentElement;
  const dark = () =>
    root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const label = () => byId("theme").setAttribute("aria-label", dark() ? "Use the light theme" : "Use the dark theme");
  byId("theme").addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try {
      localStorage.setItem("stunner-theme", root.dataset.theme);
    } catch {
      // The choice lasts until the page is left, then.
    }
    label();
  });
  label();
}

function installToken() {
  byId("token-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const box = byId("token");
    const value = box.value.trim().replace(/^bearer\s+/i, "");
    // A header takes nothing else; a token with other signs was cut or joined when it was copied.
    const fits = /^[\x21-\x7e]*$/.test(value);
    box.setCustomValidity(fits ? "" : "A token is one word of plain letters, digits and signs.");
    if (!box.reportValidity() || !value) return;
    token.keep(value);
    box.value = "";
    poll();
  });
  byId("token").addEventListener("input", () => byId("token").setCustomValidity(""));
  byId("token-forget").addEventListener("click", () => {
    token.forget();
    poll();
  });
}

installTheme();
installToken();
tooltip.install();
details.install();
picture.install();
traffic.install(redraw);
allocations.install(redraw);
ice.install();
tabs.install(redraw);
poll = follow(onState, onLost);

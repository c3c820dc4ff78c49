// What conditions come to: one of four statuses, each with a colour, a shape and a word, because colour alone is not
// enough for everyone.

import { svg } from "./dom.js";

const RANK = { ok: 0, pending: 1, warn: 2, bad: 3 };
export const WORDS = { ok: "OK", pending: "pending", warn: "warning", bad: "failed" };

// Conditions that are good news when False.
const NEGATIVE = new Set(["Conflicted", "OverlappingTLSConfig", "InsecureFrontendValidationMode", "PartiallyInvalid"]);
// False means that nothing works, rather than something less.
const VITAL = new Set(["Accepted", "Programmed", "Conflicted"]);

export function statusOfCondition({ type, status, reason }) {
  // What was not looked at yet, and what waits for an address, has not failed.
  if (status === "Unknown" || reason === "Pending" || reason === "AddressNotAssigned") return "pending";
  if (status === (NEGATIVE.has(type) ? "False" : "True")) return "ok";
  return VITAL.has(type) ? "bad" : "warn";
}

export const worst = (statuses) =>
  statuses.reduce((one, other) => (RANK[other] > RANK[one] ? other : one), "ok");

export const isTrouble = (status) => RANK[status] >= RANK.warn;

// An object without conditions was not looked at yet.
export const statusOf = (conditions) =>
  conditions?.length ? worst(conditions.map(statusOfCondition)) : "pending";

const SHAPES = {
  ok: ["M8 1.2a6.8 6.8 0 1 0 0 13.6A6.8 6.8 0 0 0 8 1.2Z", "M4.9 8.2l2.1 2.1 4.1-4.4"],
  pending: ["M8 1.2a6.8 6.8 0 1 0 0 13.6A6.8 6.8 0 0 0 8 1.2Z", "M4.8 8h.01M8 8h.01M11.2 8h.01"],
  warn: ["M8 1.4 15.2 14.4H.8Z", "M8 6v3.7M8 12h.01"],
  bad: ["M5.2 1.2h5.6l4 4v5.6l-4 4H5.2l-4-4V5.2Z", "M5.5 5.5l5 5M10.5 5.5l-5 5"],
};

// The shape says the same as the colour; the word is for those who hear the page.
export function icon(status) {
  const [outline, sign] = SHAPES[status] ?? SHAPES.pending;
  return svg(
    "svg",
    { class: `icon icon-${status}`, viewBox: "0 0 16 16", role: "img", "aria-label": WORDS[status] },
    svg("path", { class: "outline", d: outline }),
    svg("path", { class: "sign", d: sign }),
  );
}

// What the manifests do wrong: place, message, hint.

import { byId, h, keyed, say } from "./dom.js";
import { icon } from "./status.js";

const SHOWN = 500;
const place = ({ file, line, column }) => (line ? `${file}:${line}:${column}` : file);

function entry(problem) {
  return h(
    "li",
    { "data-severity": problem.severity, "data-file": problem.file, "data-line": problem.line },
    icon(problem.severity === "error" ? "bad" : "warn"),
    h(
      "div",
      {},
      h("p", {}, h("code", { class: "place" }, place(problem)), problem.field && h("code", { class: "muted" }, problem.field)),
      h("p", { class: "sentence" }, `${problem.severity}: ${problem.message}`),
      problem.hint && h("p", { class: "hint" }, `hint: ${problem.hint}`),
    ),
  );
}

export function show(state) {
  const problems = state.problems.slice(0, SHOWN);
  keyed(byId("problems"), problems, (problem) => JSON.stringify(problem), entry);
  byId("problems-empty").hidden = problems.length > 0;
  say(
    byId("problems-empty"),
    state.mode === "operator"
      ? "Manifests are checked by the API server here; what is wrong with them is in the conditions of the overview."
      : "No problems: every manifest could be read and says what it should.",
  );
}

// The conditions of a node with their messages, for the tooltip and the panel of details.

import { h } from "./dom.js";
import { icon, statusOfCondition } from "./status.js";

export function conditionList(node) {
  const groups = node.groups.map((group) => [
    group.heading && h("p", { class: "tip-heading" }, group.heading),
    h(
      "ul",
      { class: "conditions" },
      group.conditions.map((condition) =>
        h(
          "li",
          { "data-status": statusOfCondition(condition) },
          icon(statusOfCondition(condition)),
          h(
            "div",
            {},
            h("strong", {}, `${condition.type}: ${condition.status}`),
            h("span", { class: "reason" }, condition.reason),
            condition.message && h("p", {}, condition.message),
          ),
        ),
      ),
    ),
    !group.conditions.length && h("p", {}, "No conditions yet: nothing has looked at it."),
  ]);
  return [...groups.flat(), node.message && h("p", { class: "tip-message" }, icon(node.status), node.message)];
}

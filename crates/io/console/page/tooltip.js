// One tooltip for the page: shown on hover and on keyboard focus, stays while the pointer is on it, closed by Esc
// (WCAG 1.4.13).

import { h } from "./dom.js";

const tip = h("div", { id: "tooltip", role: "tooltip", hidden: true });
let owner = null;
let leaving = 0;

function place() {
  const at = owner.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = tip;
  const left = Math.max(8, Math.min(at.left, innerWidth - width - 8));
  const under = at.bottom + 6;
  const top = under + height + 8 <= innerHeight ? under : Math.max(8, at.top - height - 6);
  tip.style.setProperty("left", `${left}px`);
  tip.style.setProperty("top", `${top}px`);
}

function show(element, content) {
  clearTimeout(leaving);
  hide();
  owner = element;
  tip.replaceChildren(...[content()].flat().filter(Boolean));
  tip.hidden = false;
  element.setAttribute("aria-describedby", tip.id);
  place();
}

export function hide() {
  clearTimeout(leaving);
  owner?.removeAttribute("aria-describedby");
  owner = null;
  tip.hidden = true;
}

// Elements that go, or are hidden with their tab, hear no pointer leave.
export function refresh() {
  if (owner && !owner.checkVisibility()) hide();
}

const leave = () => {
  clearTimeout(leaving);
  leaving = setTimeout(hide, 120);
};

// `content` makes the elements anew each time it is shown.
export function describe(element, content) {
  element.addEventListener("mouseenter", () => show(element, content));
  element.addEventListener("mouseleave", leave);
  element.addEventListener("focus", () => element.matches(":focus-visible") && show(element, content));
  element.addEventListener("blur", leave);
}

export function install() {
  document.body.append(tip);
  tip.addEventListener("mouseenter", () => clearTimeout(leaving));
  tip.addEventListener("mouseleave", leave);
  addEventListener("scroll", () => owner && leave(), { passive: true, capture: true });
  addEventListener("keydown", (event) => event.key === "Escape" && hide());
}

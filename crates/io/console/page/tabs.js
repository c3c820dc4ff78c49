// Tabs by the WAI-ARIA pattern; the address remembers which one is open.

import { byId } from "./dom.js";

export function install(onOpen) {
  const tabs = [...document.querySelectorAll('[role="tab"]')];
  const open = (tab) => {
    for (const other of tabs) {
      const chosen = other === tab;
      other.setAttribute("aria-selected", String(chosen));
      other.tabIndex = chosen ? 0 : -1;
      byId(other.getAttribute("aria-controls")).hidden = !chosen;
    }
    onOpen();
  };
  const named = () => tabs.find((tab) => tab.id === `tab-${location.hash.slice(1)}`);
  // Setting location.hash would scroll to an element of that id and take the focus away from the tab.
  const go = (name) => {
    if (location.hash !== `#${name}`) history.pushState(null, "", `#${name}`);
    open(named());
  };
  for (const tab of tabs) tab.addEventListener("click", () => go(tab.id.slice(4)));
  for (const link of document.querySelectorAll("[data-opens]"))
    link.addEventListener("click", () => go(link.dataset.opens));
  byId("tabs").addEventListener("keydown", (event) => {
    const at = tabs.indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (to === undefined || at < 0) return;
    event.preventDefault();
    const tab = tabs[(to + tabs.length) % tabs.length];
    tab.focus();
    tab.click();
  });
  // Other targets, such as that of the skip link, leave the tabs as they are.
  addEventListener("hashchange", () => named() && open(named()));
  open(named() ?? tabs[0]);
}

// Elements from values. Names and messages come from manifests, which anyone may have written: they enter the page as
// text and never as markup. Nothing in this page reads markup from a string.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [key, text] of Object.entries(value)) element.style.setProperty(key, text);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export const h = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);

export const svg = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);

export const byId = (id) => document.getElementById(id);

// Writes only what differs, so that selections and screen readers are left in peace.
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// Makes the children of `parent` those of `items`, in order, keeping the element of a key for as long as it is there.
export function keyed(parent, items, keyOf, create, update = () => {}) {
  const elements = (parent.elementsByKey ??= new Map());
  const wanted = new Set();
  let before = parent.firstElementChild;
  for (const item of items) {
    const key = keyOf(item);
    if (wanted.has(key)) continue;
    wanted.add(key);
    let element = elements.get(key);
    if (!element) elements.set(key, (element = create(item)));
    update(element, item);
    if (element === before) before = before.nextElementSibling;
    else parent.insertBefore(element, before);
  }
  for (const [key, element] of elements) {
    if (wanted.has(key)) continue;
    element.remove();
    elements.delete(key);
  }
}

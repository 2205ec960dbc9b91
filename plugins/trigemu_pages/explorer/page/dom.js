// Small helpers for elements. Texts go in as text, never as markup: names in menus are written by others.

/**
 * Make an element.
 * @param {string} tag
 * @param {object} options attributes by name; also `text`, and `on`: listeners by event. Absent (null,
 * undefined,
 *   false) attributes are left out, true gives an empty one
 * @param {...(Node|string)} children
 */
export function el(tag, options = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(options)) {
    if (key === "text") node.textContent = value;
    else if (key === "on")
      for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    else if (value !== null && value !== undefined && value !== false)
      node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children);
  return node;
}

/** Return a section of the page by its class, and its elements by what their attribute data-part says. */
export function partsOf(name) {
  const root = document.querySelector(name);
  const parts = [...root.querySelectorAll("[data-part]")].map((part) => [part.dataset.part, part]);
  return { root, parts: Object.fromEntries(parts) };
}

/** Set a text where it differs: the browser lays out only what changed. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Set the value of a field, unless the user types into it. */
export function setValue(field, value) {
  if (!isTyped(field) && field.value !== value) field.value = value;
}

/** Whether the user changed a field and did not leave it yet. */
export function isTyped(field) {
  return typed === field;
}

let typed = null;
addEventListener("input", ({ target }) => (typed = target.type === "number" ? target : null), {
  capture: true,
});
for (const end of ["change", "focusout"]) addEventListener(end, () => (typed = null), { capture: true });

/**
 * Make a table of columns {label, align: "l"|"r"}; the labels are repeated beside the cells on narrow
 * screens.
 */
export function makeTable(columns, label) {
  const head = el(
    "tr",
    {},
    ...columns.map((column) => el("th", { scope: "col", class: column.align, text: column.label })),
  );
  const body = el("tbody");
  const root = el(
    "div",
    { class: "scroll", role: "region", "aria-label": label, tabindex: "0" },
    el("table", {}, el("thead", {}, head), body),
  );
  return { root, body };
}

/** Make a row of a table; cells are texts or nodes. The first is the heading of the row. */
export function makeRow(columns, cells, options = {}) {
  const made = cells.map((cell, i) => {
    const { label, align } = columns[i];
    const shared = { class: align, "data-label": label };
    return i ? el("td", shared, cell) : el("th", { ...shared, scope: "row" }, cell);
  });
  return el("tr", options, ...made);
}

/** Offer a file for download. */
export function download(name, content, type) {
  const blob = content instanceof Blob ? content : new Blob([content], { type });
  const url = URL.createObjectURL(blob);
  const link = el("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Return a name that every file system takes. */
export function fileStem(text) {
  return (
    text
      .replace(/[^\w.+-]+/g, "_")
      .replace(/^[_.]+|[_.]+$/g, "")
      .slice(0, 100) || "trigemu"
  );
}

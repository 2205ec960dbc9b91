// Which triggers accept the same events: of the events of the trigger of a row, the part that another accepts
// too.

import { el, partsOf, setText } from "../dom.js";
import { inUnit, shortPercent } from "../numbers.js";

export class OverlapView {
  first = false;
  #app;
  #table;
  #names = "";
  #cells = [];
  #note;

  constructor(app) {
    this.#app = app;
    const { root, parts } = partsOf(".overlap");
    this.root = root;
    this.#note = parts.note;
    this.#table = root.querySelector("table");
    this.#table.onpointerover = (event) => this.#name(event.target);
  }

  key(page) {
    return [page.slots[page.shown], page.shown];
  }

  paint(page) {
    const { names, hz, error } = this.#app.engine.rates(this.#app.slot).overlap;
    const all = this.#app.menuOf(this.#app.slot).triggers.length;
    setText(
      this.#note,
      all > names.length ? `The ${names.length} triggers with the largest rates are shown.` : "",
    );
    if (this.#names !== names.join("\n")) this.#build(names);
    const n = names.length;
    for (let i = 0; i < n; i++) {
      const own = hz[i * n + i];
      for (let j = 0; j < n; j++) {
        const cell = this.#cells[i * n + j];
        const part = own > 0 ? hz[i * n + j] / own : 0;
        const text = own > 0 ? shortPercent(part) : "";
        if (cell.textContent !== text) cell.textContent = text;
        cell.style.setProperty("--part", part.toFixed(2));
      }
    }
  }

  /** Give a cell that is pointed at its title. */
  #name(cell) {
    const at = this.#cells.indexOf(cell);
    if (at < 0) return;
    const { names, hz, error } = this.#app.engine.rates(this.#app.slot).overlap;
    const [i, j] = [Math.floor(at / names.length), at % names.length];
    cell.title = `${names[i]} and ${names[j]}: ${inUnit(hz[at], error[at])}`;
  }

  #build(names) {
    this.#names = names.join("\n");
    this.#cells = names.flatMap(() => names.map(() => el("td")));
    const head = el(
      "tr",
      {},
      el("th"),
      ...names.map((name) => el("th", { scope: "col" }, el("span", { text: name }))),
    );
    const rows = names.map((name, i) =>
      el(
        "tr",
        {},
        el("th", { scope: "row", text: name }),
        ...this.#cells.slice(i * names.length, (i + 1) * names.length),
      ),
    );
    this.#table.replaceChildren(el("thead", {}, head), el("tbody", {}, ...rows));
  }
}

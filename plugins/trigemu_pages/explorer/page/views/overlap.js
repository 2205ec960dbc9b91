// Which triggers accept the same events: of the events of the trigger of a row, the part that another accepts
// too.

import { el, setText } from "../dom.js";
import { inUnit, shortPercent } from "../numbers.js";

export class OverlapView {
  first = false;
  #app;
  #table = el("table", { class: "matrix" });
  #names = "";
  #cells = [];
  #note = el("span");

  constructor(app) {
    this.#app = app;
    this.#table.addEventListener("pointerover", (event) => this.#name(event.target));
    this.root = el(
      "section",
      { class: "overlap", "aria-label": "overlap" },
      el("h2", { text: "Overlap" }),
      el(
        "p",
        {
          class: "soft",
          text: "Of the rate of the trigger of a row, the percentage that the trigger of a column accepts too; the title of a cell has the rate. ",
        },
        this.#note,
      ),
      el(
        "div",
        { class: "scroll", role: "region", tabindex: "0", "aria-label": "overlap of triggers" },
        this.#table,
      ),
    );
  }

  key(page) {
    return [page.slots[page.shown], page.shown];
  }

  paint(page) {
    const { names, hz, error } = this.#app.calculator.rates(page.shown, this.#app.slot).overlap;
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
    const { names, hz, error } = this.#app.calculator.rates(this.#app.page.shown, this.#app.slot).overlap;
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

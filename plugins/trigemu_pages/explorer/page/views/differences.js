// The differences of two states, or of one from the menu as written, with paired errors.

import { makeRow, makeTable, partsOf, setText } from "../dom.js";
import { inUnit, signedRate } from "../numbers.js";

const COLUMNS = [
  { label: "", align: "l" },
  { label: "total or rate", align: "r" },
  { label: "unique", align: "r" },
];

export class DifferencesView {
  first = false;
  #app;
  #title;
  #gained;
  #table = makeTable(COLUMNS, "differences");

  constructor(app) {
    this.#app = app;
    const { root, parts } = partsOf(".differences");
    this.root = root;
    this.#title = root.querySelector("h2");
    this.#gained = parts.gained;
    root.append(this.#table.root);
  }

  key(page) {
    return [page.two ? page.slots.A : page.slots[page.shown], page.slots.B, page.two];
  }

  paint(page) {
    const found = page.two ? this.#app.betweenSlots : this.#app.fromWritten;
    setText(this.#title, page.two ? "B − A" : "Differences from the menu as written");
    const [lost, gained] = found.gained;
    const [more, less] = page.two ? ["B", "A"] : ["this state", "the menu as written"];
    setText(
      this.#gained,
      `Accepted by ${more} and not by ${less}: ${inUnit(gained.hz, gained.error)}; the other way round: ${inUnit(lost.hz, lost.error)}.`,
    );
    const rows = new Map();
    for (const { what, quantity, hz, error } of found.differences) {
      if (!rows.has(what)) rows.set(what, ["", ""]);
      rows.get(what)[quantity === "unique" ? 1 : 0] = signedRate(hz, error);
    }
    const changed = [...rows].filter(
      ([what, texts]) => what === "menu" || texts.some((text) => text !== "0" && text !== ""),
    );
    this.#table.body.replaceChildren(...changed.map(([what, texts]) => makeRow(COLUMNS, [what, ...texts])));
  }
}

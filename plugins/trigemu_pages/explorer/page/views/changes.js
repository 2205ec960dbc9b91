// The change of the menu's rate, or its difference between two states, and the last column of the table of triggers: changes from the menu as
// written, or the rates of the other of two states. They are painted after the rates.

import { formatRate, signedRate } from "../numbers.js";
import { changedTriggers } from "../state.js";

export class ChangesView {
  first = false;
  #app;
  #triggers;
  #header;

  constructor(app, triggers, header) {
    this.#app = app;
    this.#triggers = triggers;
    this.#header = header;
  }

  key(page) {
    return [page.slots.A, page.slots.B, page.shown, page.two];
  }

  paint(page) {
    const { slot, data } = this.#app;
    const isWritten = !changedTriggers(data, slot).length;
    const { differences } = this.#app.fromWritten;
    this.#header.paintChange(differences[0], isWritten);
    if (page.two) {
      this.#header.paintDifference(this.#app.betweenSlots.differences[0]);
      this.#paintOther(page);
    } else this.#paintChanges(isWritten ? null : differences);
  }

  #paintChanges(differences) {
    const label = "change of total";
    const totals = new Map(
      differences
        ?.filter(({ quantity }) => quantity === "total")
        .map(({ what, hz, error }) => [what, signedRate(hz, error)]),
    );
    this.#triggers.nameLast(label);
    for (const [name, row] of this.#triggers.rows) row.paintLast(totals.get(name) ?? "", label);
  }

  #paintOther(page) {
    const other = this.#app.otherPlace;
    const label = `${other}: total, unique`;
    const rates = this.#app.engines[other].rates(page.slots[other]).triggers;
    const byName = new Map(rates.map((row) => [row.name, row]));
    this.#triggers.nameLast(label);
    for (const [name, row] of this.#triggers.rows) {
      const found = byName.get(name);
      row.paintLast(found ? `${formatRate(found.total)}, ${formatRate(found.unique)}` : "off", label);
    }
  }
}

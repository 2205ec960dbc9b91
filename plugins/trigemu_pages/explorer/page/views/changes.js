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
    const { slot, calculator, written } = this.#app;
    const isWritten = !changedTriggers(slot, written[slot.menu]).length;
    const { differences } = calculator.fromWritten(page.shown, slot);
    this.#header.paintChange(differences[0], isWritten);
    if (page.two) {
      this.#header.paintDifference(calculator.between(page.slots.B, page.slots.A).differences[0]);
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
    const other = page.shown === "A" ? "B" : "A";
    const label = `${other}: total, unique`;
    const rates = this.#app.calculator.rates(other, page.slots[other]).triggers;
    const byName = new Map(rates.map((row) => [row.name, row]));
    this.#triggers.nameLast(label);
    for (const [name, row] of this.#triggers.rows) {
      const found = byName.get(name);
      row.paintLast(found ? `${formatRate(found.total)}, ${formatRate(found.unique)}` : "off", label);
    }
  }
}

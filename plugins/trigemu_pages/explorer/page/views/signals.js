// Efficiencies of the signals: of the menu and of its triggers, and their gains over the menu as written, or over
// the other of two states.

import { el, makeRow, makeTable, partsOf, setText } from "../dom.js";
import { percent, withError } from "../numbers.js";

const COLUMNS = ["", "efficiency", "interval at 68 %", "gain"].map((label, i) => ({
  label,
  align: i ? "r" : "l",
}));

export class SignalsView {
  first = false;
  #app;
  #tables;
  #over;

  constructor(app) {
    this.#app = app;
    const { root, parts } = partsOf(".signals");
    this.root = root;
    this.root.hidden = !app.data.signals.length;
    this.#over = parts.over;
    this.#tables = app.data.signals.map(({ name, condition, table: { events } }) => {
      const table = makeTable(COLUMNS, `efficiencies for ${name}`);
      root.append(
        el("h3", { text: `${name}${condition ? `: ${condition}` : ""}, ${events} events` }),
        table.root,
      );
      return table;
    });
  }

  key(page) {
    return [page.slots.A, page.two ? page.slots.B : null, page.shown];
  }

  paint(page) {
    const { engine, otherPlace, slot } = this.#app;
    const other = page.two ? page.slots[otherPlace] : this.#app.menuOf(slot).written;
    setText(
      this.#over,
      `Gains are over ${page.two ? `state ${otherPlace}` : "the menu as written"}, on the same events.`,
    );
    this.#tables.forEach((table, s) => {
      const { menu, triggers } = engine.efficiency(s, slot, other);
      const rows = [["menu", menu], ...Object.entries(triggers)];
      table.body.replaceChildren(...rows.map(([name, of]) => makeRow(COLUMNS, [name, ...texts(of)])));
    });
  }
}

function texts({ value, low, high, gain }) {
  const changed = gain.value || gain.error;
  const sign = gain.value > 0 ? "+" : "";
  const change = changed ? `${sign}${withError(100 * gain.value, 100 * gain.error)} %` : "0";
  return [`${percent(value)} %`, `${percent(low)} to ${percent(high)}`, change];
}

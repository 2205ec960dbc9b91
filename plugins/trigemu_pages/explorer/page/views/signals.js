// Efficiencies of the signals: of the menu and of its triggers, and their gains over the menu as written, or over
// the other of two states.

import { el, makeRow, makeTable, setText } from "../dom.js";
import { percent, withError } from "../numbers.js";

const COLUMNS = ["", "efficiency", "interval at 68 %", "gain"].map((label, i) => ({
  label,
  align: i ? "r" : "l",
}));

export class SignalsView {
  first = false;
  #app;
  #tables;
  #over = el("p", { class: "soft" });

  constructor(app) {
    this.#app = app;
    this.#tables = app.data.signals.map(({ title }) => makeTable(COLUMNS, `efficiencies for ${title}`));
    const parts = this.#tables.flatMap(({ root }, s) => {
      const { title, condition, table } = app.data.signals[s];
      return [
        el("h3", { text: `${title}${condition ? `: ${condition}` : ""}, ${table.events} events` }),
        root,
      ];
    });
    const heading = el("h2", { text: "Efficiencies" });
    this.root = el("section", { class: "signals", "aria-label": "signals" }, heading, this.#over, ...parts);
    this.root.hidden = !app.data.signals.length;
  }

  key(page) {
    return [page.slots.A, page.two ? page.slots.B : null, page.shown];
  }

  paint(page) {
    const { calculator, slot, written } = this.#app;
    const place = page.shown === "A" ? "B" : "A";
    const other = page.two ? page.slots[place] : written[slot.menu];
    setText(
      this.#over,
      `Gains are over ${page.two ? `state ${place}` : "the menu as written"}, on the same events.`,
    );
    this.#tables.forEach((table, s) => {
      const { menu, triggers } = calculator.efficiency(page.shown, s, slot, other);
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

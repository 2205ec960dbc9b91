// Efficiencies of the signals: of the menu and of its triggers, beside those of the menu as written.

import { el, makeRow, makeTable } from "../dom.js";
import { percent } from "../numbers.js";

export class SignalsView {
  first = false;
  #app;
  #tables;

  constructor(app) {
    this.#app = app;
    this.#tables = app.data.signals.map((signal) => {
      const columns = ["", "efficiency", "interval at 68 %", "as written", "difference"].map((label, i) => ({ label, align: i ? "r" : "l" }));
      return { columns, table: makeTable(columns, `efficiencies for ${signal.title}`) };
    });
    this.root = el("section", { class: "signals", "aria-label": "signals" }, el("h2", { text: "Efficiencies" }),
      ...this.#tables.flatMap(({ table }, s) => {
        const { title, condition, table: events } = app.data.signals[s];
        return [el("h3", { text: `${title}${condition ? `: ${condition}` : ""}, ${events.events} events` }), table.root];
      }));
    this.root.hidden = !app.data.signals.length;
  }

  key(page) {
    return [page.slots[page.shown], page.shown];
  }

  paint(page) {
    const { calculator, slot } = this.#app;
    this.#tables.forEach(({ columns, table }, s) => {
      const now = calculator.efficiency(page.shown, s, slot);
      const written = calculator.writtenEfficiency(page.shown, s, slot.menu);
      const rows = [["menu", now.menu, written.menu], ...Object.entries(now.triggers).map(([name, of]) => [name, of, written.triggers[name]])];
      table.body.replaceChildren(...rows.map(([name, of, before]) => makeRow(columns, [
        name, `${percent(of.value)} %`, `${percent(of.low)} to ${percent(of.high)}`,
        before ? `${percent(before.value)} %` : "off", before ? signed(of.value - before.value) : "",
      ])));
    });
  }
}

function signed(difference) {
  const text = percent(difference);
  return Number(text) > 0 ? `+${text}` : text;
}

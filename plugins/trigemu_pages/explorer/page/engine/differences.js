// The differences of two menus on the same events, as `trigemu compare` gives them.

import { Entries, Rows, TOTAL, UNIQUE } from "./columns.js";

/** The compared rates of a menu: {what, quantity, column, on}; on: false of a trigger that is off. */
function compared(menu, layout) {
  const levels = menu.hasLevels ? menu.levels : [];
  return [
    { what: "menu", quantity: "rate", column: layout.menu, on: true },
    ...levels.map((name, l) => ({
      what: `level ${name}`,
      quantity: "rate",
      column: layout.level(l),
      on: true,
    })),
    ...menu.all.flatMap(({ name, place, on }) => [
      { what: name, quantity: "total", column: layout.trigger(place, TOTAL), on },
      { what: name, quantity: "unique", column: layout.trigger(place, UNIQUE), on },
    ]),
  ];
}

/** Rows of the differences a − b of two menus in some states; the last two columns are the gains. */
export class DifferenceRows {
  #sides;
  #labels = new Map(); // the first is that of the menu

  constructor([a, b]) {
    this.scale = Math.max(a.scale, b.scale);
    this.#sides = [a, b].map((menu, side) => {
      const rows = new Rows(menu);
      const to = [];
      for (const { what, quantity, column, on } of compared(menu, rows.layout)) {
        const key = `${what} ${quantity}`;
        if (!this.#labels.has(key))
          this.#labels.set(key, { what, quantity, at: this.#labels.size, on: false });
        const label = this.#labels.get(key);
        label.on ||= on;
        to[column] = label.at;
      }
      return { rows, to, sign: (side ? -1 : 1) * (menu.scale / this.scale) };
    });
    this.gained = this.#labels.size; // b over a; the next is a over b
    this.length = this.gained + 2;
  }

  /** Return the entries of a pattern; fires: of each menu, what `Rows.row` takes. */
  row(fires) {
    const found = new Float64Array(this.length);
    this.#sides.forEach(({ rows, to, sign }, side) => {
      const { columns, values } = rows.row(fires[side]);
      columns.forEach((column, k) => {
        if (to[column] !== undefined) found[to[column]] += sign * values[k];
      });
    });
    found[this.gained] = Math.max(-found[0], 0);
    found[this.gained + 1] = Math.max(found[0], 0);
    const entries = new Entries();
    found.forEach((value, column) => entries.add(column, value));
    return entries;
  }

  /** Return the differences from sums by column. */
  result({ hz, variance }) {
    const of = (column) => ({
      hz: hz[column] * this.scale,
      error: Math.sqrt(Math.max(variance[column], 0)) * this.scale,
    });
    const labels = [...this.#labels.values()].filter(({ on }) => on);
    return {
      differences: labels.map(({ what, quantity, at }) => ({ what, quantity, ...of(at) })),
      gained: [of(this.gained), of(this.gained + 1)],
    };
  }
}

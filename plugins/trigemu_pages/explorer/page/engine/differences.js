// The differences of two menus on the same events, as `trigemu compare` gives them.

import { Rows, TOTAL, UNIQUE } from "./columns.js";

const QUANTITIES = [
  ["total", TOTAL],
  ["unique", UNIQUE],
];

/**
 * The compared rates of a menu: {what, quantity, column, place}; place: of a trigger, also one that is off.
 */
function compared(menu, layout) {
  const levels = menu.hasLevels ? menu.levels : [];
  return [
    { what: "menu", quantity: "rate", column: layout.menu },
    ...levels.map((name, l) => ({ what: `level ${name}`, quantity: "rate", column: layout.level(l) })),
    ...menu.all.flatMap(({ name, place }) =>
      QUANTITIES.map(([quantity, q]) => ({ what: name, quantity, column: layout.trigger(place, q), place })),
    ),
  ];
}

/** Rows of the differences a − b of two menus in some states; the last two columns are the gains. */
export class DifferenceRows {
  #sides;
  #labels = new Map();

  constructor(a, b) {
    this.scale = Math.max(a.scale, b.scale);
    this.#sides = [a, b].map((menu, side) => {
      const rows = new Rows(menu);
      const to = [];
      for (const { what, quantity, column, place } of compared(menu, rows.layout)) {
        const key = `${what} ${quantity}`;
        if (!this.#labels.has(key))
          this.#labels.set(key, { what, quantity, at: this.#labels.size, on: false });
        const label = this.#labels.get(key);
        label.on ||= place === undefined || menu.all[place].on;
        to[column] = label.at;
      }
      return { rows, to, sign: (side ? -1 : 1) * (menu.scale / this.scale) };
    });
    this.gained = this.#labels.size; // b over a; the next is a over b
    this.length = this.gained + 2;
  }

  /** Return the entries of a pattern, {columns, values}; fires: of each menu, what `Rows.row` takes. */
  row(fires) {
    const found = [];
    this.#sides.forEach(({ rows, to, sign }, side) => {
      const { columns, values } = rows.row(fires[side]);
      columns.forEach((column, k) => {
        const at = to[column];
        if (at !== undefined) found[at] = (found[at] ?? 0) + sign * values[k];
      });
    });
    const menu = found[0] ?? 0; // the first label is the menu
    if (menu < 0) found[this.gained] = -menu;
    if (menu > 0) found[this.gained + 1] = menu;
    const columns = Object.keys(found)
      .map(Number)
      .filter((column) => found[column] !== 0);
    return { columns, values: columns.map((column) => found[column]) };
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

// The rates of the triggers as a plot, where the page has no turn-ons of signals.
/* global Plot */

import { Figure, LINES, rateAxis } from "../figure.js";

/** Only so many triggers are drawn, those with the largest rates. */
const MOST = 12;
/** Rates below this part of the largest one are not drawn. */
const LOWEST = 1e-4;
const QUANTITIES = ["total", "unique"];
/** Pixels by which the points of a trigger are apart. */
const APART = 4;

export class RatesView {
  first = false;
  #app;
  #figure = new Figure("rates of the triggers");

  constructor(app) {
    this.#app = app;
    this.root = document.querySelector(".bars");
    this.root.append(this.#figure.root);
  }

  key(page) {
    return [page.slots[page.shown], page.shown, this.#figure.width];
  }

  paint() {
    const rates = this.#app.engine.rates(this.#app.slot).triggers;
    const rows = [...rates].sort((a, b) => b.total.hz - a.total.hz).slice(0, MOST);
    const largest = Math.max(0, ...rows.map(({ total }) => total.hz));
    if (!largest) return this.#figure.say("No trigger accepts an event.");
    const drawn = rows.flatMap((row) =>
      QUANTITIES.map((quantity) => ({ name: row.name, quantity, ...row[quantity] })),
    );
    const all = drawn.map(({ hz }) => hz).filter((hz) => hz > LOWEST * largest);
    const [low, high] = [Math.min(...all) / 1.6, 1.6 * largest];
    const entries = QUANTITIES.map((label, k) => ({ label, colour: LINES[k], isPoint: true }));
    const clip = (hz) => Math.min(Math.max(hz, low), high);
    const of = rates.length > MOST ? `the ${MOST} triggers with the largest rates` : "the triggers";
    return this.#figure.draw(
      entries,
      {
        marginLeft: 12 + 7 * Math.min(16, Math.max(...rows.map(({ name }) => name.length))),
        x: rateAxis(low, high),
        y: { label: null, domain: rows.map(({ name }) => name), tickFormat: shortened },
        marks: [
          Plot.gridX({ strokeOpacity: 0.12 }),
          ...QUANTITIES.flatMap((quantity, k) => {
            const points = drawn.filter((of) => of.quantity === quantity && of.hz >= low);
            const shared = { y: "name", dy: APART * (2 * k - 1) };
            return [
              Plot.ruleY(points, {
                ...shared,
                x1: ({ hz, error }) => clip(hz - error),
                x2: ({ hz, error }) => clip(hz + error),
                stroke: LINES[k],
                strokeWidth: 1.5,
              }),
              Plot.dot(points, { ...shared, x: "hz", r: 4, fill: LINES[k] }),
            ];
          }),
        ],
      },
      `Total and unique rates of ${of}, with their errors`,
      "rates",
    );
  }
}

function shortened(name) {
  return name.length > 16 ? `${name.slice(0, 15)}…` : name;
}

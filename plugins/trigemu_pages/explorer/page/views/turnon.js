// The turn-on of the menu beside that of the menu as written, or of the other of two states, and of the
// trigger at hand, on a signal.
/* global Plot */

import { partsOf } from "../dom.js";
import { Figure, LINES } from "../figure.js";

export class TurnonView {
  first = false;
  #app;
  #figure = new Figure("efficiency");
  #signal;
  #observable;
  #pick = null;

  constructor(app) {
    this.#app = app;
    const { root, parts } = partsOf(".turnon");
    this.root = root;
    this.#signal = parts.signal;
    this.#observable = parts.observable;
    root.append(this.#figure.root);
    this.#signal.append(...app.data.signals.map(({ name }, s) => new Option(name, s)));
    this.#signal.onchange = () => {
      this.#offer();
      app.repaint();
    };
    this.#observable.onchange = () => app.repaint();
    this.#offer();
  }

  /** Offer the observables of a signal. */
  #offer() {
    const { turnons = [] } = this.#app.data.signals[Number(this.#signal.value)] ?? {};
    this.#observable.replaceChildren(...turnons.map(({ observable }, t) => new Option(observable, t)));
    this.root.hidden = !turnons.length;
  }

  /** Show the observable that a trigger cuts on, once it is chosen. */
  #follow(pick) {
    if (this.#pick === pick) return;
    this.#pick = pick;
    const { data, slot } = this.#app;
    const trigger = this.#app.menuOf(slot).triggers.find(({ name }) => name === pick);
    const score = data.scores[trigger?.decision.score]?.name;
    const at = data.signals[Number(this.#signal.value)].turnons.findIndex(
      ({ observable }) => observable === score,
    );
    if (at >= 0) this.#observable.value = String(at);
  }

  key(page) {
    return [
      page.slots.A,
      page.slots.B,
      page.two,
      page.pick,
      page.shown,
      this.#signal.value,
      this.#observable.value,
      this.#figure.width,
    ];
  }

  paint(page) {
    if (this.root.hidden) return;
    const { engine, engines, data, slot } = this.#app;
    this.#follow(page.pick);
    const [s, t] = [Number(this.#signal.value), Number(this.#observable.value)];
    const signal = data.signals[s];
    const { observable, unit, edges } = signal.turnons[t];
    const other = this.#app.otherPlace;
    const isOn = slot.triggers.get(page.pick)?.on;
    const curves = [
      { label: page.two ? page.shown : "menu", bins: engine.turnon(s, t, slot, null) },
      page.two
        ? { label: other, bins: engines[other].turnon(s, t, page.slots[other], null) }
        : {
            label: "menu as written",
            bins: engines.written.turnon(s, t, this.#app.menuOf(slot).written, null),
          },
      ...(isOn ? [{ label: page.pick, bins: engine.turnon(s, t, slot, page.pick) }] : []),
    ].map((curve, k) => ({ ...curve, colour: LINES[k] }));
    const title = `${signal.name}${signal.condition ? `, ${signal.condition}` : ""}`;
    this.#figure.draw(
      curves,
      {
        marginLeft: 50,
        x: { label: `${observable}${unit && ` [${unit}]`}`, domain: [edges[0], edges.at(-1)] },
        y: { label: "efficiency", domain: [0, 1.03], ticks: 6 },
        marks: [
          Plot.gridY({ strokeOpacity: 0.12 }),
          ...curves.flatMap(({ bins, colour }, k) => this.#marks(bins, edges, colour, 3 * (k - 1))),
        ],
      },
      `Efficiency for ${title} against ${observable}, with intervals at 68 %`,
      `turnon_${signal.name}_${observable}`,
    );
  }

  /**
   * An efficiency and its interval in each bin. dx: by how many pixels they are moved, so that none hides
   * another.
   */
  #marks(bins, edges, stroke, dx) {
    const points = bins
      .map(({ value, low, high }, i) => ({
        x: (edges[i] + edges[i + 1]) / 2,
        x1: edges[i],
        x2: edges[i + 1],
        value,
        low,
        high,
      }))
      .filter(({ value }) => Number.isFinite(value));
    return [
      Plot.ruleX(points, { x: "x", y1: "low", y2: "high", stroke, strokeWidth: 1.5, dx }),
      Plot.ruleY(points, { x1: "x1", x2: "x2", y: "value", stroke, strokeWidth: 2 }),
    ];
  }
}

// The trigger at hand: its rate against its threshold, the threshold for a rate, and a rate that is kept.
/* global Plot */

import { partsOf, setText } from "../dom.js";
import { DASHES, Figure, LINES, rateAxis } from "../figure.js";
import { inUnit, thresholdText } from "../numbers.js";
import { isMovable, thresholdAt } from "../state.js";

const QUANTITIES = [
  ["total", "total"],
  ["unique", "unique"],
  ["rate", "menu"],
];
/** Rates below this part of the largest one are not drawn. */
const LOWEST = 1e-4;

export class ScanView {
  first = false;
  #app;
  #title;
  #figure = new Figure("rate against threshold");
  #parts;
  #filled = "";

  constructor(app) {
    this.#app = app;
    const { root, parts } = partsOf(".scan");
    this.root = root;
    this.#parts = parts;
    this.#title = root.querySelector("h2");
    root.append(this.#figure.root);
    parts.quantity.onchange = () => this.#fill();
    parts.find.onclick = () => this.#solve();
    parts.keep.onclick = () => this.#hold();
  }

  key(page) {
    return [page.slots[page.shown], page.pick, page.shown, this.#figure.width];
  }

  get #trigger() {
    const { slot, page } = this.#app;
    return this.#app.menuOf(slot).triggers.find(({ name }) => name === page.pick);
  }

  get #wanted() {
    const hz = Number(this.#parts.rate.value);
    return hz > 0 && Number.isFinite(hz) ? { quantity: this.#parts.quantity.value, hz } : null;
  }

  #solve() {
    const { engine, slot } = this.#app;
    const wanted = this.#wanted;
    if (!wanted) return setText(this.#parts.said, "Give a rate above 0 Hz.");
    const { name } = this.#trigger;
    const { step, hz } = engine.solve(slot, name, wanted);
    if (step === null)
      return setText(
        this.#parts.said,
        `The ${wanted.quantity} rate is at most ${inUnit(hz, 0)} at the available thresholds.`,
      );
    setText(this.#parts.said, `Nearest: ${inUnit(hz, 0)}.`);
    return this.#app.changeTrigger(name, { step });
  }

  #hold() {
    const { name } = this.#trigger;
    if (this.#app.slot.holds.has(name)) return this.#app.hold(name, null);
    const wanted = this.#wanted;
    if (!wanted) return setText(this.#parts.said, "Give a rate above 0 Hz.");
    return this.#app.hold(name, wanted);
  }

  paint(page) {
    const app = this.#app;
    const { slot } = app;
    const trigger = this.#trigger;
    this.root.hidden = !trigger;
    if (!trigger) return;
    setText(this.#title, trigger.name);
    const movable = isMovable(trigger);
    this.#parts.controls.hidden = !movable;
    if (!movable) {
      this.#figure.say(`Fixed. ${trigger.fixed ?? "The page has no other threshold for it."}`);
      return;
    }
    const hold = slot.holds.get(trigger.name);
    setText(this.#parts.keep, hold ? "Release" : "Keep");
    if (hold) setText(this.#parts.said, `Its ${hold.quantity} rate is kept at ${inUnit(hold.hz, 0)}.`);
    else if (this.#parts.said.textContent.startsWith("Its")) setText(this.#parts.said, "");
    this.#fill(hold);
    this.#draw(trigger, app.engine.scan(slot, trigger.name), slot);
  }

  /** Offer the present rate of a trigger that was chosen; what a user typed stays. */
  #fill(hold) {
    const { engine, page, slot } = this.#app;
    const of = `${slot.menu} ${page.pick} ${this.#parts.quantity.value}`;
    if (this.#filled === of) return;
    const wanted = hold ?? this.#trigger.budget;
    if (wanted && !this.#filled.startsWith(`${slot.menu} ${page.pick} `))
      this.#parts.quantity.value = wanted.quantity;
    this.#filled = `${slot.menu} ${page.pick} ${this.#parts.quantity.value}`;
    const rates = engine.rates(slot).triggers.find(({ name }) => name === page.pick);
    const hz =
      wanted?.quantity === this.#parts.quantity.value ? wanted.hz : rates?.[this.#parts.quantity.value].hz;
    this.#parts.rate.value = hz ? String(Number(hz.toPrecision(4))) : "";
  }

  #draw(trigger, scan, slot) {
    const { data } = this.#app;
    const lines = QUANTITIES.map(([key, label], k) => ({
      label,
      colour: LINES[k],
      dash: DASHES[k],
      points: scan.thresholds.map((x, i) => ({ x, y: scan[key].hz[i], error: scan[key].error[i] })),
    }));
    const all = lines.flatMap(({ points }) => points.map(({ y }) => y)).filter((y) => y > 0);
    if (!all.length) return this.#figure.say("No event passes at these thresholds.");
    const high = 1.6 * Math.max(...all);
    const low = Math.max(Math.min(...all) / 1.6, LOWEST * high);
    const now = thresholdAt(data, trigger, slot.triggers.get(trigger.name).step);
    const written = thresholdAt(data, trigger, trigger.decision.at);
    const clip = (y) => Math.min(Math.max(y, low), high);
    const caption = `${trigger.name}: rates against its threshold; now ${thresholdText(now)}, as written ${thresholdText(written)} ${trigger.unit}`;
    return this.#figure.draw(
      lines,
      {
        marginLeft: 56,
        x: {
          label: `threshold${trigger.unit && ` [${trigger.unit}]`}`,
          domain: [scan.thresholds[0], scan.thresholds.at(-1)],
        },
        y: rateAxis(low, high),
        marks: [
          Plot.gridY({ strokeOpacity: 0.12 }),
          ...lines.flatMap(({ points, colour, dash }) => {
            const drawn = points.filter(({ y }) => y >= low);
            return [
              Plot.areaY(drawn, {
                x: "x",
                y1: (p) => clip(p.y - p.error),
                y2: (p) => clip(p.y + p.error),
                fill: colour,
                fillOpacity: 0.25,
              }),
              Plot.lineY(drawn, {
                x: "x",
                y: (p) => clip(p.y),
                stroke: colour,
                strokeWidth: 2,
                strokeDasharray: dash === "none" ? null : dash,
              }),
            ];
          }),
          Plot.ruleX([written], { strokeOpacity: 0.4, strokeDasharray: "3 3" }),
          Plot.ruleX([now], { strokeWidth: 1.5 }),
        ],
      },
      caption,
      `scan_${trigger.name}`,
    );
  }
}

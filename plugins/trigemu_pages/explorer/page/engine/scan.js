// Rates against the threshold of one trigger, all of its steps in one pass.
//
// An event has the trigger's bit at the first `reach` of the steps. Its fraction of a rate is one number there
// and another at the others, so that the sum of a parent changes only at the reach of its events.

import { TOTAL, UNIQUE } from "./columns.js";

/** A rate at each step: sums of what is added from one step to another. */
class Steps {
  constructor(n) {
    this.hz = new Float64Array(n + 1);
    this.variance = new Float64Array(n + 1);
    this.accepted = new Int32Array(n + 1);
  }

  /**
   * Add Σ w f of events, their varying part, and how many enter but for what fitted triggers take from a rate,
   * at the steps from `from` to before `to`.
   */
  add(from, to, sum, varying, accepted) {
    this.hz[from] += sum;
    this.hz[to] -= sum;
    this.variance[from] += varying * varying;
    this.variance[to] -= varying * varying;
    this.accepted[from] += accepted;
    this.accepted[to] -= accepted;
  }

  result(scale) {
    let [hz, variance, accepted] = [0, 0, 0];
    const n = this.hz.length - 1;
    const found = { hz: new Float64Array(n), error: new Float64Array(n) };
    for (let i = 0; i < n; i++) {
      hz += this.hz[i];
      variance += this.variance[i];
      accepted += this.accepted[i];
      if (!accepted) continue; // a rate without events is 0
      found.hz[i] = hz * scale;
      found.error[i] = Math.sqrt(Math.max(variance, 0)) * scale;
    }
    return found;
  }
}

/**
 * @param {object} table
 * @param {Patterns} patterns
 * @param {PatternRows} rows
 * @param {Layout} layout
 * @param {Menu} menu in which the trigger is on
 * @param {string} name the trigger
 * @returns {{total, unique, rate}} {hz, error} by step
 */
export function scanOf(table, patterns, rows, layout, menu, name) {
  const { place, decision } = menu.triggers.get(name);
  const n = decision.last - decision.first + 1;
  const columns = [layout.trigger(place, TOTAL), layout.trigger(place, UNIQUE), layout.menu];
  const found = columns.map(() => new Steps(n));
  const values = table.scores[decision.score];
  const fractions = fractionsOf(patterns, rows, patterns.bit(name), columns);
  /** Add an event to those of its parent, if it enters a rate. */
  function push(events, row, w, varying) {
    const f = fractions(row);
    if (f) events.push({ w, varying, reach: Math.min(Math.max(values[row] - decision.first, 0), n), f });
  }
  const add = (events) => {
    if (events.length > 1) events.sort((a, b) => b.reach - a.reach);
    if (events.length) found.forEach((steps, k) => addParent(steps, events, 6 * k, n));
  };
  const { cells, starts, weight } = table;
  for (let i = 0; i < cells; i++) {
    const events = [];
    push(events, i, table.cell_weight[i], Math.sqrt(table.cell_square[i]));
    add(events);
  }
  const { idle } = rows;
  for (let parent = 0; parent + 1 < starts.length; parent++) {
    const events = [];
    for (let i = starts[parent]; i < starts[parent + 1]; i++) {
      const row = cells + i;
      const isOut = idle && patterns.number[row] === 0 && values[row] <= decision.first;
      if (!isOut) push(events, row, weight[i], weight[i]);
    }
    add(events);
  }
  const [total, unique, rate] = found.map((steps) => steps.result(menu.scale));
  return { total, unique, rate };
}

/**
 * Return a function of a row that gives, for each column, its fraction, its varying part and whether it enters,
 * without a bit and with it, one after the other; null if all are 0.
 */
function fractionsOf(patterns, rows, bit, columns) {
  const known = new Map();
  return (row) => {
    const number = patterns.number[row];
    const factor = patterns.factor(row);
    const key = 256 * number + factor;
    let found = known.get(key);
    if (found === undefined) {
      const sides = [false, true].map((on) => rows.of(patterns.withBit(number, bit, on, factor)));
      found = columns.flatMap((column) =>
        sides.flatMap((entries) => {
          const k = entries.columns.indexOf(column);
          return k < 0 ? [0, 0, 0] : [entries.values[k], entries.varying[k], entries.accepted?.[k] ?? 1];
        }),
      );
      if (found.every((value) => value === 0)) found = null;
      known.set(key, found);
    }
    return found;
  };
}

/**
 * Add the events of one parent, in falling order of their reach: their sum is constant between the steps at
 * which one of them ceases to fire. k: where the fractions of the rate begin.
 */
function addParent(steps, events, k, n) {
  let [sum, varying, accepted] = [0, 0, 0];
  for (const event of events) {
    sum += event.w * event.f[k];
    varying += event.varying * event.f[k + 1];
    accepted += event.f[k + 2];
  }
  let to = n; // at these last steps, none fires
  for (const { w, varying: v, reach, f } of events) {
    if (reach < to) steps.add(reach, to, sum, varying, accepted);
    to = Math.min(to, reach);
    sum += w * (f[k + 3] - f[k]);
    varying += v * (f[k + 4] - f[k + 1]);
    accepted += f[k + 5] - f[k + 2];
  }
  if (to > 0) steps.add(0, to, sum, varying, accepted);
}

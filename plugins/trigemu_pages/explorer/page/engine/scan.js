// Rates against the threshold of one trigger, all of its steps in one pass.
//
// An event has the trigger's bit at the first `c` of the steps. Its fraction of a rate is one number there
// and another at the others, so that the sum of a parent changes only at the c of its events.

import { TOTAL, UNIQUE } from "./columns.js";
import { less } from "./sums.js";

/** A rate at each step: sums of what is added from one step to another. */
class Steps {
  constructor(n) {
    this.hz = new Float64Array(n + 1);
    this.variance = new Float64Array(n + 1);
  }

  /** Add Σ w f of events, and the square of its varying part, at the steps from `from` to before `to`. */
  add(from, to, sum, square) {
    this.hz[from] += sum;
    this.hz[to] -= sum;
    this.variance[from] += square;
    this.variance[to] -= square;
  }

  result(scale) {
    let hz = 0;
    let variance = 0;
    const n = this.hz.length - 1;
    const found = { hz: new Float64Array(n), error: new Float64Array(n) };
    for (let i = 0; i < n; i++) {
      hz += this.hz[i];
      variance += this.variance[i];
      found.hz[i] = hz * scale;
      found.error[i] = Math.sqrt(Math.max(variance, 0)) * scale;
    }
    return found;
  }
}

/**
 * @param {object} table
 * @param {Uint32Array} parents
 * @param {Patterns} patterns
 * @param {PatternRows} rows
 * @param {Layout} layout
 * @param {Menu} menu in which the trigger is on
 * @param {string} name the trigger
 */
export function scanOf(table, parents, patterns, rows, layout, menu, name) {
  const trigger = menu.triggers.get(name);
  const { place } = trigger;
  const { score, first, last } = trigger.decision;
  const n = last - first + 1;
  const columns = [layout.trigger(place, TOTAL), layout.trigger(place, UNIQUE), layout.menu];
  const constants = columns.map((column) => rows.constant(column));
  const found = columns.map(() => new Steps(n));
  const values = fractionsOf(patterns, rows, patterns.bit(name), columns);
  const reach = (value) => Math.min(Math.max(value - first, 0), n);

  const { number: ofCell, scores: cellScores, factor: cellFactor } = patterns.cells;
  for (let i = 0; i < ofCell.length; i++) {
    const c = reach(cellScores[score][i]);
    const f = values(ofCell[i], cellFactor[i]);
    found.forEach((steps, k) => {
      const [weight, square] = [table.cell_weight[i], table.cell_square[i]];
      const [off, on] = [f[2 * k], f[2 * k + 1]];
      steps.add(0, c, weight * on, square * less(on, constants[k]) ** 2);
      steps.add(c, n, weight * off, square * less(off, constants[k]) ** 2);
    });
  }
  addEvents(found, constants, {
    table,
    parents,
    number: patterns.events.number,
    values: (i) => values(patterns.events.number[i], patterns.events.factor[i]),
    n,
    reach: (i) => reach(patterns.events.scores[score][i]),
    idle: rows.isEmpty(0),
  });
  const [total, unique, rate] = found.map((steps) => steps.result(menu.scale));
  return { total, unique, rate };
}

/**
 * A function of a pattern's number and of the number of a row's factor: the fractions of the columns without
 * and with a bit, two for each column.
 */
function fractionsOf(patterns, rows, bit, columns) {
  const known = new Map();
  return (number, factor) => {
    const key = 256 * number + factor;
    if (!known.has(key)) {
      const fractions = columns.flatMap((column) =>
        [false, true].map((on) => {
          const other = patterns.withBit(number, bit, on, factor);
          rows.know(other);
          return rows.fraction(other, column);
        }),
      );
      known.set(key, fractions);
    }
    return known.get(key);
  };
}

/** Add the events of each parent. idle: whether nothing accepts an event in which nothing fires. */
function addEvents(found, constants, { table, parents, number, values, n, reach, idle }) {
  const { weight: index, weights } = table;
  for (let parent = 0; parent + 1 < parents.length; parent++) {
    const events = [];
    for (let i = parents[parent]; i < parents[parent + 1]; i++) {
      const w = weights[index[i]];
      const c = reach(i);
      if (c > 0 || number[i] !== 0 || !idle) events.push({ w, c, f: values(i) });
    }
    if (events.length) found.forEach((steps, k) => addParent(steps, events, 2 * k, constants[k], n));
  }
}

/**
 * Add the events of one parent: their sum is constant between the steps at which one of them ceases to fire.
 */
function addParent(steps, events, k, constant, n) {
  let sum = 0;
  let varying = 0;
  let some = false;
  for (const { w, f } of events) {
    sum += w * f[k];
    varying += w * less(f[k], constant);
    some ||= f[k] !== 0 || f[k + 1] !== 0;
  }
  if (!some) return;
  if (events.length > 1) events.sort((a, b) => b.c - a.c);
  let to = n; // at these last steps, none fires
  for (const { w, c, f } of events) {
    if (c < to) steps.add(c, to, sum, varying ** 2);
    to = Math.min(to, c);
    sum += w * (f[k + 1] - f[k]);
    varying += w * (less(f[k + 1], constant) - less(f[k], constant));
  }
  if (to > 0) steps.add(0, to, sum, varying ** 2);
}

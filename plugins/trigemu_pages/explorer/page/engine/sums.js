// Σ w f and its variance for columns of fractions f. Events that were made from one parent enter the variance
// with the square of their sum. What is the same in all events, as of a random trigger, has no error, because
// the weight of all events is known.

import { Dictionary } from "./dictionary.js";

/** Two fractions that differ by less are equal: products of other factors give the last digits. */
const ROUNDING = 1e-14;

/**
 * The entries of patterns, each found when it is needed: {columns, values, varying, accepted}, the columns in
 * ascending order, the fractions, these without what is the same in all events (the same array if nothing
 * is), and whether an event enters but for what fitted triggers take from a rate (null: it does).
 */
export class PatternRows {
  #make;
  #known = [];

  /** Take a function of a pattern's number that gives its entries, and forget those of some patterns. */
  renew(isStale, make) {
    this.#make = make;
    this.#known = this.#known.map((row, number) => (row && !isStale(number) ? row : undefined));
  }

  of(number) {
    return (this.#known[number] ??= this.#make(number));
  }

  /** Whether events in which nothing fires enter no sum. */
  get idle() {
    return !this.of(0).columns.length;
  }
}

const asMap = ({ columns, values }) => new Map(columns.map((column, k) => [column, values[k]]));

/**
 * Return the entries f₀ + factor · (f − f₀), from those of f and f₀, the same in the menu without its fitted
 * triggers. constant: those that are the same in all events.
 */
export function judged(f, f0, factor, constant) {
  const { columns, values } = f;
  const isSame = !constant.columns.length;
  if (factor === 1 && isSame) return { columns, values, varying: values, accepted: null };
  const [now, without, fixed] = [f, f0, constant].map(asMap);
  const all = [...new Set([...columns, ...f0.columns, ...constant.columns])].sort((a, b) => a - b);
  const found = { columns: [], values: [], varying: [], accepted: [] };
  if (isSame) found.varying = found.values;
  for (const column of all) {
    const before = factor === 1 ? 0 : (without.get(column) ?? 0);
    const value = before + factor * ((now.get(column) ?? 0) - before);
    const varying = value - (fixed.get(column) ?? 0);
    if (value === 0 && varying === 0) continue;
    found.columns.push(column);
    found.values.push(value);
    if (!isSame) found.varying.push(fixed.has(column) && Math.abs(varying) < ROUNDING ? 0 : varying);
    found.accepted.push(now.has(column) ? 1 : 0);
  }
  return found;
}

/**
 * Sum the weights of a table by the pattern of its rows.
 * @param {boolean} idle whether events in which nothing fires are left out, as nothing accepts them
 * @returns {{weight, square, events, largest, pairs, products}} by pattern: Σ w, the sum of (Σ w)² of each parent, the
 * number of events, the largest |w|; pairs, products: of pairs of patterns, the sum of
 * products of their Σ w in one parent
 */
export function sumPatterns(table, { number, dictionary }, idle) {
  const [weight, square, events, largest] = [0, 1, 2, 3].map(() => new Float64Array(dictionary.size));
  for (let i = 0; i < table.cells; i++) {
    const n = number[i];
    weight[n] += table.cell_weight[i];
    square[n] += table.cell_square[i];
    events[n] += table.cell_events[i];
    largest[n] = Math.max(largest[n], table.cell_largest[i]);
  }
  const { cells, starts, weight: weights } = table;
  const own = new Float64Array(dictionary.size); // the weights of one parent, by pattern
  const seen = new Int32Array(dictionary.size); // the patterns of one parent
  const last = new Int32Array(dictionary.size).fill(-1); // the last parent that had a pattern
  const [pairs, products, pair] = [new Dictionary(2), [0], new Uint32Array(2)];
  for (let parent = 0; parent + 1 < starts.length; parent++) {
    let count = 0;
    for (let i = starts[parent]; i < starts[parent + 1]; i++) {
      const n = number[cells + i];
      if (n === 0 && idle) continue;
      const w = weights[i];
      const size = Math.abs(w);
      weight[n] += w;
      events[n]++;
      if (size > largest[n]) largest[n] = size;
      if (last[n] === parent) own[n] += w;
      else {
        last[n] = parent;
        seen[count++] = n;
        own[n] = w;
      }
    }
    for (let k = 0; k < count; k++) {
      const w = own[seen[k]];
      square[seen[k]] += w * w;
      for (let l = 0; l < k; l++) {
        pair[0] = Math.min(seen[k], seen[l]);
        pair[1] = Math.max(seen[k], seen[l]);
        const place = pairs.number(pair);
        products[place] = (products[place] ?? 0) + w * own[seen[l]];
      }
    }
  }
  return { weight, square, events, largest, pairs, products };
}

/**
 * Return Σ w f of columns, its variance, the same with the constant part (squares), the number of events with
 * f ≠ 0, 0 where fitted triggers leave none, and the largest w f, Float64Array(columns) each, from the sums by
 * pattern.
 * @returns {{hz, variance, squares, events, largest}}
 */
export function sumColumns(sums, rows, columns) {
  const made = Array.from({ length: 5 }, () => new Float64Array(columns));
  const [hz, variance, events, largest, whole] = made;
  const isSame = rows.of(0).varying === rows.of(0).values;
  const squares = isSame ? variance : whole;
  const some = new Uint8Array(columns);
  for (let n = 0; n < sums.weight.length; n++) {
    if (!sums.events[n]) continue;
    const { columns: of, values, varying, accepted } = rows.of(n);
    for (let k = 0; k < of.length; k++) {
      const c = of[k];
      const f = values[k];
      hz[c] += sums.weight[n] * f;
      variance[c] += sums.square[n] * varying[k] ** 2;
      if (!isSame) squares[c] += sums.square[n] * f * f;
      if (f !== 0) events[c] += sums.events[n];
      some[c] |= accepted ? accepted[k] : 1;
      const size = sums.largest[n] * Math.abs(f);
      if (size > largest[c]) largest[c] = size;
    }
  }
  const { pairs, products } = sums;
  for (let n = 0; n < products.length; n++) {
    const a = rows.of(pairs.word(n, 0));
    const b = rows.of(pairs.word(n, 1));
    addPair(variance, a.columns, a.varying, b.columns, b.varying, 2 * products[n]);
    if (!isSame) addPair(squares, a.columns, a.values, b.columns, b.values, 2 * products[n]);
  }
  some.forEach((any, c) => {
    if (!any) events[c] = 0;
  });
  return { hz, variance, squares, events, largest };
}

/** Add a product of weights of two patterns to the sums of squares of the columns x and y that both have. */
function addPair(sums, x, ofX, y, ofY, product) {
  for (let i = 0, j = 0; i < x.length && j < y.length;) {
    const difference = x[i] - y[j];
    if (difference === 0) sums[x[i]] += product * ofX[i] * ofY[j];
    if (difference <= 0) i++;
    if (difference >= 0) j++;
  }
}

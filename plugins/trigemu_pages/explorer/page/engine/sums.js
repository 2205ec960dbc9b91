// Σ w f and its variance for columns of fractions f. Events that were made from one parent enter the variance
// with the square of their sum; the weights of those with equal patterns are summed first. What is the same in
// all events, as of a random trigger, has no error, because the weight of all events is known.

import { Dictionary } from "./dictionary.js";

/** Two fractions that differ by less are equal: products of other factors give the last digits. */
const ROUNDING = 1e-14;
/** The most entries that are kept, of old states too. */
const MOST_ENTRIES = 4_000_000;

/**
 * The entries (column, fraction) of patterns, in ascending order of columns, each found when it is needed.
 */
export class PatternRows {
  #make;
  #constantOf;
  #constant = null;
  #start = new Int32Array(1024);
  #end = new Int32Array(1024);
  #column = new Int32Array(8192);
  #value = new Float64Array(8192);
  #varying = new Float64Array(8192);
  #accepted = new Uint8Array(8192);
  #used = 0;

  /**
   * make: a function of a pattern's number that gives {columns, values}. constant: a function that gives
   * those of an event that nothing accepts but what accepts all events alike.
   */
  constructor(make, constant = () => ({ columns: [], values: [] })) {
    this.#make = make;
    this.#constantOf = constant;
    this.#start.fill(-1);
  }

  /**
   * Take other functions, and forget the entries of some patterns, or of all where there are too many old
   * ones.
   */
  renew(isStale, make, constant) {
    this.#make = make;
    this.#constantOf = constant;
    this.#constant = null;
    const full = this.#used > MOST_ENTRIES;
    if (full) this.#used = 0;
    for (let number = 0; number < this.#start.length; number++) {
      if (this.#start[number] >= 0 && (full || isStale(number))) this.#start[number] = -1;
    }
  }

  /** Find the entries of a pattern, if they are not known. */
  know(number) {
    if (number >= this.#start.length) {
      this.#start = grown(this.#start, number, -1);
      this.#end = grown(this.#end, number, 0);
    }
    if (this.#start[number] >= 0) return;
    const constant = this.#known();
    const { columns, values, accepted } = withColumns(this.#make(number), constant);
    const end = this.#used + columns.length;
    this.#column = grown(this.#column, end, 0);
    this.#value = grown(this.#value, end, 0);
    this.#varying = grown(this.#varying, end, 0);
    this.#accepted = grown(this.#accepted, end, 0);
    this.#column.set(columns, this.#used);
    this.#value.set(values, this.#used);
    columns.forEach((column, k) => {
      this.#varying[this.#used + k] = less(values[k], constant.get(column) ?? 0);
    });
    if (accepted) this.#accepted.set(accepted, this.#used);
    else this.#accepted.fill(1, this.#used, end);
    this.#start[number] = this.#used;
    this.#used += columns.length;
    this.#end[number] = this.#used;
  }

  /** The fractions that are the same in all events, by column. */
  #known() {
    if (!this.#constant) {
      const { columns, values } = this.#constantOf();
      this.#constant = new Map(columns.map((column, k) => [column, values[k]]));
    }
    return this.#constant;
  }

  /**
   * The arrays: entries of pattern n are column[k], value[k] for k from start[n] to end[n]; varying[k]: value[k]
   * without what is the same in all events; accepted[k]: 0 where an event enters only as fitted triggers take
   * it from a rate.
   */
  get arrays() {
    return {
      start: this.#start,
      end: this.#end,
      column: this.#column,
      value: this.#value,
      varying: this.#varying,
      accepted: this.#accepted,
    };
  }

  /** Whether a pattern has no entry. */
  isEmpty(number) {
    this.know(number);
    return this.#start[number] === this.#end[number];
  }

  /** The fraction of a column in a pattern that is known. */
  fraction(number, column) {
    for (let k = this.#start[number]; k < this.#end[number]; k++) {
      if (this.#column[k] === column) return this.#value[k];
    }
    return 0;
  }

  /** The fraction of a column that is the same in all events. */
  constant(column) {
    return this.#known().get(column) ?? 0;
  }
}

/** Return entries that have some columns too, with a fraction of 0 if they lack them. */
function withColumns(entries, constant) {
  const missing = [...constant.keys()].filter((column) => !entries.columns.includes(column));
  if (!missing.length) return entries;
  const all = entries.columns.map((column, k) => [column, entries.values[k], entries.accepted?.[k] ?? 1]);
  all.push(...missing.map((column) => [column, 0, 0]));
  all.sort((a, b) => a[0] - b[0]);
  const [columns, values, accepted] = [0, 1, 2].map((i) => all.map((entry) => entry[i]));
  return { columns, values, accepted };
}

/** Return a fraction without its constant part. */
export function less(value, constant) {
  const rest = value - constant;
  return constant && Math.abs(rest) < ROUNDING ? 0 : rest;
}

/** Return an array that has room for an index. */
function grown(array, index, fill) {
  if (index < array.length) return array;
  const more = new array.constructor(Math.max(2 * array.length, index + 1)).fill(fill);
  more.set(array);
  return more;
}

/** Return where the rows of each parent begin, and their number at the end: Uint32Array. */
export function parentsOf(table) {
  const starts = new Uint32Array(table.events + 1);
  let n = 0;
  for (let i = 0; i < table.events; i++) if ((table.first[i >> 3] >> (i & 7)) & 1) starts[n++] = i;
  starts[n++] = table.events;
  return starts.slice(0, n);
}

/**
 * Sum the weights of a table by the pattern of its rows.
 * @param {boolean} idle whether events in which nothing fires are left out, as nothing accepts them
 * @returns {{weight, square, events, largest, pairs}} by pattern: Σ w, the sum of (Σ w)² of each parent, the
 * number of
 *   events, the largest |w|; pairs: the sums of products of the Σ w of two patterns of one parent
 */
export function sumPatterns(table, parents, patterns, idle) {
  const { size } = patterns.dictionary;
  const sums = { pairs: new Pairs() };
  for (const name of ["weight", "square", "events", "largest"]) sums[name] = new Float64Array(size);
  addCells(sums, table, patterns.cells.number);
  addEvents(sums, table, parents, patterns.events.number, idle);
  return sums;
}

function addCells({ weight, square, events, largest }, table, number) {
  for (let i = 0; i < number.length; i++) {
    const n = number[i];
    weight[n] += table.cell_weight[i];
    square[n] += table.cell_square[i];
    events[n] += table.cell_events[i];
    largest[n] = Math.max(largest[n], table.cell_largest[i]);
  }
}

function addEvents({ weight, square, events, largest, pairs }, table, parents, number, idle) {
  const { weight: index, weights } = table;
  const own = new Float64Array(weight.length); // the weights of one parent, by pattern
  const seen = new Int32Array(weight.length); // the patterns of one parent
  const last = new Int32Array(weight.length).fill(-1); // the last parent that had a pattern
  for (let parent = 0; parent + 1 < parents.length; parent++) {
    let count = 0;
    for (let i = parents[parent]; i < parents[parent + 1]; i++) {
      const n = number[i];
      if (n === 0 && idle) continue;
      const w = weights[index[i]];
      weight[n] += w;
      events[n]++;
      const size = Math.abs(w);
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
      for (let l = 0; l < k; l++) pairs.add(seen[k], seen[l], w * own[seen[l]]);
    }
  }
}

/**
 * Return Σ w f of columns, its variance, the same with the constant part (squares), the number of events with
 * f ≠ 0, 0 where fitted triggers leave none, and the largest w f, Float64Array(columns) each, from the sums by
 * pattern.
 * @returns {{hz, variance, squares, events, largest}}
 */
export function sumColumns(sums, rows, columns) {
  const [hz, variance, squares, events, largest] = Array.from({ length: 5 }, () => new Float64Array(columns));
  const some = new Uint8Array(columns);
  for (let n = 0; n < sums.weight.length; n++) if (sums.events[n]) rows.know(n);
  const { arrays } = rows;
  const { start, end, column, value, varying, accepted } = arrays;
  for (let n = 0; n < sums.weight.length; n++) {
    if (!sums.events[n]) continue;
    for (let k = start[n]; k < end[n]; k++) {
      const c = column[k];
      const f = value[k];
      hz[c] += sums.weight[n] * f;
      variance[c] += sums.square[n] * varying[k] ** 2;
      squares[c] += sums.square[n] * f * f;
      if (f !== 0) events[c] += sums.events[n];
      some[c] |= accepted[k];
      const size = sums.largest[n] * Math.abs(f);
      if (size > largest[c]) largest[c] = size;
    }
  }
  sums.pairs.forEach((a, b, product) => {
    addPair(variance, arrays, varying, a, b, 2 * product);
    addPair(squares, arrays, value, a, b, 2 * product);
  });
  some.forEach((any, c) => {
    if (!any) events[c] = 0;
  });
  return { hz, variance, squares, events, largest };
}

/** Add a product of weights of two patterns to the sums of squares of the columns that both have. */
function addPair(sums, { start, end, column }, value, a, b, product) {
  let i = start[a];
  let j = start[b];
  while (i < end[a] && j < end[b]) {
    if (column[i] < column[j]) i++;
    else if (column[i] > column[j]) j++;
    else {
      sums[column[i]] += product * value[i] * value[j];
      i++;
      j++;
    }
  }
}

/** Sums by pairs of numbers. */
class Pairs {
  #dictionary = new Dictionary(2);
  #key = new Uint32Array(2);
  #product = new Float64Array(1024);

  /** Add to the sum of a pair, in whichever order. */
  add(a, b, value) {
    this.#key[0] = Math.min(a, b);
    this.#key[1] = Math.max(a, b);
    const number = this.#dictionary.number(this.#key);
    this.#product = grown(this.#product, number, 0);
    this.#product[number] += value;
  }

  /** Call a function of both numbers of each pair and its sum. */
  forEach(use) {
    const { size } = this.#dictionary;
    for (let n = 0; n < size; n++)
      use(this.#dictionary.word(n, 0), this.#dictionary.word(n, 1), this.#product[n]);
  }
}

// The pattern of each row of a table, for menus in some state. If a threshold moves, only its bit is decided
// anew, and only rows in which it changed get another pattern.
//
// Where a trigger fires that was fitted on one half of the sample, the factor on what it changes is part of
// the pattern: in its last word, as the number of the factor plus 1. In all other patterns it changes nothing.

import { Dictionary } from "./dictionary.js";

/** Patterns beyond which all are forgotten that no row has: a long walk through states visits many. */
const MOST = 200_000;

/** The rows of a table: its events, or its cells (prefix "cell_"). */
class RowPatterns {
  constructor(table, prefix, rows, words) {
    this.scores = table[`${prefix}scores`];
    this.bits = table[`${prefix}bits`];
    this.words = new Uint32Array(rows * words);
    this.number = new Int32Array(rows);
    this.factor = table[`${prefix}factor`] ?? new Uint8Array(rows); // a signal has none
  }

  /** Decide one bit of each row; return whether any changed. changed: Uint8Array(rows), 1 where one did. */
  decide(bit, width, decision, changed) {
    const { words } = this;
    const rows = this.number.length;
    const shift = bit & 31;
    const keep = ~(1 << shift);
    const score = "score" in decision ? this.scores[decision.score] : null;
    const fixed = "bit" in decision ? this.bits[decision.bit] : null;
    let any = 0;
    for (let i = 0, at = bit >>> 5; i < rows; i++, at += width) {
      const fires = score ? score[i] > decision.step : fixed ? (fixed[i >> 3] >> (i & 7)) & 1 : 0;
      const before = words[at];
      const now = ((before & keep) | (fires << shift)) >>> 0;
      if (now === before) continue;
      words[at] = now;
      changed[i] = 1;
      any = 1;
    }
    return any === 1;
  }

  /** Find the numbers of the patterns of the rows that changed. */
  renumber(width, dictionary, fitted, changed) {
    const key = new Uint32Array(width);
    for (let i = 0; i < changed.length; i++) {
      if (!changed[i]) continue;
      for (let w = 0; w < width; w++) key[w] = this.words[i * width + w];
      this.number[i] = dictionary.number(fitted.marked(key, this.factor[i]));
      changed[i] = 0;
    }
  }
}

/** Which patterns have the factor of their row: those in which a fitted trigger may fire. */
class Fitted {
  #mask;
  #always;

  /** bits: of fitted triggers. always: whether one may fire in any pattern. */
  constructor(width, bits, always) {
    this.#mask = new Uint32Array(width);
    for (const bit of bits) this.#mask[bit >>> 5] |= 1 << (bit & 31);
    this.#always = always;
  }

  /** Return a pattern with the number of its factor, or without. */
  marked(key, factor) {
    const fires = this.#always || this.#mask.some((mask, w) => (key[w] & mask) !== 0);
    key[key.length - 1] = fires ? factor + 1 : 0;
    return key;
  }
}

export class Patterns {
  #decisions = [];
  #fitted;
  #parts;
  #changed;
  #width;
  #bit = new Map();

  /**
   * @param {object} data
   * @param {object} table
   * @param {number[]} menus the numbers of the menus whose triggers have bits
   */
  constructor(data, table, menus) {
    const fitted = [];
    let always = false; // what reads the decisions of fitted triggers may fire where none of them does
    menus.forEach((m, slot) => {
      for (const trigger of data.menus[m].triggers) {
        const { name, decision } = trigger;
        if ("score" in decision || "bit" in decision) {
          if (trigger.fitted) fitted.push(this.#bit.size);
          this.#bit.set(`${slot} ${name}`, this.#bit.size);
        } else always ||= trigger.fitted;
      }
    });
    this.#width = Math.ceil(this.#bit.size / 32) + 1;
    this.#fitted = new Fitted(this.#width, fitted, always);
    this.#decisions = Array(this.#bit.size).fill("");
    this.events = new RowPatterns(table, "", table.events, this.#width);
    this.cells = new RowPatterns(table, "cell_", table.cells, this.#width);
    this.#parts = [this.events, this.cells];
    this.#changed = this.#parts.map((part) => new Uint8Array(part.number.length));
    this.dictionary = new Dictionary(this.#width);
    if (always) this.#parts.forEach((part, p) => this.#renumber(part, this.#changed[p].fill(1)));
  }

  /** Bring the patterns to the state of menus, which are in the order of the constructor. */
  update(menus) {
    const decisions = Array(this.#decisions.length).fill("");
    menus.forEach((menu, slot) => {
      for (const { name, decision, step } of menu.deciding)
        decisions[this.bit(name, slot)] = { ...decision, step };
    });
    this.#parts.forEach((part, p) => {
      let any = false;
      decisions.forEach((decision, bit) => {
        if (keyOf(decision) === keyOf(this.#decisions[bit])) return;
        any = part.decide(bit, this.#width, decision || {}, this.#changed[p]) || any;
      });
      if (any) this.#renumber(part, this.#changed[p]);
    });
    this.#decisions = decisions;
    return this.dictionary.size > MOST ? this.#forget() : false;
  }

  /** The bit of a trigger of the menu in a slot. */
  bit(name, slot = 0) {
    return this.#bit.get(`${slot} ${name}`);
  }

  /**
   * Return a function of a pattern's number that gives a function: whether a used trigger fires, by order of
   * use.
   */
  decisionsOf(menu, slot = 0) {
    const bits = menu.used.map(({ name }) => this.bit(name, slot));
    return (number) => (u) => this.dictionary.has(number, bits[u]);
  }

  /**
   * Number the patterns of all rows again; return true, as what is known of patterns has to be forgotten
   * too.
   */
  #forget() {
    this.dictionary = new Dictionary(this.#width);
    this.#parts.forEach((part, p) => this.#renumber(part, this.#changed[p].fill(1)));
    return true;
  }

  #renumber(part, changed) {
    part.renumber(this.#width, this.dictionary, this.#fitted, changed);
  }

  /** The number of the factor of a pattern, −1 for none. */
  factorOf(number) {
    return this.dictionary.word(number, this.#width - 1) - 1;
  }

  /** The number of the same pattern with a bit set or not, in a row with a factor. */
  withBit(number, bit, on, factor) {
    return this.dictionary.number(this.#fitted.marked(this.dictionary.with(number, bit, on), factor));
  }
}

function keyOf(decision) {
  if (!decision) return "";
  return "score" in decision ? `score ${decision.score} ${decision.step}` : `bit ${decision.bit}`;
}

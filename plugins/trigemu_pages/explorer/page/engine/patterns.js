// The pattern of each row of a table, for menus in some state. If a threshold moves, only its bit is decided
// anew, and only rows in which it changed get another pattern.
//
// Where a trigger fires that was fitted on one half of the sample, the factor on what it changes is part of
// the pattern: in its last word, as the number of the factor plus 1. In all other patterns it changes nothing.

import { Dictionary } from "./dictionary.js";

/** Patterns beyond which all are forgotten that no row has: a long walk through states visits many. */
const MOST = 200_000;

export class Patterns {
  #table;
  #bit = new Map(); // of each trigger with a score or a bit, by slot and name
  #decisions; // what decides each bit now, as text
  #fitted; // the bits of fitted triggers
  #always; // whether a fitted trigger may fire where none of these does
  #width;
  #words;
  #changed;

  /** menus: the numbers of the menus whose triggers have bits. */
  constructor(data, table, menus) {
    const triggers = menus.flatMap((m, slot) =>
      data.menus[m].triggers.map(({ name, fitted, decision }) => ({
        key: `${slot} ${name}`,
        fitted,
        decision,
      })),
    );
    const decided = triggers.filter(({ decision }) => "score" in decision || "bit" in decision);
    decided.forEach(({ key }, bit) => this.#bit.set(key, bit));
    this.#table = table;
    this.#decisions = decided.map(() => "");
    this.#width = Math.ceil(decided.length / 32) + 1;
    this.#fitted = new Uint32Array(this.#width);
    decided.forEach(({ fitted }, bit) => {
      if (fitted) this.#fitted[bit >>> 5] |= 1 << (bit & 31);
    });
    this.#always = triggers.some((trigger) => trigger.fitted && !decided.includes(trigger));
    const rows = table.cells + table.events;
    this.#words = new Uint32Array(rows * this.#width);
    this.#changed = new Uint8Array(rows).fill(this.#always);
    this.number = new Int32Array(rows);
    this.dictionary = new Dictionary(this.#width);
    this.#renumber();
  }

  /**
   * Bring the patterns to the state of menus, which are in the order of the constructor. Return whether all
   * patterns have other numbers.
   */
  update(menus) {
    const decisions = this.#decisions.map(() => null);
    menus.forEach((menu, slot) => {
      for (const { name, decision, step } of menu.deciding)
        decisions[this.bit(name, slot)] = { ...decision, step };
    });
    let any = false;
    decisions.forEach((decision, bit) => {
      const text = decision ? `${decision.score} ${decision.bit} ${decision.step}` : "";
      if (text !== this.#decisions[bit] && this.#decide(bit, decision ?? {})) any = true;
      this.#decisions[bit] = text;
    });
    if (any) this.#renumber();
    if (this.dictionary.size <= MOST) return false;
    this.dictionary = new Dictionary(this.#width);
    this.#changed.fill(1);
    this.#renumber();
    return true;
  }

  /** Decide one bit of each row; return whether any changed. */
  #decide(bit, { score, bit: fixed, step }) {
    const { scores, bits } = this.#table;
    const steps = scores[score];
    const fires = bits[fixed];
    const shift = bit & 31;
    const keep = ~(1 << shift);
    const words = this.#words;
    const [rows, width] = [this.number.length, this.#width];
    let any = false;
    for (let i = 0, at = bit >>> 5; i < rows; i++, at += width) {
      const on = steps ? steps[i] > step : fires ? (fires[i >> 3] >> (i & 7)) & 1 : 0;
      const now = ((words[at] & keep) | (on << shift)) >>> 0;
      if (now === words[at]) continue;
      words[at] = now;
      this.#changed[i] = 1;
      any = true;
    }
    return any;
  }

  /** Find the numbers of the patterns of the rows that changed. */
  #renumber() {
    const key = new Uint32Array(this.#width);
    const changed = this.#changed;
    for (let i = 0; i < changed.length; i++) {
      if (!changed[i]) continue;
      for (let w = 0; w < this.#width; w++) key[w] = this.#words[i * this.#width + w];
      this.number[i] = this.#numberOf(key, this.factor(i));
      changed[i] = 0;
    }
  }

  /** Return the number of a pattern, with that of its factor if a fitted trigger may fire. */
  #numberOf(key, factor) {
    const fires = this.#always || this.#fitted.some((mask, w) => (key[w] & mask) !== 0);
    key[this.#width - 1] = fires ? factor + 1 : 0;
    return this.dictionary.number(key);
  }

  /** The number of the factor of a row; a signal has one for all. */
  factor(row) {
    return this.#table.factor?.[row] ?? 0;
  }

  /** The bit of a trigger of the menu in a slot. */
  bit(name, slot = 0) {
    return this.#bit.get(`${slot} ${name}`);
  }

  /**
   * Return a function of a pattern's number that gives, for each menu, a function: whether a used trigger
   * fires, by order of use.
   */
  decisionsOf(menus) {
    const bits = menus.map((menu, slot) => menu.used.map(({ name }) => this.bit(name, slot)));
    return (number) => bits.map((of) => (u) => this.dictionary.has(number, of[u]));
  }

  /** The number of the factor of a pattern, −1 for none. */
  factorOf(number) {
    return this.dictionary.word(number, this.#width - 1) - 1;
  }

  /** The number of the same pattern with a bit set or not, in a row with a factor. */
  withBit(number, bit, on, factor) {
    return this.#numberOf(this.dictionary.with(number, bit, on), factor);
  }
}

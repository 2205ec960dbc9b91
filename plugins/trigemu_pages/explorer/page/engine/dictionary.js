// Patterns of decisions, as numbers. A pattern has a bit for each trigger that is decided event by event, in
// some words of 32 bits; number 0 is the pattern in which nothing fires.

const EMPTY = -1;

export class Dictionary {
  #words;
  #keys; // of each number, room for half as many as the table has slots
  #table = new Int32Array(4096).fill(EMPTY);

  constructor(words) {
    this.#words = words;
    this.#keys = new Uint32Array(2048 * words);
    this.size = 0;
    this.number(new Uint32Array(words));
  }

  /** Return the number of a pattern, Uint32Array(words); a new one if it was not seen. */
  number(key) {
    const mask = this.#table.length - 1;
    let slot = this.#hash(key, 0) & mask;
    for (let found = this.#table[slot]; found !== EMPTY; found = this.#table[slot]) {
      if (this.#equals(key, found)) return found;
      slot = (slot + 1) & mask;
    }
    this.#table[slot] = this.size;
    this.#keys.set(key, this.size * this.#words);
    this.size++;
    if (2 * this.size === this.#table.length) this.#grow();
    return this.size - 1;
  }

  /** Return whether a bit is set in the pattern of a number. */
  has(number, bit) {
    return ((this.word(number, bit >>> 5) >>> (bit & 31)) & 1) === 1;
  }

  /** Return a word of the pattern of a number. */
  word(number, w) {
    return this.#keys[number * this.#words + w];
  }

  /** Return a copy of the pattern of a number with a bit set or not. */
  with(number, bit, on) {
    const key = this.#keys.slice(number * this.#words, (number + 1) * this.#words);
    const mask = 1 << (bit & 31);
    key[bit >>> 5] = on ? key[bit >>> 5] | mask : key[bit >>> 5] & ~mask;
    return key;
  }

  #hash(keys, at) {
    let hash = 0;
    for (let w = 0; w < this.#words; w++) {
      hash = Math.imul(hash ^ keys[at + w], 0x9e3779b1);
      hash ^= hash >>> 15;
    }
    return hash;
  }

  #equals(key, number) {
    const at = number * this.#words;
    for (let w = 0; w < this.#words; w++) if (key[w] !== this.#keys[at + w]) return false;
    return true;
  }

  #grow() {
    const keys = this.#keys;
    this.#keys = new Uint32Array(2 * keys.length);
    this.#keys.set(keys);
    const mask = 2 * this.#table.length - 1;
    this.#table = new Int32Array(mask + 1).fill(EMPTY);
    for (let number = 0; number < this.size; number++) {
      let slot = this.#hash(keys, number * this.#words) & mask;
      while (this.#table[slot] !== EMPTY) slot = (slot + 1) & mask;
      this.#table[slot] = number;
    }
  }
}

// Patterns of decisions, as numbers. A pattern has a bit for each trigger that is decided event by event, in
// some words of 32 bits; number 0 is the pattern in which nothing fires.

const EMPTY = -1;

export class Dictionary {
  constructor(words) {
    this.words = words;
    this.size = 0;
    this.keys = new Uint32Array(1024 * words);
    this.#table = new Int32Array(4096).fill(EMPTY);
    this.number(new Uint32Array(words));
  }

  #table;

  /** Return the number of a pattern, Uint32Array(words); a new one if it was not seen. */
  number(key) {
    const mask = this.#table.length - 1;
    let slot = this.#hash(key, 0) & mask;
    for (let found = this.#table[slot]; found !== EMPTY; found = this.#table[slot]) {
      if (this.#equals(key, found)) return found;
      slot = (slot + 1) & mask;
    }
    return this.#add(key, slot);
  }

  /** Return whether a bit is set in the pattern of a number. */
  has(number, bit) {
    return ((this.keys[number * this.words + (bit >>> 5)] >>> (bit & 31)) & 1) === 1;
  }

  /** Return a word of the pattern of a number. */
  word(number, w) {
    return this.keys[number * this.words + w];
  }

  /** Return a copy of the pattern of a number with a bit set or not. */
  with(number, bit, on) {
    const key = this.keys.slice(number * this.words, (number + 1) * this.words);
    const mask = 1 << (bit & 31);
    key[bit >>> 5] = on ? key[bit >>> 5] | mask : key[bit >>> 5] & ~mask;
    return key;
  }

  #hash(keys, at) {
    let hash = 0;
    for (let w = 0; w < this.words; w++) {
      hash = Math.imul(hash ^ keys[at + w], 0x9e3779b1);
      hash ^= hash >>> 15;
    }
    return hash;
  }

  #equals(key, number) {
    const at = number * this.words;
    for (let w = 0; w < this.words; w++) if (key[w] !== this.keys[at + w]) return false;
    return true;
  }

  #add(key, slot) {
    if (2 * (this.size + 1) > this.#table.length) {
      this.#grow();
      return this.number(key);
    }
    if ((this.size + 1) * this.words > this.keys.length) {
      const more = new Uint32Array(2 * this.keys.length);
      more.set(this.keys);
      this.keys = more;
    }
    this.keys.set(key, this.size * this.words);
    this.#table[slot] = this.size;
    return this.size++;
  }

  #grow() {
    this.#table = new Int32Array(2 * this.#table.length).fill(EMPTY);
    const mask = this.#table.length - 1;
    for (let number = 0; number < this.size; number++) {
      let slot = this.#hash(this.keys, number * this.words) & mask;
      while (this.#table[slot] !== EMPTY) slot = (slot + 1) & mask;
      this.#table[slot] = number;
    }
  }
}

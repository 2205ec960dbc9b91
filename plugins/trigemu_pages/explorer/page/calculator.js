// The engine's answers for the slots of a page. Each slot has an engine of its own, which thus keeps the
// patterns of that slot's last state; the last answers are kept, because several views ask for the same ones.

import { Engine } from "./engine/index.js";

export class Calculator {
  #data;
  #written;
  #engines = new Map();
  #rates = new Map();
  #changes = new Map();
  #asWritten = new Map();
  #between = null;

  constructor(data, written) {
    this.#data = data;
    this.#written = written;
  }

  /** The engine of a slot. */
  engine(place) {
    if (!this.#engines.has(place)) this.#engines.set(place, new Engine(this.#data));
    return this.#engines.get(place);
  }

  /** Rates of the slot at a place, "A" or "B". */
  rates(place, slot) {
    const known = this.#rates.get(place);
    if (known?.slot === slot) return known.rates;
    const rates = this.engine(place).rates(slot);
    this.#rates.set(place, { slot, rates });
    return rates;
  }

  /** Differences of a slot from its menu as written: the rates of the slot less the written ones. */
  fromWritten(place, slot) {
    const known = this.#changes.get(place);
    if (known?.slot === slot) return known.changes;
    const changes = this.engine(place).differences(slot, this.#written[slot.menu]);
    this.#changes.set(place, { slot, changes });
    return changes;
  }

  /** Differences of two slots, a − b. */
  between(a, b) {
    if (this.#between?.a !== a || this.#between.b !== b)
      this.#between = { a, b, found: this.engine("A").differences(a, b) };
    return this.#between.found;
  }

  scan(place, slot, trigger) {
    return this.engine(place).scan(slot, trigger);
  }

  solve(place, slot, trigger, { quantity, hz }) {
    return this.engine(place).solve(slot, trigger, quantity, hz);
  }

  /** Efficiencies of a slot, with gains over another one. */
  efficiency(place, signal, slot, other) {
    return this.engine(place).efficiency(signal, slot, other);
  }

  turnon(place, signal, turnon, slot, trigger) {
    return this.engine(place).turnon(signal, turnon, slot, trigger);
  }

  writtenTurnon(place, signal, turnon, menu) {
    const key = `${signal} ${turnon} ${menu}`;
    if (!this.#asWritten.has(key)) {
      this.#asWritten.set(key, this.turnon(place, signal, turnon, this.#written[menu], null));
    }
    return this.#asWritten.get(key);
  }
}

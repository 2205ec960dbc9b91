// The engine's answers for the slots of a page. Each slot has an engine of its own, which thus keeps the
// patterns of that slot's last state; the last answers are kept, because several views ask for the same ones.

import { Engine } from "./engine/index.js";

export class Calculator {
  #data;
  #written;
  #engines = new Map();
  #kept = new Map();

  constructor(data, written) {
    this.#data = data;
    this.#written = written;
  }

  /** The engine of a slot. */
  engine(place) {
    if (!this.#engines.has(place)) this.#engines.set(place, new Engine(this.#data));
    return this.#engines.get(place);
  }

  /** The last answer to a question, found anew if its inputs are others. */
  #answer(question, inputs, find) {
    const known = this.#kept.get(question);
    if (known?.inputs.every((input, i) => input === inputs[i])) return known.answer;
    const answer = find();
    this.#kept.set(question, { inputs, answer });
    return answer;
  }

  /** Rates of the slot at a place, "A" or "B". */
  rates(place, slot) {
    return this.#answer(`rates ${place}`, [slot], () => this.engine(place).rates(slot));
  }

  /** Differences of a slot from its menu as written: the rates of the slot less the written ones. */
  fromWritten(place, slot) {
    const find = () => this.engine(place).differences(slot, this.#written[slot.menu]);
    return this.#answer(`from written ${place}`, [slot], find);
  }

  /** Differences of two slots, a − b. */
  between(a, b) {
    return this.#answer("between", [a, b], () => this.engine("A").differences(a, b));
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
    const find = () => this.turnon(place, signal, turnon, this.#written[menu], null);
    return this.#answer(`turn-on ${signal} ${turnon} ${menu}`, [], find);
  }
}

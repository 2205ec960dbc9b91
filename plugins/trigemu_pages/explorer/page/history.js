// Undo and redo of immutable values.

const LONGEST = 200;

export class History {
  #past = [];
  #future = [];
  #gesture = null;

  /** present: the value, which can be replaced without a step to undo. */
  constructor(present) {
    this.present = present;
  }

  get canUndo() {
    return this.#past.length > 0;
  }

  get canRedo() {
    return this.#future.length > 0;
  }

  /** Add a value. Values of one gesture, such as a drag of one slider, are undone together. */
  push(value, gesture = null) {
    if (gesture === null || gesture !== this.#gesture) this.#past.push(this.present);
    if (this.#past.length > LONGEST) this.#past.shift();
    this.#gesture = gesture;
    this.present = value;
    this.#future = [];
  }

  /** End a gesture: the next value is a step of its own. */
  endGesture() {
    this.#gesture = null;
  }

  undo() {
    this.#move(this.#past, this.#future);
  }

  redo() {
    this.#move(this.#future, this.#past);
  }

  #move(from, to) {
    if (!from.length) return;
    to.push(this.present);
    this.present = from.pop();
    this.#gesture = null;
  }
}

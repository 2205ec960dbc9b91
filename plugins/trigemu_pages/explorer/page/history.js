// Undo and redo of immutable values.

const LONGEST = 200;

export class History {
  #past = [];
  #future = [];
  #present;
  #gesture = null;

  constructor(present) {
    this.#present = present;
  }

  get present() {
    return this.#present;
  }

  get canUndo() {
    return this.#past.length > 0;
  }

  get canRedo() {
    return this.#future.length > 0;
  }

  /** Add a value. Values of one gesture, such as a drag of one slider, are undone together. */
  push(value, gesture = null) {
    if (gesture === null || gesture !== this.#gesture) {
      this.#past.push(this.#present);
      if (this.#past.length > LONGEST) this.#past.shift();
    }
    this.#gesture = gesture;
    this.#present = value;
    this.#future = [];
  }

  /** Replace the value without a step to undo, as for the selection. */
  replace(value) {
    this.#present = value;
  }

  /** End a gesture: the next value is a step of its own. */
  endGesture() {
    this.#gesture = null;
  }

  undo() {
    if (!this.canUndo) return;
    this.#future.push(this.#present);
    this.#present = this.#past.pop();
    this.#gesture = null;
  }

  redo() {
    if (!this.canRedo) return;
    this.#past.push(this.#present);
    this.#present = this.#future.pop();
    this.#gesture = null;
  }
}

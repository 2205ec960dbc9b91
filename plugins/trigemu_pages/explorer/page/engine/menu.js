// A menu in some state: which triggers are on and used, at which steps, and what decides them.

/** Return the names in an expression. */
export function namesIn(expression) {
  if (typeof expression === "string") return [expression];
  const [operands] = Object.values(expression);
  return (Array.isArray(operands) ? operands : [operands]).flatMap(namesIn);
}

/** Return a function that evaluates an expression. of: the value of a name. */
export function compiled(expression, of) {
  if (typeof expression === "string") return () => of(expression);
  const [[operation, given]] = Object.entries(expression);
  const operands = (Array.isArray(given) ? given : [given]).map((operand) => compiled(operand, of));
  if (operation === "not") return () => !operands[0]();
  return operation === "and"
    ? () => operands.every((operand) => operand())
    : () => operands.some((operand) => operand());
}

/**
 * A menu in one state. Its triggers have `on` and `step` of the state, `prescale`, with the factor that a
 * kind has of its own, and `place`, their number.
 */
export class Menu {
  constructor(data, state) {
    const entry = data.menus[state.menu];
    this.scale = entry.scale;
    this.hasLevels = entry.levels.length > 0;
    this.levels = this.hasLevels ? entry.levels : [""];
    this.all = entry.triggers.map((trigger, place) => {
      const { on, step, prescale } = state.triggers.get(trigger.name);
      return { ...trigger, on, step, prescale: prescale * trigger.factor, place };
    });
    this.triggers = new Map(this.all.map((trigger) => [trigger.name, trigger]));
    this.enabled = this.all.filter((trigger) => trigger.on);
    this.used = this.#used(entry.order);
    // each trigger that is decided event by event has its own bit, so that a moved threshold moves no other
    // bit
    this.deciding = this.used.filter(({ decision }) => "score" in decision || "bit" in decision);
    this.groups = [...new Set(this.all.map(({ group }) => group).filter(Boolean))];
  }

  /**
   * The triggers whose decisions are needed: enabled ones, and those that they read. Each comes after those.
   */
  #used(order) {
    const needed = new Set(this.enabled.map((trigger) => trigger.name));
    for (const name of [...order].reverse()) {
      const { seed, decision } = this.triggers.get(name);
      if (!needed.has(name)) continue;
      for (const read of [seed, decision.logic])
        if (read) namesIn(read).forEach((other) => needed.add(other));
    }
    return order.filter((name) => needed.has(name)).map((name) => this.triggers.get(name));
  }

  /** The menu without the triggers that fulfil a condition, which never accept in it. */
  without(condition) {
    const other = Object.assign(Object.create(Menu.prototype), this);
    const off = (trigger) => (condition(trigger) ? { ...trigger, prescale: Infinity } : trigger);
    other.all = this.all.map(off);
    other.triggers = new Map(other.all.map((trigger) => [trigger.name, trigger]));
    other.enabled = this.enabled.map(off);
    other.used = this.used.map(off);
    return other;
  }

  /** Whether each trigger is on and fulfils a condition, by place. */
  inside(condition) {
    return this.all.map((trigger) => trigger.on && condition(trigger));
  }

  /** The triggers whose switch or prescale is not as in another state of the menu; all without one. */
  changedFrom(other) {
    return this.all.filter(({ on, prescale, place }) => {
      const before = other?.all[place];
      return on !== before?.on || prescale !== before.prescale;
    });
  }
}

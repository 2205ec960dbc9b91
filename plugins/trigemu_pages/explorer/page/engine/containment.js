// Unique rates that are 0 by construction, because other triggers accept all events of a trigger. That follows
// from the present state, for thresholds on one score, logic and seeds; or from the menu as written, where
// `trigemu run` proves more, while triggers changed only in ways that keep the proof.

import { namesIn } from "./menu.js";

/**
 * Apply containment to the rates of triggers and groups: a unique rate that is 0 by construction has no upper
 * limit and names the containing triggers in `inside`; their rates bound the limits of the other rates.
 */
export function withContainment(menu, triggers, groups) {
  const containment = new Containment(menu);
  const inside = (row, members, written) => (row.unique.events ? [] : containment.of(members, written));
  const within = new Map(
    triggers.map((row) => [row.name, inside(row, [menu.triggers.get(row.name)], menu.contained.get(row.name))]),
  );
  const limits = limitsOf(triggers, within);
  const bounded = (row, names) => {
    if (!names.length) return row;
    const most = sumOf(limits, names);
    const below = (rate) => (rate.limit === null ? rate : { ...rate, limit: Math.min(rate.limit, most) });
    const unique = { ...row.unique, limit: null, inside: names };
    return { ...row, total: below(row.total), share: below(row.share), unique };
  };
  return {
    triggers: triggers.map((row) => bounded(row, within.get(row.name))),
    groups: groups.map((row) => {
      const members = menu.enabled.filter(({ group }) => group === row.name);
      return bounded(row, inside(row, members, menu.containedGroups.get(row.name)));
    }),
  };
}

function sumOf(limits, names) {
  return names.reduce((sum, name) => sum + limits.get(name), 0);
}

/** The total rate of each trigger, or its upper limit, which its containing triggers bound. */
function limitsOf(triggers, within) {
  const limits = new Map(triggers.map(({ name, total }) => [name, total.limit ?? total.hz]));
  const unseen = triggers.filter(({ name, total }) => total.limit !== null && within.get(name).length);
  for (let round = 0; round < unseen.length; round++)
    for (const { name } of unseen)
      limits.set(name, Math.min(limits.get(name), sumOf(limits, within.get(name))));
  return limits;
}

class Containment {
  #menu;
  #known = new Map();

  constructor(menu) {
    this.#menu = menu;
  }

  /**
   * Return the names of other triggers that together accept all events that some triggers of one level accept;
   * empty if none are known. written: those in the menu as written.
   */
  of(triggers, written) {
    const members = triggers.filter(({ prescale }) => Number.isFinite(prescale));
    if (!members.length) return [];
    if (written && this.#stillHolds(members, written)) return written;
    const { level } = members[0];
    const others = this.#menu.enabled.filter((other) => other.level === level && !members.includes(other));
    const found = members.map((member) => others.find((other) => this.#accepts(member, other))?.name);
    return found.every((name) => name !== undefined) ? [...new Set(found)] : [];
  }

  /** Whether `other` accepts every event that `one` accepts. */
  #accepts(one, other) {
    if (one.seed && namesInAll(one.seed).includes(other.name)) return true;
    const shared = one.coherent !== null && one.coherent === other.coherent;
    const counts = other.prescale === 1 || (shared && one.prescale >= other.prescale);
    return counts && !other.seed && this.#fires(one, other);
  }

  /** Whether `other` fires, before prescales, in every event in which `one` fires. */
  #fires(one, other) {
    if (one === other) return true;
    const [a, b] = [one.decision, other.decision];
    if (!other.seed && "score" in a && a.score === b.score) return one.step >= other.step;
    if (!other.seed && "bit" in a && a.bit === b.bit) return true;
    if (!a.logic && !one.seed && (!b.logic || other.seed)) return false;
    const key = one.place * this.#menu.all.length + other.place;
    if (!this.#known.has(key)) this.#known.set(key, this.#firesByReading(one, other));
    return this.#known.get(key);
  }

  #firesByReading(one, other) {
    const [read, by] = [one.decision.logic, other.decision.logic];
    const fires = (name, to) => this.#fires(this.#menu.triggers.get(name), to);
    if (by && !other.seed && joined(by, "or", (name) => this.#fires(one, this.#menu.triggers.get(name))))
      return true;
    return [read, one.seed].some((of) => of && joined(of, "and", (name) => fires(name, other)));
  }

  /**
   * Whether a containment in the menu as written holds in the present state: the members may accept less, the
   * others more.
   */
  #stillHolds(members, names) {
    const containing = names.map((name) => this.#menu.triggers.get(name));
    const read = this.#readBy([...members, ...containing]);
    const isSame = ({ on, step, prescale, written }) =>
      on === written.on && step === written.step && prescale === written.prescale;
    const isLess = (a, b) => a.step <= b.step && a.prescale <= b.prescale;
    return (
      [...members, ...containing].every(({ on, written }) => on && written.on) &&
      members.every((of) => isLess(of.written, of)) &&
      containing.every((of) => isLess(of, of.written)) &&
      [...read].every(isSame)
    );
  }

  /** The triggers that others read by logic or seeds, directly or not. */
  #readBy(triggers) {
    const found = new Set();
    const left = [...triggers];
    while (left.length) {
      const { seed, decision } = left.pop();
      for (const name of [seed, decision.logic].filter(Boolean).flatMap(namesIn)) {
        const trigger = this.#menu.triggers.get(name);
        if (!found.has(trigger)) left.push(trigger);
        found.add(trigger);
      }
    }
    return found;
  }
}

/**
 * Whether something holds of an expression: of one of the operands of an operation, of all of those of the
 * other one; of a negation it is not known.
 */
function joined(expression, oneOf, holds) {
  if (typeof expression === "string") return holds(expression);
  const [[operation, operands]] = Object.entries(expression);
  if (operation === "not") return false;
  const each = (operand) => joined(operand, oneOf, holds);
  return operation === oneOf ? operands.some(each) : operands.every(each);
}

/** The names that must be true for an expression to be true. */
function namesInAll(expression) {
  if (typeof expression === "string") return [expression];
  return (expression.and ?? []).flatMap(namesInAll);
}

// What a user can change, as immutable values. A slot is one state of a menu, {menu, triggers, holds}: `menu`
// is its number, `triggers` a Map of name → {on, step, prescale}, as the engine takes it, `holds` a Map of
// name → {quantity: "unique"|"total", hz}: rates that the trigger's threshold is solved for after each
// change. A page is {slots: {A, B}, two, shown, pick, budget}: whether both slots are shown, which of them
// the controls change, the selected trigger, and the budget of the menu rate in Hz.

export const SLOTS = ["A", "B"];
/** Largest prescale that the page accepts; 40 MHz / 1 mHz is below it. */
const LARGEST_PRESCALE = 1e12;

/** Return a page with the menu as it is written; the first two side by side, if there are several. */
export function firstPage({ menus }, budget) {
  const two = menus.length > 1;
  const [A, B] = [menus[0], menus[two ? 1 : 0]];
  return { slots: { A: A.written, B: B.written }, two, shown: two ? "B" : "A", pick: B.pick, budget };
}

/** Whether the threshold of a trigger has more than one offered step. */
export function isMovable(trigger) {
  return (
    trigger.fixed === null && "score" in trigger.decision && trigger.decision.last > trigger.decision.first
  );
}

/** Return the threshold of a trigger at a step, in its unit. */
export function thresholdAt(data, trigger, step) {
  return data.scores[trigger.decision.score].steps[step];
}

/** Return the offered step whose threshold is nearest to a value. */
export function nearestStep(data, trigger, value) {
  const { first, last } = trigger.decision;
  let best = first;
  for (let step = first; step <= last; step++) {
    const distance = Math.abs(thresholdAt(data, trigger, step) - value);
    if (distance < Math.abs(thresholdAt(data, trigger, best) - value)) best = step;
  }
  return best;
}

/** Return a prescale that a user typed, or null if it is not a number of at least 1. */
export function prescaleOf(value) {
  return Number.isFinite(value) && value >= 1 && value <= LARGEST_PRESCALE ? value : null;
}

/** Return a slot in which some of on, step and prescale of a trigger are changed. */
export function withTrigger(slot, name, change) {
  const triggers = new Map(slot.triggers);
  triggers.set(name, { ...slot.triggers.get(name), ...change });
  return { ...slot, triggers };
}

/** Return a slot in which a rate of a trigger is held; hold is null to release it. */
export function withHold(slot, name, hold) {
  const holds = new Map(slot.holds);
  if (hold) holds.set(name, hold);
  else holds.delete(name);
  return { ...slot, holds };
}

/** Return a page with another slot at a place. */
export function withSlot(page, place, slot) {
  return { ...page, slots: { ...page.slots, [place]: slot } };
}

/**
 * Solve the thresholds of held triggers, in the order of the menu. One threshold moves the unique rates of
 * others, so that this is repeated a few times.
 * @param {object} menu
 * @param {object} slot
 * @param {(slot, name: string, hold: object) => {step: number|null}} solve
 */
export function withHoldsSolved(menu, slot, solve) {
  const held = menu.triggers.filter((trigger) => slot.holds.has(trigger.name));
  const rounds = held.length > 1 ? 3 : held.length;
  let solved = slot;
  for (let round = 0; round < rounds; round++) {
    const before = solved;
    for (const { name } of held) {
      if (!solved.triggers.get(name).on) continue;
      const { step } = solve(solved, name, slot.holds.get(name));
      if (step !== null && step !== solved.triggers.get(name).step)
        solved = withTrigger(solved, name, { step });
    }
    if (solved === before) break;
  }
  return solved;
}

/** Return the names of triggers whose switch, threshold or prescale is not as written. */
export function changedTriggers(data, slot) {
  const { written } = data.menus[slot.menu];
  const isSame = (a, b) => a.on === b.on && a.step === b.step && a.prescale === b.prescale;
  return [...slot.triggers.keys()].filter(
    (name) => !isSame(slot.triggers.get(name), written.triggers.get(name)),
  );
}

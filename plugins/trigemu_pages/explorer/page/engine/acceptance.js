// With which probabilities the enabled triggers of a menu accept an event: prescales, coherent sets, seeds.
//
// The triggers that fire fall into parts that accept independently of each other. Without seeds, a part is
// the triggers that share a prescale counter. Triggers that seeds connect are one part: given the counters of
// those that are read, each of its outcomes has a probability, and everything else is independent.
//
// A part is {places, counters, outcomes, totals}: the places of its triggers in the menu, the number of the
// counter of each, the outcomes {p, accept} with the acceptance of each trigger, and the acceptance over all
// outcomes.

import { compiled, namesIn } from "./menu.js";

/** The largest number of outcomes of the counters of one part, as in the emulation. */
const MAX_OUTCOMES = 2 ** 16;

function counterOf(trigger) {
  return trigger.coherent ? `set ${trigger.coherent}` : `alone ${trigger.name}`;
}

export class Acceptance {
  #steps; // how each used trigger is decided
  #own; // the decisions of an event, by the order of use: 0 or 1, without seeds
  #raw; // and with them
  #nodes = []; // triggers that seeds connect, in the order of use
  #read = new Set(); // the counters of those that are read
  #free; // the other triggers, those of one counter together

  constructor(menu) {
    const use = new Map(menu.used.map((trigger, u) => [trigger.name, u]));
    this.#own = new Uint8Array(use.size);
    this.#raw = new Uint8Array(use.size);
    const seen = (name) => this.#raw[use.get(name)] === 1;
    this.#steps = menu.used.map(({ decision, seed }) => ({
      always: "always" in decision,
      logic: decision.logic ? compiled(decision.logic, seen) : null,
      seed: seed ? compiled(seed, seen) : null,
    }));
    const seeded = menu.enabled.filter((trigger) => trigger.seed);
    const read = new Set(seeded.flatMap((trigger) => namesIn(trigger.seed)));
    const bound = new Set([...seeded, ...[...read].map((name) => menu.triggers.get(name))].map(counterOf));
    menu.used.forEach((trigger, u) => {
      const { name, on, prescale, place } = trigger;
      const inSets = on && bound.has(counterOf(trigger));
      if (!inSets && (on || !read.has(name))) return;
      const counter = on ? counterOf(trigger) : `off ${name}`;
      const reads = on && trigger.seed ? namesIn(trigger.seed).map((other) => use.get(other)) : [];
      const accepted = new Set();
      const seed =
        on && trigger.seed ? compiled(trigger.seed, (other) => accepted.has(use.get(other))) : null;
      const share = on ? 1 / prescale : 1;
      this.#nodes.push({
        u,
        place: on ? place : -1,
        counter,
        reads,
        accepted,
        seed,
        share,
        never: prescale === Infinity,
      });
      if (read.has(name)) this.#read.add(counter);
    });
    const free = new Map();
    for (const trigger of menu.enabled) {
      const counter = counterOf(trigger);
      if (bound.has(counter) || trigger.prescale === Infinity) continue;
      const member = { u: use.get(trigger.name), place: trigger.place, share: 1 / trigger.prescale };
      free.set(counter, [...(free.get(counter) ?? []), member]);
    }
    this.#free = [...free.values()].map((members) => ({
      members,
      alone: members.length > 1 ? null : freePart(members),
    }));
  }

  /**
   * Return the parts that may accept an event.
   * @param {(u: number) => boolean} fires the decision of a used trigger with a score or a bit, by its order
   * of use
   */
  parts(fires) {
    const own = this.#own;
    const raw = this.#raw;
    for (let u = 0; u < own.length; u++) {
      const { always, logic, seed } = this.#steps[u];
      own[u] = always || (logic === null ? fires(u) : logic()) ? 1 : 0;
      raw[u] = own[u] === 1 && (seed === null || seed()) ? 1 : 0;
    }
    const parts = [];
    for (const { members, alone } of this.#free) {
      if (alone) {
        if (own[members[0].u]) parts.push(alone);
        continue;
      }
      const fired = members.filter(({ u }) => own[u]);
      if (fired.length) parts.push(freePart(fired));
    }
    if (this.#nodes.length) {
      const fired = this.#nodes.filter(({ u, place, never }) => (place >= 0 ? own[u] : raw[u] && !never));
      for (const nodes of components(fired)) parts.push(this.#seededPart(nodes));
    }
    return parts;
  }

  #seededPart(nodes) {
    const all = this.#outcomes(nodes);
    const kept = nodes.flatMap((node, k) => (node.place >= 0 ? [k] : []));
    const names = [...new Set(nodes.map((node) => node.counter))];
    return {
      places: kept.map((k) => nodes[k].place),
      counters: kept.map((k) => names.indexOf(nodes[k].counter)),
      outcomes: all.map(({ p, accept }) => ({ p, accept: kept.map((k) => accept[k]) })),
      totals: kept.map((k) =>
        nodes[k].seed ? all.reduce((sum, { p, accept }) => sum + p * accept[k], 0) : nodes[k].share,
      ),
    };
  }

  /**
   * The outcomes of the counters that are read: of each its probability, and with which each node then
   * accepts.
   */
  #outcomes(nodes) {
    let outcomes = [{ p: 1, lowest: new Map() }];
    for (const counter of new Set(nodes.map((node) => node.counter))) {
      if (!this.#read.has(counter)) continue;
      const shares = nodes
        .filter((node) => node.counter === counter && node.share < 1)
        .map((node) => node.share);
      const edges = [1, ...[...new Set(shares)].sort((a, b) => b - a), 0];
      outcomes = outcomes.flatMap(({ p, lowest }) =>
        edges
          .slice(0, -1)
          .map((top, k) => ({ p: p * (top - edges[k + 1]), lowest: new Map(lowest).set(counter, top) })),
      );
      if (outcomes.length > MAX_OUTCOMES)
        throw new Error("too many prescaled seeds fire together for exact rates");
    }
    return outcomes.map(({ p, lowest }) => ({ p, accept: accepted(nodes, lowest) }));
  }
}

/** Return the part of triggers that share a counter. */
function freePart(members) {
  const totals = members.map(({ share }) => share);
  return {
    places: members.map(({ place }) => place),
    counters: members.map(() => 0),
    outcomes: [{ p: 1, accept: totals }],
    totals,
  };
}

/** Return the acceptance of each node, if the counters that are read are below some values. */
function accepted(nodes, lowest) {
  const sure = new Set();
  return nodes.map((node) => {
    node.accepted.clear();
    for (const u of node.reads) if (sure.has(u)) node.accepted.add(u);
    if (node.seed && !node.seed()) return 0;
    const top = lowest.get(node.counter);
    if (top === undefined) return node.share;
    if (node.share < top) return 0;
    sure.add(node.u);
    return 1;
  });
}

/** Return nodes in components, each in the order of use: those that read each other or share a counter. */
function components(nodes) {
  const number = nodes.map((_, k) => k);
  nodes.forEach((node, k) => {
    for (let l = 0; l < k; l++) {
      if (number[l] === number[k]) continue;
      if (nodes[l].counter !== node.counter && !node.reads.includes(nodes[l].u)) continue;
      const [from, to] = [number[k], number[l]];
      number.forEach((value, m) => {
        if (value === from) number[m] = to;
      });
    }
  });
  return [...new Set(number)].map((value) => nodes.filter((_, k) => number[k] === value));
}

/** Whether the triggers of a part share one counter, that no seed reads. */
function isSimple({ outcomes, counters }) {
  return (
    outcomes.length === 1 && (counters.length === 1 || counters.every((counter) => counter === counters[0]))
  );
}

/** Return the largest acceptance among the triggers of a part in a set, given an outcome, except one. */
function largest({ places }, accept, inside, except = -1) {
  let best = 0;
  for (let k = 0; k < places.length; k++)
    if (k !== except && inside[places[k]] && accept[k] > best) best = accept[k];
  return best;
}

/** Return the largest acceptance of each counter among the triggers of a part in a set, given an outcome. */
function bestOf({ places, counters }, accept, inside) {
  const best = [];
  places.forEach((place, k) => {
    if (inside[place]) best[counters[k]] = Math.max(best[counters[k]] ?? 0, accept[k]);
  });
  return best;
}

/** The probability that any of the triggers of a part in a set accepts. */
export function hitOf(part, inside) {
  if (isSimple(part)) return largest(part, part.outcomes[0].accept, inside);
  let hit = 0;
  let certain = true;
  for (const { p, accept } of part.outcomes) {
    const either = bestOf(part, accept, inside).reduce((sum, best) => best + sum * (1 - best), 0);
    hit += p * either;
    certain &&= either === 1;
  }
  return certain ? 1 : hit;
}

/**
 * The probability that none of the triggers of a part in a set accepts: products, as 1 − `hitOf` is less
 * exact.
 */
export function missedOf(part, inside) {
  if (isSimple(part)) return 1 - largest(part, part.outcomes[0].accept, inside);
  return part.outcomes.reduce(
    (sum, { p, accept }) =>
      sum + bestOf(part, accept, inside).reduce((product, best) => product * (1 - best), p),
    0,
  );
}

/** Return the probability that any trigger in a set accepts. */
export function eitherOf(parts, inside) {
  let either = 0;
  for (const part of parts) {
    const hit = hitOf(part, inside);
    if (hit > 0) either = hit + either * (1 - hit);
  }
  return either;
}

/** The probability that a trigger of a part, the k-th, accepts and no other of the part in a set does. */
export function aloneInPart(part, inside, k) {
  if (!inside[part.places[k]]) return 0;
  if (isSimple(part)) {
    const { accept } = part.outcomes[0];
    return Math.max(accept[k] - largest(part, accept, inside, k), 0);
  }
  const counter = part.counters[k];
  const alike = part.places.map((place, l) => l !== k && inside[place] && part.counters[l] === counter);
  let alone = 0;
  for (const { p, accept } of part.outcomes) {
    if (accept[k] === 0) continue;
    let others = p;
    bestOf(part, accept, inside).forEach((best, of) => {
      if (of !== counter) others *= 1 - best;
    });
    const without = accept.reduce((most, value, l) => (alike[l] ? Math.max(most, value) : most), 0);
    if (accept[k] > without) alone += others * (accept[k] - without);
  }
  return alone;
}

/** Return the probability that two triggers of one part accept together. */
export function bothInPart(part, k, l) {
  if (k === l) return part.totals[k];
  const alike = part.counters[k] === part.counters[l];
  return part.outcomes.reduce(
    (sum, { p, accept }) => sum + p * (alike ? Math.min(accept[k], accept[l]) : accept[k] * accept[l]),
    0,
  );
}

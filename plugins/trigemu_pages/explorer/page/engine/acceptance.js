// With which probabilities the enabled triggers of a menu accept an event: prescales, coherent sets, seeds.
//
// The triggers that fire fall into parts that accept independently of each other. Without seeds, a part is
// the triggers that share a prescale counter. Triggers that seeds connect are one part: given the counters of
// those that are read, each of its outcomes has a probability, and everything else is independent.
//
// A part is {places, counters, outcomes, totals}: the places of its triggers in the menu; of each counter,
// the indices of its triggers among these; the outcomes {p, accept} with the acceptance of each trigger; and
// the acceptance of each over all outcomes.

import { compiled, namesIn } from "./menu.js";

/** The largest number of outcomes of the counters of one part, as in the emulation. */
const MAX_OUTCOMES = 2 ** 16;

function counterOf({ on, coherent, name }) {
  if (!on) return `off ${name}`;
  return coherent ? `set ${coherent}` : `alone ${name}`;
}

export class Acceptance {
  #steps; // how each used trigger is decided
  #own; // the decisions of an event, by the order of use: 0 or 1, without seeds
  #raw; // and with them
  #sure; // which of them accept in an outcome
  #nodes; // triggers that seeds connect, in the order of use
  #read; // the counters of those that are read
  #free; // the other triggers, those of one counter together

  constructor(menu) {
    const use = new Map(menu.used.map((trigger, u) => [trigger.name, u]));
    [this.#own, this.#raw, this.#sure] = [0, 1, 2].map(() => new Uint8Array(use.size));
    const fired = (name) => this.#raw[use.get(name)] === 1;
    this.#steps = menu.used.map(({ decision, seed }) => ({
      always: "always" in decision,
      logic: decision.logic ? compiled(decision.logic, fired) : null,
      seed: seed ? compiled(seed, fired) : null,
    }));
    const seeded = menu.enabled.filter((trigger) => trigger.seed);
    const read = [...new Set(seeded.flatMap(({ seed }) => namesIn(seed)))].map((name) =>
      menu.triggers.get(name),
    );
    this.#read = new Set(read.map(counterOf));
    const connected = new Set([...seeded, ...read].map(counterOf));
    const all = menu.used.map((trigger, u) => {
      const { on, place, prescale } = trigger;
      const seed = on ? trigger.seed : null;
      return {
        u,
        place: on ? place : -1,
        counter: counterOf(trigger),
        share: on ? 1 / prescale : Number(prescale !== Infinity), // one that is off is a seed by what it decides
        reads: seed ? namesIn(seed).map((name) => use.get(name)) : [],
        seed: seed ? compiled(seed, (name) => this.#sure[use.get(name)] === 1) : null,
      };
    });
    this.#nodes = all.filter(({ counter }) => connected.has(counter));
    const free = all.filter(({ place, counter, share }) => place >= 0 && share && !connected.has(counter));
    this.#free = indicesBy(free.map(({ counter }) => counter)).map((indices) => {
      const members = indices.map((k) => free[k]);
      return { members, all: freePart(members) };
    });
  }

  /**
   * Return the parts that may accept an event.
   * @param {(u: number) => boolean} fires the decision of a used trigger with a score or a bit, by its order
   * of use
   */
  parts(fires) {
    const own = this.#own;
    const raw = this.#raw;
    this.#steps.forEach(({ always, logic, seed }, u) => {
      own[u] = always || (logic === null ? fires(u) : logic()) ? 1 : 0;
      raw[u] = own[u] === 1 && (seed === null || seed()) ? 1 : 0;
    });
    const parts = [];
    for (const { members, all } of this.#free) {
      const fired = members.filter(({ u }) => own[u]);
      if (fired.length) parts.push(fired.length === members.length ? all : freePart(fired));
    }
    if (this.#nodes.length) {
      const fired = this.#nodes.filter(({ u, place, share }) => (place >= 0 ? own[u] : raw[u] && share));
      for (const nodes of components(fired)) parts.push(this.#seededPart(nodes));
    }
    return parts;
  }

  #seededPart(nodes) {
    const all = this.#outcomes(nodes).map(({ p, tops }) => ({ p, accept: this.#accepted(nodes, tops) }));
    const kept = nodes.flatMap((node, k) => (node.place >= 0 ? [k] : []));
    const totals = kept.map((k) =>
      nodes[k].seed ? all.reduce((sum, { p, accept }) => sum + p * accept[k], 0) : nodes[k].share,
    );
    return {
      places: kept.map((k) => nodes[k].place),
      counters: indicesBy(kept.map((k) => nodes[k].counter)),
      outcomes: all.map(({ p, accept }) => ({ p, accept: kept.map((k) => accept[k]) })),
      totals,
    };
  }

  /** Return the outcomes of the counters that are read: their probabilities, and the share that each is below. */
  #outcomes(nodes) {
    let outcomes = [{ p: 1, tops: new Map() }];
    for (const counter of new Set(nodes.map((node) => node.counter))) {
      if (!this.#read.has(counter)) continue;
      const shares = nodes.filter((node) => node.counter === counter).map(({ share }) => share);
      const edges = [...new Set([1, ...shares, 0])].sort((a, b) => b - a);
      outcomes = outcomes.flatMap(({ p, tops }) =>
        edges
          .slice(0, -1)
          .map((top, k) => ({ p: p * (top - edges[k + 1]), tops: new Map(tops).set(counter, top) })),
      );
      if (outcomes.length > MAX_OUTCOMES)
        throw new Error("too many prescaled seeds fire together for exact rates");
    }
    return outcomes;
  }

  /** Return the acceptance of each node in an outcome. */
  #accepted(nodes, tops) {
    this.#sure.fill(0);
    return nodes.map(({ u, seed, counter, share }) => {
      if (seed && !seed()) return 0;
      const top = tops.get(counter);
      if (top === undefined) return share;
      this.#sure[u] = share >= top ? 1 : 0;
      return this.#sure[u];
    });
  }
}

/** Return the part of triggers that share a counter that no seed reads. */
function freePart(members) {
  const totals = members.map(({ share }) => share);
  const places = members.map(({ place }) => place);
  return { places, counters: [[...places.keys()]], outcomes: [{ p: 1, accept: totals }], totals };
}

/** Return the indices of each of some values. */
function indicesBy(values) {
  return [...new Set(values)].map((value) => [...values.keys()].filter((k) => values[k] === value));
}

/** Return nodes in components, each in the order of use: those that read each other or share a counter. */
function components(nodes) {
  const number = nodes.map((_, k) => k);
  nodes.forEach((node, k) => {
    for (let l = 0; l < k; l++) {
      if (nodes[l].counter !== node.counter && !node.reads.includes(nodes[l].u)) continue;
      const [from, to] = [number[k], number[l]];
      number.forEach((value, m) => {
        if (value === from) number[m] = to;
      });
    }
  });
  return indicesBy(number).map((indices) => indices.map((k) => nodes[k]));
}

/** Return the largest acceptance of some triggers of a part in a set, given an outcome, except one. */
function largest(members, places, accept, inside, except = -1) {
  let best = 0;
  for (const k of members) if (k !== except && inside[places[k]] && accept[k] > best) best = accept[k];
  return best;
}

/** The probability that none of the triggers of a part in a set accepts. */
export function missedOf({ places, counters, outcomes }, inside) {
  let missed = 0;
  for (const { p, accept } of outcomes) {
    let product = p;
    for (const members of counters) product *= 1 - largest(members, places, accept, inside);
    missed += product;
  }
  return missed;
}

/** The probability that any of them accepts: sums, as 1 − `missedOf` is less exact where it is small. */
function hitOf({ places, counters, outcomes }, inside) {
  let hit = 0;
  let certain = true;
  for (const { p, accept } of outcomes) {
    let either = 0;
    for (const members of counters) {
      const best = largest(members, places, accept, inside);
      either = best + either * (1 - best);
    }
    hit += p * either;
    certain &&= either === 1;
  }
  return certain ? 1 : hit;
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
export function aloneInPart({ places, counters, outcomes }, inside, k) {
  let alone = 0;
  for (const { p, accept } of outcomes) {
    let product = p;
    for (const members of counters) {
      const others = largest(members, places, accept, inside, k);
      product *= members.includes(k) ? Math.max(accept[k] - others, 0) : 1 - others;
    }
    alone += product;
  }
  return alone;
}

/** Return the probability that two triggers of one part accept together. */
export function bothInPart({ totals, counters, outcomes }, k, l) {
  if (k === l) return totals[k];
  const share = counters.some((members) => members.includes(k) && members.includes(l));
  return outcomes.reduce(
    (sum, { p, accept }) => sum + p * (share ? Math.min(accept[k], accept[l]) : accept[k] * accept[l]),
    0,
  );
}

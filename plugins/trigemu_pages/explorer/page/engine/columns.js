// The fractions of an event that each rate of a menu counts, as a row of columns with few entries: the menu,
// its levels, each trigger and group (total, unique, share, covered = total − unique); and those of pairs of
// triggers.

import { Acceptance, aloneInPart, bothInPart, eitherOf, missedOf } from "./acceptance.js";

export const TOTAL = 0;
export const UNIQUE = 1;
export const SHARE = 2;
export const COVERED = 3;
const QUANTITIES = 4;

/** The places of the rates of a menu among the columns; triggers that are off have theirs too. */
export class Layout {
  constructor(menu) {
    this.triggers = menu.all.length;
    this.groups = menu.groups.length;
    this.menu = 0;
    this.levels = menu.hasLevels ? menu.levels.length : 0;
    this.length = this.trigger(this.triggers + this.groups);
  }

  level(l) {
    return 1 + l;
  }

  /** Of or(M) of the level before a level, less that of this one. */
  rejected(l) {
    return 1 + this.levels + l;
  }

  trigger(i, quantity = TOTAL) {
    return 1 + 2 * this.levels + QUANTITIES * i + quantity;
  }

  group(g, quantity = TOTAL) {
    return this.trigger(this.triggers + g, quantity);
  }

  /** The place of a pair of triggers among those of pairs, of which there are `pairs`. */
  pair(i, j) {
    return i < j ? i * this.triggers + j : j * this.triggers + i;
  }

  get pairs() {
    return this.triggers ** 2;
  }
}

/**
 * Return the entries with which an event enters rates, from those of f and f₀, the same in the menu without its
 * fitted triggers: f₀ + factor · (f − f₀). accepted: 1 for each where f is not 0.
 */
export function judged(entries, without, factor) {
  const known = new Map(without.columns.map((column, k) => [column, without.values[k]]));
  const found = new Map(known);
  entries.columns.forEach((column, k) => {
    const before = known.get(column) ?? 0;
    found.set(column, before + factor * (entries.values[k] - before));
  });
  for (const [column, before] of known)
    if (!entries.columns.includes(column)) found.set(column, before - factor * before);
  const columns = [...found.keys()].filter((column) => found.get(column) !== 0).sort((a, b) => a - b);
  return {
    columns,
    values: columns.map((column) => found.get(column)),
    accepted: columns.map((column) => Number(entries.columns.includes(column))),
  };
}

/** The entries of a row: columns in ascending order, and their fractions, which are not 0. */
class Entries {
  columns = [];
  values = [];

  add(column, value) {
    if (value === 0) return;
    this.columns.push(column);
    this.values.push(value);
  }
}

/** Makes the rows of a menu in one state. */
export class Rows {
  #acceptance;
  #accepted;
  #levels;
  #groups;

  constructor(menu) {
    this.layout = new Layout(menu);
    this.#acceptance = new Acceptance(menu);
    this.#levels = menu.levels.map((level) => menu.inside((trigger) => (trigger.level ?? "") === level));
    this.#groups = menu.groups.map((group) => {
      const inside = menu.inside((trigger) => trigger.group === group);
      const level = Math.max(
        this.#levels.findIndex((of) => of.some((on, i) => on && inside[i])),
        0,
      );
      return { inside, level, others: this.#levels[level].map((on, i) => on && !inside[i]) };
    });
    this.#accepted = new Accepted(menu.all.length, this.#levels);
  }

  /**
   * Return the entries of a pattern.
   * @param {(u: number) => boolean} fires the decision of a used trigger, by its order of use
   */
  row(fires) {
    const entries = new Entries();
    const parts = this.#acceptance.parts(fires);
    if (!parts.length) return entries;
    const { layout } = this;
    const accepted = this.#accepted;
    accepted.of(parts);
    const { total, unique, either, places } = accepted;
    entries.add(layout.menu, either.at(-1));
    if (layout.levels) {
      either.forEach((value, l) => entries.add(layout.level(l), value));
      for (let l = 1; l < either.length; l++) entries.add(layout.rejected(l), either[l - 1] - either[l]);
    }
    for (const place of places) {
      addRates(entries, layout.trigger(place), total[place], unique[place], accepted.share(place));
    }
    this.#groups.forEach(({ inside, level, others }, g) => {
      const own = places.filter((place) => inside[place]);
      if (!own.length) return;
      const share = own.reduce((sum, place) => sum + accepted.share(place), 0);
      addRates(
        entries,
        layout.group(g),
        eitherOf(parts, inside),
        either[level] - eitherOf(parts, others),
        share,
      );
    });
    return entries;
  }

  /** Return the entries of the pairs of triggers, as `row` does. isShown: of which triggers, by place. */
  pairs(fires, isShown) {
    const parts = this.#acceptance.parts(fires).map((part) => withOnly(part, isShown));
    const found = [];
    parts.forEach((part, n) => {
      part.places.forEach((place, k) => {
        for (let l = 0; l <= k; l++)
          found.push([this.layout.pair(place, part.places[l]), bothInPart(part, k, l)]);
        for (const before of parts.slice(0, n)) {
          before.places.forEach((other, l) => {
            found.push([this.layout.pair(place, other), part.totals[k] * before.totals[l]]);
          });
        }
      });
    });
    const entries = new Entries();
    for (const [column, value] of found.sort((a, b) => a[0] - b[0])) entries.add(column, value);
    return entries;
  }
}

/** Return a part with only some of its triggers. */
function withOnly(part, isShown) {
  if (part.places.every((place) => isShown[place])) return part;
  const only = (values) => values.filter((_, k) => isShown[part.places[k]]);
  const outcomes = part.outcomes.map(({ p, accept }) => ({ p, accept: only(accept) }));
  return { places: only(part.places), counters: only(part.counters), totals: only(part.totals), outcomes };
}

function addRates(entries, column, total, unique, share) {
  entries.add(column + TOTAL, total);
  entries.add(column + UNIQUE, unique);
  entries.add(column + SHARE, share);
  entries.add(column + COVERED, total - unique);
}

/** What the triggers that fire in an event accept of it: `total` and `unique` by place, `either` by level. */
class Accepted {
  #levels;
  #level;
  #summed = [];

  constructor(triggers, levels) {
    this.#levels = levels;
    this.#level = Array.from({ length: triggers }, (_, i) => levels.findIndex((inside) => inside[i]));
    this.total = new Float64Array(triggers);
    this.unique = new Float64Array(triggers);
    this.places = [];
    this.either = [];
  }

  /** Find what the parts of an event accept. */
  of(parts) {
    this.places = [];
    this.#summed = this.#levels.map(() => 0);
    for (const part of parts) {
      for (let k = 0; k < part.places.length; k++) {
        const place = part.places[k];
        this.places.push(place);
        this.total[place] = part.totals[k];
        this.unique[place] = 0;
        this.#summed[this.#level[place]] += part.totals[k];
      }
    }
    this.places.sort((a, b) => a - b);
    this.either = this.#levels.map((inside) => eitherOf(parts, inside));
    this.#levels.forEach((inside) => this.#findUnique(parts, inside));
  }

  #findUnique(parts, inside) {
    const missed = parts.map((part) => missedOf(part, inside));
    for (let n = 0; n < parts.length; n++) {
      let others = 1; // the probability that all other parts miss
      for (let m = 0; m < parts.length; m++) if (m !== n) others *= missed[m];
      if (others === 0) continue;
      const { places } = parts[n];
      for (let k = 0; k < places.length; k++) {
        if (inside[places[k]]) this.unique[places[k]] = others * aloneInPart(parts[n], inside, k);
      }
    }
  }

  /** or(M) · a / Σ a of the level of a trigger. */
  share(place) {
    const l = this.#level[place];
    return this.#summed[l] > 0 ? this.total[place] * (this.either[l] / this.#summed[l]) : 0;
  }
}

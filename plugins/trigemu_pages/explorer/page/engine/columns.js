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
    this.menu = 0;
    this.levels = menu.hasLevels ? menu.levels.length : 0;
    this.length = this.group(menu.groups.length);
    this.pairs = this.triggers ** 2;
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
    return Math.min(i, j) * this.triggers + Math.max(i, j);
  }
}

/** The entries of a row: columns in ascending order, and their fractions, which are not 0. */
export class Entries {
  columns = [];
  values = [];

  add(column, value) {
    if (value === 0) return;
    this.columns.push(column);
    this.values.push(value);
  }

  addRates(column, { total, unique, share }) {
    this.add(column + TOTAL, total);
    this.add(column + UNIQUE, unique);
    this.add(column + SHARE, share);
    this.add(column + COVERED, total - unique);
  }
}

/** Makes the rows of a menu in one state. */
export class Rows {
  #acceptance;
  #levels;
  #groups;

  constructor(menu) {
    this.layout = new Layout(menu);
    this.#acceptance = new Acceptance(menu);
    this.#levels = menu.levels.map((level) => menu.inside((trigger) => (trigger.level ?? "") === level));
    this.#groups = menu.groups.map((group) => {
      const inside = menu.inside((trigger) => trigger.group === group);
      const found = this.#levels.findIndex((level) => level.some((on, i) => on && inside[i]));
      const level = Math.max(found, 0);
      return { inside, level, others: this.#levels[level].map((on, i) => on && !inside[i]) };
    });
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
    const either = this.#levels.map((inside) => eitherOf(parts, inside));
    const rates = this.#levels.flatMap((inside, l) => ratesOf(parts, inside, either[l]));
    rates.sort((a, b) => a.place - b.place);
    entries.add(layout.menu, either.at(-1));
    if (layout.levels) {
      either.forEach((value, l) => entries.add(layout.level(l), value));
      for (let l = 1; l < either.length; l++) entries.add(layout.rejected(l), either[l - 1] - either[l]);
    }
    for (const rate of rates) entries.addRates(layout.trigger(rate.place), rate);
    this.#groups.forEach(({ inside, level, others }, g) => {
      const members = rates.filter(({ place }) => inside[place]);
      if (!members.length) return;
      entries.addRates(layout.group(g), {
        total: eitherOf(parts, inside),
        unique: either[level] - eitherOf(parts, others),
        share: members.reduce((sum, { share }) => sum + share, 0),
      });
    });
    return entries;
  }

  /** Return the entries of the pairs of triggers, as `row` does. isShown: of which triggers, by place. */
  pairs(fires, isShown) {
    const found = [];
    const shown = this.#acceptance
      .parts(fires)
      .flatMap((part) => part.places.flatMap((place, k) => (isShown[place] ? [{ part, place, k }] : [])));
    shown.forEach((a, n) => {
      for (const b of shown.slice(0, n + 1)) {
        const both =
          a.part === b.part ? bothInPart(a.part, a.k, b.k) : a.part.totals[a.k] * b.part.totals[b.k];
        found.push([this.layout.pair(a.place, b.place), both]);
      }
    });
    const entries = new Entries();
    for (const [column, value] of found.sort((a, b) => a[0] - b[0])) entries.add(column, value);
    return entries;
  }
}

/** Return total, unique and share = or(M) · a / Σ a of the triggers of a level that may accept an event. */
function ratesOf(parts, inside, either) {
  const missed = parts.map((part) => missedOf(part, inside));
  const found = [];
  let sum = 0;
  for (let n = 0; n < parts.length; n++) {
    const part = parts[n];
    let others = 1; // the probability that all other parts miss
    for (let m = 0; m < parts.length; m++) if (m !== n) others *= missed[m];
    for (let k = 0; k < part.places.length; k++) {
      const [place, total] = [part.places[k], part.totals[k]];
      if (!inside[place]) continue;
      const unique = others === 0 ? 0 : others * aloneInPart(part, inside, k);
      found.push({ place, total, unique, share: 0 });
      sum += total;
    }
  }
  if (sum > 0) for (const rate of found) rate.share = rate.total * (either / sum);
  return found;
}

// The arithmetic of the page: rates, differences, scans and efficiencies of menus in any state.

import { judged, Rows } from "./columns.js";
import { DifferenceRows } from "./differences.js";
import { acceptedBy, efficiencies, turnonBins } from "./efficiency.js";
import { Menu } from "./menu.js";
import { Patterns } from "./patterns.js";
import { overlapFrom, ratesFrom } from "./rates.js";
import { scanOf } from "./scan.js";
import { parentsOf, PatternRows, sumColumns, sumPatterns } from "./sums.js";

/**
 * Overlaps are of so many triggers, those with the largest rates: a matrix of hundreds is neither read nor
 * fast.
 */
const MOST_PAIRS = 60;

/** A menu, without its fitted triggers, and with only those that accept all events alike. */
function variantsOf(menu) {
  return [menu, menu.without(({ fitted }) => fitted), menu.without(({ constant }) => !constant)];
}

/** Keeps what is known of patterns between calls. */
export class Engine {
  #data;
  #parents;
  #patterns = new Map();
  #rows = new Map();
  #shown = new Map();
  #accepted = new Map();

  constructor(data) {
    this.#data = data;
    this.#parents = parentsOf(data.background);
  }

  /** The patterns of a table for menus in their states. forget: what else is known of old patterns. */
  #patternsOf(place, table, menus, numbers) {
    const key = `${place} ${numbers}`;
    if (!this.#patterns.has(key)) this.#patterns.set(key, new Patterns(this.#data, table, numbers));
    const patterns = this.#patterns.get(key);
    if (patterns.update(menus)) this.#rows.delete(key);
    return { patterns, key };
  }

  /**
   * Rows of patterns, kept while they hold: if a switch or a prescale changes, those of patterns in which
   * that trigger fires are made anew. make: by name, what `PatternRows` takes.
   */
  #rowsOf(key, menus, patterns, make) {
    const kept = this.#rows.get(key);
    const rows = kept?.rows ?? {};
    const bits = kept
      ? menus.flatMap((menu, slot) =>
          menu.changedFrom(kept.menus[slot]).map(({ name }) => patterns.bit(name, slot)),
        )
      : [];
    if (kept && !bits.length) return rows;
    const { dictionary } = patterns;
    const isStale = (number) => bits.some((bit) => bit === undefined || dictionary.has(number, bit));
    for (const [name, of] of Object.entries(make)) {
      if (name in rows) rows[name].renew(isStale, ...of);
      else rows[name] = new PatternRows(...of);
    }
    this.#rows.set(key, { menus, rows });
    return rows;
  }

  /**
   * Return a function of a pattern's number that gives the entries with which its events enter rates. row,
   * without: the same of the menus, and of them without their fitted triggers.
   */
  #judged(patterns, row, without) {
    const { factors } = this.#data.background;
    return (number) => {
      const factor = patterns.factorOf(number);
      return factor < 0 ? row(number) : judged(row(number), without(number), factors[factor]);
    };
  }

  #prepared(state) {
    const menu = new Menu(this.#data, state);
    const { patterns, key } = this.#patternsOf("background", this.#data.background, [menu], [state.menu]);
    const decisions = patterns.decisionsOf(menu);
    const [made, without, constant] = variantsOf(menu).map((of) => new Rows(of));
    const [row, rowWithout] = [made, without].map((of) => (number) => of.row(decisions(number)));
    const isShown = () => this.#shown.get(state.menu);
    const [pair, pairWithout] = [made, without].map(
      (of) => (number) => of.pairs(decisions(number), isShown()),
    );
    const { rows, pairs } = this.#rowsOf(key, [menu], patterns, {
      rows: [this.#judged(patterns, row, rowWithout), () => constant.row(() => false)],
      pairs: [this.#judged(patterns, pair, pairWithout), () => constant.pairs(() => false, isShown())],
    });
    return { menu, patterns, layout: made.layout, rows, pairs };
  }

  /**
   * Rates of a menu in a state. A rate is {hz, error, events, effective, limit}: Hz, its error in Hz, the
   * number of events, the effective number, and the upper limit in Hz if there is no event, else null. The
   * overlap is summed when it is asked for.
   * @returns {{rate, levels, triggers, groups, overlap}}
   */
  rates(state) {
    const { menu, patterns, layout, rows, pairs } = this.#prepared(state);
    const sums = this.#sums(patterns, rows);
    const found = ratesFrom(menu, layout, sumColumns(sums, rows, layout.length), this.#data.background);
    const isShown = this.#shownPairs(state.menu, menu, found.triggers);
    let overlap = null;
    return {
      ...found,
      get overlap() {
        overlap ??= overlapFrom(menu, layout, sumColumns(sums, pairs, layout.pairs), isShown);
        return overlap;
      },
    };
  }

  /** Whether pairs have a trigger, by place: it stays the same for a menu, whatever its rate becomes. */
  #shownPairs(number, menu, triggers) {
    if (!this.#shown.has(number)) {
      const largest = [...triggers].sort((a, b) => b.total.hz - a.total.hz).slice(0, MOST_PAIRS);
      const names = new Set(largest.map(({ name }) => name));
      const all = menu.all.length <= MOST_PAIRS;
      this.#shown.set(
        number,
        menu.all.map(({ name }) => all || names.has(name)),
      );
    }
    return this.#shown.get(number);
  }

  #sums(patterns, rows) {
    return sumPatterns(this.#data.background, this.#parents, patterns, rows.isEmpty(0));
  }

  /**
   * Differences a − b of the rates of two states in Hz, with paired errors, and what b accepts beyond a, and
   * a beyond b.
   * @returns {{differences: {what, quantity, hz, error}[], gained: {hz, error}[]}}
   */
  differences(a, b) {
    const menus = [a, b].map((state) => new Menu(this.#data, state));
    const { patterns, key } = this.#patternsOf("background", this.#data.background, menus, [a.menu, b.menu]);
    const decisions = menus.map((menu, slot) => patterns.decisionsOf(menu, slot));
    const variants = menus.map(variantsOf);
    const [made, without, constant] = [0, 1, 2].map(
      (which) => new DifferenceRows(...variants.map((of) => of[which])),
    );
    const [row, rowWithout] = [made, without].map(
      (of) => (number) => of.row(decisions.map((fires) => fires(number))),
    );
    const { rows } = this.#rowsOf(key, menus, patterns, {
      rows: [this.#judged(patterns, row, rowWithout), () => constant.row(menus.map(() => () => false))],
    });
    const sums = this.#sums(patterns, rows);
    return made.result(sumColumns(sums, rows, made.length));
  }

  /**
   * Rates against the threshold of a trigger, at each of its steps, as if it were on.
   * @returns {{steps: number[], thresholds: number[], total, unique, rate}} the last three {hz, error} in Hz,
   * by step
   */
  scan(state, trigger) {
    const triggers = new Map(state.triggers);
    triggers.set(trigger, { ...triggers.get(trigger), on: true });
    const { menu, patterns, layout, rows } = this.#prepared({ ...state, triggers });
    const { score, first, last } = menu.triggers.get(trigger).decision;
    const steps = Array.from({ length: last - first + 1 }, (_, i) => first + i);
    const thresholds = steps.map((step) => this.#data.scores[score].steps[step]);
    const { background } = this.#data;
    const found = scanOf(background, this.#parents, patterns, rows, layout, menu, trigger);
    return { steps, thresholds, ...found };
  }

  /**
   * The offered step at which a rate of a trigger ("total" or "unique") is nearest to some Hz.
   * @returns {{step: number|null, hz: number}} step: null if the rate is nowhere as large; then hz is the
   * largest
   */
  solve(state, trigger, quantity, hz) {
    const found = this.scan(state, trigger);
    const rates = found[quantity].hz;
    const largest = Math.max(...rates);
    if (largest < hz) return { step: null, hz: largest };
    let best = 0;
    rates.forEach((rate, i) => {
      if (Math.abs(rate - hz) < Math.abs(rates[best] - hz)) best = i;
    });
    return { step: found.steps[best], hz: rates[best] };
  }

  /**
   * Efficiencies {value, low, high, gain: {value, error}} of the menu and its triggers on a signal; the gain
   * is over another state.
   * @returns {{menu, triggers: Object<string, object>}}
   */
  efficiency(signal, state, other) {
    const { table } = this.#data.signals[signal];
    return efficiencies(table, this.#signal(signal, state, "now"), this.#signal(signal, other, "other"));
  }

  /**
   * Efficiencies {value, low, high, events} in the bins of a turn-on, of the menu (trigger null) or of a
   * trigger.
   */
  turnon(signal, turnon, state, trigger) {
    const { table, turnons } = this.#data.signals[signal];
    return turnonBins(table, turnons[turnon], this.#signal(signal, state, "now"), trigger);
  }

  /** A menu and what it accepts of a signal's events, in one of two places, which keep the last state each. */
  #signal(signal, state, place) {
    const at = `signal ${signal} ${place}`;
    if (this.#accepted.get(at)?.state !== state) {
      const menu = new Menu(this.#data, state);
      const { table } = this.#data.signals[signal];
      const { patterns } = this.#patternsOf(at, table, [menu], [state.menu]);
      this.#accepted.set(at, { state, menu, accepted: acceptedBy(menu, patterns) });
    }
    return this.#accepted.get(at);
  }
}

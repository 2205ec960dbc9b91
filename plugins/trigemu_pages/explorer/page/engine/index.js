// The arithmetic of the page: rates, differences, scans and efficiencies of menus in any state.

import { Layout, Rows, TOTAL } from "./columns.js";
import { DifferenceRows } from "./differences.js";
import { efficienciesIn } from "./efficiency.js";
import { Menu } from "./menu.js";
import { Patterns } from "./patterns.js";
import { overlapFrom, ratesFrom } from "./rates.js";
import { scanOf } from "./scan.js";
import { judged, PatternRows, sumColumns, sumPatterns } from "./sums.js";

/** Overlaps are of so many triggers, those with the largest rates: a matrix of hundreds is neither read nor fast. */
const MOST_PAIRS = 60;

/** Keeps what is known of patterns between calls, and the last answers, which several views ask for. */
export class Engine {
  #data;
  #kept = new Map();
  #answers = new Map();
  #shown = new Map();

  constructor(data) {
    this.#data = data;
  }

  /** The last answer to a question, found anew if its inputs are others. */
  #answer(question, inputs, find) {
    const known = this.#answers.get(question);
    if (known?.inputs.every((input, i) => input === inputs[i])) return known.answer;
    const answer = find();
    this.#answers.set(question, { inputs, answer });
    return answer;
  }

  /**
   * Return menus in some states, their patterns on a table, and by name the entries of each pattern, kept while
   * they hold: if a switch or a prescale changes, those of patterns in which that trigger fires are made anew.
   * make: by name, a function of menus that gives a function of their decisions, which gives entries.
   */
  #prepared(place, table, states, make) {
    const key = `${place} ${states.map(({ menu }) => menu)}`;
    return this.#answer(key, states, () => {
      const menus = states.map((state) => new Menu(this.#data, state));
      const numbers = states.map(({ menu }) => menu);
      if (!this.#kept.has(key))
        this.#kept.set(key, { patterns: new Patterns(this.#data, table, numbers), rows: {} });
      const kept = this.#kept.get(key);
      const { patterns, rows } = kept;
      const isForgotten = patterns.update(menus);
      const changed = menus.flatMap((menu, slot) =>
        menu.changedFrom(kept.menus?.[slot]).map(({ name }) => patterns.bit(name, slot)),
      );
      const isStale = (number) =>
        isForgotten || changed.some((bit) => bit === undefined || patterns.dictionary.has(number, bit));
      if (isForgotten || changed.length) {
        for (const [name, makeOf] of Object.entries(make)) {
          rows[name] ??= new PatternRows();
          rows[name].renew(isStale, entriesOf(makeOf, menus, patterns, table.factors ?? [1]));
        }
      }
      kept.menus = menus;
      return { menus, patterns, ...rows };
    });
  }

  #ofMenu(place, table, state) {
    const prepared = this.#prepared(place, table, [state], {
      rows: ([menu]) => {
        const rows = new Rows(menu);
        return ([fires]) => rows.row(fires);
      },
      pairs: ([menu]) => {
        const rows = new Rows(menu);
        return ([fires]) => rows.pairs(fires, this.#shown.get(state.menu));
      },
    });
    const [menu] = prepared.menus;
    return { ...prepared, menu, layout: new Layout(menu) };
  }

  #background(state) {
    return this.#ofMenu("background", this.#data.background, state);
  }

  /**
   * Rates of a menu in a state. A rate is {hz, error, events, effective, limit}: Hz, its error in Hz, the
   * number of events, the effective number, and the upper limit in Hz if there is no event, else null. The
   * overlap is summed when it is asked for.
   * @returns {{rate, levels, triggers, groups, overlap}}
   */
  rates(state) {
    return this.#answer("rates", [state], () => {
      const { background } = this.#data;
      const { menu, patterns, layout, rows, pairs } = this.#background(state);
      const sums = sumPatterns(background, patterns, rows.idle);
      const columns = sumColumns(sums, rows, layout.length);
      const found = ratesFrom(menu, layout, columns, background);
      const isShown = this.#shownPairs(state.menu, menu, found.triggers);
      let overlap = null;
      return {
        ...found,
        get overlap() {
          const summed = () => sumColumns(sums, pairs, layout.pairs);
          overlap ??= overlapFrom(menu, layout, summed(), isShown);
          return overlap;
        },
      };
    });
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

  /**
   * Differences a − b of the rates of two states in Hz, with paired errors, and what b accepts beyond a, and
   * a beyond b.
   * @returns {{differences: {what, quantity, hz, error}[], gained: {hz, error}[]}}
   */
  differences(a, b) {
    return this.#answer(`differences ${a.menu} ${b.menu}`, [a, b], () => {
      const { background } = this.#data;
      const { menus, patterns, rows } = this.#prepared("background", background, [a, b], {
        rows: (pair) => {
          const made = new DifferenceRows(pair);
          return (fires) => made.row(fires);
        },
      });
      const made = new DifferenceRows(menus);
      const sums = sumPatterns(background, patterns, rows.idle);
      return made.result(sumColumns(sums, rows, made.length));
    });
  }

  /**
   * Rates against the threshold of a trigger, at each of its steps, as if it were on.
   * @returns {{steps: number[], thresholds: number[], total, unique, rate}} the last three {hz, error} in Hz,
   * by step
   */
  scan(state, trigger) {
    const triggers = new Map(state.triggers);
    triggers.set(trigger, { ...triggers.get(trigger), on: true });
    const { menu, patterns, layout, rows } = this.#background({ ...state, triggers });
    const { score, first, last } = menu.triggers.get(trigger).decision;
    const steps = Array.from({ length: last - first + 1 }, (_, i) => first + i);
    const thresholds = steps.map((step) => this.#data.scores[score].steps[step]);
    return { steps, thresholds, ...scanOf(this.#data.background, patterns, rows, layout, menu, trigger) };
  }

  /**
   * The offered step at which a rate of a trigger ("total" or "unique") is nearest to some Hz.
   * @returns {{step: number|null, hz: number}} step: null if the rate is nowhere as large; then hz is the
   * largest
   */
  solve(state, trigger, { quantity, hz }) {
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

  /** Return a function of a trigger's name, null for the menu, that gives one of a signal's event: what is accepted. */
  #accepted(place, signal, state) {
    const { table } = this.#data.signals[signal];
    const { menu, patterns, layout, rows } = this.#ofMenu(`${place} ${signal}`, table, state);
    return (name) => {
      const trigger = menu.triggers.get(name);
      if (name !== null && !trigger) return () => 0;
      const column = trigger ? layout.trigger(trigger.place, TOTAL) : layout.menu;
      return (event) => {
        const { columns, values } = rows.of(patterns.number[event]);
        return values[columns.indexOf(column)] ?? 0;
      };
    };
  }

  /**
   * Efficiencies {value, low, high, gain: {value, error}} of the menu and its triggers on a signal; the gain
   * is over another state.
   * @returns {{menu, triggers: Object<string, object>}}
   */
  efficiency(signal, state, other) {
    const { table } = this.#data.signals[signal];
    const [now, before] = [this.#accepted("now", signal, state), this.#accepted("other", signal, other)];
    const of = (name) => efficienciesIn(table, 1, () => 0, now(name), before(name))[0];
    const on = [...state.triggers].filter(([, trigger]) => trigger.on);
    return { menu: of(null), triggers: Object.fromEntries(on.map(([name]) => [name, of(name)])) };
  }

  /**
   * Efficiencies {value, low, high, events} in the bins of a turn-on, of the menu (trigger null) or of a
   * trigger.
   */
  turnon(signal, turnon, state, trigger) {
    return this.#answer(`turn-on ${signal} ${turnon} ${trigger}`, [state], () => {
      const { table, turnons } = this.#data.signals[signal];
      const { edges, bin } = turnons[turnon];
      const accepted = this.#accepted("now", signal, state)(trigger);
      return efficienciesIn(
        table,
        edges.length - 1,
        (i) => bin[i],
        accepted,
        () => 0,
      );
    });
  }
}

/**
 * Return a function of a pattern's number that gives the entries with which its events enter rates. make: a
 * function of menus that gives a function of their decisions, which gives entries.
 */
function entriesOf(make, menus, patterns, factors) {
  const of = (isOut) => make(menus.map((menu) => menu.without(isOut)));
  const [row, withoutFitted, constant] = [
    make(menus),
    of(({ fitted }) => fitted),
    of((trigger) => !trigger.constant),
  ];
  const decisions = patterns.decisionsOf(menus);
  let fixed = null; // when it is needed: only then is known which pairs are shown
  return (number) => {
    fixed ??= constant(menus.map(() => () => false));
    const fires = decisions(number);
    const factor = factors[patterns.factorOf(number)] ?? 1;
    const before = factor === 1 ? fixed : withoutFitted(fires);
    return judged(row(fires), before, factor, fixed);
  };
}

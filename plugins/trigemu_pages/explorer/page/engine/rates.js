// The rates of a menu from sums over patterns, as `trigemu run` gives them.

import { withNesting } from "./nested.js";
import { COVERED, SHARE, TOTAL, UNIQUE } from "./columns.js";

/** Upper limit at 68 % on a Poisson mean with no event seen: −ln(1 − 0.68). */
const ZERO_EVENTS_LIMIT = 1.14;
/** Variances that cancel to a smaller part of themselves are equal but for the order of their sums. */
const EQUAL = 1e-14;

/**
 * @param {Menu} menu
 * @param {Layout} layout
 * @param {{hz, variance, squares, events, largest}} sums by column
 * @param {{largest: number, largest_fitted: number}} heaviest the largest weight of any event, and with its
 *   factor in rates of fitted triggers
 */
export function ratesFrom(menu, layout, sums, heaviest) {
  const { scale } = menu;
  const most = ({ fitted, prescale }) => (fitted ? heaviest.largest_fitted : heaviest.largest) / prescale;
  const couldEnter = (triggers) => scale * Math.max(0, ...triggers.map(most));
  const ofMenu = couldEnter(menu.enabled);

  function rate(column, most) {
    const events = sums.events[column];
    if (!events) return { hz: 0, error: 0, events: 0, effective: 0, limit: ZERO_EVENTS_LIMIT * most };
    const hz = sums.hz[column] * scale;
    const squares = sums.squares[column] * scale ** 2;
    return {
      hz,
      error: Math.sqrt(Math.max(sums.variance[column], 0)) * scale,
      events,
      effective: squares ? hz ** 2 / squares : 0,
      limit: null,
    };
  }

  /** Part / whole of two columns and its error; the variances of part, rest and whole give the covariance. */
  function ratio(part, rest, whole) {
    const { hz, variance } = sums;
    if (!(hz[whole] > 0)) return null;
    const covariance = (variance[whole] - variance[part] - variance[rest]) / 2;
    const [value, other] = [hz[part] / hz[whole], hz[rest] / hz[whole]];
    const largest = other ** 2 * variance[part] + value ** 2 * variance[rest];
    const square = largest - 2 * value * other * covariance;
    return [value, square <= EQUAL * largest ? 0 : Math.sqrt(square) / hz[whole]];
  }

  function rowOf(name, column, triggers) {
    const limit = couldEnter(triggers);
    const own = sums.largest[column(TOTAL)] * scale || limit; // what is unique weighs no more than what is accepted
    return {
      name,
      total: rate(column(TOTAL), limit),
      unique: rate(column(UNIQUE), own),
      share: rate(column(SHARE), limit),
      uniqueFraction: ratio(column(UNIQUE), column(COVERED), column(TOTAL)),
    };
  }

  const levels = (menu.hasLevels ? menu.levels : []).map((name, l) => {
    const accepted = l ? ratio(layout.level(l), layout.rejected(l), layout.level(l - 1)) : null;
    const [share, error] = accepted?.[0] > 0 ? accepted : [NaN, NaN];
    const [rejection, rejectionError] = share ? [1 / share, error / share ** 2] : [null, null];
    return { name, rate: rate(layout.level(l), ofMenu), rejection, rejectionError };
  });
  const triggers = menu.enabled.map((trigger) =>
    rowOf(trigger.name, (quantity) => layout.trigger(trigger.place, quantity), [trigger]),
  );
  const groups = menu.groups.flatMap((name, g) => {
    const members = menu.enabled.filter(({ group }) => group === name);
    return members.length ? [rowOf(name, (quantity) => layout.group(g, quantity), members)] : [];
  });
  return { rate: rate(layout.menu, ofMenu), levels, ...withNesting(menu, triggers, groups) };
}

/** Return the rates that two triggers accept together from the sums of pairs, and errors: row by row. */
export function overlapFrom(menu, layout, sums, isShown) {
  const { scale } = menu;
  const enabled = menu.enabled.filter(({ place }) => isShown[place]);
  const columns = enabled.flatMap(({ place }) => enabled.map((other) => layout.pair(place, other.place)));
  return {
    names: enabled.map((trigger) => trigger.name),
    hz: Float64Array.from(columns, (column) => sums.hz[column] * scale),
    error: Float64Array.from(columns, (column) => Math.sqrt(Math.max(sums.variance[column], 0)) * scale),
  };
}

// Efficiencies of a signal's events, which have patterns as the background has.

import { Rows, TOTAL } from "./columns.js";
import { Efficiency, Gain } from "./intervals.js";
import { parentsOf, PatternRows } from "./sums.js";

/** Return a function of a trigger's name, null for the menu, that gives one of an event: the accepted fraction. */
export function acceptedBy(menu, patterns) {
  const rows = new Rows(menu);
  const decisions = patterns.decisionsOf(menu);
  const known = new PatternRows((number) => rows.row(decisions(number)));
  const columns = new Map(menu.all.map(({ name, place }) => [name, rows.layout.trigger(place, TOTAL)]));
  return (name) => {
    const column = name === null ? rows.layout.menu : columns.get(name);
    return (event) => {
      const number = patterns.events.number[event];
      known.know(number);
      return known.fraction(number, column);
    };
  };
}

/** Add events to sums in bins. bin: the bin of an event, undefined for none. of: what is added of an event. */
function addTo(sums, table, bin, of) {
  const parents = parentsOf(table);
  for (let parent = 0; parent + 1 < parents.length; parent++) {
    for (let i = parents[parent]; i < parents[parent + 1]; i++) {
      sums[bin(i)]?.add(table.weights[table.weight[i]], of(i));
    }
    sums.forEach((sum) => sum.endParent());
  }
  return sums.map((sum) => sum.result());
}

/**
 * Return the efficiencies of a menu and of its enabled triggers on a signal, and their gains over another menu.
 * now, other: {menu, accepted}, accepted being that of `acceptedBy`.
 */
export function efficiencies(table, now, other) {
  function result(name) {
    const fraction = now.accepted(name);
    const reference = name === null || other.menu.triggers.has(name) ? other.accepted(name) : () => 0;
    const difference = (event) => fraction(event) - reference(event);
    const [efficiency] = addTo([new Efficiency()], table, () => 0, fraction);
    const [gain] = addTo([new Gain()], table, () => 0, difference);
    return { ...efficiency, gain };
  }
  return {
    menu: result(null),
    triggers: Object.fromEntries(now.menu.enabled.map(({ name }) => [name, result(name)])),
  };
}

/** Return the efficiencies in the bins of a turn-on, of the menu (trigger null) or of an enabled trigger. */
export function turnonBins(table, { edges, bin }, now, trigger) {
  const sums = Array.from({ length: edges.length - 1 }, () => new Efficiency());
  const found = addTo(sums, table, (i) => bin[i], now.accepted(trigger));
  return found.map((of, b) => ({ ...of, events: sums[b].events }));
}

// Efficiencies of a signal's events, which have patterns as the background has.

import { Rows, TOTAL } from "./columns.js";
import { Efficiency } from "./intervals.js";
import { parentsOf, PatternRows } from "./sums.js";

/** Return, for each event of a signal, the accepted fraction of the menu (name null) or of a trigger: a function. */
function accepted(menu, patterns) {
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

/** Sum events in bins; bin: the bin of an event, of `bins`, or undefined for none. */
function inBins(table, fraction, bins, bin) {
  const found = Array.from({ length: bins }, () => new Efficiency());
  const parents = parentsOf(table);
  for (let parent = 0; parent + 1 < parents.length; parent++) {
    for (let i = parents[parent]; i < parents[parent + 1]; i++) {
      found[bin(i)]?.add(table.weights[table.weight[i]], fraction(i));
    }
    found.forEach((of) => of.endParent());
  }
  return found;
}

/** Return the efficiencies of a menu and of its enabled triggers on a signal. */
export function efficiencies(table, menu, patterns) {
  const of = accepted(menu, patterns);
  const result = (name) => inBins(table, of(name), 1, () => 0)[0].result();
  return {
    menu: result(null),
    triggers: Object.fromEntries(menu.enabled.map(({ name }) => [name, result(name)])),
  };
}

/** Return the efficiencies in the bins of a turn-on, of the menu (trigger null) or of an enabled trigger. */
export function turnonBins(table, { edges, bin }, menu, patterns, trigger) {
  const found = inBins(table, accepted(menu, patterns)(trigger), edges.length - 1, (i) => bin[i]);
  return found.map((of) => ({ ...of.result(), events: of.events }));
}

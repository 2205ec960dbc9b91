// All numbers of two states by name, for tests: what the tables and plots show of them.

const ofRate = ({ hz, error, events, effective, limit }) => [hz, error, events, effective, limit ?? 0];

/** @returns {Object<string, number[]>} */
export function numbersOf(data, engine, slots) {
  const found = [];
  for (const [place, other] of ["AB", "BA"]) {
    const add = (name, numbers) => found.push([`${place} ${name}`, numbers]);
    addRates(add, engine.rates(slots[place]));
    data.signals.forEach((_, s) => addEfficiencies(add, engine, data, s, slots[place], slots[other]));
  }
  const { differences, gained } = engine.differences(slots.A, slots.B);
  for (const { what, quantity, hz, error } of differences)
    found.push([`difference ${what} ${quantity}_hz`, [hz, error]]);
  gained.forEach(({ hz, error }, k) => found.push([`gained ${["A B", "B A"][k]}`, [hz, error]]));
  return Object.fromEntries(found);
}

function addRates(add, { rate, levels, triggers, groups, overlap }) {
  add("rate", ofRate(rate));
  for (const level of levels) {
    add(`level ${level.name}`, ofRate(level.rate));
    add(`rejection ${level.name}`, [level.rejection ?? 0, level.rejectionError ?? 0]);
  }
  for (const [kind, rows] of Object.entries({ trigger: triggers, group: groups })) {
    for (const row of rows) {
      for (const quantity of ["total", "unique", "share"])
        add(`${kind} ${row.name} ${quantity}`, ofRate(row[quantity]));
      add(`${kind} ${row.name} fraction`, row.uniqueFraction ?? [0, 0]);
    }
  }
  const { names, hz, error } = overlap;
  names.forEach((a, i) =>
    names.slice(0, i + 1).forEach((b, j) => {
      const at = i * names.length + j;
      add(`overlap ${a} ${b}`, [hz[at], error[at]]);
    }),
  );
}

function addEfficiencies(add, engine, data, s, slot, other) {
  const { name: signal, turnons } = data.signals[s];
  const { menu, triggers } = engine.efficiency(s, slot, other);
  for (const [name, { value, low, high, gain }] of Object.entries({ menu, ...triggers })) {
    add(`efficiency ${signal} ${name}`, [value, low, high, gain.value, gain.error]);
    turnons.forEach(({ observable }, t) => {
      const bins = engine.turnon(s, t, slot, name === "menu" ? null : name);
      const columns = ["value", "low", "high"].flatMap((key) => bins.map((bin) => bin[key]));
      add(`turn-on ${signal} ${observable} ${name}`, columns);
    });
  }
}

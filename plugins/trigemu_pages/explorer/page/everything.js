// All numbers of two states by name, for tests: what the tables and plots show of them.

const ofRate = ({ hz, error, events, effective, limit }) => [hz, error, events, effective, limit ?? 0];
const ofInterval = ({ value, low, high }) => [value, low, high];

/** @returns {Object<string, number[]>} */
export function numbersOf(data, engine, slots) {
  const found = {};
  for (const place of ["A", "B"]) {
    for (const [name, numbers] of ratesOf(engine.rates(slots[place]))) found[`${place} ${name}`] = numbers;
    data.signals.forEach((signal, s) => {
      for (const [name, numbers] of efficienciesOf(
        engine,
        signal,
        s,
        slots[place],
        slots[place === "A" ? "B" : "A"],
      ))
        found[`${place} ${name}`] = numbers;
    });
  }
  const { differences, gained } = engine.differences(slots.A, slots.B);
  for (const { what, quantity, hz, error } of differences)
    found[`difference ${what} ${quantity}_hz`] = [hz, error];
  found["gained A B"] = [gained[0].hz, gained[0].error];
  found["gained B A"] = [gained[1].hz, gained[1].error];
  return found;
}

function* ratesOf({ rate, levels, triggers, groups, overlap }) {
  yield ["rate", ofRate(rate)];
  for (const level of levels) {
    yield [`level ${level.name}`, ofRate(level.rate)];
    yield [`rejection ${level.name}`, [level.rejection ?? 0, level.rejectionError ?? 0]];
  }
  for (const [kind, rows] of [
    ["trigger", triggers],
    ["group", groups],
  ]) {
    for (const row of rows) {
      for (const quantity of ["total", "unique", "share"]) {
        yield [`${kind} ${row.name} ${quantity}`, ofRate(row[quantity])];
      }
      yield [`${kind} ${row.name} fraction`, row.uniqueFraction ?? [0, 0]];
    }
  }
  const { names, hz, error } = overlap;
  for (let i = 0; i < names.length; i++) {
    for (let j = 0; j <= i; j++) {
      const at = i * names.length + j;
      yield [`overlap ${names[i]} ${names[j]}`, [hz[at], error[at]]];
    }
  }
}

function* efficienciesOf(engine, signal, s, slot, other) {
  const { menu, triggers } = engine.efficiency(s, slot, other);
  const names = [null, ...Object.keys(triggers)];
  for (const name of names) {
    const of = name === null ? menu : triggers[name];
    yield [`efficiency ${signal.name} ${name ?? "menu"}`, [...ofInterval(of), of.gain.value, of.gain.error]];
  }
  for (const [t, { observable }] of signal.turnons.entries()) {
    for (const name of names) {
      const bins = engine.turnon(s, t, slot, name);
      const columns = ["value", "low", "high"].flatMap((key) => bins.map((bin) => bin[key]));
      yield [`turn-on ${signal.name} ${observable} ${name ?? "menu"}`, columns];
    }
  }
}

// The rates of a state as CSV, with the columns of `trigemu run --csv` that the page has.

const QUANTITIES = ["total", "unique", "share"];
const NUMBERS = [
  ["hz", "hz"],
  ["error_hz", "error"],
  ["events", "events"],
  ["effective_events", "effective"],
  ["upper_limit_hz", "limit"],
];

/**
 * Return CSV with a line for each trigger that is on and each group, then for each level and the menu.
 * @param {object} menu
 * @param {(name: string) => {threshold: number|null, prescale: number|null}} settings of a trigger
 * @param {object} rates the result of the engine's `rates`
 */
export function ratesCsv(menu, settings, rates) {
  const head = ["name", "kind", "group", "level", "prescale", "threshold"];
  for (const quantity of QUANTITIES) for (const [column] of NUMBERS) head.push(`${quantity}_${column}`);
  const known = new Map(menu.triggers.map((trigger) => [trigger.name, trigger]));
  const lines = [
    ...rates.triggers.map((row) => {
      const { kind, group, level } = known.get(row.name);
      const { prescale, threshold } = settings(row.name);
      return [row.name, kind, group, level, prescale, threshold, ...allNumbers(row)];
    }),
    ...rates.groups.map((row) => [row.name, "group", null, null, null, null, ...allNumbers(row)]),
    ...rates.levels.map((level) => whole(level.name, "level", level.rate, head.length)),
    whole(menu.name, "menu", rates.rate, head.length),
  ];
  return [head, ...lines].map((line) => `${line.map(cell).join(",")}\n`).join("");
}

function allNumbers(row) {
  return QUANTITIES.flatMap((quantity) => numbers(row[quantity]));
}

function numbers(rate) {
  return NUMBERS.map(([, key]) => rate[key]);
}

function whole(name, kind, rate, columns) {
  const line = [name, kind, null, null, null, null, ...numbers(rate)];
  return [...line, ...Array(columns - line.length).fill(null)];
}

/**
 * Quote a cell where it needs it; a text that a spreadsheet would take for a formula gets a leading
 * apostrophe.
 */
function cell(value) {
  if (value == null) return "";
  const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

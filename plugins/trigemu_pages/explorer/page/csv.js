// The rates of a state as CSV, with the columns of `trigemu run --csv` that the page has.

import { thresholdAt } from "./state.js";

const QUANTITIES = ["total", "unique", "share"];
const NUMBERS = [
  ["hz", "hz"],
  ["error_hz", "error"],
  ["events", "events"],
  ["effective_events", "effective"],
  ["upper_limit_hz", "limit"],
];

/** Return CSV with a line for each trigger that is on and each group, then for each level and the menu. */
export function ratesCsv(data, slot, rates) {
  const menu = data.menus[slot.menu];
  const known = new Map(menu.triggers.map((trigger) => [trigger.name, trigger]));
  const head = ["name", "kind", "group", "level", "prescale", "threshold"];
  const columns = QUANTITIES.flatMap((quantity) => NUMBERS.map(([column]) => `${quantity}_${column}`));
  const line = (start, found) => [
    ...Object.assign(Array(head.length).fill(null), start),
    ...QUANTITIES.flatMap((quantity) => NUMBERS.map(([, key]) => found[quantity]?.[key])),
  ];
  const lines = [
    ...rates.triggers.map((row) => {
      const trigger = known.get(row.name);
      const { step, prescale } = slot.triggers.get(row.name);
      const threshold = "score" in trigger.decision ? thresholdAt(data, trigger, step) : null;
      const settings = [Number.isFinite(prescale) ? prescale * trigger.factor : null, threshold];
      return line([row.name, trigger.kind, trigger.group, trigger.level, ...settings], row);
    }),
    ...rates.groups.map((row) => line([row.name, "group"], row)),
    ...rates.levels.map(({ name, rate }) => line([name, "level"], { total: rate })),
    line([menu.name, "menu"], { total: rates.rate }),
  ];
  return [[...head, ...columns], ...lines].map((cells) => `${cells.map(cell).join(",")}\n`).join("");
}

/** Quote a cell where it needs it; a text that is a formula to spreadsheets gets a leading apostrophe. */
function cell(value) {
  if (value == null) return "";
  const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

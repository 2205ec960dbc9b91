// The table of triggers: a switch, a threshold and a prescale of each, with its rates; below, those of
// groups.

import { el, makeRow, makeTable, partsOf, setText, setValue } from "../dom.js";
import { eventsText, formatRate, percentWithError, prescaleText, thresholdText } from "../numbers.js";
import { isMovable, nearestStep, prescaleOf, thresholdAt } from "../state.js";

/** Number of triggers from which on a filter is shown. */
const MANY = 20;
/** Longer thresholds have a wider field. */
const SHORT = 6;
/** The most triggers that the legend of a mark names. */
const NAMED = 8;
const COLUMNS = [
  { label: "trigger", align: "l" },
  { label: "threshold", align: "l" },
  { label: "prescale", align: "l" },
  { label: "total", align: "r" },
  { label: "unique", align: "r" },
  { label: "unique / total", align: "r" },
  { label: "share", align: "r" },
  { label: "events", align: "r" },
  { label: "change of total", align: "r" },
];
const GROUP_COLUMNS = [COLUMNS[0], ...COLUMNS.slice(3, 8)].map((column, i) =>
  i ? column : { ...column, label: "group" },
);

export class TriggersView {
  first = true;
  rows = new Map();
  #app;
  #menu = null;
  #table = makeTable(COLUMNS, "triggers");
  #groups = makeTable(GROUP_COLUMNS, "groups");
  #groupRows = new Map();
  #parts;

  constructor(app) {
    this.#app = app;
    const { root, parts } = partsOf(".triggers");
    this.root = root;
    this.#parts = parts;
    parts.table.append(this.#table.root);
    parts.groups.append(this.#groups.root);
    parts.filter.oninput = () => this.#applyFilter();
  }

  key(page) {
    return [page.slots[page.shown], page.pick, page.shown, page.two];
  }

  paint(page) {
    const app = this.#app;
    const { slot } = app;
    if (this.#menu !== slot.menu) this.#build(app.menuOf(slot), slot.menu);
    const rates = app.engine.rates(slot);
    const byName = new Map(rates.triggers.map((row) => [row.name, row]));
    for (const [name, row] of this.rows)
      row.paint(slot.triggers.get(name), byName.get(name), slot.holds.get(name), page.pick === name);
    const groups = new Map(rates.groups.map((row) => [row.name, row]));
    for (const [name, cells] of this.#groupRows) paintRates(cells, groups.get(name));
    this.#parts.groups.hidden = !this.#groupRows.size;
    setText(this.#parts.marks, marksText(rates));
    this.#parts.marks.hidden = !this.#parts.marks.textContent;
    this.root.classList.toggle("two", page.two);
  }

  #build(menu, number) {
    this.#menu = number;
    this.rows = new Map(menu.triggers.map((trigger) => [trigger.name, new TriggerRow(this.#app, trigger)]));
    this.#table.body.replaceChildren(...[...this.rows.values()].map((row) => row.root));
    const groups = new Set(menu.triggers.map(({ group }) => group).filter(Boolean));
    this.#groupRows = new Map([...groups].map((name) => [name, rateCells()]));
    this.#groups.body.replaceChildren(
      ...[...this.#groupRows].map(([name, cells]) => makeRow(GROUP_COLUMNS, [name, ...cells])),
    );
    this.#parts.filter.hidden = menu.triggers.length < MANY;
    this.#applyFilter();
  }

  /** Name the last column. */
  nameLast(label) {
    setText(this.#table.root.querySelector("thead th:last-child"), label);
  }

  #applyFilter() {
    const wanted = this.#parts.filter.hidden ? "" : this.#parts.filter.value.toLowerCase();
    for (const row of this.rows.values()) row.root.hidden = !row.text.includes(wanted);
  }
}

/** Explain the mark 0 of unique rates, as `trigemu run` does; empty where there is none. */
function marksText({ triggers, groups }) {
  const inside = (rows, kind) =>
    rows
      .filter(({ unique }) => unique.inside)
      .map(({ name, unique }) => `${kind}${name} (${unique.inside.join(" or ")})`);
  const named = [...inside(triggers, ""), ...inside(groups, "group ")];
  if (!named.length) return "";
  const more = named.length > NAMED ? ` and ${named.length - NAMED} more` : "";
  const first = named.slice(0, NAMED).join(", ");
  return `0: by construction; those in brackets accept every event that the trigger accepts: ${first}${more}.`;
}

/** Five texts: total, unique, their ratio, share, events. */
function rateCells() {
  return Array.from({ length: 5 }, () => el("span"));
}

function paintRates(cells, row) {
  const texts = row
    ? [
        formatRate(row.total),
        formatRate(row.unique),
        row.uniqueFraction ? percentWithError(...row.uniqueFraction) : "",
        formatRate(row.share),
        eventsText(row.total),
      ]
    : ["off", "", "", "", ""];
  cells.forEach((cell, i) => setText(cell, texts[i]));
}

class TriggerRow {
  #app;
  #trigger;
  #cells = rateCells();
  #last = el("span");
  #on;
  #prescale;
  #slider = null;
  #number = null;
  #name;

  constructor(app, trigger) {
    this.#app = app;
    this.#trigger = trigger;
    const { name, group } = trigger;
    this.text = `${name} ${group ?? ""}`.toLowerCase();
    this.#on = el("input", {
      type: "checkbox",
      "aria-label": `${name} is on`,
      on: { change: () => app.changeTrigger(name, { on: this.#on.checked }) },
    });
    this.#name = el("button", {
      type: "button",
      class: "name",
      text: name,
      title: `${trigger.kind}${group ? `, group ${group}` : ""}`,
      on: { click: () => app.show({ pick: name }) },
    });
    this.#prescale = el("input", {
      type: "number",
      min: "1",
      step: "any",
      class: "prescale",
      "aria-label": `prescale of ${name}`,
      on: { change: () => this.#setPrescale() },
    });
    this.root = makeRow(COLUMNS, [
      el("span", { class: "pick" }, this.#on, this.#name),
      this.#threshold(),
      this.#prescale,
      ...this.#cells,
      this.#last,
    ]);
  }

  #threshold() {
    const { name, decision, unit, fixed } = this.#trigger;
    if (!isMovable(this.#trigger)) {
      const value =
        "score" in decision
          ? `${thresholdText(thresholdAt(this.#app.data, this.#trigger, decision.at))} ${unit}`.trimEnd()
          : "";
      return el(
        "span",
        { class: "fixed" },
        ...(value ? [el("span", { class: "number", text: value }), " "] : []),
        el("span", { class: "soft", text: `Fixed. ${fixed}` }),
      );
    }
    const move = () => {
      const step = Number(this.#slider.value);
      if (step !== this.#app.slot.triggers.get(name).step)
        this.#app.changeTrigger(name, { step }, `threshold ${name}`);
    };
    const end = () => {
      move();
      this.#app.history.endGesture();
    };
    this.#slider = el("input", {
      type: "range",
      min: String(decision.first),
      max: String(decision.last),
      step: "1",
      "aria-label": `threshold of ${name}`,
      on: { input: move, change: end, pointerup: end },
    });
    this.#number = el("input", {
      type: "number",
      step: "any",
      class: this.#thresholdText(decision.at).length > SHORT ? "threshold long" : "threshold",
      "aria-label": `threshold of ${name}${unit && ` in ${unit}`}`,
      on: { change: () => this.#setThreshold(), keydown: (event) => this.#stepBy(event) },
    });
    this.#slider.addEventListener("pointerdown", () => this.#app.show({ pick: name }));
    return el(
      "span",
      { class: "mover" },
      this.#slider,
      this.#number,
      el("span", { class: "unit", text: unit }),
    );
  }

  /** The arrow keys move by a step, which may be more or less than 1. */
  #stepBy(event) {
    const by = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const { first, last } = this.#trigger.decision;
    const step = this.#app.slot.triggers.get(this.#trigger.name).step + by;
    if (step >= first && step <= last) this.#app.changeTrigger(this.#trigger.name, { step });
    this.#restore();
  }

  #setThreshold() {
    const value = Number(this.#number.value);
    if (this.#number.value === "" || !Number.isFinite(value)) return this.#restore();
    const step = nearestStep(this.#app.data, this.#trigger, value);
    this.#app.changeTrigger(this.#trigger.name, { step });
    return this.#restore();
  }

  #setPrescale() {
    const prescale = prescaleOf(Number(this.#prescale.value));
    if (prescale !== null) this.#app.changeTrigger(this.#trigger.name, { prescale });
    return this.#restore();
  }

  /** Show the value that counts in fields that the user left: the nearest step, or the value before. */
  #restore() {
    const now = this.#app.slot.triggers.get(this.#trigger.name);
    if (this.#number) this.#number.value = this.#thresholdText(now.step);
    this.#prescale.value = fieldOf(now.prescale);
  }

  #thresholdText(step) {
    return thresholdText(thresholdAt(this.#app.data, this.#trigger, step));
  }

  paint({ on, step, prescale }, rates, hold, picked) {
    this.#on.checked = on;
    this.root.classList.toggle("off", !on);
    this.root.classList.toggle("picked", picked);
    this.#name.setAttribute("aria-pressed", String(picked));
    setValue(this.#prescale, fieldOf(prescale));
    this.#prescale.disabled = !Number.isFinite(prescale);
    this.#prescale.title = `prescale ${prescaleText(Number.isFinite(prescale) ? prescale : null)}`;
    if (this.#slider) {
      this.#slider.value = String(step);
      this.#slider.disabled = Boolean(hold);
      this.#number.disabled = Boolean(hold);
      setValue(this.#number, this.#thresholdText(step));
      this.#slider.setAttribute("aria-valuetext", `${this.#thresholdText(step)} ${this.#trigger.unit}`);
    }
    paintRates(this.#cells, rates);
  }

  /** Show a text in the last column. label: what it is. */
  paintLast(text, label) {
    setText(this.#last, text);
    this.#last.parentElement.dataset.label = label;
  }
}

function fieldOf(prescale) {
  return Number.isFinite(prescale) ? String(Number(prescale.toPrecision(12))) : "";
}

// The head of the page: which menu, the rate of the menu against a budget, levels, and the controls of the
// state.

import { el, setText, setValue } from "../dom.js";
import { formatRate, inUnit, rejectionText, short, signedRate } from "../numbers.js";
import { changedTriggers, slotOf, withSlot } from "../state.js";

/** Milliseconds for which the rate is the same before it is read out. */
const QUIET = 700;

export class HeaderView {
  first = true;
  #app;
  #parts = {};
  #timer = 0;
  #said = "";

  constructor(app) {
    this.#app = app;
    const { menus, catalogue, trigemu } = app.data;
    this.root = el(
      "header",
      {},
      el(
        "div",
        { class: "bar" },
        el("h1", { text: menus.map((menu) => menu.name).join(", ") }),
        el("p", { class: "soft", text: `sample ${catalogue} · trigemu ${trigemu}` }),
      ),
      el("div", { class: "bar" }, ...this.#stateControls(), ...this.#saveControls()),
      this.#rateBox(),
    );
    this.notes = el("footer", { class: "soft" });
  }

  key(page) {
    return [
      page.slots.A,
      page.slots.B,
      page.two,
      page.shown,
      page.budget,
      this.#app.canUndo,
      this.#app.canRedo,
    ];
  }

  #button(name, label, click) {
    const button = el("button", { type: "button", text: name, "aria-label": label, on: { click } });
    this.#parts[name] = button;
    return button;
  }

  #stateControls() {
    const app = this.#app;
    const menus = app.data.menus.map((menu, m) => el("option", { value: String(m), text: menu.name }));
    const choose = el(
      "select",
      { "aria-label": "menu", on: { change: () => app.chooseMenu(Number(choose.value)) } },
      ...menus,
    );
    this.#parts.choose = choose;
    return [
      ...(menus.length > 1 ? [el("label", {}, "menu ", choose)] : []),
      this.#button("Undo", "Undo (Ctrl+Z)", () => app.undo()),
      this.#button("Redo", "Redo (Ctrl+Shift+Z)", () => app.redo()),
      this.#button("Reset", "The menu as it is written", () =>
        app.change(slotOf(app.written[app.slot.menu])),
      ),
      this.#button("Two states", "Keep two states, A and B, side by side", () => this.#toggleTwo()),
      this.#button("A", "Controls change state A", () => app.show({ shown: "A" })),
      this.#button("B", "Controls change state B", () => app.show({ shown: "B" })),
      this.#button("Copy", "Copy this state to the other one", () => this.#copy()),
    ];
  }

  #saveControls() {
    const app = this.#app;
    return [
      this.#button("Download TOML", "Download the menu as TOML", () => app.save("TOML")),
      this.#button("Download CSV", "Download the rates as CSV", () => app.save("CSV")),
    ];
  }

  #toggleTwo() {
    const { page } = this.#app;
    const slots = page.two ? page.slots : { A: page.slots.A, B: page.slots.A };
    this.#app.show(
      {
        two: !page.two,
        shown: page.two ? "A" : "B",
        slots: page.two ? { A: this.#app.slot, B: this.#app.slot } : slots,
      },
      true,
    );
  }

  #copy() {
    const { page, slot } = this.#app;
    this.#app.show(withSlot(page, page.shown === "A" ? "B" : "A", slot), true);
  }

  #rateBox() {
    const field = el("input", {
      type: "number",
      min: "0",
      step: "any",
      class: "rate",
      "aria-label": "budget of the menu rate in kHz",
      on: { change: () => this.#setBudget(Number(field.value)) },
    });
    const parts = this.#parts;
    parts.budget = field;
    parts.rate = el("output", { class: "big" });
    parts.spoken = el("span", { class: "unseen", "aria-live": "polite" });
    parts.fill = el("div", { class: "fill" });
    parts.over = el("span");
    parts.change = el("span", { class: "soft" });
    parts.other = el("span");
    parts.difference = el("span");
    parts.half = el("p", { class: "soft" });
    parts.levels = el("p");
    return el(
      "section",
      { class: "menu-rate", "aria-label": "rate of the menu" },
      el("p", {}, parts.rate, " ", parts.change, parts.spoken),
      el("div", { class: "gauge", "aria-hidden": "true" }, parts.fill),
      el("p", {}, el("label", {}, "budget ", field, " kHz"), ": ", parts.over),
      parts.levels,
      el("p", { class: "soft" }, parts.other, parts.difference),
      parts.half,
    );
  }

  #setBudget(kHz) {
    if (kHz > 0 && Number.isFinite(kHz)) this.#app.show({ budget: 1000 * kHz }, true);
    else this.paint(this.#app.page);
  }

  paint(page) {
    const app = this.#app;
    const { slot } = app;
    const parts = this.#parts;
    const { rate, levels } = app.calculator.rates(page.shown, slot);
    setText(parts.rate, `${page.two ? `${page.shown}: ` : ""}${formatRate(rate)}`);
    setValue(parts.budget, String(Number((page.budget / 1000).toPrecision(6))));
    const part = rate.hz / page.budget;
    parts.fill.style.width = `${Math.min(100, (100 * part) / 1.25)}%`; // the budget is at four fifths of the gauge
    parts.fill.classList.toggle("over", part > 1);
    const left = page.budget - rate.hz;
    setText(parts.over, budgetText(left, page.budget));
    setText(
      parts.levels,
      levels
        .map((level) => {
          const rejection = rejectionText(level);
          return `${level.name} ${formatRate(level.rate)}${rejection && ` (rejection ${rejection})`}`;
        })
        .join(" · "),
    );
    const other = page.shown === "A" ? "B" : "A";
    setText(
      parts.other,
      page.two ? `${other}: ${formatRate(app.calculator.rates(other, page.slots[other]).rate)}` : "",
    );
    if (!page.two) setText(parts.difference, "");
    this.#paintControls(page);
    this.#paintNotes();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => setText(parts.spoken, `menu rate ${formatRate(rate)}`), QUIET);
    const changed = changedTriggers(slot, app.written[slot.menu]).length;
    setText(parts.change, changed ? "" : "as written");
  }

  /** Show the change from the menu as written; it is computed after the rates. */
  paintChange({ hz, error }, isWritten) {
    setText(
      this.#parts.change,
      isWritten ? "as written" : `${signedRate(hz, error)} from the menu as written`,
    );
  }

  /** Show the difference of the rates of two states; it is computed after the rates. */
  paintDifference({ hz, error }) {
    setText(this.#parts.difference, ` · B − A: ${signedRate(hz, error)}`);
  }

  #paintControls(page) {
    const parts = this.#parts;
    parts.Undo.disabled = !this.#app.canUndo;
    parts.Redo.disabled = !this.#app.canRedo;
    parts["Two states"].setAttribute("aria-pressed", String(page.two));
    for (const place of ["A", "B"]) {
      parts[place].hidden = !page.two;
      parts[place].setAttribute("aria-pressed", String(page.shown === place));
    }
    parts.Copy.hidden = !page.two;
    setText(parts.Copy, page.shown === "A" ? "Copy to B" : "Copy to A");
    if (parts.choose) parts.choose.value = String(this.#app.slot.menu);
  }

  #paintNotes() {
    const { data, slot } = this.#app;
    const menu = this.#app.menuOf(slot);
    const halved = menu.triggers.some(({ name, fitted }) => fitted && slot.triggers.get(name).on);
    const half = `fitted triggers from the ${data.half} half of the sample, which they have not seen`;
    setText(this.#parts.half, halved ? half : "");
    const notes = [
      ...menu.warnings.map((warning) => `Note: ${warning}.`),
      `Errors are statistical; < is an upper limit at 68 % where no event was seen. Events: those in the total (effective number of independent interactions), ${short(data.background.events)} in the page.`,
    ];
    const text = notes.join("\n");
    if (this.#said === text) return;
    this.#said = text;
    this.notes.replaceChildren(...notes.map((note) => el("p", { text: note })));
  }
}

/** Say how far a rate is from its budget. left: what is left of it in Hz. */
function budgetText(left, budget) {
  if (Math.abs(left) < 1e-6 * budget) return "at the budget";
  return left < 0 ? `over the budget by ${inUnit(-left, 0)}` : `${inUnit(left, 0)} left`;
}

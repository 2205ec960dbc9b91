// The head of the page: which menu, the rate of the menu against a budget, levels, and the controls of the
// state.

import { el, partsOf, setText, setValue } from "../dom.js";
import { formatRate, inUnit, rejectionText, short, signedRate } from "../numbers.js";
import { changedTriggers, SLOTS, withSlot } from "../state.js";

/** Milliseconds for which the rate is the same before it is read out. */
const QUIET = 700;

export class HeaderView {
  first = true;
  #app;
  #parts;
  #notes = document.querySelector("footer");
  #timer = 0;
  #said = "";

  constructor(app) {
    this.#app = app;
    const { menus, catalogue, trigemu } = app.data;
    const { root, parts } = partsOf("header");
    this.root = root;
    this.#parts = parts;
    root.querySelector("h1").textContent = menus.map((menu) => menu.name).join(", ");
    parts.sample.textContent = `sample ${catalogue} · trigemu ${trigemu}`;
    parts.menus.hidden = menus.length < 2;
    parts.menu.append(...menus.map((menu, m) => new Option(menu.name, m)));
    parts.menu.onchange = () => app.chooseMenu(Number(parts.menu.value));
    parts.undo.onclick = () => app.undo();
    parts.redo.onclick = () => app.redo();
    parts.reset.onclick = () => app.change(app.menuOf(app.slot).written);
    parts.two.onclick = () => this.#toggleTwo();
    for (const shown of SLOTS) parts[shown].onclick = () => app.show({ shown });
    parts.copy.onclick = () => app.show(withSlot(app.page, app.otherPlace, app.slot), true);
    parts.toml.onclick = () => app.save("TOML");
    parts.csv.onclick = () => app.save("CSV");
    parts.budget.onchange = () => this.#setBudget(Number(parts.budget.value));
  }

  key(page) {
    const { canUndo, canRedo } = this.#app.history;
    return [page.slots.A, page.slots.B, page.two, page.shown, page.budget, canUndo, canRedo];
  }

  #toggleTwo() {
    const { two } = this.#app.page;
    const { A } = this.#app.page.slots;
    const only = two ? this.#app.slot : A;
    this.#app.show({ two: !two, shown: two ? "A" : "B", slots: { A: only, B: only } }, true);
  }

  #setBudget(kHz) {
    if (kHz > 0 && Number.isFinite(kHz)) this.#app.show({ budget: 1000 * kHz }, true);
    else this.paint(this.#app.page);
  }

  paint(page) {
    const app = this.#app;
    const { slot } = app;
    const parts = this.#parts;
    const { rate, levels } = app.engine.rates(slot);
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
    const other = app.otherPlace;
    setText(
      parts.other,
      page.two ? `${other}: ${formatRate(app.engines[other].rates(page.slots[other]).rate)}` : "",
    );
    if (!page.two) setText(parts.difference, "");
    this.#paintControls(page);
    this.#paintNotes();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => setText(parts.spoken, `menu rate ${formatRate(rate)}`), QUIET);
    setText(parts.change, changedTriggers(app.data, slot).length ? "" : "as written");
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
    parts.undo.disabled = !this.#app.history.canUndo;
    parts.redo.disabled = !this.#app.history.canRedo;
    parts.two.setAttribute("aria-pressed", String(page.two));
    for (const place of SLOTS) {
      parts[place].hidden = !page.two;
      parts[place].setAttribute("aria-pressed", String(page.shown === place));
    }
    parts.copy.hidden = !page.two;
    setText(parts.copy, `Copy to ${this.#app.otherPlace}`);
    parts.menu.value = String(this.#app.slot.menu);
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
    this.#notes.replaceChildren(...notes.map((note) => el("p", { text: note })));
  }
}

/** Say how far a rate is from its budget. left: what is left of it in Hz. */
function budgetText(left, budget) {
  if (Math.abs(left) < 1e-6 * budget) return "at the budget";
  return left < 0 ? `over the budget by ${inUnit(-left, 0)}` : `${inUnit(left, 0)} left`;
}

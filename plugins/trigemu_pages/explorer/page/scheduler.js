// Repaints what changed, once in a frame. A drag gives more changes than frames: the last one before a frame
// counts.

/**
 * Frames in a row with new numbers after which the other views are painted too, although the user still
 * drags.
 */
const LONGEST_WAIT = 4;

/**
 * Views are {first, root, key(page), paint(page)}. Those that are `first` hold the numbers, which are painted
 * in the frame after a change; the others, if they can be seen, in this frame or the next, the rest when
 * nothing else is left. A view without a root is a part of others, and always painted. A view is painted only
 * if its key, an array, changed.
 */
export class Scheduler {
  #views;
  #page = null;
  #painted = new Map();
  #seen = new Set();
  #changedAt = null;
  #frame = null;
  #waited = 0;
  #idle = [];

  constructor(views) {
    this.#views = views;
    const observer = new IntersectionObserver((entries) => this.#look(entries), { rootMargin: "200px" });
    for (const view of views)
      if (!view.root) this.#seen.add(view);
      else if (!view.first) observer.observe(view.root);
  }

  /** Show another page in the next frame. */
  show(page) {
    this.#page = page;
    this.#changedAt ??= performance.now();
    this.#request();
  }

  /** Return a promise that is kept when every view shows the page. */
  idle() {
    return new Promise((resolve) => {
      this.#idle.push(resolve);
      this.#request();
    });
  }

  /** Paint everything again, as after a change of colours. */
  repaint() {
    this.#painted.clear();
    if (this.#page) this.#request();
  }

  #look(entries) {
    for (const entry of entries) {
      const view = this.#views.find((candidate) => candidate.root === entry.target);
      if (entry.isIntersecting) this.#seen.add(view);
      else this.#seen.delete(view);
    }
    if (this.#page) this.#request();
  }

  #request() {
    this.#frame ??= requestAnimationFrame(() => this.#paint());
  }

  #stale(view) {
    const before = this.#painted.get(view);
    const now = view.key(this.#page);
    return !before || now.length !== before.length || now.some((value, i) => value !== before[i]);
  }

  #paintView(view) {
    this.#painted.set(view, view.key(this.#page));
    view.paint(this.#page);
  }

  #paint() {
    this.#frame = null;
    const numbers = this.#views.filter((view) => view.first && this.#stale(view));
    numbers.forEach((view) => this.#paintView(view));
    if (this.#changedAt !== null) this.#measure();
    this.#waited = numbers.length ? this.#waited + 1 : LONGEST_WAIT;
    if (this.#waited >= LONGEST_WAIT) this.#paintOthers();
    const left = this.#views.filter((view) => this.#stale(view));
    if (left.some((view) => view.first || this.#seen.has(view) || this.#idle.length)) this.#request();
    else this.#idle.splice(0).forEach((resolve) => setTimeout(resolve));
  }

  #paintOthers() {
    this.#waited = 0;
    const stale = this.#views.filter((view) => !view.first && this.#stale(view));
    const seen = stale.filter((view) => this.#seen.has(view));
    // what cannot be seen is painted only if somebody waits for all views
    const wanted = seen.length || !this.#idle.length ? seen : stale.slice(0, 1);
    wanted.forEach((view) => this.#paintView(view));
  }

  /** Measure the time from the change until the browser has painted: a message comes after the frame. */
  #measure() {
    const start = this.#changedAt;
    this.#changedAt = null;
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      performance.measure("change-to-paint", { start, end: performance.now() });
      port1.close();
    };
    port2.postMessage(null);
  }
}

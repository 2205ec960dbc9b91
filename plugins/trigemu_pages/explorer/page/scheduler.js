// Repaints what changed, once in a frame. A drag gives more changes than frames: the last one before a frame
// counts.

/** Frames in a row with new numbers after which the other views are painted too, although the user still drags. */
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
  #seen;
  #changedAt = null;
  #frame = null;
  #waited = 0;
  #idle = [];

  constructor(views) {
    this.#views = views;
    this.#seen = new Set(views.filter((view) => view.first || !view.root));
    const observer = new IntersectionObserver((entries) => this.#look(entries), { rootMargin: "200px" });
    for (const view of views) if (!this.#seen.has(view)) observer.observe(view.root);
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
    for (const { target, isIntersecting } of entries) {
      const view = this.#views.find(({ root }) => root === target);
      if (isIntersecting) this.#seen.add(view);
      else this.#seen.delete(view);
    }
    if (this.#page) this.#request();
  }

  #request() {
    this.#frame ??= requestAnimationFrame(() => this.#paint());
  }

  /** The views that do not show the page. */
  get #stale() {
    return this.#views.filter((view) => {
      const before = this.#painted.get(view);
      return !before || view.key(this.#page).some((value, i) => value !== before[i]);
    });
  }

  #paintViews(views) {
    for (const view of views) {
      this.#painted.set(view, view.key(this.#page));
      view.paint(this.#page);
    }
  }

  #paint() {
    this.#frame = null;
    const numbers = this.#stale.filter(({ first }) => first);
    this.#paintViews(numbers);
    if (this.#changedAt !== null) this.#measure();
    this.#waited = numbers.length ? this.#waited + 1 : LONGEST_WAIT;
    if (this.#waited >= LONGEST_WAIT) {
      this.#waited = 0;
      const seen = this.#stale.filter((view) => this.#seen.has(view));
      // what cannot be seen is painted only if somebody waits for all views
      this.#paintViews(seen.length || !this.#idle.length ? seen : this.#stale.slice(0, 1));
    }
    if (this.#stale.some((view) => this.#seen.has(view) || this.#idle.length)) this.#request();
    else this.#idle.splice(0).forEach((resolve) => setTimeout(resolve));
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

// Efficiencies of weighted events and their intervals, as `trigemu efficiency` gives them: Wilson's interval
// for n = ε (1 − ε) / Var events of weight 1 (Wilson, JASA 22, 209).

/** Sums over the events of a bin. Events of one parent are added one after the other. */
export class Efficiency {
  #weight = 0;
  #passed = 0;
  #square = 0;
  #squarePassed = 0;
  #signs = [false, false];
  // Σ over parents of (Σ w a)², (Σ w a)(Σ w), (Σ w)², each less the same of single events
  #shared = [0, 0, 0];
  #parent = [0, 0, 0, 0, 0];
  events = 0;

  /** Add an event of weight w, of which a fraction a is accepted. */
  add(w, a) {
    this.events++;
    this.#weight += w;
    this.#passed += w * a;
    this.#square += w * w;
    this.#squarePassed += w * w * a;
    this.#signs[w < 0 ? 0 : 1] ||= w !== 0;
    const of = this.#parent;
    of[0] += w * a;
    of[1] += w;
    of[2] += (w * a) ** 2;
    of[3] += w * a * w;
    of[4] += w * w;
  }

  /** End a parent. */
  endParent() {
    const [passed, weight, passed2, mixed, weight2] = this.#parent;
    this.#shared[0] += passed ** 2 - passed2;
    this.#shared[1] += passed * weight - mixed;
    this.#shared[2] += weight ** 2 - weight2;
    this.#parent.fill(0);
  }

  /** Return {value, low, high}; NaN without events. */
  result() {
    const total = this.#weight || NaN;
    const value = this.#passed / total;
    const lost = (this.#weight - this.#passed) / total;
    const [passed, mixed, weight] = this.#shared;
    const square =
      lost ** 2 * this.#squarePassed +
      value ** 2 * (this.#square - this.#squarePassed) +
      passed -
      2 * value * mixed +
      value ** 2 * weight;
    const variance = Math.max(square, 0) / total ** 2;
    if (this.#signs[0] && this.#signs[1] && variance > 0) {
      return { value, low: value - Math.sqrt(variance), high: value + Math.sqrt(variance) };
    }
    const known = value * lost > 0 && variance > 0;
    const effective = known ? (value * lost) / variance : total ** 2 / (this.#square + weight);
    return { value, ...wilson(value, effective) };
  }
}

/** The difference of two efficiencies on the same events, from the differences of their accepted fractions. */
export class Gain {
  // Σ w, Σ w d, and with w²: Σ w², Σ w² d, Σ w² d²; the last three by parent
  #sums = [0, 0, 0, 0, 0];
  #parent = [0, 0];

  /** Add an event of weight w whose accepted fractions differ by d. */
  add(w, d) {
    this.#parent[0] += w;
    this.#parent[1] += w * d;
  }

  /** End a parent. */
  endParent() {
    const [weight, difference] = this.#parent;
    const sums = this.#sums;
    sums[0] += weight;
    sums[1] += difference;
    sums[2] += weight ** 2;
    sums[3] += weight * difference;
    sums[4] += difference ** 2;
    this.#parent.fill(0);
  }

  /** Return {value, error}; NaN without events. */
  result() {
    const [weight, difference, weight2, mixed, difference2] = this.#sums;
    const total = weight || NaN;
    const value = difference / total;
    const square = difference2 - 2 * value * mixed + value ** 2 * weight2;
    return { value, error: Math.sqrt(Math.max(square, 0)) / total };
  }
}

/** The ends of Wilson's interval at one standard deviation. */
function wilson(given, effective) {
  const value = Math.min(Math.max(given, 0), 1);
  const shrink = 1 + 1 / effective;
  const centre = (value + 1 / (2 * effective)) / shrink;
  const half = Math.sqrt((value * (1 - value)) / effective + 1 / (4 * effective ** 2)) / shrink;
  const between = (x, low, high) => Math.min(Math.max(x, low), high);
  return { low: between(centre - half, 0, value), high: between(centre + half, value, 1) };
}

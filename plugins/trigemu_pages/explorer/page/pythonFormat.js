// Numbers as Python's format() writes them: the exact value of a float is rounded, and a tie goes to the even
// digit. JavaScript's toFixed and toPrecision take a tie upwards: 2.5 would be "3" where the command line has
// "2".

const view = new DataView(new ArrayBuffer(8));
const FRACTION_BITS = 52n;

/** Return |x| · 10^places rounded to an integer, ties to even. x must be finite. */
function scaled(x, places) {
  view.setFloat64(0, Math.abs(x));
  const bits = view.getBigUint64(0);
  const exponent = bits >> FRACTION_BITS;
  const fraction = bits & ((1n << FRACTION_BITS) - 1n);
  const mantissa = exponent ? fraction | (1n << FRACTION_BITS) : fraction;
  const power = (exponent || 1n) - 1075n; // |x| = mantissa · 2^power
  const ten = 10n ** BigInt(Math.abs(places));
  const above = mantissa * (places > 0 ? ten : 1n) * (power > 0n ? 1n << power : 1n);
  const below = (places < 0 ? ten : 1n) * (power < 0n ? 1n << -power : 1n);
  const whole = above / below;
  const twice = 2n * (above % below);
  return twice > below || (twice === below && whole & 1n) ? whole + 1n : whole;
}

/** Return an integer n · 10^−decimals as text, n ≥ 0. */
function placed(n, decimals) {
  if (decimals <= 0) return n ? n.toString() + "0".repeat(-decimals) : "0";
  const digits = n.toString().padStart(decimals + 1, "0");
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}

function special(x) {
  if (Number.isNaN(x)) return "nan";
  return x > 0 ? "inf" : "-inf";
}

/**
 * Format a number with a fixed number of decimals, as `f"{x:z.2f}"`; negative decimals round to tens,
 * hundreds, ….
 * @param {number} x
 * @param {number} decimals
 * @returns {string}
 */
export function fixed(x, decimals) {
  if (!Number.isFinite(x)) return special(x);
  const n = scaled(x, decimals);
  return (x < 0 && n ? "-" : "") + placed(n, decimals);
}

/**
 * Return the digits of x rounded to so many, as an integer, and its power of ten. x must be finite and not
 * 0.
 */
function significant(x, digits) {
  const power = Number(x.toExponential().split("e")[1]);
  const n = scaled(x, digits - 1 - power);
  return n === 10n ** BigInt(digits) ? { n: n / 10n, power: power + 1 } : { n, power };
}

/**
 * Format a number with so many significant digits, as `f"{x:.3g}"`.
 * @param {number} x
 * @param {number} digits
 * @returns {string}
 */
export function general(x, digits) {
  if (!Number.isFinite(x)) return special(x);
  if (x === 0) return "0";
  const { n, power } = significant(x, digits);
  const sign = x < 0 ? "-" : "";
  if (power >= -4 && power < digits) return sign + trimmed(placed(n, digits - 1 - power));
  const mantissa = trimmed(placed(n, digits - 1));
  return `${sign}${mantissa}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}

function trimmed(text) {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/**
 * Return the power of ten of a number after it is rounded to so many digits: 1 for 9.96 with two digits.
 * @param {number} x finite, not 0
 * @param {number} digits
 * @returns {number}
 */
export function powerOfTen(x, digits) {
  return significant(x, digits).power;
}

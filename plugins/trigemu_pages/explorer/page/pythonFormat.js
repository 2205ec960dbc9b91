// Numbers as Python's format() writes them: the exact value of a float is rounded, and a tie goes to the even
// digit. JavaScript's toFixed takes a tie upwards: 2.5 would be "3" where the command line has "2".

function special(x) {
  if (Number.isNaN(x)) return "nan";
  return x > 0 ? "inf" : "-inf";
}

/**
 * Format a number with a fixed number of decimals, as `f"{x:z.2f}"`; negative decimals round to tens,
 * hundreds, ….
 */
export function fixed(x, decimals) {
  if (!Number.isFinite(x)) return special(x);
  const size = Math.abs(x);
  const text = decimals < 0 ? wholes(size, -decimals) : rounded(size, decimals);
  return x < 0 && /[1-9]/.test(text) ? `-${text}` : text;
}

/** Return a number rounded to 0 or more decimals. */
function rounded(x, decimals) {
  const up = x.toFixed(decimals);
  // only a multiple of 2^−(decimals + 1) can be a tie, and all its digits are few enough to be exact
  if (!Number.isInteger(x * 2 ** (decimals + 1))) return up;
  const exact = x.toFixed(decimals + 1);
  const down = exact.slice(0, decimals ? -1 : -2);
  return exact.endsWith("5") && "02468".includes(down.at(-1)) ? down : up;
}

/** Return a number rounded to tens, hundreds, …: integers below 2^53 are exact. */
function wholes(x, zeros) {
  const unit = 10 ** zeros;
  const [whole, rest] = [Math.floor(x / unit), x % unit];
  const up = 2 * rest > unit || (2 * rest === unit && whole % 2 === 1);
  return String((whole + Number(up)) * unit);
}

/** Format a number with so many significant digits, as `f"{x:.3g}"`. */
export function general(x, digits) {
  if (!Number.isFinite(x)) return special(x);
  if (x === 0) return "0";
  const power = powerOfTen(x, digits);
  const text = fixed(x, digits - 1 - power);
  if (power >= -4 && power < digits) return trimmed(text);
  const [mantissa] = Number(text)
    .toExponential(digits - 1)
    .split("e");
  return `${trimmed(mantissa)}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}

function trimmed(text) {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** Return the power of ten of a number, not 0, after it is rounded to so many digits: 1 for 9.96 with two digits. */
export function powerOfTen(x, digits) {
  const power = Number(x.toExponential().split("e")[1]);
  return Number(fixed(Math.abs(x), digits - 1 - power)) >= 10 ** (power + 1) ? power + 1 : power;
}

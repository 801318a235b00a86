// Numbers on paper: how they are written, and where they lie on an axis.

const MINUS = "\u2212";
const isNumber = (x) => typeof x === "number" && Number.isFinite(x);

const superscript = (n) => String(n).replace(/./g, (c) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[c] ?? "⁻");

/** 1e-6 becomes a power of ten, hyphens before digits minus signs, and a per cent sign stays with its number. */
const typographic = (text) =>
  text
    .replace(/(\d)e(-?\d+)/g, (_, digit, power) => `${digit}·10${superscript(power)}`)
    .replace(/-(?=[\d.])/g, MINUS)
    .replace(/(\d) %/g, "$1\u00a0%");

/** Anything smaller is rounding. */
const SMALLEST = 1e-12;

/** `x` to so many significant digits, as short as that can be said. */
function write(x, digits = 6) {
  if (!isNumber(x)) return "–";
  const size = Math.abs(x);
  if (size < SMALLEST) return "0";
  if (size >= 1e-4 && size < 1e9) {
    const rounded = Number(x.toPrecision(digits));
    return typographic(rounded.toLocaleString("en", { maximumFractionDigits: 12 }));
  }
  const [mantissa, exponent] = x.toExponential(digits - 1).split("e");
  return (
    (Number(mantissa) === 1 ? "" : typographic(`${Number(mantissa)}·`)) + `10${superscript(Number(exponent))}`
  );
}

/** Numbers for one column: so many significant digits of the largest, and as many decimals for all. */
function writeColumn(numbers, digits = 4) {
  const size = Math.max(...(extent(numbers) ?? [0]).map(Math.abs));
  if (size < 1e-4 || size >= 1e9) return numbers.map((x) => write(x, digits));
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
  return numbers.map((x) => (isNumber(x) ? typographic(x.toFixed(Math.min(decimals, 8))) : "–"));
}

const writeInterval = (interval, digits = 4) =>
  interval && interval.every(isNumber) ? `[${interval.map((x) => write(x, digits)).join(", ")}]` : "–";

const writeCount = (n) => n.toLocaleString("en");
const countOf = (n, one, many = one + "s") => `${writeCount(n)} ${n === 1 ? one : many}`;

/** The unit in which so many seconds are best told. */
const timeUnit = (s) => (s < 1 ? ["ms", 1e-3] : s < 120 ? ["s", 1] : s < 7200 ? ["min", 60] : ["h", 3600]);

function writeSeconds(s) {
  const [name, unit] = timeUnit(s);
  return `${write(s / unit, 3)} ${name}`;
}

/** The least and greatest number in some lists, or null where there is none. */
function extent(...lists) {
  let low = Infinity;
  let high = -Infinity;
  for (const list of lists) {
    for (const x of list) {
      if (!isNumber(x)) continue;
      if (x < low) low = x;
      if (x > high) high = x;
    }
  }
  return low <= high ? [low, high] : null;
}

/** A range with room on both sides, also where it is one point or nothing. */
function padded(range, share = 0.06) {
  const [low, high] = range ?? [0, 1];
  const room = high > low ? share * (high - low) : 0.1 * Math.abs(high) || 0.5;
  return [low - room, high + room];
}

/**
 * The range of some curves and of what must be seen beside them. Long curves that start far away are cut off there, or
 * nothing would be seen of where they go.
 */
function cutRange(curves, seen) {
  const all = extent(...curves, seen);
  const late = extent(
    ...curves.map((ys) => (ys.length > 50 ? ys.slice(Math.ceil(ys.length / 20)) : ys)),
    seen,
  );
  const isCut =
    all !== null && late !== null && all[1] - all[0] > 2.5 * (late[1] - late[0]) && late[1] > late[0];
  return { range: isCut ? late : all, isCut };
}

/** 1, 2 or 5 times a power of ten, such that about `count` steps make up the span. */
function niceStep(span, count) {
  const power = 10 ** Math.floor(Math.log10(span / count));
  const left = span / count / power;
  return power * (left > Math.sqrt(50) ? 10 : left > Math.sqrt(10) ? 5 : left > Math.SQRT2 ? 2 : 1);
}

function linearScale(domain, range, count = 5, whole = false) {
  const [low, high] = domain;
  const at = (x) => range[0] + ((x - low) / (high - low)) * (range[1] - range[0]);
  let step = niceStep(high - low, count);
  if (whole) step = Math.max(1, step);
  const size = Math.max(Math.abs(low), Math.abs(high));
  const power = size >= 1e7 || size < 1e-3 ? Math.floor(Math.log10(size)) : 0;
  // Thousands and millions are easier to read than their zeros.
  const [unit, suffix] =
    power >= 7 || (size >= 1e4 && step >= 1e3)
      ? size >= 1e9
        ? [1e9, " G"]
        : size >= 1e6
          ? [1e6, " M"]
          : [1e3, " k"]
      : power < 0
        ? [10 ** power, `·10${superscript(power)}`]
        : [1, ""];
  const decimals = Math.max(0, -Math.floor(Math.log10(step / unit) + 1e-9));
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) {
    const label = i === 0 ? "0" : typographic(((i * step) / unit).toFixed(decimals)) + suffix;
    ticks.push({ at: at(i * step), label });
  }
  return { at, ticks };
}

/**
 * Powers of ten. Zero has no place on such an axis: what is zero or twelve orders below the rest lies on a line
 * of its own at the bottom, labelled as what it is.
 */
function logScale(values, range, count = 6) {
  const greatest = extent(values.map((x) => (x > 0 ? x : null)))?.[1] ?? 1;
  const threshold = Math.max(1e-12 * greatest, 1e-300);
  const positive = extent(values.map((x) => (x >= threshold ? x : null)));
  const shown = positive ?? [0.1, 1];
  const below = values.filter((x) => isNumber(x) && x < threshold);
  let [low, high] = shown.map(Math.log10);
  low -= 0.08 * Math.max(high - low, 1);
  high += 0.08 * Math.max(high - low, 1);
  const [bottom, top] = range;
  const base = below.length ? bottom + Math.sign(top - bottom) * 22 : bottom;
  const at = (x) => (x < threshold ? bottom : base + ((Math.log10(x) - low) / (high - low)) * (top - base));

  const ticks = [];
  const every = Math.max(1, Math.ceil((high - low) / count));
  const mantissas = high - low < 1 ? [1, 2, 3, 5, 7] : high - low < 2.5 ? [1, 2, 5] : [1];
  const plain = low > -4 && high < 5;
  for (let power = Math.floor(low); positive && power <= high; power++) {
    if (power % every) continue;
    for (const m of mantissas) {
      const exponent = Math.log10(m) + power;
      if (exponent < low || exponent > high) continue;
      const x = m * 10 ** power;
      const label = plain ? write(x, 3) : (m > 1 ? `${m}·` : "") + `10${superscript(power)}`;
      ticks.push({ at: at(x), label });
    }
  }
  if (below.length) {
    const [least, most] = extent(below);
    const label = most >= SMALLEST ? `≤ ${write(most, 1)}` : least < 0 ? "≤ 0" : "0";
    ticks.unshift({ at: bottom, label, isFloor: true });
  }
  return { at, ticks };
}

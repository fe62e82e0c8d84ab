// Numbers, times and sizes for people. Times are in the reader's zone, and say it on hover.
const number = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export const count = (n) => number.format(n);
export const compact = (n) => (Math.abs(n) < 10000 ? number.format(n) : short.format(n));

export const several = (n, one, many = one + "s") => `${number.format(n)} ${n === 1 ? one : many}`;

export function value(n) {
  if (n === null || n === undefined) return "–";
  const size = Math.abs(n);
  return number.format(size >= 100 ? Math.round(n) : Number(n.toPrecision(3)));
}

const pad = (n, width = 2) => String(n).padStart(width, "0");
export const clock = (d) => `${pad(d.getHours())}:${pad(d.getMinutes())}:${pad(d.getSeconds())}`;
export const day = (d) => `${d.getFullYear()}-${pad(d.getMonth() + 1)}-${pad(d.getDate())}`;

// stamp is a time as events list it: the day only where it is not today.
export function stamp(text) {
  const d = new Date(text);
  if (isNaN(d)) return String(text);
  const time = `${clock(d)}.${pad(d.getMilliseconds(), 3)}`;
  return day(d) === day(new Date()) ? time : `${day(d).slice(d.getFullYear() === new Date().getFullYear() ? 5 : 0)} ${time}`;
}

export function when(text) {
  const d = new Date(text);
  return isNaN(d) ? String(text) : `${day(d)} ${clock(d)}`;
}

// ago is how long ago a time is.
export function ago(text) {
  if (!text) return "never";
  const seconds = (Date.now() - new Date(text)) / 1000;
  if (isNaN(seconds)) return String(text);
  if (seconds < 0) return "in " + span(-seconds);
  return seconds < 5 ? "now" : span(seconds) + " ago";
}

// span is a length of time given in seconds, in its largest unit.
export function span(seconds) {
  for (const [size, unit] of [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]]) {
    if (seconds >= size * (size === 1 ? 1 : 1.5)) return `${Math.round(seconds / size)} ${unit}`;
  }
  return seconds > 0 ? `${Math.max(1, Math.round(seconds * 1000))} ms` : "0 s";
}

export function millis(ms) {
  if (ms === null || ms === undefined || isNaN(ms)) return "–";
  if (ms >= 60000) return `${value(ms / 60000)} min`;
  if (ms >= 1000) return `${value(ms / 1000)} s`;
  return ms > 0 && ms < 1 ? `${value(ms * 1000)} µs` : `${value(ms)} ms`;
}

// Money stays text: amounts are exact decimals, summed in billionths as big integers.
const places = 18;
export function toUnits(text) {
  const [whole, fraction = ""] = String(text).replace("-", "").split(".");
  const units = BigInt(whole + fraction.slice(0, places).padEnd(places, "0"));
  return String(text).startsWith("-") ? -units : units;
}

export const asFloat = (units) => Number(units) / 10 ** places;

// money writes units of a currency with two digits, rounded half up, thousands apart.
export function money(units, currency) {
  const cent = 10n ** BigInt(places - 2);
  const negative = units < 0n;
  const cents = ((negative ? -units : units) + cent / 2n) / cent;
  const text = number.format(cents / 100n) + "." + pad(cents % 100n);
  return (negative ? "−" : "") + text + (currency ? " " + currency : "");
}

export function percent(part, whole) {
  if (!whole) return "–";
  const p = (100 * part) / whole;
  return (Math.abs(p) >= 10 ? p.toFixed(0) : p.toFixed(1)) + " %";
}

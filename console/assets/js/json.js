// An event's data for reading: indented JSON whose names can be clicked to filter by.
import { h, block, shown, Exact, toJSON } from "./dom.js";

const mostNodes = 400;

// json shows a value; pick(path, value), when given, is offered on each name with a plain value.
export function json(value, pick) {
  const el = h("pre", { class: "json", tabindex: "0" });
  write(el, value, "", [], { left: mostNodes }, pick);
  return el;
}

function write(el, value, indent, path, budget, pick) {
  if (value === null || typeof value === "boolean" || typeof value === "number") return el.append(h("span", { class: "lit" }, String(value)));
  if (value instanceof Exact) return el.append(h("span", { class: "lit" }, value.source));
  if (typeof value === "string") return el.append(text(value));
  const list = Array.isArray(value);
  const entries = list ? value.map((v, i) => [i, v]) : Object.entries(value);
  if (!entries.length) return el.append(list ? "[]" : "{}");
  el.append(list ? "[\n" : "{\n");
  const inner = indent + "  ";
  entries.forEach(([name, v], i) => {
    if (budget.left < 0) return;
    if (budget.left-- === 0) return el.append(rest(value, inner, entries.length - i));
    el.append(inner);
    if (!list) el.append(key(name, v, [...path, name], pick), ": ");
    write(el, v, inner, list ? [...path, null] : [...path, name], budget, pick);
    el.append(i < entries.length - 1 ? ",\n" : "\n");
  });
  el.append(indent + (list ? "]" : "}"));
}

function rest(value, indent, n) {
  const more = h("button", { type: "button", class: "link", onclick: () => more.replaceWith(block(toJSON(value, 2), 1e7)) }, `… ${n} more, show as text`);
  return h("span", {}, indent, more, "\n");
}

// text is a string in its quotes, its escapes as JSON has them, but line ends as they are.
function text(value) {
  return h("span", { class: "str" }, '"', block(value), '"');
}

function key(name, value, path, pick) {
  const label = shown(JSON.stringify(name.length > 200 ? name.slice(0, 200) + "…" : name), true);
  const plain = value === null || typeof value !== "object" || value instanceof Exact;
  if (!pick || !plain || path.includes(null) || path.length > 16) return h("span", { class: "key" }, label);
  return h("button", { type: "button", class: "key", title: "Filter by this value", onclick: () => pick(path, value) }, label);
}

// condition is the API's filter (where) for a field and its value; "" when it would be too long.
export function condition(path, value) {
  const name = path.map((p) => (/^[^\s.=!<>~"]+$/.test(p) ? p : JSON.stringify(p))).join(".");
  if (value === null || value === undefined) return `${name} !exists`;
  const text = typeof value === "string" ? (/^[\w./:@+-]+$/.test(value) && isNaN(value) ? value : JSON.stringify(value)) : value instanceof Exact ? value.source : String(value);
  const whole = `${name}=${text}`;
  return new TextEncoder().encode(whole).length <= 1024 ? whole : "";
}

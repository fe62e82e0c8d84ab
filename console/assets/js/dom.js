// Building the page. Everything a customer sent goes through textContent: nothing here or in the
// pages parses markup, and the page's policy (trusted types) forbids it.

// h makes an element: props are attributes, on* are listeners, class is a string, and children
// are nodes, texts, or nothing.
export function h(tag, props, ...children) {
  const el = document.createElement(tag);
  for (const [name, value] of Object.entries(props || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) el.addEventListener(name.slice(2), value);
    else if (name === "class") el.className = value;
    else el.setAttribute(name, value === true ? "" : value);
  }
  add(el, children);
  return el;
}

export function add(el, children) {
  for (const child of children.flat(3)) {
    if (child === undefined || child === null || child === false) continue;
    el.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

export const $ = (id) => document.getElementById(id);

// fill replaces what an element holds.
export function fill(el, ...children) {
  if (typeof el === "string") el = $(el);
  el.replaceChildren();
  add(el, children);
  return el;
}

// What cannot be seen, or turns text around: controls, formats, lone surrogates, line separators.
const unseen = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u115F\u1160\u3164\uFFA0]/gu;
const pictureBefore = /\p{Extended_Pictographic}[\uFE0F\u{1F3FB}-\u{1F3FF}]*$/u;
const pictureAfter = /^\p{Extended_Pictographic}/u;

// shown is a text as nodes, with what cannot be seen made visible. Line ends and tabs stay.
export function shown(text, oneLine) {
  const out = document.createDocumentFragment();
  let from = 0;
  for (const m of text.matchAll(unseen)) {
    const c = m[0];
    if (!oneLine && (c === "\n" || c === "\t")) continue;
    if (c === "\u200D" && pictureBefore.test(text.slice(Math.max(0, m.index - 8), m.index)) && pictureAfter.test(text.slice(m.index + 1, m.index + 3))) continue;
    out.append(text.slice(from, m.index));
    out.append(oneLine && (c === "\n" || c === "\t" || c === "\r") ? " " : mark(c));
    from = m.index + c.length;
  }
  out.append(text.slice(from));
  return out;
}

const controls = "NUL SOH STX ETX EOT ENQ ACK BEL BS HT LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US".split(" ");

function mark(c) {
  const code = c.codePointAt(0);
  const name = "U+" + code.toString(16).toUpperCase().padStart(4, "0");
  return h("span", { class: "cc", title: name }, controls[code] || name);
}

// line is a customer's text for one line: cut, made visible, isolated in its direction.
export function line(value, max = 300) {
  const text = asText(value);
  const cut = text.length > max;
  return h("span", { class: "text", dir: "auto" }, shown(cut ? clip(text, max) : text, true), cut ? "…" : "");
}

// block is a customer's text in full, long ones behind "show all".
export function block(value, max = 2000) {
  const text = asText(value);
  const el = h("span", { class: "text", dir: "auto" });
  if (text.length <= max) {
    el.append(shown(text));
    return el;
  }
  const more = h("button", { type: "button", class: "link", onclick: () => showAll(el, text) }, `show all ${text.length.toLocaleString("en")} characters`);
  el.append(shown(clip(text, max)), "… ", more);
  return el;
}

// Beyond this many characters marks are not looked for: the text is shown as it is, isolated.
const markable = 200000;

function showAll(el, text) {
  const pieces = [];
  for (let i = 0; i < text.length; i += markable) pieces.push(text.slice(i, i + markable));
  el.replaceChildren(...pieces.map((p) => shown(p)));
}

// clip cuts without halving a surrogate pair.
export function clip(text, max) {
  const cut = text.slice(0, max);
  return /[\uD800-\uDBFF]$/.test(cut) ? cut.slice(0, -1) : cut;
}

export function asText(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value;
  if (value instanceof Exact) return value.source;
  if (typeof value === "object") return toJSON(value);
  return String(value);
}

// Exact is a number that JavaScript cannot hold as it was sent.
export class Exact {
  constructor(source) { this.source = source; }
  toJSON() { return JSON.rawJSON ? JSON.rawJSON(this.source) : this.source; }
}

// fromJSON parses, and keeps numbers exact where the browser tells how they were written.
export function fromJSON(text) {
  return JSON.parse(text, (_, value, context) =>
    typeof value === "number" && context?.source && !same(value, context.source) ? new Exact(context.source) : value);
}

function same(value, source) {
  return String(value) === source || (Number.isFinite(value) && /^-?\d{1,15}(\.\d{1,9})?$/.test(source) && source.replace(/[-.]/g, "").length <= 15);
}

export function toJSON(value, indent) {
  return JSON.stringify(value, null, indent);
}

const svg = "http://www.w3.org/2000/svg";

export function shape(tag, props, ...children) {
  const el = document.createElementNS(svg, tag);
  for (const [name, value] of Object.entries(props)) el.setAttribute(name, value);
  el.append(...children);
  return el;
}

// toast says what happened, at the edge of the page.
export function toast(text, bad) {
  const el = h("div", { class: bad ? "toast bad" : "toast" }, shown(clip(asText(text), 400), true));
  $("toasts").append(el);
  setTimeout(() => el.remove(), bad ? 8000 : 4000);
}

// empty is what stands where there is nothing: why, and what to do about it.
export function empty(el, title, ...content) {
  el = typeof el === "string" ? $(el) : el;
  el.hidden = false;
  fill(el, h("div", { class: "empty" }, h("h2", {}, title), content));
}

// ask opens a dialog and gives its form's data, or null when it was closed.
export function ask({ title, body, confirm = "OK", cancel = "Cancel", danger, wide }) {
  return new Promise((done) => {
    const form = h("form", { method: "dialog" }, h("h2", {}, title), body,
      h("div", { class: "tools" }, h("button", { type: "button", onclick: () => dialog.close() }, confirm ? cancel : "Close"),
        confirm && h("button", { type: "submit", class: danger ? "danger" : "primary", value: "yes" }, confirm)));
    const dialog = h("dialog", { class: wide ? "wide" : "", "aria-label": title }, form);
    dialog.addEventListener("close", () => {
      done(dialog.returnValue === "yes" ? new FormData(form) : null);
      dialog.remove();
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

// copier makes a button copy what text() gives.
export function copier(button, text) {
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text());
      button.textContent = "Copied";
    } catch {
      button.textContent = "Select and copy";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
}

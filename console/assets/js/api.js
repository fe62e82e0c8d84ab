// The public HTTP API, through the session.
import { fromJSON } from "./dom.js";

// Problem is an answer that is not 2xx (RFC 9457).
export class Problem extends Error {
  constructor(status, body) {
    super(body?.detail || body?.title || `the server answered ${status}`);
    this.status = status;
    this.code = body?.code || "";
    this.fields = body?.errors || [];
    if (this.fields.length) this.message = this.fields.map((f) => `${f.name}: ${f.reason}`).join("; ");
  }
}

// asked counts the requests under way, on the document: for styles and for tests.
let asked = 0;
let quiet = 0;
function asking(by) {
  asked += by;
  clearTimeout(quiet);
  if (asked) document.documentElement.dataset.asked = asked;
  else quiet = setTimeout(() => { document.documentElement.dataset.asked = 0; }, 40); // one answer often leads to the next request
}

// written is how far the log must be folded to show what this page last changed; a read that is
// given it as after waits for that.
export let written = "";

// call asks path below /api. Query values that are "" or undefined are left out; arrays repeat.
export async function call(path, options) {
  asking(1);
  try {
    return await answered(path, options);
  } finally {
    asking(-1);
  }
}

async function answered(path, { method = "GET", query, body, signal, after } = {}) {
  const response = await fetch("/console/api" + path + search(query), {
    method, signal, credentials: "same-origin",
    headers: { "X-Weir-Console": "1", ...(after ? { "X-Service-Log-Position": after } : {}), ...(body === undefined ? {} : { "Content-Type": "application/json" }) },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (method !== "GET") written = response.headers.get("X-Service-Log-Position") || "";
  if (response.status === 401) {
    location.assign("/signin?next=" + encodeURIComponent(location.pathname + location.search));
    return new Promise(() => {});
  }
  const text = await response.text();
  let parsed = null;
  try { parsed = text ? fromJSON(text) : null; } catch { /* no JSON: only the status counts */ }
  if (!response.ok) throw new Problem(response.status, parsed);
  return parsed;
}

export const get = (path, query, signal) => call(path, { query, signal });

// optional is get for what a server may not have: null for 404, 405 and 403.
export async function optional(path, query, signal) {
  try {
    return await get(path, query, signal);
  } catch (err) {
    if (err instanceof Problem && [403, 404, 405].includes(err.status)) return null;
    throw err;
  }
}

// all reads a list to its end, or most pages of it.
export async function all(path, query, most = 10) {
  const items = [];
  let cursor;
  for (let i = 0; i < most; i++) {
    const page = await get(path, { ...query, limit: 200, cursor });
    items.push(...page.data);
    if (!page.next_cursor) return items;
    cursor = page.next_cursor;
  }
  items.cut = true;
  return items;
}

export function search(query) {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query || {})) {
    for (const one of [value].flat()) {
      if (one !== undefined && one !== null && one !== "") params.append(name, one);
    }
  }
  const text = params.toString();
  return text ? "?" + text : "";
}

// session is the sign-in itself; it is not part of the API.
export async function session(method, body) {
  const response = await fetch("/console/session", {
    method, credentials: "same-origin", headers: { "X-Weir-Console": "1", "Content-Type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const parsed = await response.json().catch(() => null);
  if (!response.ok) throw new Problem(response.status, parsed);
  return parsed;
}

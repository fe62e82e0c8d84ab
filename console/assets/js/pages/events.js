import { $, h, fill, line, empty } from "../dom.js";
import { get, search } from "../api.js";
import { ready, project, params, setParams, link, failed, opens } from "../shell.js";
import { range, rangeControl } from "../range.js";
import { draw, byType, deploys, types } from "../charts.js";
import { several, count, compact, when } from "../format.js";
import { condition } from "../json.js";
import { cells, columns, detail } from "../event.js";

await ready();
const chosen = () => (params.get("type") || "").split(",").filter((t) => types.includes(t));
const filters = (r) => ({ project_id: project, type: chosen().join(","), q: params.get("q"), where: params.getAll("where"), from: r.from, to: r.to });
// listed is filters for the list: a range that ends now has no end there, so that what arrives later, or bears a
// clock that is ahead, is in it too. A chart needs an end.
const listed = (r) => ({ ...filters(r), to: r.custom ? r.to : "" });
const control = rangeControl(load);
let turn = 0, cursor = null, asked = null;
let ids = []; // of the events listed, in the order of the rows

function showFilters() {
  $("q").value = params.get("q") || "";
  const on = chosen();
  for (const b of $("types").querySelectorAll("button")) b.setAttribute("aria-pressed", String(on.includes(b.dataset.type)));
  const wheres = params.getAll("where"), r = range();
  const bar = $("active");
  bar.hidden = !wheres.length && !r.custom;
  fill(bar, wheres.map((w) => chip(w, () => change({ where: wheres.filter((x) => x !== w) }))),
    r.custom && chip(`${r.from ? when(r.from) : "…"} – ${r.to ? when(r.to) : "now"}`, () => change({ from: "", to: "" })));
}

function chip(text, remove) {
  return h("button", { type: "button", class: "chip", "aria-label": "Remove this filter", title: "Remove this filter", onclick: remove }, h("code", {}, line(text, 120)), "×");
}

function change(changes) {
  setParams(changes, true);
  control.show();
  load();
}

async function load() {
  const mine = ++turn;
  stopTail();
  showFilters();
  asked = range();
  fill("head", columns(chosen()));
  $("rows").setAttribute("aria-busy", "true");
  news(0);
  try {
    const [first, histogram] = await Promise.all([get("/events", { ...listed(asked), limit: pageSize }), get("/events/histogram", { ...filters(asked), buckets: 96 })]);
    if (mine !== turn) return;
    list(first);
    await timeline(histogram.data);
    if (!first.data.length) await nothing();
  } catch (err) {
    if (mine !== turn) return;
    list({ data: [] });
    $("count").textContent = "\u00A0";
    failed("empty", err);
  } finally {
    $("rows").removeAttribute("aria-busy");
  }
}

const pageSize = 50;

// list puts a first page in place of what was there.
function list(first) {
  $("empty").hidden = true;
  $("events").parentNode.hidden = !first.data.length;
  fill("rows");
  ids = [];
  append(first);
}

async function timeline(buckets) {
  const total = buckets.reduce((n, b) => n + b.count, 0);
  const per = {};
  for (const b of buckets) for (const [t, n] of Object.entries(b.types)) per[t] = (per[t] || 0) + n;
  const on = chosen();
  for (const b of $("types").querySelectorAll("button")) {
    const n = per[b.dataset.type] || 0;
    b.querySelector(".n").textContent = n ? compact(n) : "";
    b.classList.toggle("quiet-type", !n && !on.includes(b.dataset.type));
  }
  $("chart").closest(".card").hidden = false;
  $("count").textContent = several(total, "event");
  const markers = on.length === 1 && on[0] === "deploy" ? [] : await deploys(get, project, asked);
  draw($("chart"), { ...byType(total ? buckets : [], types), stacked: true, whole: true, markers, brush: (from, to) => control.set(from, to),
    label: `Events over time: ${count(total)} events. Drag to choose a range; the buttons above choose one by keyboard.` });
}

async function nothing() {
  const any = (await get("/events", { project_id: project, limit: 1 })).data.length;
  const filtered = params.get("q") || params.getAll("where").length || chosen().length;
  $("chart").closest(".card").hidden = !any;
  if (!any) return empty("empty", "No events yet", h("p", {}, "Send one with a program from the project's page, or run ", h("code", {}, "weir demo"), ". Events show up here by themselves."), h("a", { class: "button primary", href: link("/projects/" + project) }, "Programs to paste"));
  empty("empty", "Nothing matches", h("p", {}, filtered ? "No event in this time range passes these filters. A field filter compares exactly: " : "There are no events in this time range.", filtered && [h("code", {}, "level=error"), ", ", h("code", {}, "statusCode>=500"), ", ", h("code", {}, "message~time out"), ", ", h("code", {}, "fields.user exists")]),
    h("div", { class: "tools" }, filtered && h("button", { type: "button", onclick: () => change({ q: "", where: [], type: "" }) }, "Clear the filters"), h("button", { type: "button", onclick: () => change({ range: "all", from: "", to: "" }) }, "Look at all time")));
}

function append({ data, next_cursor }) {
  $("rows").append(...data.map(row));
  ids.push(...data.map((e) => e.event_id));
  cursor = next_cursor;
  $("more").hidden = !cursor;
}

function row(e) {
  const tr = opens(h("tr", {}, cells(e, chosen())), () => toggle(tr, e));
  return tr;
}

function toggle(tr, e) {
  const next = tr.nextElementSibling;
  if (next?.classList.contains("detail")) {
    next.remove();
    return;
  }
  tr.after(h("tr", { class: "detail" }, h("td", { colspan: [...tr.children].filter((td) => td.offsetWidth).length || tr.children.length }, detail(e, pick))));
}

function pick(path, value) {
  const where = condition(path, value);
  if (where) change({ where: [...params.getAll("where").filter((w) => w !== where), where] });
}

$("more").addEventListener("click", async () => {
  $("more").disabled = true;
  try {
    append(await get("/events", { ...listed(asked), limit: pageSize, cursor }));
  } finally { $("more").disabled = false; }
});
$("filters").addEventListener("submit", (e) => {
  e.preventDefault();
  const where = $("where").value.trim();
  $("where").value = "";
  change({ q: $("q").value, where: where ? [...params.getAll("where"), where] : params.getAll("where") });
});
$("types").addEventListener("click", (e) => {
  const type = e.target.closest("button")?.dataset.type;
  if (!type) return;
  const on = chosen();
  change({ type: (on.includes(type) ? on.filter((t) => t !== type) : [...on, type]).join(",") });
});

// A list that reaches up to now keeps up by itself: it is asked for again every few seconds, less often where the
// question is a hard one. Rows change only under a reader who looks at their beginning and has none open; for
// others a line says how many are new.
const refreshEvery = 2500;
let charted = Date.now();

async function refresh() {
  const mine = turn, began = performance.now();
  if (!document.hidden && !tail && !asked.custom && !$("rows").hasAttribute("aria-busy")) {
    const first = await get("/events", { ...listed(asked), limit: pageSize }).catch(() => null);
    if (first && mine === turn && !tail) await renew(first);
  }
  setTimeout(refresh, Math.max(refreshEvery, 30 * (performance.now() - began)));
}

async function renew(first) {
  const known = new Set(ids), fresh = first.data.filter((e) => !known.has(e.event_id)).length;
  if (!fresh) return;
  if (ids.length && !calm()) return news(fresh);
  news(0);
  list(first);
  if (Date.now() - charted < 5000 && ids.length > fresh) return;
  charted = Date.now();
  const mine = turn, now = range();
  const histogram = await get("/events/histogram", { ...filters(now), buckets: 96 }).catch(() => null);
  if (histogram && mine === turn) await timeline(histogram.data);
}

// calm says whether rows may change: the beginning is in view, and nothing is opened, loaded further or in hand.
const calm = () => scrollY < 400 && ids.length <= pageSize && !$("rows").querySelector(".detail") && !$("rows").contains(document.activeElement) && !String(getSelection());

function news(n) {
  $("news").hidden = !n;
  if (n) $("news").textContent = n >= pageSize ? `${pageSize} or more new events` : several(n, "new event");
}
$("news").addEventListener("click", () => { scrollTo({ top: 0 }); load(); });

// The live tail: a new event is a row on top; paused, they are counted and wait.
let tail = null, paused = false, waiting = [];
const mostRows = 500;

function stopTail() {
  tail?.close();
  tail = null;
  paused = false;
  waiting = [];
  tailState();
}

function startTail() {
  const { from, to, ...wanted } = filters({});
  tail = new EventSource("/console/api/events/tail" + search(wanted));
  tail.onmessage = (m) => { waiting.push(m.data); if (!paused) flush(); else tailState(); };
  tail.onerror = () => { if (tail?.readyState === EventSource.CLOSED) { stopTail(); $("count").textContent = "The live tail ended; press Live to follow again."; } };
  news(0);
  $("empty").hidden = true;
  $("events").parentNode.hidden = false;
  tailState();
}

let flushing = 0;
function flush() {
  if (flushing) return;
  flushing = requestAnimationFrame(() => {
    flushing = 0;
    const fresh = waiting.splice(0).slice(-mostRows).map((text) => row(JSON.parse(text))).reverse();
    $("rows").prepend(...fresh);
    while ($("rows").children.length > mostRows) $("rows").lastElementChild.remove();
    tailState();
  });
}

function tailState() {
  const b = $("tail");
  b.setAttribute("aria-pressed", String(Boolean(tail) && !paused));
  b.lastElementChild.textContent = !tail ? "Live" : paused ? `Paused${waiting.length ? ` · ${waiting.length} new` : ""}` : "Live";
  b.title = !tail ? "Follow events as they arrive" : paused ? "Go on" : "Pause (p)";
}

function pressTail() {
  if (!tail) return startTail();
  paused = !paused;
  if (!paused) flush();
  tailState();
}
$("tail").addEventListener("click", pressTail);
addEventListener("keydown", (e) => { if (e.key === "p" && tail && !e.target.closest?.("input, select")) pressTail(); });
addEventListener("pagehide", () => tail?.close());
await load();
setTimeout(refresh, refreshEvery);

import { $, h, fill, line, empty } from "../dom.js";
import { get, search } from "../api.js";
import { ready, project, params, setParams, link, failed, opens } from "../shell.js";
import { range, rangeControl } from "../range.js";
import { draw, byType, deploys, types } from "../charts.js";
import { count, compact, when } from "../format.js";
import { condition } from "../json.js";
import { cells, columns, detail } from "../event.js";

await ready();
const chosen = () => (params.get("type") || "").split(",").filter((t) => types.includes(t));
const filters = (r) => ({ project_id: project, type: chosen().join(","), q: params.get("q"), where: params.getAll("where"), from: r.from, to: r.to });
const control = rangeControl(load);
let turn = 0, cursor = null, asked = null;

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
  const wanted = filters(asked);
  try {
    const [first, histogram] = await Promise.all([get("/events", { ...wanted, limit: 50 }), get("/events/histogram", { ...wanted, buckets: 96 })]);
    if (mine !== turn) return;
    $("empty").hidden = true;
    $("events").parentNode.hidden = !first.data.length;
    fill("rows");
    append(first);
    await timeline(histogram.data);
    if (!first.data.length) await nothing();
  } catch (err) {
    if (mine !== turn) return;
    fill("rows");
    $("more").hidden = true;
    $("count").textContent = "\u00A0";
    failed("empty", err);
  } finally {
    $("rows").removeAttribute("aria-busy");
  }
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
  $("count").textContent = `${count(total)} event${total === 1 ? "" : "s"}`;
  const markers = on.length === 1 && on[0] === "deploy" ? [] : await deploys(get, project, asked);
  draw($("chart"), { ...byType(total ? buckets : [], types), stacked: true, whole: true, markers, brush: (from, to) => control.set(from, to),
    label: `Events over time: ${count(total)} events. Drag to choose a range; the buttons above choose one by keyboard.` });
}

async function nothing() {
  const any = (await get("/events", { project_id: project, limit: 1 })).data.length;
  const filtered = params.get("q") || params.getAll("where").length || chosen().length;
  if (!any) return empty("empty", "No events yet", h("p", {}, "Send one with a program from the project's page, or run ", h("code", {}, "weir demo"), ". Press Live to see events the moment they arrive."), h("a", { class: "button primary", href: link("/projects/" + project) }, "Programs to paste"));
  empty("empty", "Nothing matches", h("p", {}, filtered ? "No event in this time range passes these filters. A field filter compares exactly: " : "There are no events in this time range.", filtered && [h("code", {}, "level=error"), ", ", h("code", {}, "statusCode>=500"), ", ", h("code", {}, "message~time out"), ", ", h("code", {}, "fields.user exists")]),
    h("div", { class: "tools" }, filtered && h("button", { type: "button", onclick: () => change({ q: "", where: [], type: "" }) }, "Clear the filters"), h("button", { type: "button", onclick: () => change({ range: "all", from: "", to: "" }) }, "Look at all time")));
}

function append({ data, next_cursor }) {
  $("rows").append(...data.map(row));
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
    append(await get("/events", { ...filters(asked), limit: 50, cursor }));
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

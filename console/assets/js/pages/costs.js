import { $, h, fill, line, empty } from "../dom.js";
import { all } from "../api.js";
import { ready, project, params, setParams, failed } from "../shell.js";
import { draw, swatch } from "../charts.js";
import { toUnits, asFloat, money, percent, count, compact } from "../format.js";

await ready();
const palette = ["--c-trace", "--c-config", "--c-performance", "--c-audit", "--c-webhook", "--c-cost", "--c-feature_flag", "--c-video", "--c-repository"];
const iso = (d) => d.toISOString().slice(0, 10);
const monthOf = (d) => d.toISOString().slice(0, 7);
const firstOf = (month) => new Date(month + "-01T00:00:00Z");
const moved = (month, by) => { const d = firstOf(month); d.setUTCMonth(d.getUTCMonth() + by); return monthOf(d); };
let shownRows = [];

const state = () => ({ by: ["service", "provider", "region"].includes(params.get("by")) ? params.get("by") : "service", month: /^\d{4}-\d\d$/.test(params.get("month") || "") ? params.get("month") : monthOf(new Date()), currency: params.get("currency") });

async function load() {
  const s = state();
  $("month").value = s.month;
  for (const b of $("by").children) b.setAttribute("aria-pressed", String(b.dataset.by === s.by));
  $("dimension").textContent = s.by[0].toUpperCase() + s.by.slice(1);
  try {
    const ask = (month) => all("/cost/rollups", { project_id: project, from: month, to: moved(month, 1), interval: "day", group_by: s.by }, 15);
    const [now, before] = await Promise.all([ask(s.month), ask(moved(s.month, -1))]);
    show(s, now, before);
  } catch (err) {
    $("body").hidden = true;
    failed("empty", err);
  }
}

function show(s, now, before) {
  const currencies = [...new Set([...now, ...before].map((r) => r.currency))].sort();
  const none = !currencies.length;
  $("body").hidden = none;
  $("empty").hidden = true;
  $("csv").disabled = none;
  if (none) return empty("empty", "No costs in these two months", h("p", {}, "A ", h("code", {}, "cost"), " event has a service, an amount and a currency; provider, region and period (2026-11) if you like. Amounts stay exact decimals and are summed per currency, never across."));
  const currency = currencies.includes(s.currency) ? s.currency : mostEvents(now.length ? now : before);
  fill($("currency"), currencies.map((c) => h("option", { value: c, selected: c === currency }, c)));
  $("currency").hidden = currencies.length < 2;
  const mine = (rows) => rows.filter((r) => r.currency === currency);
  const until = s.month === monthOf(new Date()) ? new Date().getUTCDate() : 31;
  figures(s, mine(now), mine(before), until, currency, now.cut || before.cut);
  table(s, mine(now), mine(before), until, currency);
  chart(s, mine(now), currency);
}

function mostEvents(rows) {
  const sums = {};
  for (const r of rows) sums[r.currency] = (sums[r.currency] || 0) + r.events;
  return Object.keys(sums).sort((a, b) => sums[b] - sums[a])[0];
}

const dayOf = (r) => Number(r.period.slice(8, 10));
const sum = (rows) => rows.reduce((n, r) => n + toUnits(r.amount), 0n);

function figures(s, now, before, until, currency, cut) {
  const same = before.filter((r) => dayOf(r) <= until);
  $("l-now").textContent = until < 31 ? "This month to date" : s.month;
  $("l-before").textContent = until < 31 ? "Same days last month" : moved(s.month, -1);
  $("f-now").textContent = money(sum(now), currency);
  $("f-before").textContent = money(sum(same), currency);
  $("f-whole").textContent = money(sum(before), currency);
  const a = asFloat(sum(now)), b = asFloat(sum(same));
  $("n-now").textContent = b ? `${a >= b ? "+" : "−"}${percent(Math.abs(a - b), b)} against last month` : "\u00A0";
  $("n-before").textContent = until < 31 ? `1st to ${until}.` : "\u00A0";
  $("n-whole").textContent = cut ? "the list was cut: choose a coarser grouping" : moved(s.month, -1);
}

const nameOf = (s, r) => r[s.by] || `(no ${s.by})`;

function grouped(s, rows) {
  const sums = new Map();
  for (const r of rows) {
    const at = sums.get(nameOf(s, r)) || { units: 0n, events: 0 };
    sums.set(nameOf(s, r), { units: at.units + toUnits(r.amount), events: at.events + r.events });
  }
  return sums;
}

function table(s, now, before, until, currency) {
  const a = grouped(s, now), b = grouped(s, before.filter((r) => dayOf(r) <= until)), total = sum(now);
  const names = [...new Set([...a.keys(), ...b.keys()])].sort((x, y) => asFloat((a.get(y)?.units || 0n) - (a.get(x)?.units || 0n)));
  shownRows = names.map((n) => ({ name: n, now: a.get(n)?.units || 0n, before: b.get(n)?.units || 0n, events: a.get(n)?.events || 0 }));
  fill("rows", shownRows.slice(0, 200).map((r, i) => h("tr", {}, h("td", {}, swatch(colorOf(i)), " ", line(r.name, 120)), h("td", { class: "num" }, money(r.now)), h("td", { class: "num" }, money(r.before)), h("td", { class: "num" }, changed(r.now, r.before)),
    h("td", { class: "num wide" }, percent(asFloat(r.now), asFloat(total))), h("td", { class: "num wide" }, count(r.events)))));
  fill("total", h("tr", {}, h("td", {}, "All, in ", currency), h("td", { class: "num" }, money(total)), h("td", { class: "num" }, money(sum(before.filter((r) => dayOf(r) <= until)))), h("td", {}), h("td", { class: "wide" }), h("td", { class: "num wide" }, count(shownRows.reduce((n, r) => n + r.events, 0)))));
}

const colorOf = (i) => (i < palette.length - 1 ? palette[i] : palette.at(-1));

function changed(a, b) {
  if (!b) return a ? "new" : "–";
  const p = (100 * asFloat(a - b)) / asFloat(b);
  return h("span", { class: p > 20 ? "lv-error" : "muted" }, `${p >= 0 ? "+" : "−"}${Math.abs(p).toFixed(0)} %`);
}

function chart(s, now, currency) {
  const days = Math.round((firstOf(moved(s.month, 1)) - firstOf(s.month)) / 86400e3);
  const zone = firstOf(s.month).getTimezoneOffset() * 60; // days are drawn as the reader's own
  const x = Array.from({ length: days }, (_, i) => firstOf(s.month) / 1000 + zone + i * 86400);
  const top = shownRows.slice(0, palette.length - 1).map((r) => r.name);
  const series = [...top, ...(shownRows.length > top.length ? ["others"] : [])].map((label, i) => ({ label, color: colorOf(i), units: x.map(() => 0n) }));
  for (const r of now) {
    const at = top.indexOf(nameOf(s, r));
    series[at < 0 ? series.length - 1 : at].units[dayOf(r) - 1] += toUnits(r.amount);
  }
  for (const one of series) {
    one.values = one.units.map(asFloat);
    one.text = (i) => money(one.units[i]);
  }
  fill("legend", series.map((one) => h("span", {}, swatch(one.color), line(one.label, 40))));
  draw($("chart"), { x: series.length ? x : [], to: x.at(-1) + 86400, stacked: true, series, format: compact, label: `Costs by day and ${s.by} in ${currency}` });
}

// csv quotes what a spreadsheet would run: a cell that begins like a formula gets a leading apostrophe.
function csv() {
  const cell = (v) => { const t = /^[=+\-@\t\r]/.test(v) && isNaN(v) ? "'" + v : v; return /[",\n\r]/.test(t) ? `"${t.replaceAll('"', '""')}"` : t; };
  const exact = (u) => { const t = String(u < 0n ? -u : u).padStart(19, "0"); const text = `${t.slice(0, -18)}.${t.slice(-18).replace(/0+$/, "").padEnd(2, "0")}`; return u < 0n ? "-" + text : text; };
  const s = state(), currency = $("currency").value;
  const lines = [[s.by, "currency", s.month, "same_days_" + moved(s.month, -1), "events"], ...shownRows.map((r) => [r.name, currency, exact(r.now), exact(r.before), String(r.events)])];
  const url = URL.createObjectURL(new Blob([lines.map((l) => l.map(cell).join(",")).join("\r\n") + "\r\n"], { type: "text/csv" }));
  h("a", { href: url, download: `costs-${s.month}-by-${s.by}.csv` }).click();
  URL.revokeObjectURL(url);
}

$("by").addEventListener("click", (e) => { const by = e.target.dataset?.by; if (by) { setParams({ by }, true); load(); } });
$("month").addEventListener("change", () => { setParams({ month: $("month").value }, true); load(); });
$("currency").addEventListener("change", () => { setParams({ currency: $("currency").value }, true); load(); });
$("csv").addEventListener("click", csv);
addEventListener("popstate", () => location.reload());
await load();

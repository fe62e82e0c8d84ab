import { $, h, fill, line, empty } from "../dom.js";
import { get, optional } from "../api.js";
import { ready, project, link, failed, page } from "../shell.js";
import { range, rangeControl } from "../range.js";
import { draw, byType, deploys, swatch, types } from "../charts.js";
import { several, compact, count, ago, span, percent, value, when } from "../format.js";
import { spark } from "../spark.js";

await ready();
const control = rangeControl(load);
let turn = 0;

async function load() {
  const mine = ++turn, r = range();
  try {
    const [histogram, markers] = await Promise.all([get("/events/histogram", { project_id: project, from: r.from, to: r.to, buckets: 96 }), deploys(get, project, r)]);
    if (mine !== turn) return;
    await timeline(histogram.data, markers, r);
  } catch (err) {
    failed("empty", err);
  }
  for (const part of [rejects, lag, groups, door]) part(r).catch((err) => console.warn(err.message));
}

async function timeline(buckets, markers, r) {
  const total = buckets.reduce((n, b) => n + b.count, 0);
  const errors = buckets.reduce((n, b) => n + (b.types.error || 0), 0);
  $("f-events").textContent = compact(total);
  $("f-errors").textContent = compact(errors);
  $("f-errors-note").textContent = total ? percent(errors, total) + " of all events" : "\u00A0";
  const seconds = buckets.length ? (new Date(buckets.at(-1).to) - new Date(buckets[0].from)) / 1000 : 0;
  $("f-rate").textContent = total ? rate(total / seconds) : "\u00A0";
  const none = !total && !(await get("/events", { project_id: project, limit: 1 })).data.length;
  $("empty").hidden = !none;
  $("chart-hint").hidden = !total;
  $("chart").closest(".card").hidden = none;
  if (none) {
    empty("empty", "No events yet", h("p", {}, "Every event that a client of this project sends shows up here within a second. The project's page has programs to paste; ",
      h("code", {}, "weir demo"), " sends a believable day of all 13 types."), h("a", { class: "button primary", href: link("/projects/" + project) }, "Programs to paste"));
  }
  const data = byType(total ? buckets : [], types);
  fill("legend", data.series.map((s) => h("span", {}, swatch(s.color), s.label)));
  draw($("chart"), { ...data, stacked: true, whole: true, markers, label: `Events by type over time: ${count(total)} events`,
    brush: (from, to) => location.assign(link("/events", { from: from.toISOString(), to: to.toISOString() })) });
}

const rate = (perSecond) => (perSecond >= 1 ? `${value(perSecond)} a second` : perSecond * 60 >= 1 ? `${value(perSecond * 60)} a minute` : `${value(perSecond * 3600)} an hour`);

async function rejects(r) {
  const answer = await optional("/ingest/rejections", { project_id: project, since: r.from, until: r.to, limit: 200 });
  const items = (answer?.data || []).sort((a, b) => b.count - a.count);
  const total = items.reduce((n, i) => n + i.count, 0);
  $("f-rejected").textContent = answer ? compact(total) : "–";
  $("f-rejected-note").textContent = answer ? (total ? several(items.length, "reason") : "all events were well formed") : "not counted by this server";
  if (!answer) return fill("rejects", h("p", { class: "muted" }, "This server does not list rejected events by project."));
  if (!items.length) return fill("rejects", h("p", { class: "muted" }, "None. An event that lacks a field or has one of the wrong type would be listed here with its reason, so that its sender can be mended."));
  fill("rejects", h("div", { class: "rows" }, items.slice(0, 6).map((i) => h("div", {}, h("span", { class: "name mono" }, line(i.reason, 160)), h("span", { class: "num" }, count(i.count)),
    h("span", { class: "sub", title: i.last_seen ? when(i.last_seen) : "" }, i.type ? line(i.type, 40) : "unknown type", `, ${ago(i.last_seen)} `, i.sample ? h("code", {}, line(i.sample, 160)) : "")))));
}

async function lag() {
  const listed = page.admin ? await optional("/projections") : null;
  const items = listed?.data || await statuses();
  const worst = items.reduce((most, p) => Math.max(most, p.lag_seconds), 0);
  const behind = items.reduce((n, p) => Math.max(n, p.lag_records), 0);
  $("f-lag").textContent = worst > 0.5 ? span(worst) : "0 s";
  $("f-lag-note").textContent = behind ? `${count(behind)} records at most` : "everything is folded";
  fill("lag", h("div", { class: "rows" }, items.map((p) => h("div", {}, h("span", { class: "name" }, p.name || p.module, h("span", { class: "muted" }, ` · generation ${p.generation}`)), h("span", {}, h("span", { class: "muted num" }, p.lag_records ? `${count(p.lag_records)} behind  ` : ""), badge(p.status)),
    p.problem && h("span", { class: "sub" }, line(p.problem, 200))))));
}

// statuses serve readers who are not the admin: one module for each projection.
async function statuses() {
  return Promise.all(["log", "errors", "webhooks", "cost"].map((m) => get(`/${m}/status`).catch((err) => ({ module: m, status: "down", lag_records: 0, lag_seconds: 0, generation: 0, problem: err.message }))));
}

const badge = (s) => h("span", { class: "badge " + ({ ok: "good", degraded: "warn", down: "bad" }[s] || "") }, s);

async function groups() {
  const { data } = await get("/errors/groups", { project_id: project, status: "unresolved,regressed", sort: "last_seen", limit: 5 });
  if (!data.length) return fill("errors", h("p", { class: "muted" }, "No open errors. Occurrences of the same fault gather in one group, whatever numbers and ids their messages hold."));
  fill("errors", h("div", { class: "rows" }, data.map((g) => h("div", {}, h("a", { class: "name", href: link("/errors/" + g.fingerprint) }, line(g.name || g.message || "(no name)", 120)), spark(g.trend),
    h("span", { class: "sub" }, line(g.message, 160), ` · ${several(g.count, "time")}, ${ago(g.last_seen)}`)))));
}

// door reads the process's own counts, which are no project's.
async function door() {
  const text = await fetch("/metrics").then((r) => (r.ok ? r.text() : ""));
  const sums = {};
  for (const [, status, n] of text.matchAll(/^weir_ingest_requests_total\{status="(\d+)"\} (\S+)/gm)) sums[status] = Number(n);
  const rows = [["200", "batches taken"], ["429", "batches over a rate limit"], ["503", "batches shed under load"], ["403", "wrong signatures"], ["401", "unknown keys"], ["400", "bodies that are no batch"], ["413", "batches too large"]];
  fill("door", h("div", { class: "rows" }, rows.map(([s, what]) => h("div", {}, h("span", { class: "name" }, what, " ", h("span", { class: "muted" }, s)), h("span", { class: "num" }, count(sums[s] || 0))))));
}

// A range that ends now is read again: soon while there is nothing yet, later where it took long.
async function again() {
  const began = performance.now(), r = range();
  if (!document.hidden && !r.custom) await load();
  setTimeout(again, Math.max($("empty").hidden ? 15000 : 2500, 50 * (performance.now() - began)));
}

await load();
setTimeout(again, $("empty").hidden ? 15000 : 2500);

import { $, h, fill, line, empty } from "../dom.js";
import { get } from "../api.js";
import { ready, project, params, setParams, failed, link } from "../shell.js";
import { range, rangeControl } from "../range.js";
import { draw, deploys } from "../charts.js";
import { value, several, millis } from "../format.js";

await ready();
const control = rangeControl(load);
let turn = 0;

async function load() {
  const mine = ++turn, r = range();
  $("service").value = params.get("service") || "";
  $("metric").value = params.get("metric") || "";
  try {
    const [series, markers] = await Promise.all([get("/performance/series", { project_id: project, from: r.from, to: r.to, service: params.get("service"), metric: params.get("metric"), buckets: 72 }), deploys(get, project, r)]);
    if (mine !== turn) return;
    show(series.data, markers, r);
  } catch (err) {
    failed("empty", err);
  }
}

function show(items, markers, r) {
  $("empty").hidden = true;
  const metrics = new Map();
  for (const i of items) {
    const key = i.metric + "\u0000" + (i.unit || "");
    metrics.set(key, [...(metrics.get(key) || []), i]);
  }
  const cards = [...metrics.values()].sort((a, b) => total(b) - total(a));
  fill("metrics", cards.map((list) => h("section", { class: "card" }, h("header", {}, h("h2", {}, line(list[0].metric || "(no name)", 80)), h("span", { class: "muted" }, several(total(list), "value"), list[0].unit && [" in ", line(list[0].unit, 20)])), h("div", { class: "chart tall" }))));
  [...$("metrics").children].forEach((card, i) => chart(card.querySelector(".chart"), cards[i], markers));
  if (!cards.length) empty("empty", "No measurements in this time range", h("p", {}, "A ", h("code", {}, "performance"), " event has a metric and a value, and a service and unit if you like. Every metric gets a chart of its percentiles here, with deploys as markers: what changed when."),
    h("div", { class: "tools" }, h("button", { type: "button", onclick: () => { setParams({ range: "all", from: "", to: "", service: "", metric: "" }, true); control.show(); load(); } }, "Look at all time")));
}

const total = (list) => list.reduce((n, i) => n + i.count, 0);

function chart(el, list, markers) {
  const unit = list[0].unit || "";
  const format = /^(ms|millis|milliseconds?)$/i.test(unit) ? millis : value;
  const one = (label, color, width) => ({ label, color, width, values: list.map((i) => i[label]) });
  draw(el, { x: list.map((i) => new Date(i.from) / 1000), to: new Date(list.at(-1).to) / 1000, markers, format, series: [one("p50", "--p50", 2), one("p95", "--p95"), one("p99", "--p99")],
    label: "Percentiles over time", brush: (from, to) => control.set(from, to) });
}

$("filters").addEventListener("submit", (e) => { e.preventDefault(); setParams({ service: $("service").value, metric: $("metric").value }, true); load(); });
await load();

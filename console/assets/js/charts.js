// Charts over time with uPlot: stacked bars and lines, in the page's colours, with deploys as
// markers, a reading under the pointer, and a brush.
import { h, fill, line } from "./dom.js";
import { compact, when } from "./format.js";

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const charts = new Set();
addEventListener("weir:theme", () => requestAnimationFrame(() => { for (const c of charts) c.redraw(false, true); }));
addEventListener("resize", () => { for (const c of charts) c.setSize(sizeOf(c.place)); });

const sizeOf = (el) => ({ width: Math.max(el.clientWidth, 100), height: Math.max(el.clientHeight, 60) });

// draw puts a chart into el in place of what was there.
//   x: times in seconds; to: the end of the last bucket; series: [{label, color, values}]
//   stacked: bars, else lines; markers: [{at, label}]; brush(from, to): Dates; format: of a value
export function draw(el, { x, to, series, stacked, markers = [], brush, format = compact, label, empty = "Nothing in this time range", tip = true, whole }) {
  for (const c of charts) if (c.place === el) { c.destroy(); charts.delete(c); }
  fill(el);
  if (!x.length) {
    el.append(h("div", { class: "none" }, empty));
    return null;
  }
  const drawn = stacked ? stack(series) : series.map((s) => s.values);
  const order = stacked ? series.map((_, i) => series.length - 1 - i) : series.map((_, i) => i);
  const width = x.length > 1 ? x[1] - x[0] : (to || x[0] + 3600) - x[0];
  const chart = new window.uPlot({
    ...sizeOf(el),
    legend: { show: false },
    padding: [8, 18, 0, 0],
    cursor: { y: false, points: { show: !stacked }, drag: { x: Boolean(brush), y: false, setScale: false } },
    select: { show: Boolean(brush) },
    scales: { x: { range: () => [x[0], to || x.at(-1) + (stacked ? width : 0)] }, y: { range: (_, low, high) => [Math.min(0, low || 0), high > 0 ? high * 1.05 : 1] } },
    axes: [axis({ values: timeLabels, size: 26 }), axis({ ...(whole ? { incrs: [1, 2, 5].flatMap((n) => [0, 1, 2, 3, 4, 5, 6, 7, 8].map((e) => n * 10 ** e)).sort((a, b) => a - b) } : {}), size: 52, values: (_, ticks) => ticks.map((v) => format(v)), space: 28 })],
    series: [{}, ...order.map((i) => {
      const s = series[i];
      const color = () => css(s.color);
      return stacked
        ? { label: s.label, fill: color, stroke: color, width: 0, points: { show: false }, paths: window.uPlot.paths.bars({ size: [0.86, 80, 1], align: 1 }) }
        : { label: s.label, stroke: color, width: s.width || 1.5, points: { show: x.length < 3, fill: color }, spanGaps: true };
    })],
    hooks: { draw: [(u) => mark(u, markers)], setCursor: tip ? [(u) => read(u, { series, markers, format, stacked, width })] : [], setSelect: brush ? [(u) => brushed(u, brush)] : [] },
  }, [x, ...order.map((i) => drawn[i])], el);
  chart.place = el;
  charts.add(chart);
  el.setAttribute("role", "img");
  el.setAttribute("aria-label", label || "Chart");
  return chart;
}

function stack(series) {
  let below = null;
  return series.map((s) => (below = s.values.map((v, i) => (v || 0) + (below ? below[i] : 0))));
}

function axis(more) {
  return { stroke: () => css("--muted"), font: '11px "Inter", system-ui, sans-serif', grid: { stroke: () => css("--line"), width: 1 }, ticks: { show: false }, gap: 6, ...more };
}

function timeLabels(u, ticks, _axis, _space, step) {
  return ticks.map((t, i) => {
    const d = new Date(t * 1000);
    if (step >= 86400) return d.toLocaleDateString("en", { day: "numeric", month: "short" });
    const time = d.toLocaleTimeString("en", { hour: "2-digit", minute: "2-digit", second: step < 60 ? "2-digit" : undefined, hourCycle: "h23" });
    const first = i === 0 || new Date(ticks[i - 1] * 1000).getDate() !== d.getDate();
    return first && u.scales.x.max - u.scales.x.min > 43200 && d.getHours() === 0 ? d.toLocaleDateString("en", { day: "numeric", month: "short" }) : time;
  });
}

// Beyond so many, markers stand at the top alone: their lines would hide the chart.
const mostLines = 24;

function mark(u, markers) {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.globalAlpha = 0.75;
  ctx.strokeStyle = ctx.fillStyle = css("--c-deploy");
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
  const lines = markers.length <= mostLines;
  for (const m of markers) {
    const x = Math.round(u.valToPos(m.at, "x", true));
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    if (lines) {
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
    const size = 4 * devicePixelRatio;
    ctx.beginPath();
    ctx.moveTo(x - size, bbox.top - size);
    ctx.lineTo(x + size, bbox.top - size);
    ctx.lineTo(x, bbox.top + size / 2);
    ctx.fill();
  }
  ctx.restore();
}

function read(u, { series, markers, format, stacked, width }) {
  u.tip?.remove();
  u.tip = null;
  const { left } = u.cursor;
  if (left === undefined || left < 0) return;
  let i = u.cursor.idx;
  if (stacked) {
    const at = u.posToVal(left, "x");
    i = u.data[0].findIndex((t) => at >= t && at < t + width);
  }
  if (i === null || i < 0) return;
  const rows = series.map((s) => [s, s.values[i]]).filter(([, v]) => v !== null && v !== undefined && (v || !stacked)).reverse();
  const near = markers.filter((m) => Math.abs(u.valToPos(m.at, "x") - left) < 5).slice(0, 4);
  if (!rows.length && !near.length) return;
  const total = rows.reduce((sum, [, v]) => sum + v, 0);
  const tip = h("div", { class: "tip" }, h("div", { class: "h" }, when(u.data[0][i] * 1000)),
    rows.slice(0, 10).map(([s, v]) => h("div", { class: "r" }, h("span", {}, swatch(s.color), line(s.label, 40)), h("span", {}, s.text ? s.text(i) : format(v)))),
    stacked && rows.length > 1 && h("div", { class: "r" }, h("span", {}, "all"), h("span", {}, format(total))),
    near.map((m) => h("div", {}, "▾ ", line(m.label, 60))));
  u.over.append(tip);
  u.tip = tip;
  const room = u.over.clientWidth;
  tip.style.left = left + 14 + tip.offsetWidth > room ? `${Math.max(0, left - 14 - tip.offsetWidth)}px` : `${left + 14}px`;
}

export function swatch(color) {
  const el = h("i", { class: "swatch", "aria-hidden": "true" });
  el.style.background = `var(${color})`;
  return el;
}

function brushed(u, brush) {
  const { left, width } = u.select;
  if (width < 4) return;
  const from = new Date(u.posToVal(left, "x") * 1000), to = new Date(u.posToVal(left + width, "x") * 1000);
  u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
  brush(from, to);
}

// byType turns a histogram of the API into series, the types in their fixed order.
export function byType(buckets, order) {
  const seen = new Set(buckets.flatMap((b) => Object.keys(b.types)));
  return {
    x: buckets.map((b) => new Date(b.from) / 1000),
    to: buckets.length ? new Date(buckets.at(-1).to) / 1000 : undefined,
    series: order.filter((t) => seen.has(t)).map((t) => ({ label: t, color: `--c-${t}`, values: buckets.map((b) => b.types[t] || 0) })),
  };
}

// deploys are the markers of a project's deploys in a range.
export async function deploys(get, project, { from, to }) {
  const page = await get("/events", { project_id: project, type: "deploy", from, to, limit: 200 }).catch(() => ({ data: [] }));
  // The events of one deploy are one marker: the newest, which says how it ended. They are told from a later deploy
  // of the same version by the commit, and by standing within an hour of each other.
  const shown = [], last = new Map();
  for (const e of page.data) {
    const key = JSON.stringify([e.data.service, e.data.version, e.data.environment, e.data.commit]), later = last.get(key);
    if (!later || new Date(later.ts) - new Date(e.ts) > 3600e3) shown.push(e);
    last.set(key, e);
  }
  return shown.map((e) => ({ at: new Date(e.ts) / 1000, label: [e.data.service, e.data.version, e.data.status].filter((v) => typeof v === "string").map((v) => v.slice(0, 40)).join(" ") }));
}

export const types = ["log", "trace", "performance", "error", "audit", "deploy", "config", "feature_flag", "repository", "cost", "webhook", "tenant", "video"];

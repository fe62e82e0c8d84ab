import { $, h, fill, line, empty, asText, ask } from "../dom.js";
import { all } from "../api.js";
import { ready, page, project, failed, link } from "../shell.js";
import { millis, when, count } from "../format.js";
import { detail } from "../event.js";

await ready();
$("back").href = link("/events", { type: "trace" });
fill("trace-id", line(page.resource, 200));
try {
  draw(await all("/trace/" + encodeURIComponent(page.resource), { project_id: project }, 5));
} catch (err) {
  if (err.status === 404) empty("empty", "No spans of this trace", h("p", {}, "No trace event of this project bears this id. Spans that were sent a moment ago show up within a second."));
  else failed("empty", err);
}

// draw lays the spans out by their start; children stand under their parents.
function draw(events) {
  const spans = events.map((e) => ({ e, d: e.data || {}, start: Date.parse(e.ts), ms: Math.max(Number(asText(e.data?.durationMs ?? 0)) || 0, 0) }));
  const begin = Math.min(...spans.map((s) => s.start)), end = Math.max(...spans.map((s) => s.start + s.ms), begin + 1);
  const services = [...new Set(spans.map((s) => asText(s.d.serviceName) || "(no service)"))];
  $("f-took").textContent = millis(end - begin);
  $("f-start").textContent = when(begin);
  $("f-spans").textContent = count(spans.length) + (events.cut ? "+" : "");
  $("f-services").textContent = services.length;
  fill("f-names", line(services.slice(0, 6).join(", "), 120));
  const colors = ["--c-trace", "--c-config", "--c-performance", "--c-audit", "--c-webhook", "--c-cost", "--c-feature_flag", "--c-video"];
  fill("waterfall", nested(spans).map(([s, depth]) => {
    const bar = h("i", {});
    bar.style.left = `${(100 * (s.start - begin)) / (end - begin)}%`;
    bar.style.width = `${Math.max((100 * s.ms) / (end - begin), 0.2)}%`;
    bar.style.background = `var(${colors[services.indexOf(asText(s.d.serviceName) || "(no service)") % colors.length]})`;
    const name = h("span", { class: "nm" }, h("button", { type: "button", class: "link", onclick: () => ask({ title: "Span", confirm: "", wide: true, body: detail(s.e) }) }, line(asText(s.d.name) || "(no name)", 100)), " ", h("span", { class: "muted" }, line(s.d.serviceName, 40)));
    name.style.paddingLeft = `${Math.min(depth, 12) * 12}px`;
    return h("div", { class: "span", role: "listitem" }, name, h("span", { class: "track" }, bar), h("span", { class: "num" }, millis(s.ms)));
  }));
}

function nested(spans) {
  const ids = new Set(spans.map((s) => s.d.spanId)), children = new Map(), out = [], seen = new Set();
  for (const s of spans) {
    const parent = s.d.parentSpanId ?? s.d.parentId;
    const under = ids.has(parent) && parent !== s.d.spanId ? parent : null;
    children.set(under, [...(children.get(under) || []), s]);
  }
  const walk = (under, depth) => {
    for (const s of children.get(under) || []) {
      if (seen.has(s)) continue;
      seen.add(s);
      out.push([s, depth]);
      if (depth < 200) walk(s.d.spanId, depth + 1);
    }
  };
  walk(null, 0);
  for (const s of spans) if (!seen.has(s)) out.push([s, 0]); // parents in a circle
  return out;
}

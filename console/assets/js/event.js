// One event as a row and opened: columns by type, sentences for audits, diffs, traces.
import { h, line, block, toJSON, asText, copier } from "./dom.js";
import { link } from "./shell.js";
import { stamp, when, millis } from "./format.js";
import { json } from "./json.js";

// What a list of one type shows, by the names of the fields.
const byType = {
  audit: ["actor", "action", "resource", "statusCode", "ip"], log: ["level", "module", "message"], deploy: ["service", "version", "environment", "status", "commit"],
  repository: ["provider", "repo", "branch", "commit", "author"], config: ["path", "actor", "diff"], cost: ["provider", "service", "region", "amount", "currency"],
  performance: ["service", "metric", "value", "unit"], trace: ["serviceName", "name", "durationMs", "traceId"], error: ["name", "message", "release", "environment"],
  feature_flag: ["key", "enabled", "rollout", "actor"], webhook: ["destination", "url", "statusCode", "attempt"], tenant: ["projectId", "plan", "ingestLimitPerSecond"], video: ["jobId", "status", "targetUrl", "artifactUrl"],
};
const numeric = new Set(["statusCode", "amount", "value", "durationMs", "rollout", "attempt", "ingestLimitPerSecond"]);
const wideOnly = new Set(["ip", "commit", "environment", "release", "region", "actor", "traceId", "artifactUrl", "module", "author", "unit"]);

export function columns(chosen) {
  const fields = chosen.length === 1 ? byType[chosen[0]] : null;
  return h("tr", {}, h("th", { class: "t" }, "Time"), fields ? fields.map((f) => h("th", { class: mode(f) }, f)) : [h("th", { class: "k" }, "Type"), h("th", {}, "What")]);
}

const mode = (f) => [numeric.has(f) && "num", wideOnly.has(f) && "wide"].filter(Boolean).join(" ");

export function cells(e, chosen) {
  const time = h("td", { class: "t", title: `${when(e.ts)}\nreceived ${when(e.received_at)}` }, stamp(e.ts));
  if (chosen.length === 1 && byType[chosen[0]]) return [time, ...byType[chosen[0]].map((f) => h("td", { class: mode(f) }, field(e.data, f)))];
  return [time, h("td", { class: "k" }, h("span", {}, h("i", { class: "swatch t-" + e.type, "aria-hidden": "true" }), e.type)), h("td", {}, what(e))];
}

function field(data, name) {
  const v = data?.[name];
  if (v === undefined || v === null) return h("span", { class: "muted" }, "–");
  if (name === "level") return level(v);
  if (name === "durationMs") return millis(Number(asText(v)));
  return line(asText(v));
}

const level = (v) => h("span", { class: "lv lv-" + String(v).toLowerCase().replace(/[^a-z]/g, "").slice(0, 10) }, line(v, 20));

// what says an event in one line.
export function what({ type, data }) {
  const d = data || {}, has = (...names) => names.map((n) => d[n]).filter((v) => v !== undefined && v !== null && v !== "");
  const muted = (...parts) => parts.length ? h("span", { class: "muted" }, " ", line(parts.map((p) => asText(p).slice(0, 120)).join(" · "))) : "";
  switch (type) {
    case "log": return [d.level !== undefined && [level(d.level), " "], line(d.message), muted(...has("module"))];
    case "error": return [h("b", {}, line(d.name ?? d.message, 80)), " ", d.name !== undefined && line(d.message), muted(...has("release", "environment"))];
    case "audit": return sentence(d);
    case "deploy": return [line(d.service, 80), " ", h("b", {}, line(d.version, 60)), muted(...has("environment", "status", "commit"))];
    case "trace": return [line(d.serviceName, 60), " ", h("b", {}, line(d.name, 120)), " ", h("span", { class: "num" }, millis(Number(asText(d.durationMs ?? NaN)))), muted(...has("traceId"))];
    case "performance": return [line(d.service, 60), " ", h("b", {}, line(d.metric, 80)), " ", line(d.value, 40), " ", line(d.unit, 20)];
    case "cost": return [line(d.service, 60), " ", h("b", {}, line(d.amount, 40), " ", line(d.currency, 8)), muted(...has("provider", "region", "period"))];
    case "config": return [line(d.path, 160), muted(...has("actor"))];
    case "feature_flag": return [h("b", {}, line(d.key, 100)), " ", d.enabled === true ? "on" : d.enabled === false ? "off" : "", d.rollout !== undefined && d.rollout !== null && [" at ", line(d.rollout, 20)], muted(...has("actor"))];
    case "repository": return [line(d.repo, 100), " ", h("b", {}, line(d.branch, 80)), muted(...has("commit", "author"))];
    case "webhook": return [line(d.destination ?? d.url, 160), " ", h("b", {}, line(d.statusCode, 10)), muted(...(d.attempt !== undefined && d.attempt !== null ? ["attempt " + asText(d.attempt)] : []))];
    case "tenant": return [line(d.projectId, 80), " ", h("b", {}, line(d.plan, 60)), muted(...(d.ingestLimitPerSecond ? [asText(d.ingestLimitPerSecond) + " events/s"] : []))];
    case "video": return [line(d.jobId, 80), " ", h("b", {}, line(d.status, 40)), muted(...has("targetUrl"))];
  }
  return line(toJSON(d));
}

// sentence reads an audit event: who did what to what, how it ended, from where.
export function sentence(d) {
  const code = Number(asText(d.statusCode ?? NaN));
  return h("span", {}, h("b", {}, line(d.actor ?? "Somebody", 80)), " ", code >= 400 ? "was refused " : "", h("span", {}, line(String(asText(d.action)).replaceAll("_", " "), 120)),
    d.resource !== undefined && d.resource !== null && [" on ", h("b", {}, line(d.resource, 160))],
    (d.method || d.path) && h("span", { class: "muted" }, " by ", line([d.method, d.path].filter(Boolean).map(asText).join(" "), 160)),
    Number.isFinite(code) && h("span", { class: code >= 400 ? "lv-error" : "muted" }, ` → ${code}`),
    d.ip && h("span", { class: "muted" }, " from ", line(d.ip, 60)));
}

// diff colours a unified diff, line by line.
export function diff(text) {
  const lines = asText(text).split("\n");
  const kind = (l) => (/^(\+\+\+|---|diff |index )/.test(l) ? "file" : l.startsWith("@@") ? "hunk" : l.startsWith("+") ? "add" : l.startsWith("-") ? "del" : "");
  const most = 400;
  const el = h("div", { class: "diff", tabindex: "0", role: "region", "aria-label": "Diff" }, lines.slice(0, most).map((l) => h("span", { class: kind(l) }, block(l, 1000))));
  if (lines.length > most) el.append(h("span", {}, h("button", { type: "button", class: "link", onclick: (e) => e.target.parentNode.replaceWith(...lines.slice(most, 20000).map((l) => h("span", { class: kind(l) }, block(l, 1000)))) }, `show all ${lines.length} lines`)));
  return el;
}

// detail is an event opened.
export function detail(e, pick) {
  const copy = h("button", { type: "button", class: "small" }, "Copy");
  copier(copy, () => toJSON(e, 2));
  const trace = typeof e.data?.traceId === "string" && e.data.traceId;
  return h("div", { class: "opened" },
    h("div", { class: "bar" }, h("span", { class: "muted mono" }, `${e.event_id} · received ${when(e.received_at)}`),
      h("span", { class: "tools" }, trace && h("a", { class: "button small", href: link("/trace/" + encodeURIComponent(trace)) }, "Trace"), copy)),
    e.type === "audit" && h("p", { class: "sentence" }, sentence(e.data || {})),
    e.type === "config" && e.data?.diff && diff(e.data.diff),
    e.type === "log" && asText(e.data?.message).length > 80 && h("p", {}, block(e.data.message)),
    json(e.data, pick));
}

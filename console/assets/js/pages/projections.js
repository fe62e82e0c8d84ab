import { $, h, fill, line, block, ask, toast } from "../dom.js";
import { get, call, optional } from "../api.js";
import { ready, page, failed } from "../shell.js";
import { count, span, ago, percent, compact } from "../format.js";
import { json } from "../json.js";

await ready({ needsProject: false });
const results = new Map(); // of verify, by projection
const waiting = new Set();

async function load() {
  if (!page.admin) return fill("projections", h("div", { class: "empty" }, h("h2", {}, "Only for the admin"), h("p", {}, "Projections belong to the whole installation. Sign in with the admin token to see and rebuild them.")));
  try {
    const { data } = await get("/projections");
    $("empty").hidden = true;
    fill("projections", data.map(card));
  } catch (err) {
    failed("empty", err);
  }
}

function card(p) {
  const behind = p.lag_records;
  return h("section", { class: "card", id: "p-" + p.name }, h("header", {}, h("h2", {}, p.name, " ", badge(p.status)), h("div", { class: "tools" },
    h("button", { type: "button", class: "small", onclick: () => verify(p) , disabled: waiting.has(p.name) }, waiting.has(p.name) ? "Verifying…" : "Verify"),
    h("button", { type: "button", class: "small", onclick: () => rebuild(p) }, "Rebuild…"),
    h("button", { type: "button", class: "small", onclick: () => quarantine(p) }, "Quarantine"))),
    p.problem && h("p", { class: "problem" }, line(p.problem, 600)),
    progress(p.rebuild),
    h("dl", { class: "facts" }, fact("Lag", behind ? `${count(behind)} records` : "none", behind ? span(p.lag_seconds) : "the whole log is folded"),
      fact("Generation", p.generation, `version ${p.version} of the fold`),
      fact("Folded", compact(p.partitions.reduce((n, x) => n + x.folded, 0)), topics(p))),
    result(results.get(p.name)),
    h("details", {}, h("summary", {}, "Partitions"), h("div", { class: "scroll" }, h("table", { class: "grid" }, h("thead", {}, h("tr", {}, ["Topic", "Partition", "Folded", "End", "Lag"].map((t, i) => h("th", { class: i ? "num" : "" }, t)))),
      h("tbody", {}, p.partitions.map((x) => h("tr", {}, h("td", { class: "mono" }, x.topic), h("td", { class: "num" }, x.partition), h("td", { class: "num" }, count(x.folded)), h("td", { class: "num" }, count(x.end)), h("td", { class: "num" }, count(x.lag_records)))))))));
}

const fact = (name, value, note) => h("div", {}, h("dt", {}, name), h("dd", {}, h("strong", {}, value), " ", h("span", { class: "muted" }, note)));

function topics(p) {
  const names = [...new Set(p.partitions.map((x) => x.topic))];
  return `records of ${names.length === 1 ? names[0] : `${names.length} topics`}`;
}

const badge = (s) => h("span", { class: "badge " + ({ ok: "good", degraded: "warn", down: "bad" }[s] || "") }, s);

// progress of a rebuild, as the server tells it; field names differ little between versions.
function progress(r) {
  if (!r || typeof r !== "object") return null;
  const done = r.records_done ?? r.folded ?? r.done, all = r.records_total ?? r.total ?? r.end;
  const part = r.progress ?? (all ? done / all : null);
  const bar = h("b", {});
  if (part !== null) bar.style.width = `${Math.min(100, 100 * part)}%`;
  const eta = r.eta_seconds ?? r.eta;
  return h("div", {}, h("p", {}, "Rebuilding ", r.generation ? `generation ${r.generation}` : "", r.state || r.phase ? ` · ${r.state || r.phase}` : "", part !== null ? ` · ${percent(part, 1)}` : "", r.records_per_second ? ` · ${compact(r.records_per_second)} records/s` : "", typeof eta === "number" ? ` · ${span(eta)} left` : ""), h("div", { class: "progress" }, bar));
}

function result(r) {
  if (!r) return null;
  const same = r.equal ?? r.ok ?? r.verified;
  return h("div", {}, h("p", {}, same === undefined ? "Verified" : same ? h("span", { class: "badge good" }, "equal to a fresh fold of the log") : h("span", { class: "badge bad" }, "differs from a fresh fold of the log")), h("details", {}, h("summary", {}, "Result"), json(r)));
}

async function verify(p) {
  waiting.add(p.name);
  load();
  try {
    results.set(p.name, await call(`/projections/${p.name}/verify`, { method: "POST", body: {} }));
  } catch (err) {
    toast(err.status === 404 ? "This server cannot verify yet." : err.message, true);
  }
  waiting.delete(p.name);
  load();
}

async function rebuild(p) {
  const sure = await ask({ title: `Rebuild ${p.name}`, confirm: "Rebuild", body: h("p", {}, "A new generation is filled from the first record of the log while this one serves. When both agree they are swapped; nobody sees an empty page.") });
  if (!sure) return;
  try {
    await call(`/projections/${p.name}/rebuild`, { method: "POST", body: {} });
    toast(`Rebuilding ${p.name}`);
    load();
  } catch (err) {
    toast(err.status === 404 ? "This server cannot rebuild yet." : err.message, true);
  }
}

async function quarantine(p) {
  const answer = await optional(`/projections/${p.name}/quarantine`, { limit: 50 }).catch(() => null);
  const body = !answer ? h("p", { class: "muted" }, "This server does not list the quarantine yet.") : !answer.data.length ? h("p", {}, "Empty. What a fold cannot take would be kept here with its reason, and the partition moves on.") :
    answer.data.map((q) => h("section", { class: "card" }, h("p", {}, line(q.reason, 400)), h("p", { class: "muted mono" }, line([q.topic, q.partition, q.offset].filter((v) => v !== undefined).join(" / "), 200)), q.payload !== undefined && h("pre", { class: "json", tabindex: "0" }, block(q.payload, 1000))));
  ask({ title: `Quarantine of ${p.name}`, confirm: "", wide: true, body });
}

await load();
setInterval(() => { if (!document.hidden && !document.querySelector("dialog[open], details[open]")) load(); }, 3000);

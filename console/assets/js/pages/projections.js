import { $, h, fill, line, block, ask, toast } from "../dom.js";
import { get, call, optional } from "../api.js";
import { ready, page, failed } from "../shell.js";
import { count, span, ago, compact } from "../format.js";
import { json } from "../json.js";

await ready({ needsProject: false });
const results = new Map(); // of verify, by projection

let first = true;

async function load() {
  if (!page.admin) return fill("projections", h("div", { class: "empty" }, h("h2", {}, "Only for the admin"), h("p", {}, "Projections belong to the whole installation. Sign in with the admin token to see and rebuild them.")));
  try {
    const { data } = await get("/projections");
    if (first || [...results.values()].some((v) => v.state === "running")) await known(data);
    first = false;
    $("empty").hidden = true;
    if (document.querySelector("dialog[open], #projections details[open]")) return;
    fill("projections", data.map(card));
  } catch (err) {
    failed("empty", err);
  }
}

function card(p) {
  const behind = p.lag_records;
  return h("section", { class: "card spaced", id: "p-" + p.name }, h("header", {}, h("h2", {}, p.name, " ", badge(p.status)), h("div", { class: "tools" },
    h("button", { type: "button", class: "small", onclick: () => verify(p), disabled: results.get(p.name)?.state === "running" }, "Verify"),
    h("button", { type: "button", class: "small", onclick: () => rebuild(p), disabled: Boolean(p.rebuild) }, "Rebuild…"),
    h("button", { type: "button", class: "small", onclick: () => quarantine(p) }, "Quarantine"))),
    p.problem && h("p", { class: "problem" }, line(p.problem, 600)),
    progress(p),
    h("dl", { class: "facts" }, fact("Lag", behind ? `${count(behind)} records` : "none", behind ? span(p.lag_seconds) : "the whole log is folded"),
      fact("Generation", p.generation, `version ${p.version} of the fold`),
      fact("Folded", compact(p.partitions.reduce((n, x) => n + x.folded, 0)), topics(p))),
    result(p),
    p.kept_generations?.length > 0 && h("p", { class: "muted kept" }, `Kept for going back: generation ${p.kept_generations.join(", ")} `, button("Roll back…", () => rollback(p)), " ", button("Drop", () => wish(p, { action: "drop_old" }, "Dropped"))),
    h("details", {}, h("summary", {}, "Partitions"), h("div", { class: "scroll" }, h("table", { class: "grid" }, h("thead", {}, h("tr", {}, ["Topic", "Partition", "Folded", "End", "Lag"].map((t, i) => h("th", { class: i ? "num" : "" }, t)))),
      h("tbody", {}, p.partitions.map((x) => h("tr", {}, h("td", { class: "mono" }, x.topic), h("td", { class: "num" }, x.partition), h("td", { class: "num" }, count(x.folded)), h("td", { class: "num" }, count(x.end)), h("td", { class: "num" }, count(x.lag_records)))))))));
}

const fact = (name, value, note) => h("div", {}, h("dt", {}, name), h("dd", {}, h("strong", {}, value), " ", h("span", { class: "muted" }, note)));

function topics(p) {
  const names = [...new Set(p.partitions.map((x) => x.topic))];
  return `records of ${names.length === 1 ? names[0] : `${names.length} topics`}`;
}

const badge = (s) => h("span", { class: "badge " + ({ ok: "good", degraded: "warn", down: "bad" }[s] || "") }, s);

// progress of a rebuild: how far, how fast, how long yet; and what can be done about it.
function progress(p) {
  const r = p.rebuild;
  if (!r) return null;
  const bar = h("b", {});
  bar.style.width = `${Math.min(100, r.percent)}%`;
  const how = [`${Math.floor(r.percent)} %`, `${count(r.done)} of ${count(r.total)} records`, r.records_per_second > 0 && `${compact(Math.round(r.records_per_second))}/s`, r.seconds_left > 0 && `${span(r.seconds_left)} left`].filter(Boolean);
  return h("div", { class: "stacked rebuild" }, h("p", {}, h("strong", {}, `${r.rollback ? "Coming back" : "Building"}: generation ${r.generation}`), h("span", { class: "muted" }, ` · ${r.state} · ${how.join(" · ")}`)),
    h("div", { class: "progress", role: "progressbar", "aria-label": "Rebuild", "aria-valuenow": Math.floor(r.percent), "aria-valuemin": 0, "aria-valuemax": 100 }, bar),
    r.what_differs && h("p", {}, "It differs from what is served: ", line(r.what_differs, 600)),
    h("div", { class: "tools" }, r.state === "differing" && button("Take it", () => wish(p, { action: "start", accept: true }, "It is taken")), button("Cancel", () => wish(p, { action: "cancel" }, "Canceled"))));
}

const button = (label, onclick) => h("button", { type: "button", class: "small", onclick }, label);

function result(p) {
  const v = results.get(p.name);
  if (!v) return null;
  if (v.state === "running") return h("p", { class: "muted" }, `Verifying: ${count(v.folded)} of ${count(v.of)} records folded again`);
  if (v.state === "failed") return h("p", { class: "problem" }, "The verification failed: ", line(v.failure, 400));
  const r = v.result || {};
  return h("div", { class: "stacked" }, h("p", {}, r.equal ? h("span", { class: "badge good" }, "equal to the log") : h("span", { class: "badge bad" }, "differs from the log"), h("span", { class: "muted" }, ` ${count(r.records || 0)} records folded again, ${ago(v.started_at)}`)),
    !r.equal && h("details", {}, h("summary", {}, "What differs"), json(r.differences)));
}

async function wish(p, body, done) {
  try {
    const answer = await call(`/projections/${p.name}/rebuild`, { method: "POST", body });
    if (done) toast(done);
    load();
    return answer;
  } catch (err) {
    toast(err.status === 404 ? "This server cannot rebuild yet." : err.message, true);
    return null;
  }
}

async function verify(p) {
  try {
    results.set(p.name, await call(`/projections/${p.name}/verify`, { method: "POST", body: {} }));
  } catch (err) {
    toast(err.status === 404 ? "This server cannot verify yet." : err.message, true);
  }
  load();
}

async function rebuild(p) {
  const would = await wish(p, { action: "dry_run" });
  if (!would) return;
  const sure = await ask({ title: `Rebuild ${p.name}`, confirm: "Rebuild", body: h("p", {}, `${count(would.records || 0)} records are read into a new generation while this one serves. When both agree they are swapped; nobody sees an empty page.`) });
  if (sure) wish(p, { action: "start" }, `Rebuilding ${p.name}`);
}

// known asks for the verifications that were begun, here or elsewhere.
async function known(list) {
  for (const p of list) {
    const v = await optional(`/projections/${p.name}/verify`).catch(() => null);
    if (v) results.set(p.name, v);
  }
}

async function rollback(p) {
  if (await ask({ title: `Roll ${p.name} back?`, confirm: "Roll back", body: h("p", {}, "The kept generation is brought up to date and served again; the present one is kept.") })) wish(p, { action: "rollback" }, "Rolling back");
}

async function quarantine(p) {
  const answer = await optional(`/projections/${p.name}/quarantine`, { limit: 50 }).catch(() => null);
  const body = !answer ? h("p", { class: "muted" }, "This server does not list the quarantine yet.") : !answer.data.length ? h("p", {}, "Empty. What a fold cannot take would be kept here with its reason, and the partition moves on.") :
    answer.data.map((q) => h("section", { class: "card" }, h("p", {}, line(q.reason, 400)), h("p", { class: "muted mono" }, line([q.topic, q.partition, q.offset].filter((v) => v !== undefined).join(" / "), 200)), q.payload !== undefined && h("pre", { class: "json", tabindex: "0" }, block(q.payload, 1000))));
  ask({ title: `Quarantine of ${p.name}`, confirm: "", wide: true, body });
}

await load();
setInterval(() => { if (!document.hidden) load(); }, 2000);

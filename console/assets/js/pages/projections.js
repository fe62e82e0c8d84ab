import { $, h, fill, line, block, ask, toast } from "../dom.js";
import { get, call, optional } from "../api.js";
import { ready, page, failed } from "../shell.js";
import { count, several, span, ago, when, compact } from "../format.js";
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
    const held = focused();
    fill("projections", data.map(card));
    held?.();
  } catch (err) {
    failed("empty", err);
  }
}

// focused remembers which button has the focus, and gives what finds it again after the cards were made anew.
function focused() {
  const button = document.activeElement?.closest?.("#projections button"), card = button?.closest(".card");
  return card && (() => [...$(card.id)?.querySelectorAll("button") || []].find((b) => b.textContent === button.textContent)?.focus());
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
  const path = `/projections/${p.name}/quarantine`;
  const answer = await optional(path, { limit: 50 }).catch((err) => { toast(err.message, true); return null; });
  if (!answer) return;
  const records = answer.data, reasons = new Map();
  for (const q of records) reasons.set(q.reason, (reasons.get(q.reason) || 0) + 1);
  const wish = await ask({ title: `Quarantine of ${p.name}`, wide: true, cancel: "Close", confirm: records.length ? "Retry all…" : "", body: !records.length ?
    h("p", {}, "Empty. A record that a fold cannot take is kept here with its reason, and its partition goes on.") :
    [h("p", { class: "muted" }, `${answer.next_cursor ? "The newest " : ""}${several(records.length, "record")} that this fold could not take. The rest of their partitions went on.`),
      reasons.size < records.length && h("div", { class: "rows" }, [...reasons].sort((a, b) => b[1] - a[1]).map(([reason, n]) => h("div", {}, h("span", {}, line(reason, 300)), h("span", { class: "num" }, count(n))))),
      records.map(quarantined)] });
  if (!wish || !(await ask({ title: "Fold the records in quarantine again?", confirm: "Retry", body: h("p", {}, "Each is folded once more. What the fold takes now joins the tables, once; what it still refuses stays, with its reason.") }))) return;
  try {
    const retried = await call(path + "/retry", { method: "POST", body: {} });
    toast(`${several(retried.asked_for ?? 0, "record")} to retry`);
  } catch (err) {
    toast(err.status === 404 || err.status === 405 ? "This server cannot retry yet." : err.message, true);
  }
}

const retryTone = { retried: "good", refused: "bad", in_doubt: "warn" };

function quarantined(q) {
  return h("section", { class: "card" }, h("header", {}, h("h2", {}, line(q.reason, 400)), h("span", { class: "muted", title: when(q.received_at) }, ago(q.received_at))),
    h("p", { class: "muted mono" }, line(`${q.topic} / ${q.partition} / ${q.offset}`, 200), q.project_id && [" · ", line(q.project_id, 80)]),
    q.retry && h("p", {}, h("span", { class: "badge " + (retryTone[q.retry.state] || "") }, line(String(q.retry.state).replace("_", " "), 20)), h("span", { class: "muted" }, ` attempt ${q.retry.attempt}, ${ago(q.retry.at)}`), q.retry.reason && [" ", line(q.retry.reason, 300)]),
    h("details", {}, h("summary", {}, "The record", h("span", { class: "muted" }, ` · ${several(q.payload_bytes, "byte")}${q.payload_bytes > 16384 ? ", cut" : ""}`)), h("pre", { class: "json", tabindex: "0" }, block(q.payload, 1000))));
}

await load();
setInterval(() => { if (!document.hidden) load(); }, 2000);

import { $, h, fill, line, block, empty, ask, toast, asText, toJSON } from "../dom.js";
import { get, call, optional } from "../api.js";
import { ready, project, params, setParams, failed, opens } from "../shell.js";
import { when, ago, count, millis, span } from "../format.js";
import { json } from "../json.js";

await ready();
let cursor = null;
const kinds = ["http", "slack", "discord", "teams", "mattermost", "internal"];

async function endpoints() {
  const table = $("endpoints"), answer = await optional("/webhooks/endpoints", { project_id: project, limit: 200 });
  for (const b of [$("add"), $("recover")]) b.hidden = !answer;
  table.parentNode.hidden = !answer?.data?.length;
  $("endpoints-empty").hidden = true;
  if (!answer) return empty("endpoints-empty", "This server sends no webhooks", h("p", {}, "The outgoing lane is not part of this build. Deliveries that clients report with ", h("code", {}, "webhook"), " events are listed below."));
  if (!answer.data.length) return empty("endpoints-empty", "No endpoints yet", h("p", {}, "An endpoint is a URL of yours that is told about errors, deploys and whatever you deliver to it: signed (Standard Webhooks), retried for days, every attempt kept."), h("button", { type: "button", class: "primary", onclick: create }, "New endpoint"));
  fill(table.tBodies[0], answer.data.map(endpoint));
  if (answer.data.some((e) => e.kind === "internal")) await feed();
}

function endpoint(e) {
  const act = (label, what, danger) => h("button", { type: "button", class: "small" + (danger ? " danger" : ""), onclick: what }, label);
  return h("tr", {}, h("td", {}, line(e.url || e.kind, 200), h("div", { class: "muted" }, line(e.kind, 20), " · ", h("span", { class: "mono" }, line(e.id, 60)), overlap(e))), h("td", { class: "wide" }, (e.events || []).slice(0, 8).map((t) => [h("span", { class: "badge" }, line(t, 60)), " "])),
    h("td", {}, h("span", { class: "badge " + (e.status === "enabled" ? "good" : "warn") }, line(e.status, 20)), e.disabled_reason && h("div", { class: "muted" }, line(e.disabled_reason, 120)), e.failing_since && h("div", { class: "lv-warn" }, `failing for ${span((Date.now() - new Date(e.failing_since)) / 1000)}`)), h("td", { class: "wide when" }, ago(e.created_at)),
    h("td", {}, h("div", { class: "tools" }, act("Test", () => test(e)), act("Rotate…", () => rotate(e)), act(e.status === "enabled" ? "Disable" : "Enable", () => change(e, { status: e.status === "enabled" ? "disabled" : "enabled" })), act("Delete…", () => remove(e), true))));
}

// The feed is what internal endpoints got: read here or by GET /api/webhooks/feed, instead of being sent anywhere.
let feedCursor = null;
async function feed(more) {
  const answer = await optional("/webhooks/feed", { project_id: project, limit: 20, cursor: more ? feedCursor : "" });
  $("feed-card").hidden = !answer;
  if (!answer) return;
  const body = $("feed").tBodies[0];
  if (!more) fill(body);
  body.append(...answer.data.map(fed));
  feedCursor = answer.next_cursor;
  $("feed-more").hidden = !feedCursor;
  $("feed").parentNode.hidden = !body.children.length;
  $("feed-empty").hidden = Boolean(body.children.length);
  if (!body.children.length) empty("feed-empty", "Nothing yet", h("p", {}, "What an internal endpoint is told stands here, and at ", h("code", {}, "GET /api/webhooks/feed"), "."));
}

function fed(item) {
  return opens(h("tr", {}, h("td", {}, line(item.type, 100)), h("td", {}, line(toJSON(item.data), 200)), h("td", { class: "when", title: when(item.delivered_at) }, ago(item.delivered_at))),
    () => ask({ title: asText(item.type).slice(0, 80), confirm: "", wide: true, body: [h("p", { class: "muted" }, `${when(item.timestamp)} · `, line(item.id, 60)), json(item.data)] }));
}

function overlap(e) {
  const until = e.former_secret_until;
  return until && new Date(until) > new Date() ? h("span", {}, " · two secrets sign until ", when(until)) : "";
}

async function tried(what, done) {
  try {
    const answer = await what();
    if (done) toast(done);
    return answer ?? true;
  } catch (err) {
    toast(err.message, true);
    return null;
  }
}

async function create() {
  const asked = ask({ title: "New endpoint", confirm: "Create", body: [
    h("label", { for: "e-kind" }, "Kind"), h("select", { id: "e-kind", name: "kind" }, kinds.map((k) => h("option", {}, k))),
    h("div", { id: "e-address" }, h("label", { for: "e-url" }, "URL"), h("input", { id: "e-url", name: "url", type: "url", required: true, placeholder: "https://example.com/hooks/weir" })),
    h("p", { class: "muted", id: "e-internal", hidden: true }, "Nothing is sent: what it is told is listed on this page and at GET /api/webhooks/feed."),
    h("label", { for: "e-events" }, "Events (patterns, separated by commas)"), h("input", { id: "e-events", name: "events", value: "*", placeholder: "error.group.*, deploy.*" })] });
  $("e-kind").addEventListener("change", () => {
    const internal = $("e-kind").value === "internal";
    $("e-address").hidden = $("e-url").disabled = internal;
    $("e-internal").hidden = !internal;
  });
  const form = await asked;
  if (!form) return;
  const kind = form.get("kind"), body = { project_id: project, kind, events: form.get("events").split(",").map((s) => s.trim()).filter(Boolean) };
  if (kind !== "internal") body.url = form.get("url");
  const made = await tried(() => call("/webhooks/endpoints", { method: "POST", body }));
  if (made) { await secret("The endpoint's secret", made.secret); endpoints(); }
}

function secret(title, text, note) {
  if (!text) return null;
  return ask({ title, confirm: "", body: [h("p", {}, "It verifies what Weir sends, and is shown only now."), h("pre", { class: "code", tabindex: "0" }, asText(text)), note && h("p", { class: "muted" }, note)] });
}

async function rotate(e) {
  const form = await ask({ title: "Rotate the secret", confirm: "Rotate", body: [h("p", {}, "A new secret signs at once. The old one signs beside it for the overlap, so that receivers can change over."), h("label", { for: "overlap" }, "Overlap"), h("select", { id: "overlap", name: "hours" }, [["24", "24 hours"], ["0", "none"], ["72", "3 days"], ["168", "7 days"]].map(([v, t]) => h("option", { value: v }, t)))] });
  if (!form) return;
  const hours = Number(form.get("hours"));
  const made = await tried(() => call(`/webhooks/endpoints/${e.id}/rotate`, { method: "POST", body: hours === 24 ? {} : { overlap_seconds: hours * 3600 } }));
  if (made) { await secret("The new secret", made.secret, hours ? `Until ${when(Date.now() + hours * 3600e3)} deliveries bear two signatures, one by each secret.` : ""); endpoints(); }
}

const change = async (e, body) => { if (await tried(() => call(`/webhooks/endpoints/${e.id}`, { method: "PATCH", body }), "Changed")) endpoints(); };
const test = async (e) => { if (await tried(() => call(`/webhooks/endpoints/${e.id}/test`, { method: "POST", body: {} }), "A test is on its way")) setTimeout(deliveries, 1000); };

async function remove(e) {
  const sure = await ask({ title: "Delete this endpoint?", confirm: "Delete", danger: true, body: h("p", {}, "Nothing more is sent to ", line(e.url, 160), ". Its deliveries stay readable.") });
  if (sure && await tried(() => call(`/webhooks/endpoints/${e.id}`, { method: "DELETE" }), "Deleted")) endpoints();
}

let shown = null; // the first page as it was listed last, "" when older ones stand below it
async function deliveries(more) {
  const answer = await get("/webhooks/deliveries", { project_id: project, status: params.get("status"), endpoint_id: params.get("endpoint"), limit: 50, cursor: more ? cursor : "" });
  const body = $("deliveries").tBodies[0], said = toJSON(answer.data);
  if (!more && said === shown) return; // the same as before: what is in hand stays
  shown = more ? "" : said;
  if (!more) fill(body);
  body.append(...answer.data.map(delivery));
  cursor = answer.next_cursor;
  $("more").hidden = !cursor;
  $("deliveries").parentNode.hidden = !body.children.length;
  $("deliveries-empty").hidden = Boolean(body.children.length);
  if (!body.children.length) empty("deliveries-empty", params.get("status") ? `No ${params.get("status")} deliveries` : "No deliveries yet", h("p", {}, "Every delivery is kept with each of its attempts: what was sent, what came back, how long it took."));
}

const tone = { succeeded: "good", exhausted: "bad", retrying: "warn", pending: "", canceled: "" };

function delivery(d) {
  return opens(h("tr", {}, h("td", {}, line(d.destination || d.url || d.endpoint_id, 160), d.url && d.destination && d.url !== d.destination && h("div", { class: "muted" }, line(d.url, 160))), h("td", { class: "wide" }, d.event_type ? line(d.event_type, 80) : h("span", { class: "muted" }, "–")),
    h("td", {}, h("span", { class: "badge " + (tone[d.status] || "") }, d.status)), h("td", { class: "num wide" }, count(d.attempt_count)), h("td", { class: "num" }, d.last_status_code ?? "–"), h("td", { class: "when", title: d.last_attempt_at ? when(d.last_attempt_at) : "" }, ago(d.last_attempt_at))), () => open(d));
}

async function open(d) {
  const full = await tried(() => get(`/webhooks/deliveries/${encodeURIComponent(d.id)}`, { project_id: project }));
  if (!full) return;
  const wish = await ask({ title: "Delivery", wide: true, confirm: d.endpoint_id ? "Redeliver" : "", cancel: "Close", body: [
    h("dl", { class: "pairs" }, [["Id", full.id], ["To", full.url || full.destination], ["Event", full.event_type], ["Status", full.status]].map(([k, v]) => [h("dt", {}, k), h("dd", {}, line(v ?? "–", 300))])),
    (full.attempts || []).map((a) => h("section", { class: "card" }, h("header", {}, h("h2", {}, `Attempt ${a.number}`), h("span", {}, h("span", { class: "badge " + (a.status === "succeeded" ? "good" : "bad") }, a.failure ? line(`${a.status}: ${a.failure}`, 60) : a.status), " ", a.status_code ?? "")),
      h("p", { class: "muted" }, a.started_at ? when(a.started_at) : "", a.duration_ms !== null && a.duration_ms !== undefined ? ` · ${millis(a.duration_ms)}` : "", a.key_id ? ` · signed by ${asText(a.key_id).slice(0, 60)}` : ""),
      [["Request headers", a.request_headers], ["Response headers", a.response_headers]].map(([t, v]) => v && h("details", {}, h("summary", {}, t), json(v))),
      a.response_body && h("details", {}, h("summary", {}, "Response body"), h("pre", { class: "json", tabindex: "0" }, block(a.response_body, 4000)))))] });
  if (wish && await tried(() => call(`/webhooks/deliveries/${encodeURIComponent(d.id)}/redeliver`, { method: "POST", body: {} }), "Sent again")) setTimeout(deliveries, 1000);
}

async function recover() {
  const list = (await get("/webhooks/endpoints", { project_id: project, limit: 200 })).data;
  if (!list.length) return toast("There is no endpoint to recover.");
  const form = await ask({ title: "Recover what failed", confirm: "Count", body: [h("p", {}, "Sends again what was not delivered since a time. First it is only counted."), h("label", { for: "r-e" }, "Endpoint"), h("select", { id: "r-e", name: "id" }, list.map((e) => h("option", { value: e.id }, line(e.url || e.id, 80).textContent))),
    h("label", { for: "r-s" }, "Since"), h("input", { id: "r-s", name: "since", type: "datetime-local", required: true })] });
  if (!form) return;
  const since = new Date(form.get("since")).toISOString(), url = `/webhooks/endpoints/${form.get("id")}/recover`;
  const counted = await tried(() => call(url, { method: "POST", body: { since, dry_run: true } }));
  if (!counted) return;
  const n = counted.found ?? 0;
  if (!n) return toast("Nothing failed since then.");
  if (await ask({ title: `Send ${count(n)} deliveries again?`, confirm: "Recover", body: h("p", {}, "They go out at a bounded rate, with the ids that they had.") }) && await tried(() => call(url, { method: "POST", body: { since } }), "Recovering")) setTimeout(deliveries, 1500);
}

$("status").value = params.get("status") || "";
$("status").addEventListener("change", () => { shown = null; setParams({ status: $("status").value }, true); deliveries().catch((err) => failed("deliveries-empty", err)); });
$("more").addEventListener("click", () => deliveries(true));
$("feed-more").addEventListener("click", () => feed(true));
$("add").addEventListener("click", create);
$("recover").addEventListener("click", recover);
addEventListener("popstate", () => location.reload());
// Both are asked for at once; the deliveries appear when the endpoints have their place, so that nothing jumps.
const listed = deliveries().catch((err) => failed("deliveries-empty", err));
await endpoints().catch((err) => failed("endpoints-empty", err));
await listed;
$("deliveries-card").hidden = false;
// Attempts go on while one looks: the list keeps up, unless older ones are read or something is open.
setInterval(() => {
  if (!document.hidden && shown && !document.querySelector("dialog[open]") && !$("deliveries").contains(document.activeElement)) deliveries().catch(() => {});
}, 3000);

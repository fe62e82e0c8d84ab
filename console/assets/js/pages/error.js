import { $, h, fill, line, block, toast, asText, ask } from "../dom.js";
import { get, call, written } from "../api.js";
import { ready, page, project, failed, rememberProject, setParams } from "../shell.js";
import { draw, deploys } from "../charts.js";
import { ago, count, compact, when, percent } from "../format.js";
import { json } from "../json.js";
import { stack } from "../stack.js";

await ready();
const path = "/errors/groups/" + encodeURIComponent(page.resource);
let group, occurrences = [], at = 0, raw = false;

// found reads the group. A fingerprint is one project's: a link without the project, or with
// another one, still leads the admin to it, and the page is about that project then.
async function found() {
  const ask = (id) => call(path, { query: { project_id: id, limit: 20 }, after: written });
  try {
    return await ask(project);
  } catch (err) {
    if (err.status !== 404 || !page.admin) throw err;
  }
  const elsewhere = await ask("");
  rememberProject(elsewhere.project_id);
  setParams({});
  document.querySelector("[data-switch]").value = project;
  return elsewhere;
}

async function load() {
  try {
    group = await found();
  } catch (err) {
    for (const part of document.querySelectorAll("main > :not(header)")) part.hidden = true;
    $("actions").hidden = true;
    if (err.status === 404) fill("name", "No such error group");
    return failed("message", err.status === 404 ? new Error("This project has no group with this fingerprint.") : err);
  }
  occurrences = group.occurrences.data;
  head();
  await timeline();
  breakdown();
  decisions();
  why();
  fill("occurrences");
  list(group.occurrences);
  show(0);
}

function head() {
  document.title = `${line(group.name || group.message, 60).textContent} · Weir`;
  fill("name", line(group.name || "(no name)", 200));
  fill("message", block(group.message, 400));
  fill("culprit", h("code", {}, line(group.culprit, 300)));
  const state = $("state");
  state.textContent = group.status;
  state.className = "badge " + ({ regressed: "bad", unresolved: "warn", resolved: "good" }[group.status] || "");
  const open = group.status === "unresolved" || group.status === "regressed";
  for (const b of $("actions").querySelectorAll("[data-to]")) b.hidden = open === (b.dataset.to === "unresolved");
  $("f-count").textContent = compact(group.count);
  $("f-day").textContent = `${count(group.trend.reduce((a, b) => a + b, 0))} in 24 hours`;
  $("f-first").textContent = ago(group.first_seen);
  $("f-last").textContent = ago(group.last_seen);
  $("f-first").title = when(group.first_seen);
  $("f-last").title = when(group.last_seen);
  fill("f-first-release", group.first_release ? ["in ", line(group.first_release, 60)] : "\u00A0");
  fill("f-last-release", group.last_release ? ["in ", line(group.last_release, 60)] : "\u00A0");
}

async function timeline() {
  const { x, values } = hours();
  const markers = await deploys(get, project, { from: new Date(x[0] * 1000).toISOString(), to: new Date().toISOString() });
  $("hours").textContent = x.length > 24 ? "last 7 days" : "last 24 hours";
  draw($("chart"), { x, to: x.at(-1) + 3600, stacked: true, whole: true, markers, series: [{ label: "occurrences", color: "--c-error", values }], label: `Occurrences by hour: ${count(values.reduce((a, b) => a + b, 0))} in all` });
}

// hours are a week's counts where the group is older than a day, else the day's.
function hours() {
  const end = Math.floor(Date.now() / 3600e3) * 3600;
  const week = group.histogram?.some((h) => new Date(h.from) / 1000 <= end - 24 * 3600);
  const n = week ? 7 * 24 : group.trend.length;
  const x = Array.from({ length: n }, (_, i) => end - (n - 1 - i) * 3600);
  if (!week) return { x, values: group.trend };
  const counts = new Map(group.histogram.map((h) => [new Date(h.from) / 1000, h.count]));
  return { x, values: x.map((t) => counts.get(t) || 0) };
}

// breakdown uses the server's counts where it gives them, else those of the occurrences at hand.
function breakdown() {
  const facets = group.breakdown || group.breakdowns;
  const lists = [["Release", "release", "releases"], ["Environment", "environment", "environments"], ["Service", "service", "services"]].map(([title, one, many]) => [title, facets ? served(facets[one] || facets[many]) : counted(one)]);
  $("breakdown-of").textContent = facets ? "" : `of the latest ${occurrences.length}`;
  fill("breakdown", h("div", { class: "bars" }, lists.map(([title, rows]) => {
    const total = rows.reduce((n, [, c]) => n + c, 0);
    return h("div", {}, h("h3", {}, title), rows.length ? rows.slice(0, 6).map(([name, n]) => {
      const bar = h("b", {});
      bar.style.width = `${(100 * n) / total}%`;
      return h("div", { class: "b" }, h("span", {}, line(name, 80)), h("span", { class: "num muted" }, percent(n, total)), h("i", {}, bar));
    }) : h("p", { class: "muted" }, "not sent"));
  })));
}

const served = (items) => (Array.isArray(items) ? items.map((i) => [asText(i.value ?? i.name), Number(i.count)]) : Object.entries(items || {}).map(([k, n]) => [k, Number(n)]));

function counted(name) {
  const sums = new Map();
  for (const o of occurrences) if (o[name]) sums.set(o[name], (sums.get(o[name]) || 0) + 1);
  return [...sums].sort((a, b) => b[1] - a[1]);
}

// decisions are who resolved, ignored, merged; what was merged can be taken out again.
function decisions() {
  const list = group.decisions || [], merged = group.merged || [];
  $("decided").hidden = !list.length && !merged.length;
  fill("decisions", h("div", { class: "rows" }, list.slice(0, 20).map((d) => h("div", {}, h("span", {}, line(d.kind, 40), d.resolved_in_release ? [" in ", line(d.resolved_in_release, 60)] : "", d.ignored_until ? ` until ${when(d.ignored_until)}` : ""), h("span", { class: "muted", title: when(d.at) }, ago(d.at)), h("span", { class: "sub" }, "by ", line(d.by, 60), d.reason ? [": ", line(d.reason, 200)] : ""))),
    merged.map((f) => h("div", {}, h("span", { class: "name mono" }, line(f, 40)), h("button", { type: "button", class: "small", onclick: () => unmerge(f) }, "Take out")))));
}

async function unmerge(f) {
  try {
    await call(`/errors/groups/${encodeURIComponent(f)}/unmerge`, { method: "POST", body: {} });
    toast("A group of its own again");
    await load();
  } catch (err) {
    toast(err.message, true);
  }
}

function why() {
  const x = group.explanation;
  if (!x || typeof x !== "object") return fill("why", h("p", { class: "muted" }, "This group has no explanation."));
  const used = (x.exceptions || []).flatMap((e) => (e.frames || []).filter((f) => f.used));
  fill("why", h("p", {}, line(x.summary || x.decided, 600)),
    x.message?.length && h("p", { class: "muted" }, "In the message these were taken as changing from case to case: ", x.message.slice(0, 12).map((c, i) => [i ? ", " : "", h("code", {}, line(c.from, 60)), " → ", h("code", {}, line(c.to, 30))])),
    used.length && h("ul", { class: "frames" }, used.slice(0, 12).map((f) => h("li", { class: f.in_app ? "app" : "lib" }, line(f.as || f.function, 240)))),
    h("details", {}, h("summary", {}, "The whole explanation"), json(x)));
}

function list(answer) {
  const rows = answer.data.map((o) => {
    const i = occurrences.indexOf(o);
    return h("div", {}, h("button", { type: "button", class: "link name", onclick: () => { show(i); $("stack").scrollIntoView({ block: "nearest" }); } }, when(o.ts)), h("span", { class: "muted" }, line(o.release || o.environment || "", 40)), h("span", { class: "sub" }, line(o.message, 120)));
  });
  const place = $("occurrences");
  if (!place.firstElementChild?.classList.contains("rows")) fill(place, h("div", { class: "rows" }));
  place.firstElementChild.append(...rows);
  $("more").hidden = !answer.next_cursor;
  $("more").onclick = async () => {
    const next = (await get(path, { project_id: project, limit: 20, cursor: answer.next_cursor })).occurrences;
    occurrences.push(...next.data);
    list(next);
    breakdown();
  };
}

function show(i) {
  at = i;
  const o = occurrences[i];
  if (!o) return fill("stack", h("p", { class: "muted" }, "No occurrence is kept."));
  $("which").textContent = when(o.ts);
  fill("stack", stack(o, raw, group.explanation));
  const rest = Object.fromEntries(["release", "environment", "service", "request", "metadata"].filter((n) => o[n] !== null && o[n] !== undefined).map((n) => [n, o[n]]));
  fill("context", h("p", { class: "muted mono" }, o.event_id), json(rest));
}

$("raw").addEventListener("click", () => { raw = !raw; $("raw").setAttribute("aria-pressed", String(raw)); show(at); });
$("actions").addEventListener("click", async (e) => {
  const to = e.target.closest("[data-to]")?.dataset.to;
  if (!to) return;
  const body = { status: to };
  if (to === "resolved") {
    const form = await ask({ title: "Resolve this group", confirm: "Resolve", body: [h("p", { class: "muted" }, "If it is seen again it becomes regressed. With a release, only an occurrence from that release or a later one counts."), h("label", { for: "in" }, "Resolved in release (optional)"), h("input", { id: "in", name: "release", maxlength: "256" })] });
    if (!form) return;
    if (form.get("release")) body.resolved_in_release = form.get("release");
  }
  if (to === "ignored") {
    const form = await ask({ title: "Ignore this group", confirm: "Ignore", body: [h("label", { for: "until" }, "For how long"), h("select", { id: "until", name: "until" }, h("option", { value: "" }, "Until it is reopened"), h("option", { value: "1" }, "A day"), h("option", { value: "7" }, "A week"), h("option", { value: "30" }, "30 days"))] });
    if (!form) return;
    if (form.get("until")) body.ignored_until = new Date(Date.now() + form.get("until") * 86400e3).toISOString();
  }
  try {
    const answer = await call(path + "/status", { method: "POST", body });
    toast(`Now ${answer?.status || to}`);
    await load();
  } catch (err) {
    toast(err.status === 404 ? "This server cannot change a group's status yet." : err.message, true);
  }
});
await load();

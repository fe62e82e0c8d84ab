import { $, h, fill, line, empty, toast, ask } from "../dom.js";
import { get, call, written } from "../api.js";
import { ready, project, params, setParams, link, failed, opens } from "../shell.js";
import { ago, compact, count, when } from "../format.js";
import { spark } from "../spark.js";

await ready();
const names = ["q", "environment", "service", "release", "sort"];
const status = () => (params.has("status") ? params.get("status") : "unresolved,regressed");
let cursor = null, turn = 0;
const picked = new Set();

const query = () => ({ project_id: project, ...Object.fromEntries(names.map((n) => [n, params.get(n)])), status: status() === "any" ? "" : status() });

async function load() {
  const mine = ++turn;
  for (const n of names) $(n).value = params.get(n) || (n === "sort" ? "last_seen" : "");
  for (const b of $("status").children) b.setAttribute("aria-pressed", String((b.dataset.status || "any") === status()));
  picked.clear();
  bulk();
  try {
    const answer = await call("/errors/groups", { query: { ...query(), limit: 50 }, after: written });
    if (mine !== turn) return;
    $("empty").hidden = true;
    fill("rows");
    append(answer);
    document.querySelector("table.groups").parentNode.hidden = !answer.data.length;
    if (!answer.data.length) nothing();
  } catch (err) {
    failed("empty", err);
  }
}

function nothing() {
  const filtered = names.some((n) => n !== "sort" && params.get(n));
  if (filtered) return empty("empty", "No group matches", h("p", {}, "Search looks into name, message and culprit. Environment, service and release must match exactly."));
  if (status() !== "unresolved,regressed" && status() !== "any") return empty("empty", `No ${status()} groups`, h("p", {}, "Groups get a status by the buttons of their page; a resolved group that is seen again becomes regressed by itself."));
  empty("empty", "No open errors", h("p", {}, "An ", h("code", {}, "error"), " event, or a POST to ", h("code", {}, "/api/errors/capture"), ", makes a group or joins one: occurrences of the same fault gather, whatever numbers, ids and line numbers they hold."),
    h("a", { class: "button", href: link("/projects/" + project) }, "Programs to paste"));
}

function append({ data, next_cursor }) {
  $("rows").append(...data.map(row));
  cursor = next_cursor;
  $("more").hidden = !cursor;
}

function row(g) {
  const where = [...g.services, ...g.environments].slice(0, 4).map((s) => s.slice(0, 40)).join(", ");
  const href = link("/errors/" + g.fingerprint);
  return opens(h("tr", {},
    h("td", { class: "tick" }, h("input", { type: "checkbox", "aria-label": "Choose this group", onchange: (e) => { picked[e.target.checked ? "add" : "delete"](g.fingerprint); bulk(); } })),
    h("td", {}, h("a", { class: "title", href }, line(g.name || "(no name)", 140)), h("span", { class: "sub" }, badge(g.status), line(g.message, 220)), g.culprit && h("span", { class: "sub mono" }, line(g.culprit, 160))),
    h("td", { class: "trend" }, spark(g.trend)),
    h("td", { class: "num", title: count(g.count) }, compact(g.count)),
    h("td", { class: "when", title: when(g.last_seen) }, ago(g.last_seen)),
    h("td", { class: "when wide", title: when(g.first_seen) }, ago(g.first_seen)),
    h("td", { class: "wide" }, h("span", { class: "sub" }, line(where, 120)), g.last_release && h("span", { class: "sub mono" }, line(g.last_release, 60)))), () => location.assign(href));
}

const badge = (s) => (s === "unresolved" ? "" : [h("span", { class: "badge " + ({ regressed: "bad", resolved: "good" }[s] || "") }, s), " "]);

function bulk() {
  $("bulk").hidden = !picked.size;
  $("bulk-count").textContent = `${picked.size} chosen`;
  $("bulk").querySelector("[data-bulk=merge]").disabled = picked.size < 2;
}

$("bulk").addEventListener("click", async (e) => {
  const to = e.target.dataset?.bulk;
  if (!to) return;
  const [first, ...others] = picked;
  try {
    if (to === "merge") {
      const sure = await ask({ title: `Merge ${picked.size} groups`, confirm: "Merge", body: h("p", {}, "The groups become one, from now on and for what is already there. It can be undone.") });
      if (!sure) return;
      for (const f of others) await call(`/errors/groups/${f}/merge`, { method: "POST", body: { into: first } });
    } else {
      for (const f of picked) await call(`/errors/groups/${f}/status`, { method: "POST", body: { status: to } });
    }
    toast(to === "merge" ? "Merged" : `Now ${to}`);
    await load();
  } catch (err) {
    toast(err.status === 404 ? "This server cannot change groups yet." : err.message, true);
  }
});
$("filters").addEventListener("submit", (e) => { e.preventDefault(); setParams(Object.fromEntries(names.map((n) => [n, $(n).value])), true); load(); });
$("sort").addEventListener("change", () => { setParams({ sort: $("sort").value }, true); load(); });
$("status").addEventListener("click", (e) => { const b = e.target.closest("button"); if (b) { setParams({ status: b.dataset.status || "any" }, true); load(); } });
$("more").addEventListener("click", async () => append(await get("/errors/groups", { ...query(), limit: 50, cursor })));
addEventListener("popstate", () => location.reload());
await load();

import { $, h, fill, line, empty } from "../dom.js";
import { get } from "../api.js";
import { ready, page, project, link, failed, opens } from "../shell.js";
import { when, ago, count } from "../format.js";

await ready({ needsProject: false });
let cursor = null;

async function load() {
  if (page.fixed) return location.replace(link("/projects/" + project));
  const answer = await get("/projects", { limit: 50, cursor });
  $("rows").append(...answer.data.map(row));
  cursor = answer.next_cursor;
  $("more").hidden = !cursor;
  if (!$("rows").children.length) {
    document.querySelector(".scroll").hidden = true;
    empty("empty", "No projects yet", h("p", {}, "A project owns events, API keys and the secret that signs what its clients send."), h("a", { class: "button primary", href: "/start" }, "Create the first one"));
  }
}

function row(p) {
  const href = "/projects/" + p.project_id + "?project=" + p.project_id;
  const limits = Object.entries(p.limits || {}).filter(([, v]) => v !== null && v !== undefined).map(([n, v]) => `${n.replaceAll("_", " ")} ${v === 0 ? "unlimited" : count(v)}`);
  return opens(h("tr", {}, h("td", {}, h("a", { href }, line(p.name, 120)), p.operator && [" ", h("span", { class: "badge" }, "operator")]), h("td", { class: "wide mono" }, p.project_id), h("td", { class: "wide muted" }, limits.join(", ") || "server's defaults"), h("td", { class: "when", title: when(p.created_at) }, ago(p.created_at))), () => location.assign(href));
}

$("more").addEventListener("click", load);
await load().catch((err) => failed("empty", err));

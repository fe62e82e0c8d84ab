import { $, h, fill, line, ask, toast, copier } from "../dom.js";
import { get, call, optional, all } from "../api.js";
import { ready, page, project, link, rememberProject, failed } from "../shell.js";
import { when, ago } from "../format.js";
import { snippets } from "../snippets.js";

if (page.admin) rememberProject(page.resource);
await ready({ needsProject: false });
const path = "/projects/" + encodeURIComponent(page.resource);
const limitNames = ["events_per_second", "batches_per_second", "batch_bytes"];
snippets();

async function load() {
  let p;
  try {
    p = await get(path);
  } catch (err) {
    fill("name", "No such project");
    document.querySelector(".split").hidden = true;
    return failed("created", err);
  }
  fill("name", line(p.name, 120));
  document.title = `${line(p.name, 60).textContent} · Weir`;
  $("created").textContent = `created ${when(p.created_at)}`;
  $("open").href = link("/events");
  for (const n of limitNames) $("limits").elements[n].value = p.limits?.[n] ?? "";
  $("p-name").value = p.name;
  $("p-operator").checked = p.operator;
  if (!page.admin) for (const form of [$("limits"), $("rename")]) for (const el of form.elements) el.disabled = true;
  await keys();
}

async function keys() {
  const body = $("keys").tBodies[0];
  try {
    fill(body, (await all(path + "/keys")).map(row));
  } catch (err) {
    fill(body, h("tr", {}, h("td", { colspan: 4, class: "muted" }, err.status === 403 ? "Your key lacks the scope manage." : line(err.message, 200))));
    $("new-key").hidden = err.status === 403;
  }
}

function row(k) {
  return h("tr", {}, h("td", {}, line(k.name || "(no name)", 80), h("div", { class: "muted mono" }, k.key_id)), h("td", {}, k.scopes.map((s) => [h("span", { class: "badge" }, s), " "])), h("td", { class: "wide when", title: when(k.created_at) }, ago(k.created_at)),
    h("td", { class: "num" }, k.revoked_at ? h("span", { class: "badge bad" }, `revoked ${ago(k.revoked_at)}`) : h("button", { type: "button", class: "small danger", onclick: () => revoke(k) }, "Revoke…")));
}

async function revoke(k) {
  const sure = await ask({ title: "Revoke this key?", confirm: "Revoke", danger: true, body: h("p", {}, "Whoever uses ", h("b", {}, line(k.name || k.key_id, 80)), " is refused from now on. This cannot be undone.") });
  if (!sure) return;
  await call(`${path}/keys/${k.key_id}`, { method: "DELETE" }).then(() => toast("Revoked"), (err) => toast(err.message, true));
  keys();
}

function submits(form, send) {
  form.addEventListener("submit", async (e) => {
    e.preventDefault();
    const problem = form.querySelector(".problem");
    problem.hidden = true;
    try {
      await send(form);
    } catch (err) {
      problem.textContent = err.message;
      problem.hidden = false;
    }
  });
}

submits($("new-key"), async (form) => {
  const scopes = [...form.querySelectorAll("[name=scope]:checked")].map((c) => c.value);
  const made = await call(path + "/keys", { method: "POST", body: { name: form.elements.name.value, scopes } });
  $("key-text").textContent = made.api_key;
  $("made-key").hidden = false;
  form.reset();
  keys();
});
submits($("limits"), async (form) => {
  const body = Object.fromEntries(limitNames.map((n) => [n, form.elements[n].value === "" ? null : Number(form.elements[n].value)]));
  await call(path + "/limits", { method: "PATCH", body });
  toast("Limits saved; they hold at once");
});
submits($("rename"), async (form) => {
  const p = await call(path, { method: "PATCH", body: { name: form.elements.name.value, operator: form.elements.operator.checked } });
  fill("name", line(p.name, 120));
  toast("Saved");
});
for (const b of document.querySelectorAll("[data-copy-from]")) copier(b, () => $(b.dataset.copyFrom).textContent);
await load();
